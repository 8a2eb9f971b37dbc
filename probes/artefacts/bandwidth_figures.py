"""What tests of copies measure, in one shape: host to GPU and back for each GPU, GPU to GPU over all pairs.

Shared by the readers of nvbandwidth, bandwidthTest, p2pBandwidthLatencyTest and gpu_copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.facts import HOST, JOB, Entity, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Line, Reading

GIGABYTE = 1e9
"""These tests print decimal gigabytes per second."""
MOST_QUOTED = 300


@dataclass
class Figures:
    """Bandwidths in GB/s as printed, with their lines."""

    own: dict[tuple[str, int], tuple[float, Line]] = field(default_factory=dict)
    pairs: dict[tuple[str, int, int], tuple[float, Line]] = field(default_factory=dict)
    quoted: list[tuple[str, float, Line]] = field(default_factory=list)
    access: dict[tuple[int, int], tuple[bool, Line]] = field(default_factory=dict)
    devices: set[int] = field(default_factory=set)

    def put(self, fact: str, device: int, value: float, line: Line) -> None:
        """A figure of one GPU; of several the largest counts (other NUMA nodes, other message sizes)."""
        old = self.own.get((fact, device))
        self.devices.add(device)
        if old is None or value > old[0]:
            self.own[fact, device] = (value, line)

    def pair(self, kind: str, source: int, target: int, value: float, line: Line) -> None:
        """A figure of a pair of different GPUs; the largest of several ways counts."""
        old = self.pairs.get((kind, source, target))
        self.devices |= {source, target}
        if source != target and (old is None or value > old[0]):
            self.pairs[kind, source, target] = (value, line)

    def quote(self, name: str, value: float, line: Line) -> None:
        """A figure that has no word of its own."""
        if len(self.quoted) < MOST_QUOTED:
            self.quoted.append((name, value, line))

    def readings(self) -> Iterator[Reading]:
        """All figures as readings, in bytes per second."""
        for (fact, device), (value, line) in self.own.items():
            yield Reading(fact, value * GIGABYTE, line.number, _said(line), gpu(device))
        for kind in dict.fromkeys(kind for kind, _, _ in self.pairs):
            found = [figure for (own, _, _), figure in self.pairs.items() if own == kind]
            least, most = min(found, key=_first), max(found, key=_first)
            for suffix, (value, line) in (("min", least), ("max", most)):
                fact = f"topology.{kind}_{suffix}_bytes_per_second"
                yield Reading(fact, value * GIGABYTE, line.number, _said(line), HOST)
        yield from self._best_of_each()
        yield from self._access()
        for name, value, line in self.quoted:
            yield Reading("reading.value", value, line.number, _said(line), Entity("measurement", name[:120], JOB))
        if len(self.devices) > 1 and self.devices == set(range(len(self.devices))):
            line = next(iter([*self.own.values(), *self.pairs.values(), *self.access.values()]))[1]
            yield Reading("gpu.count", len(self.devices), line.number, _said(line), HOST)

    def _best_of_each(self) -> Iterator[Reading]:
        """For each GPU its fastest copies with any other, of the first kind that was measured over all."""
        kind = next(iter(self.pairs), ("", 0, 0))[0]
        best: dict[int, tuple[float, Line]] = {}
        for (own, source, target), figure in self.pairs.items():
            for device in (source, target) if own == kind else ():
                best[device] = max(best.get(device, figure), figure, key=_first)
        for device, (value, line) in best.items() if len(best) > 2 else ():
            fact = "gpu.peer_copy_best_bytes_per_second"
            yield Reading(fact, value * GIGABYTE, line.number, _said(line), gpu(device))

    def _access(self) -> Iterator[Reading]:
        if not self.access:
            return
        line = next(iter(self.access.values()))[1]
        pairs = {(min(key), max(key)) for key in self.access}
        able = {pair for pair in pairs if all(self.access.get(key, (True, line))[0] for key in (pair, pair[::-1]))}
        yield Reading("topology.peer_pair_count", len(able), line.number, _said(line), HOST)
        yield Reading("topology.no_peer_pair_count", len(pairs) - len(able), line.number, _said(line), HOST)


def _first(figure: tuple[float, Line]) -> float:
    return figure[0]


def _said(line: Line) -> str:
    return line.text.strip()[:200]
