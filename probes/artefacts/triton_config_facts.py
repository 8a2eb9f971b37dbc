"""What a model configuration of Triton Inference Server says, as facts.

What a whole configuration leaves out has its documented default; of a part nothing is known that it does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpuwhy.kb.facts import SERVER, Entity, Value, model
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Reading

Fields = Mapping[str, list[object]]
_KINDS = {"KIND_AUTO": "auto", "KIND_GPU": "gpu", "KIND_CPU": "cpu", "KIND_MODEL": "model"}
_MAX_INSTANCES = 10_000
_MAX_INTEGER = float(1 << 53)
MICRO = 1e-6


@dataclass(frozen=True)
class Config:
    """A configuration: each field with all its values. `whole`: nothing is missing; `lines`: where fields stand."""

    fields: Fields
    name: str | None = None
    whole: bool = False
    trouble: str = ""
    lines: Mapping[str, tuple[int, str | None]] = field(default_factory=dict)

    def entity(self, server: Entity = SERVER) -> Entity:
        """The model; `this` where its name is not given."""
        return model(_text(self.fields, "name") or self.name or "this", server)

    @property
    def backend(self) -> str:
        """The backend, else the platform; empty where neither is given."""
        return _text(self.fields, "backend") or _text(self.fields, "platform") or ""

    def place(self, name: str) -> tuple[int | None, str | None]:
        """The line of a field, and its text."""
        return self.lines.get(name, (None, None))


def config_readings(config: Config, server: Entity = SERVER) -> Iterator[Reading]:
    """The facts of one configuration, each with the line of its field."""
    of = config.entity(server)
    for name, fact, value in _all(config):
        yield Reading(fact, value, *config.place(name), of)
    for step in dict.fromkeys(ensemble_steps(config.fields)):
        yield Reading("serve.step_of_ensemble", True, *config.place("ensemble_scheduling"), model(step, server))


def _all(config: Config) -> Iterator[tuple[str, str, Value]]:
    fields = config.fields
    if config.backend:
        yield ("backend" if _text(fields, "backend") else "platform"), "serve.backend", config.backend
    size = _integer(fields, "max_batch_size")
    if size is None and config.whole and "ensemble_scheduling" not in fields:
        size = 0
    if size is not None:
        yield "max_batch_size", "serve.max_batch_size", size
    yield from _batching(config)
    yield from _instances(config)
    yield from _input_shapes(fields)
    optimization = _message(fields, "optimization") or {}
    cuda = _message(optimization, "cuda") or {}
    for name, fact, present in (
        ("model_warmup", "serve.warmup_configured", bool(fields.get("model_warmup"))),
        ("ensemble_scheduling", "serve.ensemble", "ensemble_scheduling" in fields),
        ("sequence_batching", "serve.sequence_batching", "sequence_batching" in fields),
        ("model_transaction_policy", "serve.decoupled", _flag(fields, "model_transaction_policy", "decoupled")),
        ("response_cache", "serve.response_cache", _flag(fields, "response_cache", "enable")),
        ("optimization", "serve.cuda_graphs", cuda.get("graphs", [False])[-1:] == [True]),
    ):
        if present or config.whole:
            yield name, fact, present
    accelerator = next(iter(_accelerators(optimization)), None)
    if accelerator:
        yield "optimization", "serve.accelerator", accelerator
    pinned = _message(optimization, "input_pinned_memory")
    if pinned is not None or config.whole:
        yield "optimization", "serve.input_pinned", (pinned or {}).get("enable", [True])[-1:] != [False]


def _batching(config: Config) -> Iterator[tuple[str, str, Value]]:
    name = "dynamic_batching"
    batching = _message(config.fields, name)
    if batching is None:
        if config.whole:
            yield name, "serve.dynamic_batching", False
        return
    yield name, "serve.dynamic_batching", True
    delay = _integer(batching, "max_queue_delay_microseconds")
    if delay is not None or not config.trouble:
        yield name, "serve.max_queue_delay_seconds", (delay or 0) * MICRO
    sizes = [one for one in batching.get("preferred_batch_size", []) if _whole_number(one)]
    if sizes:
        yield name, "serve.preferred_batch_size_min", min(int(str(one)) for one in sizes)
        yield name, "serve.preferred_batch_size_max", max(int(str(one)) for one in sizes)
    policy = _message(batching, "default_queue_policy") or {}
    limit, timeout = _integer(policy, "max_queue_size"), _integer(policy, "default_timeout_microseconds")
    if limit:
        yield name, "serve.max_queue_size", limit
    if timeout:
        yield name, "serve.queue_timeout_seconds", timeout * MICRO


def _instances(config: Config) -> Iterator[tuple[str, str, Value]]:
    """Instances over all devices where the configuration tells the devices, else instances on each."""
    name = "instance_group"
    groups = [one for one in config.fields.get(name, []) if isinstance(one, dict)]
    kinds = {_KINDS.get(str(_last(one, "kind") or "KIND_AUTO"), "auto") for one in groups}
    if len(kinds) == 1:
        yield name, "serve.instance_kind", next(iter(kinds))
    if not groups:
        return
    total, on_each = 0, 0
    for group in groups:
        count = min(_integer(group, "count") or 1, _MAX_INSTANCES)
        gpus = len(group.get("gpus", []))
        if gpus or str(_last(group, "kind")) in ("KIND_CPU", "KIND_MODEL"):
            total += count * max(1, gpus)
        else:
            on_each += count
    if on_each:
        yield name, "serve.instances_per_gpu", on_each
    else:
        yield name, "serve.instance_count", total


def _input_shapes(fields: Fields) -> Iterator[tuple[str, str, Value]]:
    dims = [dim for one in fields.get("input", []) if isinstance(one, dict) for dim in one.get("dims", [])]
    if dims:
        yield "input", "serve.variable_shapes", any(str(dim) == "-1" for dim in dims)


def ensemble_steps(fields: Fields) -> list[str]:
    """The models that an ensemble calls, one entry for each call; empty for other models."""
    scheduling = _message(fields, "ensemble_scheduling") or {}
    names = (_text(one, "model_name") for one in scheduling.get("step", []) if isinstance(one, dict))
    return [name for name in names if name]


def _accelerators(optimization: Fields) -> Iterator[str]:
    chosen = _message(optimization, "execution_accelerators") or {}
    for kind in ("gpu_execution_accelerator", "cpu_execution_accelerator"):
        for one in chosen.get(kind, []):
            name = _text(one, "name") if isinstance(one, dict) else None
            if name:
                yield name


def _last(fields: Fields, name: str) -> object:
    """The value of a field; of several the last counts, as in the format."""
    values = fields.get(name) or [None]
    return values[-1]


def _message(fields: Fields, name: str) -> Fields | None:
    value = _last(fields, name)
    return value if isinstance(value, dict) else None


def _text(fields: Fields, name: str) -> str | None:
    value = _last(fields, name)
    return value.strip()[:200] or None if isinstance(value, str) else None


def _whole_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_INTEGER


def _integer(fields: Fields, name: str) -> int | None:
    """A whole number of at least 0; JSON has 64-bit ones as text."""
    value = _last(fields, name)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and _whole_number(value) else None


def _flag(fields: Fields, name: str, inner: str) -> bool:
    return _last(_message(fields, name) or {}, inner) is True
