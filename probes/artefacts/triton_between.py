"""Reads of the metrics of one Triton server in several artefacts: what happened between them, as of one window.

That they are of one server is taken from what they say: the same models, the same GPUs, and counters of which none is
lower in the later read. Where that does not hold each artefact stands for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpuwhy.kb.records import dataclass, replace
from gpuwhy.probes.artefacts.contract import Extract, Trouble
from gpuwhy.probes.artefacts.server_counters import Snapshot, fell, tell


@dataclass(frozen=True)
class Reads:
    """The reads of one artefact, in their order, and the UUIDs of the GPUs that it names."""

    snapshots: tuple[Snapshot, ...]
    gpus: frozenset[str] = frozenset()


def joined(extracts: Sequence[tuple[str, Extract]]) -> list[tuple[str, Extract]]:
    """The extracts, with those that hold reads of one server told as one window, by the last of them."""
    found = [(at, one.reads) for at, (_, one) in enumerate(extracts) if one.reads is not None]
    ordered = _ordered(found) if len({extracts[at][0] for at, _ in found}) > 1 else None
    if ordered is None:
        return list(extracts)
    made = list(extracts)
    names = [extracts[at][0] for at, _ in ordered]
    for at, _ in ordered[:-1]:
        name, one = extracts[at]
        made[at] = (name, replace(one, readings=(), missing=(), reads=None))
    snapshots = [one for _, reads in ordered for one in reads.snapshots]
    last = ordered[-1][0]
    made[last] = (names[-1], _window(extracts[last][1], snapshots, names))
    return made


def _window(last: Extract, snapshots: Sequence[Snapshot], names: Sequence[str]) -> Extract:
    """The last extract with what the window says instead of it alone; facts about GPUs and the server stay."""
    told = tell(snapshots)
    kept = tuple(one for one in last.readings if one.entity.kind not in ("load", "model"))
    missing = tuple(one for one in last.missing if one.entity.kind not in ("load", "model"))
    note = f"{', '.join(names)} are taken for reads of one server, in this order; give them apart if they are not"
    troubles = [*last.troubles, Trouble(None, note)]
    if any(one.at is None for one in snapshots):
        troubles.append(Trouble(None, "nothing says how much time passed between them: means are told, rates are not"))
    return replace(
        last,
        readings=(*kept, *told.readings),
        missing=(*missing, *told.missing),
        troubles=tuple(troubles),
        reads=None,
    )


def _ordered(found: Sequence[tuple[int, Reads]]) -> list[tuple[int, Reads]] | None:
    """The reads in the order in which they were taken; None unless all are of one server."""
    models = {frozenset(one.models) for _, reads in found for one in reads.snapshots}
    gpus = {reads.gpus for _, reads in found if reads.gpus}
    if len(models) != 1 or len(gpus) > 1:
        return None
    times = [reads.snapshots[0].at for _, reads in found]
    if None not in times:
        ordered = sorted(found, key=lambda one: one[1].snapshots[0].at or 0.0)
    else:
        ordered = sorted(found, key=lambda one: _counted(one[1].snapshots[0]))
    flat = [one for _, reads in ordered for one in reads.snapshots]
    falls = any(fell(before.models[key], after.models[key]) for before, after in pairwise(flat) for key in after.models)
    return None if falls else ordered


def _counted(snapshot: Snapshot) -> float:
    return sum(one.counters.get("successes", 0.0) for one in snapshot.models.values())
