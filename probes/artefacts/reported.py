"""What people report in their own words: symptoms that no log line or table shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from gpuwhy.kb.facts import JOB, Value
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.flow import Flow
from gpuwhy.probes.artefacts.quantities import parse_number
from gpuwhy.probes.artefacts.reported_chinese import REPORTS as CHINESE
from gpuwhy.probes.artefacts.reported_machines import REPORTS as MACHINES
from gpuwhy.probes.artefacts.reported_sentences import NEAR, Report, observed, sentence_of, speaks
from gpuwhy.probes.artefacts.reported_wordings import REPORTS

NAME = "reported-symptoms"
HINTS = (
    "busbw", "bus bandwidth",
    "load", "first", "initial", "wait", "data", "util", "memory", "vram", "epoch", "step", "iteration", "gpu",
    "nccl_p2p", "acs", "iommu", "hang", "stuck", "freez", "power cap", "power_cap", "mhz", "ram", "synchroni",
    "communicat", "allreduce", "all-reduce", "aggregation", "nccl", ".item(", ".cpu(", "exchange", "throttl", "hot",
    "overheat", "warm", "hung", "deadlock", "servers", "instances", "processes", "bf16", "fp8", "bfloat16", "float8",
    "slow", "train", "latenc", "p9", "inference", "response",
    "prompt", "ollama", "llm", "zero", "deepspeed", "fsdp", "offload", "node", "machines",
    "训练", "推理", "显存", "显卡", "掉卡", "驱动", "内存", "延迟", "卡住", "多卡",
)  # fmt: skip
_MEANS: dict[str, tuple[str, Value]] = {
    "said.memory_failure": ("job.memory_failure", True),
    "said.fails_later": ("job.fails_at_start", False),
    "said.offloads": ("job.offload", True),
    "said.full_precision": ("job.mixed_precision", False),
    "said.second_epoch_faster": ("job.second_epoch_faster", True),
}
"""Reports that are the answer to a question the vocabulary already asks."""
_FIGURES = {
    "clock": "said.clock_megahertz", "most": "said.clock_max_megahertz", "speedup": "said.synthetic_speedup_ratio",
}  # fmt: skip
"""Named groups that hold a number, and the facts that they give."""
_LONGEST = 100_000
"""Characters looked at; reports are written by people."""
_MOST = 8
"""Matches of one pattern that are weighed."""
_NODES = later(
    r"(?:\b(?:multi[- ]?nodes?[^\n.]{0,20}?|on|across|with|between|using|over|submitted an?|have)[ (]{1,2}|"
    r"(?:^|[,(:;])[ (]{0,2})"
    r"(?P<count>[2-9]|[1-9][0-9]{1,3}|two|three|four|eight)[- ](?:\w{1,10} )?(?:nodes?|machines|servers|hosts)\b",
    re.IGNORECASE | re.MULTILINE,
)
_BUS = later(
    r"(?<!expected )(?<!theoretical )(?<!ideal )"
    r"\b(?:average|avg\.?|mean) (?:bus ?bandwidth|bus ?bw)\b[^\n.:]{0,20}?(?:is|was|of|at|:|=) (?:only |about |"
    r"around |~ ?){0,2}"
    r"(?P<rate>[0-9]{1,5}(?:\.[0-9]{1,4})?) ?(?P<unit>GB/s|Gb/s|Gbps|GBps)",
    re.IGNORECASE,
)
_COLLECTIVE = later(r"\bnccl|\ball[-_ ]?(?:reduce|gather|to[-_ ]?all)|\breduce[-_]?scatter|\bbusbw\b")
_BUS_OF_LARGE = (
    later(
        r"(?<!memory )(?<!avg )(?<!average )(?<!mean )(?<!expected )(?<!theoretical )(?<!ideal )"
        r"\bbus ?(?:bandwidth|bw)\b(?: (?:of|in|for|with|on) (?:the )?(?:\w{1,16} ){1,3}?)?"
        r"[^\n.:0-9]{0,24}?(?:is|was|of|at|only|reaches|:|=) "
        r"(?:still |only |just |about |around |~ ?){0,2}"
        r"(?P<rate>[0-9]{1,4}(?:\.[0-9]{1,4})?) ?(?P<unit>GB/s|Gb/s|Gbps|GBps)",
        re.IGNORECASE,
    ),
    later(
        r"\b(?:all_?reduce|all_?gather|reduce_?scatter|alltoall|nccl[-_ ]tests?|sendrecv|broadcast)(?:_perf)?\b"
        r"(?:(?!expect|should|theor|ideal)[^\n.;0-9]){0,60}?(?P<rate>[0-9]{1,4}(?:\.[0-9]{1,4})?) ?(?P<unit>GB/s|Gb/s|"
        r"Gbps|GBps)(?: of)? bus ?(?:bandwidth|bw)\b",
        re.IGNORECASE,
    ),
    later(
        r"(?<!理论)(?<!期望)(?:busbw|总线带宽)(?:(?!应|理论|期望)[^\n。0-9A-Za-z]){0,8}[\u4e00-\u9fff] ?"
        r"(?P<rate>[0-9]{1,4}(?:\.[0-9]{1,4})?) ?(?P<unit>GB/s|Gb/s|Gbps|GBps)",
        re.IGNORECASE,
    ),
)
_CHINESE = later(r"[\u4e00-\u9fff]")
_WORDS = {"two": 2, "three": 3, "four": 4, "eight": 8}


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all symptoms reported in a text, each quoted where it stands first."""
    flow = Flow.of(text.lines)
    whole = flow.text[:_LONGEST]
    lowered = whole.lower()
    readings: dict[str, Reading] = {}
    claimed: set[int] = set()
    for report in (
        (*REPORTS, *MACHINES, *CHINESE) if not whole.isascii() and _CHINESE.search(whole) else (*REPORTS, *MACHINES)
    ):
        found = _first(report, whole, lowered)
        if found is None:
            continue
        for fact, value in _facts(report, found, sentence_of(whole, found)):
            readings.setdefault(fact, Reading(fact, value, flow.number(found.start()), sentence_of(whole, found), JOB))
        claimed |= flow.numbers(found.start(), found.end())
    if "bus" in lowered and (pace := _told(_BUS, whole, lowered)):
        rate = float(pace["rate"]) * (1e9 if pace["unit"].startswith("GB") else 1.25e8)
        number = flow.number(pace.start())
        fact = "comm.bus_bandwidth_average_bytes_per_second"
        readings[fact] = Reading(fact, rate, number, sentence_of(whole, pace), JOB)
    if "bus" in lowered and (large := _bus_of_large(whole, lowered)) is not None:
        fact = "comm.bus_bandwidth_bytes_per_second"
        rate = float(large["rate"]) * (1e9 if large["unit"].startswith("GB") else 1.25e8)
        number = flow.number(large.start())
        readings[fact] = Reading(fact, rate, number, sentence_of(whole, large), JOB, said=True)
    if "nccl" in lowered and (nodes := _told(_NODES, whole, lowered)):
        count = _WORDS.get(nodes["count"].lower()) or int(nodes["count"])
        number = flow.number(nodes.start())
        readings["comm.node_count"] = Reading("comm.node_count", count, number, sentence_of(whole, nodes), JOB)
    if readings:
        yield Extract(NAME, tuple(readings.values()), claimed=frozenset(claimed))


def _bus_of_large(whole: str, lowered: str) -> re.Match[str] | None:
    """The bus bandwidth that a text states; none where it states several that differ."""
    if not _COLLECTIVE.search(lowered):
        return None
    told = [
        found
        for pattern in _BUS_OF_LARGE
        for found in islice(pattern.finditer(whole), _MOST)
        if observed(found, lowered, negative=False)
    ]
    return told[0] if len({found["rate"] for found in told}) == 1 else None


def _first(report: Report, whole: str, lowered: str) -> re.Match[str] | None:
    """The most telling match of a report that is an observation."""
    if not speaks(report.about, lowered):
        return None
    told = [
        found
        for pattern in report.patterns
        for found in islice(pattern.finditer(whole, lowered), _MOST)
        if observed(found, lowered, report.negative, report.unless) and _near(report, found, lowered)
    ]
    return min(told, key=_order, default=None)


def _told(pattern: re.Pattern[str], whole: str, lowered: str) -> re.Match[str] | None:
    return next((one for one in islice(pattern.finditer(whole), _MOST) if observed(one, lowered, True)), None)


def _near(report: Report, found: re.Match[str], lowered: str) -> bool:
    around = lowered[max(0, found.start() - NEAR) : found.end() + NEAR]
    return not report.near or re.search(report.near, around) is not None


def _order(found: re.Match[str]) -> tuple[int, int]:
    """Those that give most figures first, then those that stand first."""
    return -sum(1 for printed in found.groups() if printed), found.start()


def _facts(report: Report, found: re.Match[str], quoted: str) -> Iterator[tuple[str, Value]]:
    fact, value = _MEANS.get(report.fact, (report.fact, quoted))
    yield fact, value
    for group, share in report.shares.items():
        printed = found.groupdict().get(group)
        if printed and int(printed) <= 100:
            yield share, int(printed) / 100
    for group, figure in _FIGURES.items():
        number = parse_number(found.groupdict().get(group) or "")
        if number is not None:
            yield figure, number


FORMAT = TextFormat(NAME, "Symptoms that people report", HINTS, scan)
