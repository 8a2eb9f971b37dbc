"""Dumps of PyTorch's flight recorder (`nccl_trace_rank_N`), as pickle or JSON: the collectives that one rank recorded.

The rank stands in the name of the file only. What the dumps of several ranks say together is the business of
`rank_dumps`; here each is read, and nothing but plain data is taken from a pickle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

from gpuwhy.kb.facts import is_number
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Trouble
from gpuwhy.probes.artefacts.packed import unpacked
from gpuwhy.probes.artefacts.rank_dumps import Call, GroupCalls, RankDump
from gpuwhy.probes.artefacts.snapshot_pickle import LARGEST_BYTES, RefusedPickle, load_plain

NAME = "flight-recorder"
MOST_ENTRIES = 200_000
MOST_RANKS = 100_000

_RANK = re.compile(r"(?<![0-9])(?P<rank>[0-9]{1,6})(?:\.(?:json|pkl|pickle|gz)){0,2}\Z")
_RANKS = re.compile(r"\d{1,6}")
_KEYS = (b"collective_seq_id", b"pg_config", b"profiling_name", b"pg_status", b"entries")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/torch/|<frozen|/lib/python")


def accepts(head: bytes, _name: str) -> bool:
    """True for a pickle or a JSON object that begins as a dump does."""
    pickled = head[:1] == b"\x80" or head[:1] in (b"(", b"}")
    return (pickled or head.lstrip()[:1] == b"{") and sum(key in head for key in _KEYS) >= 2


def read(source: Path | bytes, name: str) -> Extract:
    """The dump of one rank; its facts come from the comparison with the dumps of the others."""
    try:
        content = _content(source)
    except (RefusedPickle, ValueError, RecursionError, OSError) as error:
        return Extract(NAME, troubles=(Trouble(None, f"not readable as a dump: {str(error)[:120]}"),))
    if not isinstance(content, dict):
        return Extract(NAME, troubles=(Trouble(None, "not a dump of the flight recorder"),))
    rank = _rank(content, name)
    if rank is None:
        says = "its name does not end in the number of the rank (nccl_trace_rank_3): it cannot be compared"
        return Extract(NAME, troubles=(Trouble(None, says),))
    return Extract(NAME, dumps=(RankDump(rank, dict(_groups(content))),))


def _content(source: Path | bytes) -> object:
    raw, whole = unpacked(source, LARGEST_BYTES)
    if not whole:
        raise ValueError(f"it is larger than {LARGEST_BYTES >> 20} MiB")
    return json.loads(raw) if raw.lstrip()[:1] == b"{" else load_plain(raw)


def _rank(content: Mapping[object, object], name: str) -> int | None:
    stated = content.get("rank")
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 <= stated <= MOST_RANKS:
        return stated
    found = _RANK.search(name)
    return int(found["rank"]) if found and int(found["rank"]) <= MOST_RANKS else None


def _groups(content: Mapping[object, object]) -> Iterator[tuple[str, GroupCalls]]:
    config = content.get("pg_config")
    status = content.get("pg_status")
    calls: dict[str, dict[int, Call]] = {}
    entries = content.get("entries")
    for entry in entries[:MOST_ENTRIES] if isinstance(entries, (list, tuple)) else ():
        if isinstance(entry, dict) and not entry.get("is_p2p"):
            _take(entry, calls)
    for group in status if isinstance(status, dict) else ():
        if isinstance(group, str) and _enqueued(status, group) >= 0:
            calls.setdefault(group, {})
    for group, own in calls.items():
        ranks = _ranks(config.get(group, config.get(""))) if isinstance(config, dict) else ()
        last = max([*own, _enqueued(status, group)])
        yield f"{group} {','.join(map(str, ranks[:1] + ranks[-1:]))} {len(ranks)}", GroupCalls(ranks, own, last)


def _take(entry: Mapping[object, object], calls: dict[str, dict[int, Call]]) -> None:
    number, group = entry.get("collective_seq_id"), _group(entry)
    name = entry.get("profiling_name")
    if not isinstance(number, int) or group is None or not isinstance(name, str):
        return
    call = Call(
        number,
        name.rsplit(":", 1)[-1].split(" ")[0][:60],
        _elements(entry.get("input_sizes")),
        _types(entry.get("input_dtypes")),
        _finished(entry, name),
        _seconds(entry.get("timeout_ms")),
        _place(entry.get("frames")),
    )
    own = calls.setdefault(group, {})
    if number not in own or not call.finished:
        own[number] = call


def _finished(entry: Mapping[object, object], name: str) -> bool:
    """The states of other libraries than NCCL are not kept up to date: what they retire is finished."""
    return entry.get("state") == "completed" or (entry.get("retired") is True and not name.startswith("nccl"))


def _group(entry: Mapping[object, object]) -> str | None:
    """The name of the process group; the number of its object where an old dump has no name."""
    named = entry.get("process_group")
    if isinstance(named, (list, tuple)) and named and isinstance(named[0], str):
        return named[0][:200]
    own = entry.get("pg_id", entry.get("pg_name"))
    return str(own)[:200] if isinstance(own, (int, str)) else None


def _ranks(config: object) -> tuple[int, ...]:
    """Members of a group: a list, or a list printed as a text."""
    stated = config.get("ranks") if isinstance(config, dict) else None
    if isinstance(stated, str):
        return tuple(sorted({int(one) for one in _RANKS.findall(stated[: 8 * MOST_RANKS])}))
    if isinstance(stated, (list, tuple)):
        return tuple(sorted({one for one in stated if isinstance(one, int) and 0 <= one <= MOST_RANKS}))
    return ()


def _enqueued(status: object, group: str) -> int:
    own = status.get(group) if isinstance(status, dict) else None
    last = own.get("last_enqueued_collective") if isinstance(own, dict) else None
    if isinstance(last, str) and last.isascii() and last.isdigit() and len(last) < 19:
        return int(last)  # as JSON has it
    return last if isinstance(last, int) else -1


def _elements(sizes: object) -> int | None:
    """Elements over all inputs."""
    if not isinstance(sizes, (list, tuple)):
        return None
    total = 0
    for one in sizes:
        if not isinstance(one, (list, tuple)) or not all(isinstance(size, int) and size >= 0 for size in one):
            return None
        total += prod(one)
    return total if total < 1 << 62 else None


def _types(types: object) -> str:
    if not isinstance(types, (list, tuple)):
        return ""
    return ", ".join(dict.fromkeys(one[:20] for one in types if isinstance(one, str)))[:80]


def _seconds(milliseconds: object) -> float | None:
    if isinstance(milliseconds, (int, float)) and is_number(milliseconds) and milliseconds > 0:
        return milliseconds / 1000.0
    return None


def _place(frames: object) -> str:
    """Where the program called it: the innermost frame outside of libraries."""
    for one in frames if isinstance(frames, (list, tuple)) else ():
        if not isinstance(one, dict):
            continue
        file, line, function = one.get("filename"), one.get("line"), one.get("name")
        if isinstance(file, str) and isinstance(function, str) and not _LIBRARY.search(file):
            return f"{file[-120:]}:{line if isinstance(line, int) else '?'} in {function[:60]}"
    return ""


FORMAT = FileFormat(NAME, "Flight recorder of PyTorch (NCCL trace of one rank)", accepts, read)
