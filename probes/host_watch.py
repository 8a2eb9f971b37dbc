"""Watches the host over a window: what its CPUs, memory and disks do, and what it lets a process have.

Only reads /proc, /sys and what is mounted there; whatever cannot be read is absent with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from gpuwhy.kb.facts import HOST, Entity
from gpuwhy.probes import host_cpu_live, host_disks_live, host_memory_live, host_topology
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.host_tree import Tree

SOURCE = "host"


class HostWatch:
    """Counters from `open` to `close`, then facts by `fold`."""

    def __init__(self, tree: Tree | None = None) -> None:
        self._tree = tree or Tree()
        self.readings = Readings(SOURCE)
        self.open()

    def open(self) -> None:
        """The window begins."""
        self._begun = self._ended = time.monotonic()
        self._cpu = host_cpu_live.observe(self._tree)
        self._memory = host_memory_live.observe(self._tree)
        self._disks = host_disks_live.observe(self._tree)

    def close(self) -> None:
        """The window ends."""
        tree, readings = self._tree, self.readings
        seconds = self.seconds = time.monotonic() - self._begun
        host_cpu_live.fold(tree, self._cpu, host_cpu_live.observe(tree), seconds, readings)
        host_memory_live.fold(self._memory, host_memory_live.observe(tree), seconds, readings)
        host_disks_live.fold(self._disks, host_disks_live.observe(tree), seconds, readings)

    def fold(self, gpus: Mapping[str, Entity] | None = None) -> Readings:
        """What stands still: counts, limits, file systems, topology. `gpus` are those the driver named, by address."""
        tree, readings = self._tree, self.readings
        host_cpu_live.read_counts(tree, readings)
        host_cpu_live.read_load(tree, readings)
        host_memory_live.read_memory(tree, readings)
        host_memory_live.read_shared_memory(tree, readings)
        host_memory_live.read_limits(tree, readings)
        host_topology.read_clocks(tree, readings)
        host_topology.read_nodes(tree, readings)
        host_topology.read_gpus(tree, gpus or {}, readings)
        readings.put("host.watched_seconds", HOST, self.seconds)
        return readings

    def read_paths(self, paths: Iterable[str], readings: Readings) -> None:
        """Notes file systems and disks of these files, as the process sees them."""
        host_disks_live.read_paths(self._tree, paths, readings)
