"""How CPUs, memory nodes and PCIe of this host hang together, and the clocks they run by, as sysfs tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpuwhy.kb.facts import HOST, Entity, gpu
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.host_tree import Tree, Unread

NVIDIA = "0x10de"
MAX_DEPTH = 16

_DEVICES = "/sys/bus/pci/devices"
_SPEED = re.compile(r"^\s*([0-9]{1,3}(?:\.[0-9])?) GT/s")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""Gigatransfers per second of each PCIe generation."""

_LANES = 32
"""The widest link there is; sysfs of a passed-through card may say 63 or 255."""


def read_clocks(tree: Tree, readings: Readings) -> None:
    """Notes the time source of the kernel and the frequency governor of the CPUs."""
    for fact, name in (
        ("host.clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("host.cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ):
        try:
            readings.put(fact, HOST, tree.line(name), name)
        except Unread as error:
            readings.lack(fact, HOST, str(error))


def read_nodes(tree: Tree, readings: Readings) -> None:
    """Notes how many memory nodes there are."""
    nodes = [name for name in tree.names("/sys/devices/system/node") if re.fullmatch(r"node[0-9]{1,4}", name)]
    if nodes:
        readings.put("host.numa_node_count", HOST, len(nodes), "/sys/devices/system/node")
    else:
        readings.lack("host.numa_node_count", HOST, "/sys/devices/system/node lists no node")


def gpus(tree: Tree) -> list[str]:
    """PCI addresses of NVIDIA's display and 3D controllers."""
    found = []
    for address in tree.names(_DEVICES):
        try:
            vendor, kind = (tree.line(f"{_DEVICES}/{address}/{name}") for name in ("vendor", "class"))
        except Unread:
            continue
        if vendor == NVIDIA and kind.startswith(("0x0300", "0x0302")):
            found.append(address)
    return found


def read_gpus(tree: Tree, known: Mapping[str, Entity], readings: Readings) -> None:
    """Notes the PCIe link and memory node of each GPU that sysfs shows.

    `known` are GPUs that the driver named, by address; another one is named by its address. The link at rest may be
    slower than under load: this is the link now.
    """
    found = gpus(tree)
    readings.put("host.pci_gpu_count", HOST, len(found), f"NVIDIA display and 3D controllers in {_DEVICES}")
    for address in found:
        entity = known.get(normal(address)) or gpu(address)
        readings.put("gpu.bus_id", entity, address)
        _read_link(tree, address, entity, readings)
        try:
            node = tree.number(f"{_DEVICES}/{address}/numa_node")
        except Unread as error:
            readings.lack("gpu.numa_node", entity, str(error))
            continue
        if node >= 0:
            readings.put("gpu.numa_node", entity, node, "sysfs")
        else:
            readings.lack("gpu.numa_node", entity, "the system does not tell (-1)")


def normal(address: str) -> str:
    """A PCI address in one spelling: the driver writes 00000000:3B:00.0, sysfs 0000:3b:00.0."""
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:].zfill(4)}:{rest}"


def _read_link(tree: Tree, address: str, entity: Entity, readings: Readings) -> None:
    for fact, name in (
        ("gpu.link_generation", "current_link_speed"),
        ("gpu.link_generation_device_max", "max_link_speed"),
    ):
        speed = _generation(tree, f"{_DEVICES}/{address}/{name}")
        if speed is None:
            readings.lack(fact, entity, f"sysfs gives no {name}")
        else:
            readings.put(fact, entity, speed, f"sysfs {name}")
    width = _width(tree, f"{_DEVICES}/{address}/current_link_width")
    if width is None:
        readings.lack("gpu.link_width", entity, "sysfs gives no current_link_width")
    else:
        readings.put("gpu.link_width", entity, width, "sysfs current_link_width")
    above = list(_upstream(tree, address))
    widths = [one for folder in above if (one := _width(tree, f"{folder}/max_link_width")) is not None]
    speeds = [one for folder in above if (one := _generation(tree, f"{folder}/max_link_speed")) is not None]
    if widths and speeds:
        readings.put("gpu.link_upstream_width", entity, min(widths), f"least of {len(above)} bridges above it")
        readings.put("gpu.link_upstream_generation", entity, min(speeds), f"least of {len(above)} bridges above it")
    else:
        readings.lack("gpu.link_upstream_width", entity, "sysfs shows no bridge above it")


def _upstream(tree: Tree, address: str) -> Iterator[str]:
    """Folders of the bridges above a device, nearest first."""
    real = tree.path(f"{_DEVICES}/{address}").resolve()
    for folder in list(real.parents)[:MAX_DEPTH]:
        if not re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", folder.name):
            return
        yield "/" + str(folder.relative_to(tree.root.resolve()))


def _generation(tree: Tree, name: str) -> int | None:
    try:
        found = _SPEED.match(tree.line(name))
    except Unread:
        return None
    return _GENERATIONS.get(float(found[1])) if found else None


def _width(tree: Tree, name: str) -> int | None:
    try:
        width = tree.number(name)
    except Unread:
        return None
    return width if 0 < width <= _LANES else None
