"""Triton servers over a window, asked of a Prometheus server: what its counters grew by, read as a pasted pair is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuwhy.kb.facts import HOST, SERVER, Entity
from gpuwhy.kb.records import replace
from gpuwhy.probes.artefacts.contract import Missing, Reading
from gpuwhy.probes.artefacts.exposition import Sample, Scrape
from gpuwhy.probes.artefacts.server_counters import tell
from gpuwhy.probes.artefacts.triton_metrics import server_readings, snapshot_of
from gpuwhy.probes.prometheus_gpus import Devices
from gpuwhy.probes.prometheus_http import Series
from gpuwhy.probes.prometheus_names import selector
from gpuwhy.probes.prometheus_page import Page, Question
from gpuwhy.probes.prometheus_targets import INSTANCE, HostTargets

ANCHORS = ("nv_inference_request_success", "nv_inference_count", "nv_inference_exec_count")
_COUNTERS = (
    "nv_inference_request_success",
    "nv_inference_request_failure",
    "nv_inference_count",
    "nv_inference_exec_count",
    "nv_inference_request_duration_us",
    "nv_inference_queue_duration_us",
    "nv_inference_compute_input_duration_us",
    "nv_inference_compute_infer_duration_us",
    "nv_inference_compute_output_duration_us",
    "nv_cache_num_hits_per_model",
    "nv_cache_num_misses_per_model",
)
_MEANS = ("nv_inference_pending_request_count",)
_MEDIANS = (
    *(f"nv_inference_{part}_summary_us"
      for part in ("request", "queue", "compute_input", "compute_infer", "compute_output")),
    "nv_gpu_utilization",
    "nv_gpu_memory_used_bytes",
    "nv_gpu_power_usage",
    "nv_pinned_memory_pool_used_bytes",
)  # fmt: skip
_LAST = ("nv_gpu_memory_total_bytes", "nv_gpu_power_limit", "nv_pinned_memory_pool_total_bytes",
         "nv_model_load_duration_secs")  # fmt: skip
_LABELS = ("model", "version", "reason", "quantile", "gpu_uuid")
Key = tuple[str, str]


def add_triton(page: Page, names: frozenset[str], about: Sequence[HostTargets], devices: dict[str, Devices]) -> None:
    """Adds what the Triton servers of these hosts counted; `names`: the metrics that the server has."""
    about = [one for one in about if one.instances("triton")]
    anchors = [one for one in ANCHORS if one in names]
    if not about or not anchors:
        return
    seen = page.seen(anchors, about, "triton")
    counted: dict[Key, list[Sample]] = {}
    gauges: dict[Key, list[Sample]] = {}
    for metric in (one for one in (*_COUNTERS, *_MEANS, *_MEDIANS, *_LAST) if one in names):
        into = counted if metric in _COUNTERS else gauges
        for host, one in page.series(_question(page, metric), about, "triton", ()):
            labels = tuple((key, one.labels[key]) for key in _LABELS if one.labels.get(key))
            sample = Sample(metric, labels, one.value, 0, metric)
            into.setdefault((host.name, one.labels.get(INSTANCE, "")), []).append(sample)
    restarted = {(host.name, one.labels.get(INSTANCE, "")) for host, one in _restarts(page, anchors[0], about)}
    for host in about:
        servers = host.instances("triton")
        for instance in servers:
            key = (host.name, instance)
            of = SERVER if len(servers) == 1 else Entity("server", instance, HOST)
            if key in counted and seen.get(instance):
                _tell(page, host.name, of, counted[key], gauges.get(key, []), seen[instance], key in restarted)
            else:
                page.lack(host.name, "serve.request_count", of, "no samples in the window")
            _server(page, host.name, of, gauges.get(key, []), devices[host.name])


def _question(page: Page, metric: str) -> Question:
    by = ", ".join((*page.target_labels, *_LABELS))
    whole, span = page.window.seconds, f"[{page.window.seconds:.0f}s:{page.window.step:.0f}s]"

    def question(match: str) -> str:
        series = selector((metric,), match)
        if metric in _COUNTERS:
            return f"sum by ({by}) (increase({series}[{whole:.0f}s]))"
        function = "avg_over_time(" if metric in _MEANS else "last_over_time("
        function = "quantile_over_time(0.5, " if metric in _MEDIANS else function
        return f"{function}(max by ({by}) ({series})){span})"

    return question


def _restarts(page: Page, metric: str, about: Sequence[HostTargets]) -> Iterable[tuple[HostTargets, Series]]:
    by = ", ".join(page.target_labels)

    def question(match: str) -> str:
        return f"sum by ({by}) (resets({selector((metric,), match)}[{page.window.seconds:.0f}s])) > 0"

    return page.series(question, about, "triton", ())


def _tell(
    page: Page, host: str, of: Entity, counted: list[Sample], gauges: list[Sample], seconds: float, restarted: bool
) -> None:
    """The facts of every model: as between two reads, the first of which has zeros."""
    models = [one for one in gauges if dict(one.labels).get("model")]
    before = [replace(one, value=0.0) for one in counted]
    pair = [snapshot_of(Scrape(0, [*before, *models]), 0.0), snapshot_of(Scrape(0, [*counted, *models]), seconds)]
    told = tell(pair, of)
    readings = [
        replace(one, value=True) if restarted and one.fact == "serve.counter_reset" else one for one in told.readings
    ]
    _take(page, host, readings, told.missing)


def _server(page: Page, host: str, of: Entity, gauges: list[Sample], devices: Devices) -> None:
    """Facts about the server itself and the GPUs that it reports, which are found again by their UUIDs."""
    readings, missing = server_readings(Scrape(0, gauges))
    uuids = [str(one.value) for one in readings if one.fact == "gpu.uuid"]
    places = {str(number): devices.of({"uuid": uuid}) for number, uuid in enumerate(uuids)}

    def placed(one: Entity) -> Entity:
        return of if one == SERVER else (places.get(one.name) or one) if one.kind == "gpu" else one

    _take(
        page,
        host,
        [replace(one, entity=placed(one.entity)) for one in readings],
        [replace(one, entity=placed(one.entity)) for one in missing],
    )


def _take(page: Page, host: str, readings: Iterable[Reading], missing: Iterable[Missing]) -> None:
    for one in readings:
        page.put(host, one.fact, one.entity, one.value, one.text or "")
    for lacking in missing:
        page.lack(host, lacking.fact, lacking.entity, lacking.reason)
