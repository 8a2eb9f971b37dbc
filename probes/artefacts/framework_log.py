"""Logs of TensorFlow Serving (loads, warm-up) and of Ray Serve (one line for each request, at proxy and replica)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.facts import SERVER, model
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.gauges import quantile
from gpuwhy.probes.artefacts.serve_loads import Loads

NAME = "serving-framework-log"
HINTS = ("servable version {", "savedmodel load for tags", "no warmup data file", "replica.py:", "proxy.py:")
MOST_REQUESTS = 100_000

_SERVABLE = re.compile(
    r"\b(?P<what>Loading|Successfully loaded|Unloading|Done unloading) servable version "
    r"\{name: (?P<name>[\w.\-/]{1,100}) version: \d{1,12}\}"
)
_TOOK = re.compile(
    r"\bSavedModel load for tags \{[^}\n]{0,80}\}; Status: success[^\n]{0,40}\bTook (?P<micro>\d{1,15}) microseconds"
)
_PATH = re.compile(r"\bNo warmup data file found at (?P<path>\S{1,300})|\bfrom: (?P<from>\S{1,300})")
_NO_WARMUP = re.compile(r"\bNo warmup data file found\b")
_WARMED = re.compile(r"\bFinished reading warmup data\b|\bWarming up model\b")
_REQUEST = re.compile(
    r"\b(?P<place>(?:http_|grpc_)?proxy|replica)\.py:\d{1,6}\s(?:-|--)\s[^\n]{0,300}?"
    r"\b(?P<status>OK|ERROR|[1-5]\d\d)\s(?P<ms>\d{1,9}(?:\.\d{1,6})?)ms\s*\Z"
)
_DEPLOYMENT = re.compile(
    r"\b(?:INFO|ERROR|WARNING) [\d\-]{10} [\d:,.]{8,15} (?P<name>[A-Za-z_][\w.\-]{0,80}?) [a-z0-9]{6,10}\s"
)
_FAILED = re.compile(r"ERROR|[45]\d\d")


def scan(text: Text) -> Iterator[Extract]:
    """One extract of what the logs of both servers say in a text."""
    walk = _Walk()
    for line in text.lines:
        walk.take(line)
    walk.finish()
    if walk.claimed:
        yield Extract(NAME, tuple(walk.loads.readings()), claimed=frozenset(walk.claimed))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("log ")
        self.claimed: set[int] = set()
        self._loaded: dict[str, int] = {}
        self._requests: dict[tuple[str, str], list[tuple[float, bool, Line]]] = {}

    def take(self, line: Line) -> None:
        """Reads one line."""
        text = line.text[:1000]
        if "servable version {" in text or "SavedModel load" in text or "warmup data" in text or "Warming up" in text:
            self._tensorflow(text, line)
        elif "ms" in text and (found := _REQUEST.search(text)):
            self.claimed.add(line.number)
            named = _DEPLOYMENT.search(text)
            where = "replica" if found["place"] == "replica" else "proxy"
            kept = self._requests.setdefault((where, named["name"] if named and where == "replica" else ""), [])
            if len(kept) < MOST_REQUESTS:
                kept.append((float(found["ms"]) / 1000.0, bool(_FAILED.fullmatch(found["status"])), line))

    def _tensorflow(self, text: str, line: Line) -> None:
        if found := _SERVABLE.search(text):
            self.claimed.add(line.number)
            if found["what"] == "Successfully loaded":
                self._loaded[found["name"]] = self._loaded.get(found["name"], 0) + 1
                self.loads.say("serve.load_count", None, line, model(found["name"]))
            self.loads.say("serve.software", "tensorflow-serving", line, SERVER)
        elif took := _TOOK.search(text):
            self._say("serve.load_seconds", int(took["micro"]) / 1e6, text, line)
        elif _NO_WARMUP.search(text):
            self._say("serve.warmup_configured", False, text, line)
        elif _WARMED.search(text):
            self._say("serve.warmup_configured", True, text, line)

    def _say(self, fact: str, value: float | bool, text: str, line: Line) -> None:
        """About the model whose folder the line names: `/models/NAME/VERSION/…`; else about the only one."""
        self.claimed.add(line.number)
        path = _PATH.search(text)
        parts = ((path["path"] or path["from"] or "") if path else "").split("/")
        numbers = [index for index, part in enumerate(parts) if part.isascii() and part.isdigit() and index]
        self.loads.say(fact, value, line, model(parts[numbers[-1] - 1]) if numbers else None)
        self.loads.say("serve.software", "tensorflow-serving", line, SERVER)

    def finish(self) -> None:
        """Counts and latencies."""
        for name, count in self._loaded.items():
            self.loads.about[model(name), "serve.load_count"] = (count, None)
            self.loads.about[model(name), "serve.reload_count"] = (count - 1, None)
        deployments = {name for where, name in self._requests if where == "replica"}
        for (where, name), requests in self._requests.items():
            self._latencies(where, name or (next(iter(deployments)) if len(deployments) == 1 else ""), requests)

    def _latencies(self, where: str, name: str, requests: list[tuple[float, bool, Line]]) -> None:
        load = self.loads.start("log", model(name) if name else None)
        times = sorted(seconds for seconds, _, _ in requests)
        last = requests[-1][2]
        self.loads.say("serve.software", "ray-serve", last, SERVER)
        if where == "replica":
            load.put("serve.compute_infer_seconds", mean(times), last)
            return
        load.put("serve.request_count", len(times), last)
        load.put("serve.failed_count", sum(failed for _, failed, _ in requests), last)
        load.put("serve.server_latency_seconds", mean(times), last)
        load.put("serve.server_latency_p50_seconds", median(times), last)
        load.put("serve.server_latency_p99_seconds", quantile(times, 0.99), last)


FORMAT = TextFormat(NAME, "Logs of TensorFlow Serving and Ray Serve", HINTS, scan)
