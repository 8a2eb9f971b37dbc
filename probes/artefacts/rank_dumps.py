"""Dumps of PyTorch's flight recorder, one of each rank, compared: who waits in which collective, who never called it.

A collective of one process group is the same one on all its ranks by its number. What a dump shows is of the moment it
was written: where the dumps are of different moments nothing can be compared, and that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuwhy.kb.facts import JOB, Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Reading, Trouble

NAME = "flight-recorder-ranks"
MOST_NAMED = 20

SAME_SIZE = frozenset(
    ("all_reduce", "allreduce_coalesced", "broadcast", "_broadcast_oop", "reduce", "_reduce_oop", "_all_gather_base",
     "_reduce_scatter_base", "all_gather_single", "reduce_scatter_single")
)  # fmt: skip
"""Collectives to which every rank must pass the same number of elements."""

_NEEDS_ALL = (SAME_SIZE - {"broadcast", "_broadcast_oop", "reduce", "_reduce_oop"}) | {
    "all_gather", "reduce_scatter", "all_to_all", "all_to_all_single", "barrier", "all_reduce_barrier",
}  # fmt: skip
"""Collectives that end on no rank before every rank has called them."""


@dataclass(frozen=True)
class Call:
    """One collective as one rank recorded it; `elements` of the input, None where the dump does not say."""

    number: int
    operation: str
    elements: int | None
    types: str
    finished: bool
    timeout_seconds: float | None = None
    place: str = ""


@dataclass(frozen=True)
class GroupCalls:
    """What one rank recorded of one process group, by number; `last` is the last that it enqueued."""

    ranks: tuple[int, ...]
    calls: Mapping[int, Call]
    last: int


@dataclass(frozen=True)
class RankDump:
    """The dump of one rank; process groups by a name that is the same on all their ranks."""

    rank: int
    groups: Mapping[str, GroupCalls]


@dataclass(frozen=True)
class _Stall:
    """The first collective of a group that a rank waits in: by rank who called it, who never did, whose dump lacks.

    `ranks` are the members of the group, empty where no dump names them.
    """

    group: str
    ranks: tuple[int, ...]
    number: int
    calls: Mapping[int, Call]
    absent: tuple[int, ...]
    undumped: tuple[int, ...]


def compared(dumps: Sequence[RankDump]) -> Extract | None:
    """What the dumps say together; None where there are none."""
    if not dumps:
        return None
    by_rank = {one.rank: one for one in dumps}
    stalls: list[_Stall] = []
    troubles: list[Trouble] = []
    for name in dict.fromkeys(name for one in by_rank.values() for name in one.groups):
        own = _members(name, by_rank)
        older = _older(own)
        if older:
            says = f"dumps of different moments: what rank {older[0]} recorded ends before what others finished"
            troubles.append(Trouble(None, says))
        elif stall := _stall(name, own):
            stalls.append(stall)
    readings = [_reading("comm.dump_rank_count", len(by_rank))]
    if stalls or not troubles:
        readings.extend(_of_stalls(stalls))
    return Extract(NAME, tuple(readings), troubles=tuple(dict.fromkeys(troubles)))


def _members(name: str, by_rank: Mapping[int, RankDump]) -> dict[int, GroupCalls]:
    """What each rank with a dump recorded of a group; a member that recorded nothing of it never called anything."""
    own = {rank: one.groups[name] for rank, one in by_rank.items() if name in one.groups}
    ranks = next((one.ranks for one in own.values() if one.ranks), ())
    first = min((min(one.calls) for one in own.values() if one.calls), default=0)
    if first <= 1:  # nothing has dropped out of the buffers: what is not there never was
        own.update({rank: GroupCalls(ranks, {}, -1) for rank in ranks if rank in by_rank and rank not in own})
    return own


def _older(own: Mapping[int, GroupCalls]) -> list[int]:
    """Ranks whose last collective another has left behind: all must have called what one has finished."""
    calls = [call for one in own.values() for call in one.calls.values()]
    done = max((one.number for one in calls if one.finished and one.operation in _NEEDS_ALL), default=-1)
    return [rank for rank, one in own.items() if one.last < done and not _waits(one)]


def _waits(one: GroupCalls) -> list[Call]:
    return [call for call in one.calls.values() if not call.finished]


def _stall(name: str, own: Mapping[int, GroupCalls]) -> _Stall | None:
    waiting = [call.number for one in own.values() for call in _waits(one)]
    if not waiting:
        return None
    number = min(waiting)
    ranks = next((one.ranks for one in own.values() if one.ranks), ())
    return _Stall(
        name,
        ranks,
        number,
        {rank: one.calls[number] for rank, one in own.items() if number in one.calls},
        tuple(sorted(rank for rank, one in own.items() if one.last < number)),
        tuple(rank for rank in ranks if rank not in own),
    )


def _of_stalls(stalls: Sequence[_Stall]) -> Iterator[Reading]:
    if not stalls:
        yield _reading("comm.dump_stuck_rank_count", 0)
        yield _reading("comm.dump_mismatch", False)
        return
    blocked = {rank for one in stalls for rank, call in one.calls.items() if not call.finished}
    differing = next((one for one in stalls if _kinds(one.calls.values()) > 1), None)
    rooted = next((one for one in stalls if set(one.absent) - blocked), None)
    hanging = next((one for one in stalls if not one.absent), None)  # what others wait for, if their ranks wait here
    crossed = None if hanging else next((one for one in stalls if not set(one.absent) - blocked), None)
    root = differing or rooted or hanging or crossed or stalls[0]
    yield from _of_root(root)
    if any(len(one.calls) > 1 for one in stalls):  # a single dump has nothing to agree with
        yield _reading("comm.dump_mismatch", differing is not None)
    if differing:
        yield from _difference(differing)
    missing = tuple(rank for rank in root.absent if rank not in blocked)
    if missing or (root.ranks and not root.undumped):
        yield _reading("comm.dump_absent_rank_count", len(missing))
    if missing:
        yield _reading("comm.dump_absent_ranks", _named(missing))
    if crossed and not rooted and not differing:
        yield _reading("comm.dump_crossed_ranks", _named(crossed.absent))


def _of_root(root: _Stall) -> Iterator[Reading]:
    stuck = tuple(sorted(rank for rank, call in root.calls.items() if not call.finished))
    call = root.calls[stuck[0]]
    if root.ranks:
        yield _reading("comm.dump_group_rank_count", len(root.ranks))
    yield _reading("comm.dump_stuck_rank_count", len(stuck))
    yield _reading("comm.dump_stuck_ranks", _named(stuck))
    if root.ranks:
        yield _reading("comm.dump_undumped_rank_count", len(root.undumped))
    if root.undumped:
        yield _reading("comm.dump_undumped_ranks", _named(root.undumped))
    yield _reading("comm.sequence", root.number)
    yield _reading("comm.operation", call.operation)
    if call.elements is not None:
        yield _reading("comm.element_count", call.elements)
    if call.timeout_seconds:
        yield _reading("comm.timeout_seconds", call.timeout_seconds)
    if call.place:
        yield _reading("comm.dump_place", call.place)


def _kinds(calls: Iterable[Call]) -> int:
    return len({_kind(call) for call in calls})


def _kind(call: Call) -> tuple[str, int | None, str]:
    """What must be the same on every rank."""
    return call.operation, call.elements if call.operation in SAME_SIZE else None, call.types


def _difference(stall: _Stall) -> Iterator[Reading]:
    """The kind that most ranks call, and the rarest one: who calls it is suspect."""
    times = Counter(_kind(call) for call in stall.calls.values())
    (most, _), *_, (least, _) = times.most_common()
    ranks = tuple(sorted(rank for rank, call in stall.calls.items() if _kind(call) == least))
    yield _reading("comm.operation", _shown(most))
    yield _reading("comm.operation_other", _shown(least))
    yield _reading("comm.dump_differing_ranks", _named(ranks))
    place = next((stall.calls[rank].place for rank in ranks if stall.calls[rank].place), "")
    if place:
        yield _reading("comm.dump_differing_place", place)


def _shown(kind: tuple[str, int | None, str]) -> str:
    operation, elements, types = kind
    of = f" of {elements} elements" if elements is not None else ""
    return f"{operation}{of}{f' ({types})' if types else ''}"


def _named(ranks: Sequence[int]) -> str:
    rest = f" and {len(ranks) - MOST_NAMED} more" if len(ranks) > MOST_NAMED else ""
    return ", ".join(str(rank) for rank in ranks[:MOST_NAMED]) + rest


def _reading(fact: str, value: Value) -> Reading:
    return Reading(fact, value, None, None, JOB)
