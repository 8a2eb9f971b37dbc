"""The facts that Prometheus can record: from exporters, and what is derived of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.catalogue import XID_CLASSES
from gpuwhy.kb.model import Derivation, KnowledgeBase
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.probes.artefacts.gpu_metric_names import PARTITION_FACTS
from gpuwhy.probes.artefacts.smi_values import EVENT_BITS
from gpuwhy.probes.prometheus_gpus import CLOCK_EVENTS, DCGM_ANCHORS, EXPORTER_ANCHORS, XIDS
from gpuwhy.probes.prometheus_names import (
    BLANK_32,
    Source,
    dcgm,
    expression,
    node,
    nvidia_gpu_exporter,
    quoted,
    selector,
)
from gpuwhy.tui.alerts.promql import (
    LABELS,
    TARGET,
    VALUE,
    Recorded,
    Translator,
    entity_series,
    number,
    series_name,
)

GPU, NODE, TRITON = "gpu", "node", "triton"
FAMILIES = (GPU, NODE, TRITON)
_GPU_LABELS = ("gpu", "UUID", "uuid")
_EVENTS = tuple(metric for one in CLOCK_EVENTS.values() for metric in one)


@dataclass(frozen=True)
class Recording:
    """A recording rule: the series that it makes, and its expression. `derivation`: the rule it is of, if of one."""

    name: str
    expression: str
    derivation: str = ""


@dataclass(frozen=True)
class Recordings:
    """All recording rules in their order, the facts that they hold, and the derivations among them."""

    rules: tuple[Recording, ...]
    facts: Mapping[str, Recorded]
    derivations: tuple[Derivation, ...]


def recordings(kb: KnowledgeBase, window: float, step: float) -> Recordings:
    """What can be recorded over windows of this many seconds, looked at so many seconds apart."""
    read: dict[str, tuple[Recorded, list[str]]] = {}
    for family, fact, entity, text in _sources(kb, window, step):
        if fact in kb.facts:
            is_text = not kb.facts[fact].is_number and kb.facts[fact].type != "boolean"
            read.setdefault(fact, (Recorded(series_name(fact), entity, family, is_text), []))[1].append(text)
    facts = {fact: one for fact, (one, _) in read.items()}
    rules = list(_entities())
    made = {fact: parts for fact, (_, parts) in read.items()}
    ids: dict[str, str] = {}
    kept = []
    for one in kb.derivations:
        found = _derived(kb, one, facts) if one.status != "deprecated" else None
        if found is not None:
            kept.append(one)
            made.setdefault(one.gives, []).append(found[1])
            facts.setdefault(one.gives, found[0])
            ids[one.gives] = one.id
    order = [*read, *(fact for fact in made if fact not in read)]
    rules += [Recording(series_name(fact), " or ".join(made[fact]), ids.get(fact, "")) for fact in order]
    return Recordings(tuple(rules), facts, tuple(kept))


def _entities() -> Iterator[Recording]:
    """A series for every entity that there is: what an aggregate over a host is spread to."""
    of_gpu, of_host = ", ".join(LABELS["gpu"]), ", ".join(TARGET)
    gpus = entity_series("gpu", GPU)
    yield Recording(gpus, f"group by ({of_gpu}) ({selector((*DCGM_ANCHORS, *EXPORTER_ANCHORS), '')})")
    yield Recording(entity_series("host", GPU), f"group by ({of_host}) ({gpus})")
    yield Recording(entity_series("host", NODE), f"group by ({of_host}) (node_memory_MemTotal_bytes)")
    yield Recording(entity_series("load", TRITON), f"group by ({', '.join(LABELS['load'])}) (nv_inference_count)")


def _sources(kb: KnowledgeBase, window: float, step: float) -> Iterator[tuple[str, str, str, str]]:
    """Family, fact, kind of entity and expression of everything that an exporter gives."""
    for one in (*dcgm(), *nvidia_gpu_exporter()):
        whole = 'GPU_I_ID=""' if one.fact in PARTITION_FACTS else ""
        yield GPU, one.fact, "gpu", _read(replace(one, labels=_GPU_LABELS, where=whole), window, step)
    for one in node():
        entity = {("device",): "disk", ("mountpoint", "fstype"): "filesystem"}.get(one.labels, "host")
        yield NODE, one.fact, entity, _read(one, window, step)
    for fact, text in (*_events(window, step), *_xids(kb, window, step)):
        yield GPU, fact, "gpu", text
    for fact, text in _triton(window):
        yield TRITON, fact, "load", text


def _read(one: Source, window: float, step: float) -> str:
    made = f"({expression(one, TARGET, '', window, step)})"
    if one.factor != 1.0:  # a division is exact where the factor is not
        made = f"({made} / {number(1 / one.factor)})" if one.factor < 1 else f"({made} * {number(one.factor)})"
    if one.kind == "flag":
        return f"({made} != bool 0)"
    if one.kind == "share":
        return f"clamp_max({made}, 1)"
    return f"round({made})" if one.kind == "grown" else made


def _events(window: float, step: float) -> Iterator[tuple[str, str]]:
    """Clock events: the share of moments in which their bit is set."""
    by = ", ".join(LABELS["gpu"])
    for bit, fact in EVENT_BITS:
        inner = f"max by ({by}) (floor(({selector(_EVENTS, '')}{BLANK_32}) / {bit}) % 2)"
        share = f"avg_over_time(({inner})[{window:.0f}s:{step:.0f}s])"
        yield f"{fact}_sample_share", share
        yield fact, f"({share} >= bool 0.5)"


def _xids(kb: KnowledgeBase, window: float, step: float) -> Iterator[tuple[str, str]]:
    """The last Xid code that appeared within the window, and its class in the catalogue."""
    by = ", ".join(LABELS["gpu"])
    series = f"max by ({by}) ({selector(XIDS, '')} > 0)"
    whole = f"(max by ({by}) ({selector(XIDS, '')}))[{window:.0f}s:{step:.0f}s]"
    yield "gpu.xid_first", f"({series} and (changes({whole}) > 0))"
    first = series_name("gpu.xid_first")
    yield "gpu.xid_worst", first
    codes = {group: [one for one in range(1, 1000) if _class(kb, one) == group] for group in XID_CLASSES}
    known = {group: _either(first, found) for group, found in codes.items() if found}
    unlisted = f"({first} unless ({' or '.join(known.values())}))"
    for group, there in {**known, "unlisted": unlisted}.items():
        yield f"gpu.xid_{group}_count", f"({there} * 0 + 1) or ({first} * 0)"
    for fact in ("gpu.xid_first_class", "gpu.xid_worst_class"):
        for group, there in {**known, "unlisted": unlisted}.items():
            yield fact, f'label_replace({there} * 0 + 1, "{VALUE}", "{group}", "", "")'


def _class(kb: KnowledgeBase, code: int) -> str:
    found = kb.catalogue.xid(code)
    return "" if found is None else found.group


def _either(name: str, codes: Sequence[int]) -> str:
    return "(" + " or ".join(f"({name} == {code})" for code in codes) + ")"


_TRITON_COUNTS = {
    "serve.request_count": "nv_inference_request_success",
    "serve.failed_count": "nv_inference_request_failure",
    "serve.inference_count": "nv_inference_count",
    "serve.execution_count": "nv_inference_exec_count",
    "serve.cache_hit_count": "nv_cache_num_hits_per_model",
    "serve.cache_miss_count": "nv_cache_num_misses_per_model",
}
_TRITON_TIMES = {
    "request": ("serve.server_latency_seconds", "serve.server_total_seconds"),
    "queue": ("serve.queue_seconds", "serve.queue_total_seconds"),
    "compute_input": ("serve.compute_input_seconds", "serve.compute_input_total_seconds"),
    "compute_infer": ("serve.compute_infer_seconds", "serve.compute_infer_total_seconds"),
    "compute_output": ("serve.compute_output_seconds", "serve.compute_output_total_seconds"),
}


def _triton(window: float) -> Iterator[tuple[str, str]]:
    """What the counters of Triton grew by, and means of it: as between two reads of its metrics."""
    by = ", ".join(LABELS["load"])

    def grown(metric: str) -> str:
        return f"sum by ({by}) (increase({metric}[{window:.0f}s]))"

    for fact, metric in _TRITON_COUNTS.items():
        yield fact, f"({grown(metric)})"
    requests = f"({grown('nv_inference_request_success')} > 0)"
    for part, (mean, total) in _TRITON_TIMES.items():
        seconds = f"({grown(f'nv_inference_{part}_duration_us')} / 1000000)"
        yield total, seconds
        yield mean, f"({seconds} / {requests})"
    yield "serve.batch_size_mean", f"({grown('nv_inference_count')} / ({grown('nv_inference_exec_count')} > 0))"
    yield "serve.requests_per_second", f"sum by ({by}) (rate(nv_inference_request_success[{window:.0f}s]))"
    yield "serve.throughput_per_second", f"sum by ({by}) (rate(nv_inference_count[{window:.0f}s]))"
    yield "serve.pending_count", f"avg by ({by}) (avg_over_time(nv_inference_pending_request_count[{window:.0f}s]))"
    yield "serve.cumulative", f"({grown('nv_inference_request_success')} * 0)"


def _derived(kb: KnowledgeBase, one: Derivation, facts: Mapping[str, Recorded]) -> tuple[Recorded, str] | None:
    """A derivation as an expression, with the facts of the first family of exporters that suffices."""
    gives = kb.facts[one.gives]
    scope = "host" if one.scope == "job" else one.scope
    before = facts.get(one.gives)
    for family in FAMILIES if before is None else (before.family,):
        made = _expression(one, Translator(facts, one.scope, family))
        if made is None or gives.entity not in (one.scope, scope):
            continue
        is_text = not gives.is_number and gives.type != "boolean"
        if is_text:
            made = _as_text(one, Translator(facts, one.scope, family))
        return (Recorded(series_name(one.gives), gives.entity, family, is_text), made) if made else None
    return None


def _expression(one: Derivation, translator: Translator) -> str | None:
    when = translator.true(one.when) if one.when is not None else ""
    if one.formula is not None:
        formula = translator.formula(one.formula)
        if formula is None or when is None:
            return None
        return f"({formula} and {when})" if when else formula
    parts = [f"({when} * 0 + {_plain(one.value)})"] if when else []
    against = translator.false(one.when) if one.when is not None and one.otherwise is not None else None
    if against:
        parts.append(f"({against} * 0 + {_plain(one.otherwise)})")
    return " or ".join(parts) or None


def _plain(value: object) -> str:
    return "1" if isinstance(value, str) else number(value)


def _as_text(one: Derivation, translator: Translator) -> str | None:
    when = translator.true(one.when) if one.when is not None else None
    against = translator.false(one.when) if one.when is not None and one.otherwise is not None else None
    parts = [
        f'label_replace({where} * 0 + 1, "{VALUE}", {quoted(str(value))}, "", "")'
        for where, value in ((when, one.value), (against, one.otherwise))
        if where
    ]
    return " or ".join(parts) or None
