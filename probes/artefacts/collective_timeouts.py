"""Collectives that did not end: watchdog messages of PyTorch, its desync report, and mismatches between ranks.

Each rank reports for itself, so what decides is the comparison: who waits in which collective, and who says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import JOB, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "collective-timeouts"
LONGEST = 4000
MOST_RANKS = 100_000
"""Rank numbers above this are no ranks."""

_TIMEOUT = later(
    r"(?:\[Rank (?P<rank>[0-9]{1,6})\] )?(?:Watchdog caught|Caught) collective operation timeout: "
    r"Work(?:NCCL|Gloo|HCCL|XCCL)\(SeqNum=(?P<seq>[0-9]{1,18}), OpType=(?P<op>\w{1,40})"
    r"(?:, NumelIn=(?P<numel>[0-9]{1,18}))?(?:, NumelOut=[0-9]{1,18})?"
    r"(?:, Timeout\(ms\)=(?P<limit>[0-9]{1,12})\))?(?: ran for (?P<ran>[0-9]{1,12}) milliseconds)?"
)
_STATE = later(
    r"(?:at work|at NCCL work|NCCL work): (?P<work>[0-9]{1,18}), last enqueued(?: NCCL)? work: "
    r"(?P<enqueued>[0-9]{1,18})"
    r"(?:, last started[^,\n]{0,60})?, last completed(?: NCCL)? work: (?P<completed>-?[0-9]{1,18})"
)
_GROUP = later(r"\[PG(?: ID)? (?P<group>[0-9]{1,4})[^\]\n]{0,80} ?Rank (?P<rank>[0-9]{1,6})\]")
_PREFIX_RANK = later(r"\[(?:default\d{1,3}\]:\[)?rank(?P<rank>[0-9]{1,6})\]", re.IGNORECASE)
_MISMATCH = later(
    r"Detected mismatch between collectives on ranks\.(?: Rank (?P<rank>[0-9]{1,6}) is running collective: "
    r"CollectiveFingerPrint\((?:SequenceNumber=(?P<seq>[0-9]{1,18})[, ]{0,2})?(?:OpType=(?P<op>\w{1,40}))?)?"
)
_OTHER = later(
    r"but Rank (?P<rank>[0-9]{1,6}) is running collective: "
    r"CollectiveFingerPrint\((?:SequenceNumber=(?P<seq>[0-9]{1,18})[, ]{0,2})?(?:OpType=(?P<op>\w{1,40}))?"
)
_JOINED = later(r"\[(?P<ranks>[0-9, .]{1,2000})\] joined but didn't finish collective #(?P<seq>[0-9]{1,18})")
_FINISHED = later(
    r"\[(?P<ranks>[0-9, .]{1,2000})\] finished collective #(?P<seq>[0-9]{1,18}), but didn't join collective"
)
_NEVER = later(
    r"ranks? \[(?P<ranks>[0-9, .]{1,2000})\] (?:are|is) the lagging ranks? that caused this timeout|"
    r"\[(?P<other>[0-9, .]{1,2000})\] (?:haven't|have not|never|didn't) join(?:ed)?(?: any collective)?",
)
_ANALYSED = later(r"(?i)\bmissing ranks: \{(?P<ranks>[0-9][0-9, ]{0,2000})\}")
"""What the analyser of PyTorch's flight recorder dumps prints."""
_ANALYSED_MISMATCH = later(r"\b(?:COLLECTIVE_TYPE|SIZE_OR_SYNTAX|COLLECTIVE_DTYPE)_MISMATCH\b")
_STORE = later(
    r"Timed out after (?P<seconds>[0-9]{1,7}) seconds waiting for clients\. "
    r"(?P<joined>[0-9]{1,6})/(?P<expected>[0-9]{1,6}) clients joined"
)
_CONNECT = later(
    r"client socket has timed out after (?P<milliseconds>[0-9]{1,10})\s?(?P<unit>ms|s)\b[^\n]{0,60}connect"
)
_STUCK = later(
    r"watchdog got stuck for (?P<seconds>[0-9]{1,7})\s?seconds without making progress"
    r"|Terminating the process after attempting to dump debug info, due to collective timeout"
    r"|Received a dump signal due to a collective timeout"
    r"|\btimeout check failed: rank ?= ?[0-9]{1,6}\b", re.IGNORECASE,
)  # fmt: skip
_BARRIER = later(r"Ranks? (?P<missing>[0-9][0-9, ]{0,400}) failed to pass monitoredBarrier")
_STORE_LOST = later(
    r"(?i)store->get\('[^'\n]{0,60}'\) got error: (?:socket timeout|wait timeout)|Rendezvous(?:Timeout|Connection)Error"
    r"|connection to the C10d store has failed"
    r"|This may indicate a possible application crash on rank 0 or a network set ?up issue"
)
_LOST = later(
    r"Connection (?:was )?(?:closed|reset) by (?:remote )?peer|Broken pipe|Software caused connection abort"
    r"|Connection refused|[Rr]emote process exited or there was a network error|peer process [^\n]{0,40}exited"
    r"|\bsocket\w{0,20}Connect\w{0,20}: Connect(?:ing)? to [^\s]{1,60} (?:failed|returned)[^\n]{0,40}"
    r"(?:No route to host|Connection timed out|Network is unreachable)"
    r"|NET/IB\s{0,2}: Got (?:async event|completion from peer)[^\n]{0,200}(?:error|status=)",
)
_LEFT_OUT = later(
    r"(?i)^\s*[\[(<]?\s*(?:\.\.\.+|…+|[-=*#]{0,6}\s?(?:snip|snipped|cut|truncated|omitted)\b)[^\n]{0,40}\s*$"
    r"|\b(?:output|log|lines?)\s(?:was |were |are |is )?(?:truncated|omitted|skipped|cut)\b"
)
"""Where whoever pasted a log, or the tool that kept it, says that something is not there."""
_NETWORKED = later(
    r"(?i)nccl|gloo|socket\w{0,20}connect|c10d|tcpstore|socket\.(?:cc|cpp)|ProcessGroup|rendezvous|torch\.distributed|DistBackend"
)
_SAME_EVERYWHERE = {
    "ALLREDUCE",
    "BROADCAST",
    "REDUCE",
    "BARRIER",
    "_ALLGATHER_BASE",
    "_REDUCE_SCATTER_BASE",
    "ALLGATHER",
}
"""Collectives in which every rank passes the same operation; sizes may differ in the last."""
_SAME_SIZE = _SAME_EVERYWHERE - {"ALLGATHER", "BARRIER"}


@dataclass(frozen=True)
class _Wait:
    """The collective that one rank waited in when its time ran out."""

    sequence: int
    operation: str
    elements: int | None
    line: Line


@dataclass
class _Report:
    waits: dict[int, _Wait] = field(default_factory=dict)
    unnamed: list[_Wait] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)
    facts: dict[str, tuple[Value, Line]] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)
    raised: dict[int, Line] = field(default_factory=dict)
    left_out: bool = False
    claimed: set[int] = field(default_factory=set)

    def put(self, fact: str, value: Value, line: Line) -> None:
        self.facts[fact] = (value, line)
        self.claimed.add(line.number)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of what all ranks in a text say about collectives that did not end."""
    report = _Report()
    for before, line in zip((None, *text.lines), text.lines, strict=False):
        report.left_out |= before is not None and line.number > before.number + 1
        if len(line.text) < 200 and _LEFT_OUT.search(line.text):
            report.left_out = True
        if any(word in line.text for word in _WORDS):
            _take(report, Line(line.number, line.text[:LONGEST]))
    readings = tuple(_readings(report))
    if readings:
        yield Extract(NAME, readings, claimed=frozenset(report.claimed))


_WORDS = (
    "collective", "last enqueued", "joined", "lagging", "missing ranks", "Missing ranks", "_MISMATCH", "timed out",
    "watchdog", "Watchdog", "store->get", "endezvous", "C10d", "onnection",
    "Barrier", "Broken pipe", "rank", "NET/IB", "emote process", "timeout", "Connect",
)  # fmt: skip


def _take(report: _Report, line: Line) -> None:
    text = line.text
    prefix = _PREFIX_RANK.search(text)
    own = int(prefix["rank"]) if prefix else None
    if own is not None:
        report.named.add(own)
        if "Traceback (most recent call last)" in text:
            report.raised.setdefault(own, line)
    if timeout := _TIMEOUT.search(text):
        _take_timeout(report, timeout, own, line)
    if "last enqueued" in text and (state := _STATE.search(text)):
        _take_state(report, state, own, line)
    _take_mismatch(report, text, line)
    _take_desync(report, text, line)
    _take_store(report, text, line)
    if _LOST.search(text) and _NETWORKED.search(text):
        report.put("comm.peer_connection_lost", True, line)


def _take_timeout(report: _Report, found: re.Match[str], own: int | None, line: Line) -> None:
    rank = int(found["rank"]) if found["rank"] else own
    wait = _Wait(int(found["seq"]), found["op"], int(found["numel"]) if found["numel"] else None, line)
    if rank is None or rank > MOST_RANKS:
        report.unnamed.append(wait)
    else:
        old = report.waits.get(rank)
        if old is None or wait.sequence < old.sequence or (wait.sequence == old.sequence and not old.operation):
            report.waits[rank] = wait
    report.put("comm.timed_out", True, line)
    if found["limit"]:
        report.put("comm.timeout_seconds", int(found["limit"]) / 1000.0, line)
    if found["ran"]:
        report.put("comm.waited_seconds", int(found["ran"]) / 1000.0, line)


def _take_state(report: _Report, state: re.Match[str], own: int | None, line: Line) -> None:
    group = _GROUP.search(line.text)
    rank = own if own is not None or group is None else int(group["rank"])
    if group:
        report.groups.add(group["group"])
    if rank is not None and rank <= MOST_RANKS:
        report.waits.setdefault(rank, _Wait(int(state["work"]), "", None, line))
    report.put("comm.last_enqueued", int(state["enqueued"]), line)
    report.put("comm.last_completed", int(state["completed"]), line)
    report.facts.setdefault("comm.sequence", (int(state["work"]), line))
    report.facts.setdefault("comm.timed_out", (True, line))


def _take_mismatch(report: _Report, text: str, line: Line) -> None:
    if found := _MISMATCH.search(text):
        report.put("comm.mismatch_stated", True, line)
        if found["seq"]:
            report.put("comm.sequence", int(found["seq"]), line)
        if found["op"]:
            report.put("comm.operation", found["op"], line)
        if other := _OTHER.search(text):
            if other["seq"]:
                report.put("comm.sequence_other", int(other["seq"]), line)
            if other["op"]:
                report.put("comm.operation_other", other["op"], line)


def _take_desync(report: _Report, text: str, line: Line) -> None:
    """The report that PyTorch prints with TORCH_NCCL_DESYNC_DEBUG=1."""
    if joined := _JOINED.search(text):
        report.put("comm.stuck_rank_count", len(_ranks(joined["ranks"])), line)
        report.put("comm.stuck_ranks", " ".join(joined["ranks"].split())[:120], line)
    if finished := _FINISHED.search(text):
        report.put("comm.ahead_rank_count", len(_ranks(finished["ranks"])), line)
    if _ANALYSED_MISMATCH.search(text):
        report.put("comm.mismatch_stated", True, line)
    missing = _NEVER.search(text) or _ANALYSED.search(text)
    ranks = next((group for group in missing.groups() if group), "") if missing else ""
    if ranks:
        report.put("comm.absent_rank_count", len(_ranks(ranks)), line)
        report.put("comm.absent_ranks", " ".join(ranks.split())[:120], line)
        report.put("comm.absence_stated", True, line)


def _take_store(report: _Report, text: str, line: Line) -> None:
    if store := _STORE.search(text):
        joined, expected = int(store["joined"]), int(store["expected"])
        report.put("comm.joined_rank_count", joined, line)
        report.put("job.rank_count", expected, line)
        report.put("comm.timeout_seconds", int(store["seconds"]), line)
        if joined < expected:
            report.put("comm.absent_rank_count", expected - joined, line)
            report.put("comm.absence_stated", True, line)
    if found := _CONNECT.search(text):
        scale = 1000.0 if found["unit"] == "ms" else 1.0
        report.put("comm.timeout_seconds", int(found["milliseconds"]) / scale, line)
        report.put("comm.store_unreachable", True, line)
    if stuck := _STUCK.search(text):
        report.put("comm.watchdog_stuck", True, line)
        if stuck["seconds"]:
            report.put("comm.waited_seconds", int(stuck["seconds"]), line)
    if _STORE_LOST.search(text):
        report.put("comm.store_unreachable", True, line)
    if barrier := _BARRIER.search(text):
        missing = barrier["missing"]
        report.put("comm.absent_rank_count", len(_ranks(missing)), line)
        report.put("comm.absent_ranks", " ".join(missing.split())[:120], line)
        report.put("comm.absence_stated", True, line)


def _ranks(printed: str) -> set[int]:
    """Rank numbers of a list; `0, 1, ..., 31` stands for all of them."""
    numbers = [int(part) for part in re.findall(r"[0-9]{1,6}", printed)]
    if "..." in printed and len(numbers) >= 2 and 0 <= numbers[-1] - numbers[0] <= MOST_RANKS:
        return set(range(numbers[0], numbers[-1] + 1))
    return set(numbers)


def _readings(report: _Report) -> Iterator[Reading]:
    facts = dict(report.facts)
    waits = report.waits
    for fact, value, line in (*_compared(report), *_absent(report)):
        facts.setdefault(fact, (value, line))
    first = min(waits.values(), key=_told_first) if waits else next(iter(report.unnamed), None)
    if first is not None:
        facts["comm.sequence"] = (first.sequence, first.line)
        if first.operation:
            facts.setdefault("comm.operation", (first.operation, first.line))
        if first.elements is not None:
            facts["comm.element_count"] = (first.elements, first.line)
    for fact, (value, line) in facts.items():
        yield Reading(fact, value, line.number, line.text.strip()[:200], JOB)


def _compared(report: _Report) -> Iterator[tuple[str, Value, Line]]:
    """How many ranks waited, and whether all of them in the same collective.

    Ranks count collectives within a process group: with several groups, or point-to-point transfers, numbers of
    different ranks cannot be compared.
    """
    waits = report.waits
    if not waits:
        return
    ranks = sorted(waits)
    last = waits[ranks[-1]].line
    yield "comm.timed_out_rank_count", len(ranks), last
    told = {one.operation for one in waits.values() if one.operation}
    comparable = len(report.groups) <= 1 and told <= _SAME_EVERYWHERE
    if len(ranks) < 2 or not comparable:
        return
    if report.groups:
        yield "comm.one_process_group", True, last
    sequences = {one.sequence for one in waits.values()}
    kinds = {
        (one.operation, one.elements if one.operation in _SAME_SIZE and one.elements is not None else 0)
        for one in waits.values()
        if one.operation
    }
    yield "comm.waits_differ", len(sequences) > 1 or len(kinds) > 1, last
    if len(sequences) > 1 or len(kinds) > 1:
        low, high = min(waits.values(), key=_order), max(waits.values(), key=_order)
        for fact, wait in (("comm.operation", low), ("comm.operation_other", high)):
            if wait.operation:
                yield fact, wait.operation, wait.line
        yield "comm.sequence_other", high.sequence, high.line


def _order(wait: _Wait) -> tuple[int, str, int]:
    return wait.sequence, wait.operation, wait.elements or 0


def _told_first(wait: _Wait) -> tuple[int, bool]:
    return wait.sequence, not wait.operation


def _absent(report: _Report) -> Iterator[tuple[str, Value, Line]]:
    """Ranks that the others waited for: gaps among the numbers, those who raised an exception instead."""
    waits = report.waits
    raised = {rank: line for rank, line in report.raised.items() if rank not in waits}
    if raised and (waits or report.unnamed or "comm.peer_connection_lost" in report.facts):
        rank, line = next(iter(raised.items()))
        yield "comm.raised_rank", rank, line
    if len(waits) < 2:
        return
    known = set(waits) | report.named
    gap = sorted(set(range(max(known) + 1)) - set(waits)) if max(known) < MOST_RANKS else []
    line = waits[max(waits)].line
    yield "comm.silent_rank_count", len(gap), line
    heard = [rank for rank in gap if rank in report.named]
    if heard:
        yield "comm.silent_rank_heard_count", len(heard), line
    if not report.left_out and len(gap) < len(waits):
        yield "comm.report_whole", True, line
    if gap:
        yield "comm.silent_ranks", ", ".join(str(rank) for rank in gap[:20]), line


FORMAT = TextFormat(
    NAME,
    "Collectives that timed out or differ between ranks",
    (
        "collective",
        "last enqueued",
        "lagging rank",
        "missing ranks",
        "_mismatch",
        "clients joined",
        "socket has timed out",
        "watchdog",
        "by peer",
        "by remote peer",
        "connection",
        "barrier",
        "store->get",
        "rendezvous",
        "c10d store",
        "broken pipe",
        "remote process exited",
        "net/ib",
        "application crash on rank 0",
        "timeout check failed",
        "connect to",
        "connecting to",
    ),
    scan,
)
