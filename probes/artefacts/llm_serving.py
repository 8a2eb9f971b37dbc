"""What servers of language models log: intervals of vLLM and SGLang, requests of TGI, timings of llama.cpp, settings.

Logged intervals are folded: the middle one counts, the extremes stand beside it, and intervals in which nothing ran are
left out. A middle interval with requests waiting means that some waited most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.facts import JOB, SERVER, Entity, Value
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number
from gpuwhy.probes.artefacts.serve_loads import Load, Loads, reading

NAME = "llm-serving"
HINTS = (
    "avg generation throughput",
    "#running-req",
    "queue_time=",
    "eval time =",
    "preempt",
    "max_num_seqs",
    "max-num-seqs",
    "n_slots",
    "n_parallel",
    "max_running_requests",
    "graph capturing finished",
    "torch.compile takes",
    "init engine",
    "num_requests_",
    "num_running_reqs",
    "num_queue_reqs",
    "requests_processing",
    "requests_deferred",
    "tgi_batch_current_size",
    "tgi_queue_size",
    "cache_usage_perc",
)

_N = rf"({NUMBER})"
_VLLM = re.compile(
    rf"Avg prompt throughput: {_N} tokens/s, Avg generation throughput: {_N}(?: tokens/s)?, Running: {_N} reqs"
    rf"(?:, Swapped: {_N} reqs)?(?:, (?:Waiting|Pending): {_N} reqs)?(?:, (?:GPU )?KV cache usage: {_N}%)?"
    rf"(?:, CPU KV cache usage: {NUMBER}%)?(?:, Prefix cache hit rate: (?:GPU: )?{_N}%)?"
)
_VLLM_FACTS = ("input_tokens_per_second", "output_tokens_per_second", "running_count", "swapped_count", "waiting_count",
               "kv_cache_used_share", "prefix_cache_hit_share")  # fmt: skip
_SGLANG = re.compile(r"\b(Decode|Prefill) batch[.,]")
_SGLANG_PAIRS = re.compile(
    rf"(#[\w -]{{2,24}}|token usage|gen throughput \(token/s\)|input throughput \(token/s\)): {_N}"
)
_SGLANG_FACTS = {
    "#running-req": "running_count",
    "#queue-req": "waiting_count",
    "token usage": "kv_cache_used_share",
    "gen throughput (token/s)": "output_tokens_per_second",
    "input throughput (token/s)": "input_tokens_per_second",
}
_TGI = re.compile(
    r"\b(total_time|validation_time|queue_time|inference_time|time_per_token)=\"?([0-9.]{1,20} ?(?:ns|"
    r"us|µs|ms|s|m))\"?"
)
_TGI_FACTS = {
    "total_time": "serve.server_latency_seconds",
    "queue_time": "serve.queue_seconds",
    "inference_time": "serve.compute_infer_seconds",
    "time_per_token": "serve.tpot_mean_seconds",
}
_LLAMA = re.compile(
    rf"\b(prompt eval|eval|load|total|"
    rf"sample) time\s{{0,4}}=\s{{0,12}}{_N} ms(?:\s{{0,4}}/\s{{0,8}}{_N} (?:tokens|runs))?"
    rf"(?:[^\n]{{0,60}}?,\s{{0,8}}{_N} tokens per second)?"
)
_LLAMA_FACTS = {
    "prompt eval": ("prefill_seconds", "input_tokens", "prefill_tokens_per_second"),
    "eval": ("decode_seconds", "output_tokens", "decode_tokens_per_second"),
    "total": ("latency_mean_seconds", "", ""),
}
_SLOTS = re.compile(
    r"\b(?:max[_-]num[_-]seqs|max[_-]running[_-]requests|n_slots|n_parallel)[\"']?\s{0,3}[=: ]\s{0,3}([0-9]{1,6})\b"
)
_EAGER = re.compile(r"\benforce[_-]eager[\"']?\s{0,2}[=:]\s{0,2}(True|False)\b", re.I)
_GAUGES = re.compile(
    rf"\b(?:vllm|sglang|llamacpp|tgi)?[:_]?(num_requests_running|num_requests_waiting|num_running_reqs|num_queue_reqs|"
    rf"requests_processing|requests_deferred|batch_current_size|queue_size|gpu_cache_usage_perc|kv_cache_usage_perc|"
    rf"token_usage)(?:\{{[^}}\n]{{0,300}}\}})?[ =:]{{1,4}}{_N}(?![\w%])"
)
_GAUGE_FACTS = {
    "num_requests_running": "running_count",
    "num_running_reqs": "running_count",
    "requests_processing": "running_count",
    "batch_current_size": "running_count",
    "num_requests_waiting": "waiting_count",
    "num_queue_reqs": "waiting_count",
    "requests_deferred": "waiting_count",
    "queue_size": "waiting_count",
    "gpu_cache_usage_perc": "kv_cache_used_share",
    "kv_cache_usage_perc": "kv_cache_used_share",
    "token_usage": "kv_cache_used_share",
}
_PREEMPTED = re.compile(r"\btotal(?:_cumulative|_num_cumulative)?_preemption(?:_cnt|s)?=([0-9]{1,9})\b")
_PREEMPTION = re.compile(r"\b(?:is|was) preempted by PreemptionMode|\bpreempted\b[^\n]{0,80}\bKV cache")
_BUILD = re.compile(
    rf"\b(?:torch\.compile takes|Graph capturing finished in|Capture cuda graph end\. Time elapsed:|"
    rf"Compiling the (?:model|engine) took)\s{{0,2}}{_N}\s{{0,2}}(s|secs?|seconds)\b"
)
_SOFTWARE = {"vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "llama": "llama-cpp"}
FEW_INTERVALS = 8


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all that language-model servers say in a text."""
    walk = _Walk()
    for line in text.lines:
        if walk.read(line):
            walk.claimed.add(line.number)
    if walk.claimed:
        yield Extract(NAME, tuple(walk.readings()), claimed=frozenset(walk.claimed))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("log ")
        self.claimed: set[int] = set()
        self.intervals: list[tuple[dict[str, float], Line]] = []
        self.requests: dict[str, list[float]] = {}
        self.last: Line | None = None
        self.preempted: int | None = None
        self.gauges: dict[str, float] = {}

    def read(self, line: Line) -> bool:
        found = self._vllm(line) or self._sglang(line) or self._tgi(line) or self._llama(line)
        return self._settings(line) or self._gauges(line) or found

    def _vllm(self, line: Line) -> bool:
        found = _VLLM.search(line.text)
        if found is None:
            return False
        values = {
            fact: parse_number(number) for fact, number in zip(_VLLM_FACTS, found.groups(), strict=True) if number
        }
        for fact in ("kv_cache_used_share", "prefix_cache_hit_share"):
            if (value := values.get(fact)) is not None:
                values[fact] = value / 100
        return self._interval("vllm", values, line)

    def _sglang(self, line: Line) -> bool:
        if _SGLANG.search(line.text) is None:
            return False
        pairs = {
            name.replace("full token", "token").strip(): number for name, number in _SGLANG_PAIRS.findall(line.text)
        }
        values = {fact: parse_number(pairs[name]) for name, fact in _SGLANG_FACTS.items() if name in pairs}
        return self._interval("sglang", values, line)

    def _interval(self, software: str, values: dict[str, float | None], line: Line) -> bool:
        self._software(software, line)
        known = {fact: value for fact, value in values.items() if value is not None}
        if any(known.get(fact) for fact in ("running_count", "waiting_count", "output_tokens_per_second")):
            self.intervals.append((known, line))
        return True

    def _gauges(self, line: Line) -> bool:
        found = False
        for name, number in _GAUGES.findall(line.text):
            value, fact = parse_number(number), _GAUGE_FACTS[name]
            if value is None or (fact == "kv_cache_used_share" and value > 1):
                continue
            if fact in self.gauges:
                self._close_gauges()
            self.gauges[fact] = value
            self.last, found = line, True
        return found

    def _close_gauges(self) -> None:
        """One scrape is one interval."""
        if self.gauges and self.last is not None:
            self.intervals.append((self.gauges, self.last))
        self.gauges = {}

    def _software(self, name: str, line: Line) -> None:
        self.loads.say("serve.software", _SOFTWARE[name], line, SERVER)

    def _tgi(self, line: Line) -> bool:
        pairs = dict(_TGI.findall(line.text))
        if "queue_time" not in pairs:
            return False
        self._software("tgi", line)
        for name, fact in _TGI_FACTS.items():
            if name in pairs and (seconds := parse_duration(pairs[name])) is not None:
                self.requests.setdefault(fact, []).append(seconds)
        self.last = line
        return True

    def _llama(self, line: Line) -> bool:
        found = _LLAMA.search(line.text)
        if found is None:
            return False
        self._software("llama", line)
        facts = _LLAMA_FACTS.get(found[1])
        if facts is None:
            return True
        load = self._timings(f"serve.{facts[0]}")
        load.put(f"serve.{facts[0]}", (parse_number(found[2]) or 0.0) * 1e-3, line)
        for fact, number in zip(facts[1:], found.groups()[2:], strict=True):
            if fact and number and (value := parse_number(number)) is not None:
                load.put(f"serve.{fact}", value, line)
        return True

    def _timings(self, fact: str) -> Load:
        current = self.loads.current
        return self.loads.start() if current is None or fact in current.figures else current

    def _settings(self, line: Line) -> bool:
        found = False
        if (slots := _SLOTS.search(line.text)) is not None:
            self.loads.say("serve.slot_count", int(slots[1]), line, SERVER)
            found = True
        if (eager := _EAGER.search(line.text)) is not None:
            self.loads.say("serve.eager_mode", eager[1].lower() == "true", line, SERVER)
            found = True
        if (built := _BUILD.search(line.text)) is not None:
            self.loads.say("serve.engine_build_seconds", parse_duration(f"{built[1]} s"), line)
            found = True
        if (count := _PREEMPTED.search(line.text)) is not None or _PREEMPTION.search(line.text):
            self.preempted = max(self.preempted or 0, int(count[1]) if count else (self.preempted or 0) + 1)
            self.last, found = line, True
        return found

    def readings(self) -> Iterator[Reading]:
        """All readings; the load of the log last, with its intervals and requests folded."""
        self._close_gauges()
        if self.intervals or self.requests or self.preempted:
            load = self.loads.start("log")
            self._fold_intervals(load)
            self._fold_requests(load)
            load.put("serve.preemption_count", self.preempted, self.last)
        yield from self.loads.readings()
        if 1 < len(self.intervals) <= FEW_INTERVALS:
            for number, (values, line) in enumerate(self.intervals, 1):
                for fact, value in values.items():
                    yield _single(fact, value, number, line)

    def _fold_intervals(self, load: Load) -> None:
        if not self.intervals:
            return
        last = self.intervals[-1][1]
        for fact in {fact: None for values, _ in self.intervals for fact in values}:
            numbers = [values[fact] for values, _ in self.intervals if fact in values]
            load.put(f"serve.{fact}", median(sorted(numbers)), last)
            if fact in _EXTREMES:
                load.put(f"serve.{_EXTREMES[fact]}", max(numbers), last)
            if fact == "waiting_count":
                load.put("serve.waiting_share", sum(number > 0 for number in numbers) / len(numbers), last)

    def _fold_requests(self, load: Load) -> None:
        for fact, numbers in self.requests.items():
            load.put(fact, mean(numbers), self.last)
            load.put("serve.request_count", len(numbers), self.last)
            if fact == "serve.queue_seconds" and len(numbers) > 1:
                load.put("serve.queue_min_seconds", min(numbers), self.last)
                load.put("serve.queue_max_seconds", max(numbers), self.last)


_EXTREMES = {
    "running_count": "running_max_count",
    "waiting_count": "waiting_max_count",
    "kv_cache_used_share": "kv_cache_used_max_share",
}


def _single(fact: str, value: Value, number: int, line: Line) -> Reading:
    """A figure of one interval, kept under its own name."""
    kind = "reading.share" if fact.endswith("_share") else "reading.value"
    return reading(kind, value, line, Entity("measurement", f"interval {number} {fact}", JOB))


FORMAT = TextFormat(NAME, "Logs of vLLM, SGLang, TGI and llama.cpp", HINTS, scan)
