"""What DCGM says of GPUs: the tables of its diagnosis and health watch, their JSON, and the same words in a log.

Wordings: https://github.com/NVIDIA/DCGM/blob/master/dcgmlib/dcgm_errors.h . A table breaks them over its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gpuwhy.kb.facts import Entity, Value, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat

NAME = "dcgm-messages"

_CELLS = re.compile(r"^\W{0,4}\|\s(?P<left>[^|\n]{0,40})\|\s?(?P<right>[^|\n]{0,120})\|?\s*$")
_LISTED = re.compile(r"^(?P<verdict>Pass|Fail|Warn|Skip)\s?-\s?GPUs?:\s(?P<gpus>\d[\d,\s]{0,200})")
_OWNER = re.compile(r"\bGPU\s?(?P<index>\d{1,3})\b")
_JSON_GPU = re.compile(r'"(?:gpu_ids?|entity_id)"\s?:\s?"?(?P<index>\d{1,3})\b')
_JSON_TEXT = re.compile(r'"(?:warning|warnings|info|message)"\s?:\s?\[?\s?"(?P<text>[^"\n]{4,600})"')

Number = Callable[[re.Match[str]], Value]


@dataclass(frozen=True)
class _Wording:
    """A sentence of DCGM, and the fact that it states of the GPU that it names."""

    pattern: re.Pattern[str]
    fact: str
    value: Number


def _float(group: str, factor: float = 1.0) -> Number:
    return lambda found: float(found[group]) * factor


def _says(pattern: str, fact: str, value: Number) -> _Wording:
    return _Wording(re.compile(pattern, re.IGNORECASE), fact, value)


def _true(_: re.Match[str]) -> Value:
    return True


_WORDINGS = (
    _says(
        r"thermal violations totall?ing (?P<n>\d{1,6}(?:\.\d{1,3})?) ?seconds?",
        "gpu.thermal_violation_seconds",
        _float("n"),
    ),
    _says(
        r"violations totall?ing [\d.]{1,9} ?seconds? started at (?P<n>\d{1,6}(?:\.\d{1,3})?) seconds",
        "gpu.dcgm_violation_start_seconds",
        _float("n"),
    ),
    _says(r"(?P<n>\d{1,9}) pcie replays? per minute", "gpu.link_replays_per_second", _float("n", 1 / 60)),
    _says(r"(?P<n>\d{1,9}) pcie replays? per minute", "gpu.link_replays", lambda found: int(found["n"])),
    _says(r"row remapping failed|row remap failure", "gpu.remap_failed", _true),
    _says(r"pending row remap|row remapping(?:s)? (?:is|are) pending|row remap pending", "gpu.remap_pending", _true),
    _says(r"page retirements? pending|pending page retirement", "gpu.retired_pages_pending", _true),
    _says(
        r"(?P<n>\d{1,9}) (?:new )?(?:volatile )?(?:DBE|double[- ]bit|uncorrectable)[^\n]{0,24} ECC errors?",
        "gpu.ecc_uncorrected_count",
        lambda found: int(found["n"]),
    ),
    _says(r"(?P<n>\d{1,9}) [a-z ]{0,24}nvlink errors?", "gpu.nvlink_replays", lambda found: int(found["n"])),
    _says(
        r"nvlink link (?P<n>\d{1,3}) is (?:currently )?down", "gpu.nvlink_inactive_first", lambda found: int(found["n"])
    ),
    _says(r"\bGPU \d{1,3} (?:is lost|has fallen off the bus)|detected that the gpu is lost", "gpu.lost", _true),
    _says(r"corrupt(?:ed)? inforom|inforom is corrupt", "gpu.inforom_corrupted", _true),
)
_HINTS = (
    "violations total", "pcie replay", "fail - gpu", "pass - gpu", "overall health", "health monitor report",
    "row remap", "page retirement", "nvlink error", "nvlink link", "\"test_categories\"", "dcgm",
)  # fmt: skip


@dataclass
class _Row:
    """A running sentence, the lines it stands on, and the GPU that the rows before name.

    `full`: its last row is filled to the width of the table, so that the next goes on within a word.
    """

    text: str
    lines: list[Line]
    owner: int | None
    test: str
    full: bool = False


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all that DCGM says in a text."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    for row in _rows(text):
        found = list(_of(row))
        if found:
            readings += found
            claimed.update(line.number for line in row.lines)
    if readings:
        yield Extract(NAME, tuple(dict.fromkeys(readings)), claimed=frozenset(claimed))


def _rows(text: Text) -> Iterator[_Row]:
    """Sentences, put together again from the rows of a table; other lines as they stand."""
    row = _Row("", [], None, "")
    for line in text.lines:
        cells = _CELLS.match(line.text)
        if cells is None:
            yield from _flushed(row)
            row = _Row("", [], _json_owner(line.text, row.owner), row.test)
            yield _Row(line.text, [line], row.owner, row.test)
            continue
        left, right = cells["left"].strip(), cells["right"]
        if left or right.lstrip().startswith("->") or _LISTED.match(right.strip()):
            yield from _flushed(row)
            listed = _LISTED.match(right.strip())
            failed = listed["gpus"] if listed and listed["verdict"] == "Fail" else None
            owner = _index(failed) if failed else _section_owner(left, row.owner)
            test = left if left and left not in ("Warning", "Info", "Error") else row.test
            row = _Row(right.strip(), [line], owner, test, full=not right.endswith("   "))
        else:
            row.text += right.strip() if row.full and not right.startswith(" ") else f" {right.strip()}"
            row.full = not right.endswith("   ")
            row.lines.append(line)
    yield from _flushed(row)


def _flushed(row: _Row) -> Iterator[_Row]:
    if row.text:
        yield row


def _index(listed: str) -> int | None:
    numbers = re.findall(r"\d{1,3}", listed)
    return int(numbers[0]) if len(numbers) == 1 else None


def _section_owner(left: str, before: int | None) -> int | None:
    """`-> 2` or `GPU 2` on the left names the GPU of the rows that follow."""
    named = re.fullmatch(r"(?:->|GPU:?)\s?(\d{1,3})", left)
    return int(named[1]) if named else before


def _json_owner(text: str, before: int | None) -> int | None:
    found = _JSON_GPU.search(text)
    return int(found["index"]) if found else before


def _of(row: _Row) -> Iterator[Reading]:
    first = row.lines[0]
    listed = _LISTED.match(row.text)
    if listed:
        yield from _verdict(listed, first, row)
        return
    inner = _JSON_TEXT.search(row.text)
    said = inner["text"] if inner else row.text
    for wording in _WORDINGS:
        found = wording.pattern.search(said)
        if found:
            device = _device(said, row.owner)
            shown = " ".join(said.split())[:200]
            yield Reading(wording.fact, wording.value(found), first.number, shown, device)
            yield Reading("gpu.dcgm_message", shown, first.number, shown, device)


def _verdict(listed: re.Match[str], line: Line, row: _Row) -> Iterator[Reading]:
    numbers = [int(one) for one in re.findall(r"\d{1,3}", listed["gpus"])]
    if listed["verdict"] == "Pass":
        yield Reading("host.dcgm_passed_gpu_count", len(numbers), line.number, line.text.strip()[:200])
    elif listed["verdict"] == "Fail":
        yield Reading("host.dcgm_failed_gpu_count", len(numbers), line.number, line.text.strip()[:200])
        yield Reading("host.dcgm_failed_gpu_index", numbers[0], line.number, line.text.strip()[:200])
        for index in numbers:
            yield Reading(
                "gpu.dcgm_failed_test", row.test or "a test", line.number, line.text.strip()[:200], gpu(index)
            )


def _device(said: str, owner: int | None) -> Entity:
    named = _OWNER.search(said)
    return gpu(int(named["index"]) if named else owner or 0)


FORMAT = TextFormat(NAME, "DCGM diagnosis and health", _HINTS, scan)
