"""A small load on a Triton server, only where it was asked for: N requests of zeros, one after the other, and no more.

What a live server does with its own clients is seen without it; this shows what one client alone sees.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.facts import Entity, load, model
from gpuwhy.probes.artefacts.contract import Missing, Reading
from gpuwhy.probes.triton_http import Address, model_path, read

PROBE = "probe requests"
REQUEST_SECONDS = 30.0
MAX_ELEMENTS = 1 << 24
MAX_ERRORS = 3
MIN_FOR_TAIL = 100
FREE_DIMENSION = 1
"""What a dimension of any size (-1) is set to."""


class Prober:
    """Sends requests in a thread of its own; `stop` ends it after the request that is under way."""

    def __init__(self, http: Address | None, count: int, name: str | None) -> None:
        self.http, self.count, self.name = http, count, name
        self.latencies: list[float] = []
        self.errors: list[str] = []
        self.reason = ""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._began = self._ended = 0.0

    def start(self) -> None:
        """Begins to send."""
        self._thread.start()

    def stop(self) -> None:
        """Lets the requests that were asked for finish, as far as each is answered in time."""
        if self._thread.ident is not None:
            self._thread.join(REQUEST_SECONDS)
        self._done.set()

    def readings(self) -> tuple[list[Reading], list[Missing]]:
        """What this one client saw."""
        of = load(PROBE, model(self.name or "this"))
        if not self.latencies:
            reason = self.reason or (self.errors[0] if self.errors else "no request was answered in time")
            return [], [Missing("serve.probe_count", f"--probe-load: {reason}", entity=of)]
        return list(self._seen(of)), []

    def _seen(self, of: Entity) -> list[Reading]:
        took = self.latencies
        ordered = sorted(took)
        values: dict[str, float] = {
            "serve.probe_count": len(took),
            "serve.request_count": len(took),
            "serve.failed_count": len(self.errors),
            "serve.concurrency": 1,
            "serve.latency_mean_seconds": mean(took),
            "serve.latency_p50_seconds": median(took),
            "serve.latency_max_seconds": ordered[-1],
            "serve.requests_per_second": len(took) / max(1e-9, self._ended - self._began),
        }
        if len(took) >= MIN_FOR_TAIL:
            values["serve.latency_p99_seconds"] = ordered[int(0.99 * len(ordered))]
        if len(took) > 2:
            values["serve.first_latency_seconds"] = took[0]
            values["serve.steady_latency_seconds"] = median(took[1:])
        return [Reading(fact, value, entity=of) for fact, value in values.items()]

    def _send(self) -> None:
        if self.http is None:
            self.reason = "the HTTP port of the server is not known, and requests go there"
            return
        if self.name is None:
            self.name, self.reason = _only_model(self.http)
        config = read(self.http, model_path(self.name, "config")).json() if self.name else None
        body, problem = request_body(config) if isinstance(config, dict) else (None, "")
        if self.name is None or body is None:
            self.reason = self.reason or problem or f"the server has no model {self.name}"
            return
        self._began = time.monotonic()
        for _ in range(self.count):
            if self._done.is_set() or len(self.errors) >= MAX_ERRORS:
                break
            before = time.monotonic()
            reply = read(self.http, model_path(self.name, "infer"), body, REQUEST_SECONDS)
            if reply.ok:
                self.latencies.append(time.monotonic() - before)
            else:
                self.errors.append(_said(reply.reason, reply.text))
            self._ended = time.monotonic()


def _said(reason: str, body: str) -> str:
    try:
        return f"{reason}: {json.loads(body)['error']}"[:300]
    except (ValueError, KeyError, TypeError):
        return reason


def _only_model(http: Address) -> tuple[str | None, str]:
    """The model that is ready, if there is exactly one."""
    listed = read(http, "/v2/repository/index", b'{"ready": true}').json()
    names = (
        sorted({str(one["name"]) for one in listed if isinstance(one, dict) and "name" in one})
        if isinstance(listed, list)
        else []
    )
    if len(names) == 1:
        return names[0], ""
    shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    return None, f"say which model with --probe-model: {shown}" if names else "no model is ready"


def request_body(config: Mapping[str, object]) -> tuple[bytes | None, str]:
    """One request of zeros (of texts: empty ones) for a model of this configuration, or why there can be none."""
    inputs = config.get("input")
    if not isinstance(inputs, list) or not inputs:
        return None, "the model's configuration names no input"
    batch = [1] if str(config.get("max_batch_size", 0)) not in ("0", "None") else []
    tensors = []
    for one in inputs:
        if not isinstance(one, dict) or one.get("optional") is True:
            continue
        shape = [*batch, *(_size(dim) for dim in _dims(one))]
        count = _product(shape)
        if count > MAX_ELEMENTS:
            return None, f"its input {one.get('name')} is too large to be sent as text"
        kind = str(one.get("data_type", "")).removeprefix("TYPE_").replace("STRING", "BYTES")
        if kind in ("FP16", "BF16", ""):
            return None, f"its input {one.get('name')} is of type {kind or 'unknown'}, which cannot be sent as text"
        zero: object = "" if kind == "BYTES" else False if kind == "BOOL" else 0
        tensors.append({"name": one.get("name"), "shape": shape, "datatype": kind, "data": [zero] * count})
    return json.dumps({"inputs": tensors}).encode(), ""


def _dims(tensor: Mapping[str, object]) -> Sequence[object]:
    dims = tensor.get("dims")
    return dims if isinstance(dims, list) else []


def _size(dim: object) -> int:
    text = str(dim)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else FREE_DIMENSION


def _product(shape: Sequence[int]) -> int:
    total = 1
    for one in shape:
        total *= one
    return total
