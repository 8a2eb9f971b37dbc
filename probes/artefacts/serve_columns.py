"""Names of columns and keys in tables of serving figures: which fact they mean, and in which unit the number stands.

A time without a unit anywhere is no time: `latency 12` could be anything.
"""

from __future__ import annotations

import re

from gpuwhy.kb.patterns import later
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.quantities import parse_duration, parse_number


@dataclass(frozen=True)
class Column:
    """What a column holds: a fact, and for times the unit of its numbers where the name gives one."""

    fact: str
    time: bool = False
    unit: str = ""


_UNIT = later(r"(?:[_ \[(/]|\b)(ns|us|µs|usecs?|ms|msecs?|s|secs?|seconds|milliseconds)[\])]?\Z")
_LEVELS = (
    (later(
        r"(?:num(?:ber)?[ _.]?(?:of[ _.]?)?)?(?:concurren\w{0,8}|clients?|users|connections|slots|"
        r"parallel\w{0,9}|in[- _]?flight)\Z"
        ), "serve.concurrency"),
    (later(r"(?:request[ _]?)?(?:batch(?:[ _]?size)?|bs)\Z"), "serve.request_batch_size"),
    (later(
        r"(?:request[ _]?rate|offered(?:[ _]?\w{0,8})?|target[ _]?(?:qps|rps|rate)|arrival[ _]?rate|"
        r"rate)\Z"
        ), "serve.offered_per_second"),
    (later(r"threads?\Z"), "serve.client_threads"),
)  # fmt: skip
_PARTS = (
    ("overhead", "serve.overhead_seconds"),
    ("queue", "serve.queue_seconds"),
    ("compute input", "serve.compute_input_seconds"),
    ("compute infer", "serve.compute_infer_seconds"),
    ("compute output", "serve.compute_output_seconds"),
    ("server latency", "serve.server_latency_seconds"),
    ("network", "serve.network_seconds"),
    ("preprocess", "serve.preprocess_seconds"),
    ("postprocess", "serve.postprocess_seconds"),
    ("inference time", "serve.compute_infer_seconds"),
    ("infer time", "serve.compute_infer_seconds"),
    ("wall", "serve.window_seconds"),
)
_TOKENS = later(r"\b(?:tok(?:en)?s?[ _/]{0,2}(?:per[ _])?(?:s|sec)|tps)\b")
_RATES = later(
    r"\b(?:throughput|qps|rps|req(?:uest)?s?[ _/]{0,2}(?:per[ _])?(?:s|sec(?:ond)?)|"
    r"infer(?:ence)?s?[ _/](?:s|sec(?:ond)?)|fps|ima?ge?s?/s(?:ec)?|samples/s(?:ec)?|it/s)\b"
)
_STATISTIC = later(r"\b(?:t?p(50|90|95|99)|(50|90|95|99)(?:th|%)|(median|mean|avg|average|min|max|p999))\b")
_NAMES = {"50": "p50", "90": "p90", "95": "p95", "99": "p99", "median": "p50", "mean": "mean", "avg": "mean",
          "average": "mean", "min": "min", "max": "max", "p999": "p999"}  # fmt: skip
_KINDS = ("ttft", "tpot", "itl")
_HAS = {
    "ttft": ("mean", "p50", "p90", "p95", "p99"),
    "tpot": ("mean", "p50", "p99"),
    "itl": ("mean", "p50", "p99"),
    "latency": ("mean", "p50", "p90", "p95", "p99", "p999", "min", "max"),
}
LEVEL_FACTS = frozenset(fact for _, fact in _LEVELS)


def column(name: str) -> Column | None:
    """What a column or key of this name holds, or None."""
    lowered = " ".join(re.sub(r"[*`_]", " ", name.lower()).split())
    if not lowered or len(lowered) > 60:
        return None
    unit = _UNIT.search(lowered)
    bare = _UNIT.sub("", lowered).strip(" ([") if unit is not None else lowered
    level = next((fact for pattern, fact in _LEVELS if pattern.match(bare)), None)
    if level is not None:
        return Column(level)
    if _TOKENS.search(lowered) or (lowered.startswith("decode") and unit is None):
        return Column(
            "serve.decode_tokens_per_second"
            if "decode" in lowered or "per req" in lowered
            else "serve.output_tokens_per_second"
        )
    if _RATES.search(lowered):
        return Column("serve.throughput_per_second")
    return _time(bare, unit[1] if unit is not None else "")


def _time(bare: str, unit: str) -> Column | None:
    for word, fact in _PARTS:
        if bare.startswith(word) or bare.replace("-", "").startswith(word):
            return Column(fact, True, unit)
    statistic = _STATISTIC.search(bare)
    name = _NAMES[next(group for group in statistic.groups() if group)] if statistic is not None else "mean"
    kind = next((kind for kind in _KINDS if kind in bare), None)
    if kind is None and (statistic is not None or re.search(r"\b(?:latency|response time|e2e)\b", bare)):
        kind = "latency"
    if kind is None or name not in _HAS[kind]:
        return None
    return Column(f"serve.{kind}_{name}_seconds", True, unit)


def number_in(cell: str, of: Column) -> float | None:
    """The number of a cell in the fact's unit: seconds for times, else as it stands; None if it is none."""
    text = cell.strip().strip("*`~≈ ").replace("µ", "u")
    if of.time:
        plain = parse_number(text)
        if plain is None:
            return parse_duration(text)
        return parse_duration(f"{plain!r} {of.unit}") if of.unit else None
    head = re.match(r"[0-9][0-9,]{0,18}(?:\.[0-9]{1,12})?", text)
    return parse_number(head[0]) if head is not None else None
