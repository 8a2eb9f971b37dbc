"""The log of Triton Inference Server: what was loaded and unloaded when, how the server was started, what it lacks.

Record layouts: https://github.com/triton-inference-server/common (src/logging.cc), for example
`I0904 21:21:23.976213 1 file.cc:461] …` or `2024-05-20T12:00:01Z I 1 file.cc:10] …`; since 24.06 the message is a JSON
string. Tables follow a record as raw lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import SERVER, Value, model
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.triton_log_requests import Requests

_RECORD = re.compile(
    r"(?:([IWEF])([01][0-9])([0-3][0-9]) ([0-2][0-9]):([0-5][0-9]):([0-5][0-9]\.[0-9]{1,9}) {1,4}[0-9]{1,10} "
    r"|([0-9]{4})-([01][0-9])-([0-3][0-9])T([0-2][0-9]):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,9})?)Z ([IWEF]) "
    r"[0-9]{1,10} )"
    r"([A-Za-z0-9_./-]{1,120}\.(?:cc|h|cpp)):[0-9]{1,6}\] ?([^\n]{0,8000})"
)
_LOADING = re.compile(r"loading: ([^\s:]{1,200}):(-?[0-9]{1,10})\s*\Z")
_LOADED = re.compile(r"successfully loaded '([^']{1,200})'")
_UNLOADED = re.compile(r"successfully unloaded '([^']{1,200})'")
_FAILED = re.compile(r"failed to load '([^']{1,200})'(?: version [0-9]{1,10}: ([^\n]{1,400}))?")
_STARTS = "inned memory pool"
"""What a server says of its pool, whether it got one or not, before it loads any model."""
_PINNED = re.compile(r"Pinned memory pool is created at '[^']{1,40}' with size ([0-9]{1,15})")
_OPTION = re.compile(
    r"\|\s?(server_version|model_control_mode|rate_limit|cache_enabled|pinned_memory_pool_byte_size)\s{1,80}\|\s?(\S{1,60})\s"
)
_MODES = {"MODE_NONE": "none", "MODE_EXPLICIT": "explicit", "MODE_POLL": "poll"}
_ROW = re.compile(r"[+|][-=+| ]|\| ")
_DAY = 86_400.0
_GPU_METRICS = ("DCGM unable to start", "GPU metrics will not be available", "error initializing DCGM")


@dataclass
class Lifecycle:
    """Loads and unloads of models, in the order of the log. `ready` are models that are served."""

    ready: set[str] = field(default_factory=set)
    loading: dict[str, float] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    places: dict[tuple[str, str], Line] = field(default_factory=dict)

    def note(self, message: str, at: float, line: Line) -> bool:
        """Takes a record in; True if it was about the life of a model."""
        if _STARTS in message:  # models that this server loads are loaded for the first time
            self.ready.clear()
            self.loading.clear()
        for pattern, what in ((_LOADING, "start"), (_LOADED, "load"), (_UNLOADED, "unload"), (_FAILED, "fail")):
            found = pattern.match(message)
            if found:
                self._take(what, found.group(1), found, at, line)
                return True
        return False

    def _take(self, what: str, name: str, found: re.Match[str], at: float, line: Line) -> None:
        if what == "start":
            self.loading[name] = at
            if name in self.ready:
                self._count("reload", name, line)
            return
        self._count(what, name, line)
        if what == "load":
            began = self.loading.pop(name, None)
            if began is not None:
                self.seconds[name] = (at - began) % _DAY
            self.ready.add(name)
        elif what == "fail" and found.group(2):
            self.errors[name] = found.group(2)

    def _count(self, what: str, name: str, line: Line) -> None:
        self.counts[what, name] = self.counts.get((what, name), 0) + 1
        self.places[what, name] = line

    def readings(self) -> Iterator[Reading]:
        """Counts and times of every model that the log tells of."""
        for (what, name), count in self.counts.items():
            line = self.places[what, name]
            where = (line.number, line.text.strip()[:300])
            of = model(name)
            if what == "fail":
                yield Reading("serve.load_failed", True, *where, of)
                continue
            yield Reading(f"serve.{what}_count", count, *where, of)
            if what == "load" and ("reload", name) not in self.counts:
                yield Reading("serve.reload_count", 0, *where, of)
            if what == "load" and name in self.seconds:
                yield Reading("serve.load_seconds", self.seconds[name], *where, of)
        for name, error in self.errors.items():
            yield Reading("serve.load_error", error[:400], entity=model(name))


@dataclass(frozen=True)
class Record:
    """One record: its time in seconds (within the year, or since the epoch's days), and its message, unquoted."""

    at: float
    message: str
    line: Line


def record(line: Line) -> Record | None:
    """The record that a line holds, whatever stands before it; None if it holds none."""
    found = _RECORD.search(line.text)
    if found is None:
        return None
    part = found.groups()
    day, hour, minute, second = part[2:6] if part[0] else part[8:12]
    month = part[1] if part[0] else part[7]
    at = (int(month) * 31 + int(day)) * _DAY + int(hour) * 3600 + int(minute) * 60 + float(second)
    return Record(at, _unquoted(part[14]), line)


def _unquoted(message: str) -> str:
    text = message.strip()
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    return text


def scan_lines(lines: Iterable[Line], lifecycle: Lifecycle) -> tuple[list[Reading], set[int]]:
    """Facts of these lines, given what was known before them, and the numbers of the lines that were understood."""
    requests = Requests()
    facts: dict[str, tuple[Value, Line]] = {}
    claimed: set[int] = set()
    in_table = False
    for line in lines:
        one = record(line)
        if one is None:
            in_table = in_table and bool(_ROW.match(line.text.strip()))
            if in_table or _OPTION.search(line.text):
                claimed.add(line.number)
                _option(line, facts)
            continue
        claimed.add(line.number)
        in_table = not one.message
        if not lifecycle.note(one.message, one.at, line):
            _server(one, facts)
            requests.note(one.message, one.at, line)
    readings = [
        Reading(fact, value, line.number, line.text.strip()[:300], SERVER) for fact, (value, line) in facts.items()
    ]
    return [*readings, *lifecycle.readings(), *requests.readings()], claimed


def _option(line: Line, facts: dict[str, tuple[Value, Line]]) -> None:
    """One row of the table of options that the server prints at its start."""
    found = _OPTION.search(line.text + " ")
    if not found:
        return
    name, value = found.groups()
    if name == "server_version":
        facts["serve.software_version"] = (value[:40], line)
    elif name == "model_control_mode" and value in _MODES:
        facts["serve.control_mode"] = (_MODES[value], line)
    elif name == "rate_limit":
        facts["serve.rate_limit"] = (value.lower(), line)
    elif name == "cache_enabled":
        facts["serve.cache_configured"] = (value == "1", line)


def _server(one: Record, facts: dict[str, tuple[Value, Line]]) -> None:
    pool = _PINNED.search(one.message)
    if pool:
        facts["serve.pinned_pool_bytes"] = (int(pool.group(1)), one.line)
    if "pinned memory pool will not be available" in one.message:
        facts["serve.pinned_pool_missing"] = (True, one.line)
    if any(words in one.message for words in _GPU_METRICS):
        facts["serve.gpu_metrics_missing"] = (True, one.line)


def _scan(text: Text) -> Iterable[Extract]:
    readings, claimed = scan_lines(text.lines, Lifecycle())
    own = [line for line in text.lines if line.number in claimed]
    if not readings and not any("server.cc" in line.text or "tritonserver" in line.text for line in own):
        return
    first = Reading("serve.software", "triton", min(claimed), None, SERVER)
    yield Extract(FORMAT.name, (first, *readings), (), frozenset(claimed))


FORMAT = TextFormat(
    "triton-log",
    "Log of Triton Inference Server",
    ("model_lifecycle", "successfully loaded '", "successfully unloaded '", "failed to load '", "model_control_mode",
     "tritonserver.cc", "infer_request.cc", "pinned memory pool", "model_repository_manager", "dcgm"),
    _scan,
)  # fmt: skip
