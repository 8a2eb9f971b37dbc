"""Prometheus metrics of TensorFlow Serving (`:tensorflow:serving:…`) and of Ray Serve (`ray_serve_…`).

TensorFlow Serving counts in microseconds: the whole request, the run of the model (with the wait for its batch in it),
and the wait of the batching session; its batches count rows with padding. Ray Serve counts in milliseconds: the HTTP
request at the proxy, and the call of a deployment in its replica, whatever the deployment does in it.
https://www.tensorflow.org/tfx/serving/serving_config ; https://docs.ray.io/en/latest/serve/monitoring.html .
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gpuwhy.kb.facts import SERVER
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.exposition import Sample, Scrape, scrapes
from gpuwhy.probes.artefacts.server_counters import Key, ModelCounters, Snapshot, tell
from gpuwhy.probes.artefacts.triton_metrics import scrape_times

_TF = ":tensorflow:serving:"
_RAY = re.compile(r"(?:ray_)?serve_(?P<name>\w{1,100})\Z")
_MICRO, _MILLI = 1e-6, 1e-3


class _Models:
    """Counters of models, added up over labels that do not matter here."""

    def __init__(self) -> None:
        self.counters: dict[Key, dict[str, float]] = {}
        self.gauges: dict[Key, dict[str, float]] = {}
        self.lines: dict[Key, dict[str, tuple[int | None, str | None]]] = {}

    def add(self, model: str, name: str, value: float, one: Sample, gauge: bool = False) -> None:
        """Adds to a counter (or a gauge) of a model."""
        key = (model, "")
        kept = (self.gauges if gauge else self.counters).setdefault(key, {})
        kept[name] = kept.get(name, 0.0) + value
        self.lines.setdefault(key, {}).setdefault(name, (one.line, one.text))

    def snapshot(self, at: float | None) -> Snapshot:
        """All of it."""
        models = {
            key: ModelCounters(self.counters.get(key, {}), self.gauges.get(key, {}), self.lines[key])
            for key in self.lines
        }
        return Snapshot(models, at)


def _of_tensorflow(scrape: Scrape) -> _Models:
    models = _Models()
    known = [one for one in scrape.samples if one.known and one.name.startswith(_TF)]
    names = {one.label("model_name") for one in known} - {None, ""}
    only = next(iter(names)) if len(names) == 1 else None
    for one in known:
        model = one.label("model_name") or only
        if model:
            _tensorflow_sample(models, model, one)
    for own in models.counters.values():
        _separate_queue(own)
    return models


def _tensorflow_sample(models: _Models, model: str, one: Sample) -> None:
    name = one.name[len(_TF) :]
    if name == "request_count":
        models.add(model, "successes" if one.label("status") in (None, "", "OK") else "failures", one.value, one)
    elif name == "request_latency_sum" and one.label("API") != "":
        models.add(model, "request", one.value * _MICRO, one)
    elif name == "runtime_latency_sum":
        models.add(model, "run", one.value * _MICRO, one)
    elif name == "batching_session:queuing_latency_sum":
        models.add(model, "queue", one.value * _MICRO, one)
    elif name == "batching_session:processed_batch_size_sum":
        models.add(model, "inferences", one.value, one)
    elif name == "batching_session:processed_batch_size_count":
        models.add(model, "executions", one.value, one)


def _separate_queue(own: dict[str, float]) -> None:
    """The run of a batched model includes the wait for its batch; without batching there is no queue to tell of."""
    run = own.pop("run", None)
    if run is not None and own.get("queue", 0.0) <= run:
        own["compute_infer"] = run - own.get("queue", 0.0)


def _of_ray(scrape: Scrape) -> _Models:
    models = _Models()
    deployments: dict[str, set[str]] = {}
    for one in scrape.samples:
        if one.label("deployment"):
            deployments.setdefault(one.label("application") or "", set()).add(one.label("deployment") or "")
    for one in scrape.samples:
        found = _RAY.match(one.name)
        if found and one.known:
            _ray_sample(models, found["name"].removesuffix("_total"), one, deployments)
    return models


def _ray_sample(models: _Models, name: str, one: Sample, deployments: dict[str, set[str]]) -> None:
    deployment = one.label("deployment")
    if deployment and name == "deployment_processing_latency_ms_sum":
        models.add(deployment, "compute_infer", one.value * _MILLI, one)
    elif deployment and name == "deployment_processing_latency_ms_count":
        models.add(deployment, "successes", one.value, one)
    elif deployment and name == "deployment_error_counter":
        models.add(deployment, "failures", one.value, one)
    elif deployment and name == "deployment_queued_queries":
        models.add(deployment, "pending", one.value, one, gauge=True)
    elif name == "http_request_latency_ms_sum":
        behind = deployments.get(one.label("application") or "", set())
        if len(behind) == 1:  # of several deployments behind one route it is not known which the time belongs to
            models.add(next(iter(behind)), "request", one.value * _MILLI, one)


def _scanner(
    name: str, software: str, prefix: str, read: Callable[[Scrape], _Models]
) -> Callable[[Text], Iterator[Extract]]:
    def scan(text: Text) -> Iterator[Extract]:
        found = scrapes(text.lines, prefix)
        if not found:
            return
        times = scrape_times(text, found)
        snapshots = [read(one).snapshot(at) for one, at in zip(found, times, strict=True)]
        with_models = [one for one in snapshots if one.models]
        told = tell(with_models).readings if with_models else ()
        troubles = []
        if len(with_models) > 1 and None in times:
            message = "nothing says how much time passed between the reads: means are told, rates are not"
            troubles.append(Trouble(found[-1].first, message))
        lines = frozenset(number for one in found for number in one.lines)
        readings = (Reading("serve.software", software, found[0].first, None, SERVER), *told)
        yield Extract(name, readings, claimed=lines, troubles=tuple(troubles))

    return scan


FORMATS = (
    TextFormat(
        "tensorflow-serving-metrics",
        "Metrics of TensorFlow Serving",
        (_TF,),
        _scanner("tensorflow-serving-metrics", "tensorflow-serving", ":tensorflow:", _of_tensorflow),
    ),
    TextFormat(
        "ray-serve-metrics",
        "Metrics of Ray Serve",
        ("serve_deployment_", "serve_http_request_latency", "serve_replica_"),
        _scanner("ray-serve-metrics", "ray-serve", "ray_serve_", _of_ray),
    ),
)
