"""Logs of model servers: loads and unloads of Triton, engines that are built, new shapes, metrics of TorchServe.

A model that is loaded again after it had been loaded is a reload. An engine that is built after the server said that it
is ready is built while serving.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.averages import mean
from gpuwhy.kb.facts import SERVER, model
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number
from gpuwhy.probes.artefacts.serve_loads import Load, Loads

NAME = "serving-log"
HINTS = (
    "loading:", "loaded '", "unloaded '", "pinned memory pool", "cuda memory pool", "pinned system memory",
    "model_control_mode",
    "model-control-mode", "repository-poll-secs", "ts_metrics", "model_metrics", "queuetime", "predictiontime",
    "building engine", "engine build", "tensorrt engine", "recompil", "executing 1 requests", "gpu metrics will not",
    "waiting time ns", "exceeds maximum queue size", "_limit", "ts_queue_latency",
)  # fmt: skip

_N = rf"({NUMBER})"
_STAMP = re.compile(
    r"\b[IWEF][0-9]{4} ([0-9]{2}):([0-9]{2}):([0-9]{2}\.[0-9]{1,9})|"
    r"T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]{1,9})?)|"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2} ([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]{1,9})?)"
)
_LOADING = re.compile(r"\bloading: ([\w.\-/]{1,100}?):[0-9]{1,9}\b")
_LOADED = re.compile(r"\bsuccessfully loaded '([\w.\-/]{1,100})'")
_UNLOADED = re.compile(r"\bsuccessfully unloaded '([\w.\-/]{1,100})'")
_FAILED = re.compile(r"\bfailed to load '([\w.\-/]{1,100})'(?: version [0-9]{1,9})?: ([^\n\"]{3,160})")
_MODE = re.compile(r"\bmodel[_-]control[_-]mode\b[ |=\"':]{1,40}(?:MODE_)?(none|explicit|poll)\b", re.I)
_POLL = re.compile(rf"\brepository-poll-secs[= ]{_N}")
_POOL = re.compile(r"\bPinned memory pool is created at '[0-9a-fx]{1,20}' with size ([0-9]{1,15})")
_DEVICE_POOL = re.compile(r"\bCUDA memory pool is created on device ([0-9]{1,3}) with size ([0-9]{1,15})")
_NO_POOL = re.compile(r"\bUnable to allocate pinned system memory\b|\bpinned memory pool will not be available\b", re.I)
_NO_METRICS = re.compile(r"\bGPU metrics will not be available\b", re.I)
_READY = re.compile(
    r"\bStarted (?:GRPCInferenceService|HTTPService)|\bApplication startup complete\b|\bModel server "
    r"started\b|\bUvicorn running on\b|\bserver is (?:ready|fired up)\b",
    re.I,
)
_BUILD = re.compile(
    r"\b[Bb]uilding (?:a )?(?:new )?(?:TensorRT |TRT )?engine\b|\bengine build(?: for [^\n]{0,80}?)? took\b"
    r"|\b[Cc]ompiling (?:the )?(?:TensorRT |TRT )?engine\b|\bNo cached engine\b[^\n]{0,60}\bbuild"
)
_BUILD_TIME = re.compile(rf"\bengine build(?: for [^\n]{{0,80}}?)? took:?\s{{0,3}}{_N}\s{{0,2}}(ms|s|sec|seconds)\b")
_SHAPE = re.compile(
    r"\bRecompiling function\b|\b(?:cache_size|recompile)_limit\b|\bengine for \S{1,80} with input shapes\b"
    r"|\b(?:[Rr]ebuild|[Rr]ecompil)\w{0,5} (?:the )?(?:engine|graph|model|"
    r"kernel)?\b[^\n]{0,60}\b(?:shape|size|dimension)",
)
_EXECUTE = re.compile(r"\bexecuting ([0-9]{1,6}) requests\b")
_BEGIN = re.compile(r"\bBegin execution\b")
_RESPONSE = re.compile(r"\badd response output: output: (\S{1,80}), type: \S{1,12}, shape: (\[[0-9,]{1,60}\])")
_BUFFER = re.compile(r"\busing buffer for: '[^'\n]{1,80}', size: ([0-9]{1,15})")
_FULL = re.compile(r"\b[Ee]xceeds maximum queue size\b|\b(?:worker|job|request) queue (?:is )?full\b")
_TORCHSERVE = re.compile(
    rf"\b(QueueTime|PredictionTime|HandlerTime|WorkerThreadTime|WorkerLoadTime|(?:Pre|"
    rf"Post)[Pp]rocess\w{{0,6}}Time|InferenceTime)\.(ms|Milliseconds):{_N}"
)
_LATENCY = re.compile(rf"\bts_(queue|inference)_latency_microseconds\.Microseconds:{_N}")
_WAITED = re.compile(r"\bWaiting time ns: ([0-9]{1,15}), Backend time ns: ([0-9]{1,15})")
_TORCHSERVE_FACTS = {
    "QueueTime": "serve.queue_seconds",
    "PredictionTime": "serve.compute_infer_seconds",
    "HandlerTime": "serve.compute_infer_seconds",
    "WorkerThreadTime": "serve.worker_thread_seconds",
    "InferenceTime": "serve.compute_infer_seconds",
}


@dataclass
class _Life:
    """One model's loads: when loading began, times it was loaded and unloaded, and how long that took."""

    began: float | None = None
    loaded: int = 0
    unloaded: int = 0
    seconds: list[float] = field(default_factory=list)
    line: Line | None = None


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all that the logs of model servers say in a text."""
    walk = _Walk()
    for line in text.lines:
        if walk.read(line):
            walk.claimed.add(line.number)
    if walk.claimed:
        walk.finish()
        yield Extract(NAME, tuple(walk.loads.readings()), claimed=frozenset(walk.claimed))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("log ")
        self.claimed: set[int] = set()
        self.lives: dict[str, _Life] = {}
        self.times: dict[str, list[float]] = {}
        self.at: dict[str, Line] = {}
        self.ready = False
        self.executed: list[tuple[float, Line]] = []
        self.began: float | None = None
        self.answered: list[tuple[float, Line]] = []

    def read(self, line: Line) -> bool:
        text = line.text[:2000]
        if _READY.search(text):
            self.ready = True
            return True
        found = self._life(text, line) or self._server(text, line) or self._build(text, line)
        return self._verbose(text, line) or self._torchserve(text, line) or found

    def _life(self, text: str, line: Line) -> bool:
        for pattern in (_LOADING, _LOADED, _UNLOADED, _FAILED):
            found = pattern.search(text)
            if found is None:
                continue
            life = self.lives.setdefault(found[1], _Life())
            life.line = line
            now = _seconds(text)
            self.loads.say("serve.software", "triton", line, SERVER)
            if pattern is _LOADING:
                life.began = now
            elif pattern is _LOADED:
                life.loaded += 1
                if now is not None and life.began is not None and now >= life.began:
                    life.seconds.append(now - life.began)
                life.began = None
            elif pattern is _UNLOADED:
                life.unloaded += 1
            else:
                self.loads.say("serve.load_failed", True, line, model(found[1]))
                self.loads.say("serve.load_error", found[2].strip(), line, model(found[1]))
            return True
        return False

    def _server(self, text: str, line: Line) -> bool:
        if (mode := _MODE.search(text)) is not None:
            self.loads.say("serve.control_mode", mode[1].lower(), line, SERVER)
            return True
        if (poll := _POLL.search(text)) is not None:
            self.loads.say("serve.poll_seconds", parse_number(poll[1]), line, SERVER)
            return True
        if (pool := _POOL.search(text)) is not None:
            self.loads.say("serve.pinned_pool_bytes", float(pool[1]), line, SERVER)
            return True
        if (pool := _DEVICE_POOL.search(text)) is not None:
            self.loads.say("serve.device_pool_bytes", float(pool[2]), line, SERVER)
            self.loads.say("serve.device_pool_gpu_index", int(pool[1]), line, SERVER)
            return True
        for pattern, fact in ((_NO_POOL, "serve.pinned_pool_missing"), (_NO_METRICS, "serve.gpu_metrics_missing")):
            if pattern.search(text):
                self.loads.say(fact, True, line, SERVER)
                return True
        if _FULL.search(text):
            self.loads.say("serve.queue_overflowed", True, line)
            return True
        return False

    def _build(self, text: str, line: Line) -> bool:
        found = False
        if _BUILD.search(text):
            self.loads.say("serve.engine_built", True, line)
            if self.ready:
                self.loads.say("serve.engine_built_while_serving", True, line)
            if (took := _BUILD_TIME.search(text)) is not None:
                self.loads.say("serve.engine_build_seconds", parse_duration(f"{took[1]} {took[2]}"), line)
            found = True
        if _SHAPE.search(text):
            self.loads.say("serve.recompiled_for_shape", True, line)
            found = True
        return found

    def _verbose(self, text: str, line: Line) -> bool:
        now = _seconds(text)
        if (execute := _EXECUTE.search(text)) is not None:
            self._note("batch", float(execute[1]), line)
            if now is not None:
                self.executed.append((now, line))
            return True
        if _BEGIN.search(text):
            self.began = now
            return now is not None
        if _RESPONSE.search(text):
            if now is not None:
                self.answered.append((now, line))
            return True
        if (buffer := _BUFFER.search(text)) is not None:
            self._note("bytes", float(buffer[1]), line)
            return True
        return False

    def _note(self, name: str, value: float, line: Line) -> None:
        self.times.setdefault(name, []).append(value)
        self.at[name] = line

    def _torchserve(self, text: str, line: Line) -> bool:
        found = False
        for name, _, number in _TORCHSERVE.findall(text):
            self._timed(name, (parse_number(number) or 0.0) * 1e-3, line)
            found = True
        if (latency := _LATENCY.search(text)) is not None:
            name = "QueueTime" if latency[1] == "queue" else "PredictionTime"
            self._timed(name, (parse_number(latency[2]) or 0.0) * 1e-6, line)
            found = True
        if (waited := _WAITED.search(text)) is not None:
            self._timed("QueueTime", int(waited[1]) * 1e-9, line)
            self._timed("HandlerTime", int(waited[2]) * 1e-9, line)
            found = True
        return found

    def _timed(self, name: str, seconds: float, line: Line) -> None:
        self.loads.say("serve.software", "torchserve", line, SERVER)
        lowered = name.lower()
        kind = "serve.preprocess_seconds" if lowered.startswith("pre") and "process" in lowered else ""
        kind = "serve.postprocess_seconds" if lowered.startswith("postprocess") else kind
        self._note(kind or _TORCHSERVE_FACTS.get(name, ""), seconds, line)

    def finish(self) -> None:
        """Turns what was gathered into readings."""
        for name, life in self.lives.items():
            owner = model(name)
            self.loads.say("serve.load_count", life.loaded, life.line, owner)
            self.loads.say("serve.unload_count", life.unloaded, life.line, owner)
            self.loads.say("serve.reload_count", max(0, life.loaded - 1), life.line, owner)
            if life.seconds:
                self.loads.say("serve.load_seconds", max(life.seconds), life.line, owner)
        timed = {fact: numbers for fact, numbers in self.times.items() if fact.startswith("serve.")}
        if timed:
            self._summed(timed, self.loads.start("log"))
        if self.executed and self.answered:
            self._one_request()

    def _summed(self, timed: dict[str, list[float]], load: Load) -> None:
        for fact, numbers in timed.items():
            load.put(fact, mean(numbers), self.at[fact])
        queue = timed.get("serve.queue_seconds", [])
        if len(queue) > 1:
            load.put("serve.queue_min_seconds", min(queue), self.at["serve.queue_seconds"])
            load.put("serve.queue_max_seconds", max(queue), self.at["serve.queue_seconds"])
        infer = load.number("serve.compute_infer_seconds")
        if queue and infer is not None:
            load.put("serve.server_latency_seconds", mean(queue) + infer, self.at["serve.queue_seconds"])

    def _one_request(self) -> None:
        load = self.loads.start("verbose log")
        (start, line), (end, _) = self.executed[-1], self.answered[-1]
        load.put("serve.request_count", len(self.executed), line)
        if end >= start:
            load.put("serve.server_latency_seconds", end - start, line)
        if self.began is not None and start <= self.began <= end:
            load.put("serve.compute_infer_seconds", end - self.began, line)
        if "bytes" in self.times:
            load.put("serve.output_bytes", self.times["bytes"][-1], self.at["bytes"])


def _seconds(text: str) -> float | None:
    """Seconds since midnight of a line's time stamp."""
    found = _STAMP.search(text)
    if found is None:
        return None
    hours, minutes, seconds = (group for group in found.groups() if group is not None)
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))


FORMAT = TextFormat(NAME, "Logs of Triton and TorchServe, builds of engines", HINTS, scan)
