"""Clients of the lab: a number of connections, each in series with pauses, or all at once now and then."""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Clients:
    """What clients saw: latency of each request in seconds, in order of completion, and errors."""

    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """A percentile of the latencies."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def summary(self) -> dict[str, float]:
        """Count, median, p99 and maximum, in milliseconds."""
        if not self.latencies:
            return {"requests": 0, "errors": len(self.errors)}
        return {
            "requests": len(self.latencies),
            "errors": len(self.errors),
            "p50_ms": statistics.median(self.latencies) * 1e3,
            "p99_ms": self.percentile(0.99) * 1e3,
            "max_ms": max(self.latencies) * 1e3,
        }


def infer(connection: http.client.HTTPConnection, model: str, size: int, batched: bool) -> None:
    """One inference of `size` numbers; raises OSError or HTTPException where it fails."""
    shape = [1, size] if batched else [size]
    tensor: dict[str, object] = {"name": "IN", "shape": shape, "datatype": "FP32"}
    binary = size > 1000
    payload = bytes(4 * size) if binary else b""
    tensor |= {"parameters": {"binary_data_size": len(payload)}} if binary else {"data": [0.0] * size}
    head = json.dumps({"inputs": [tensor]}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))} if binary else {}
    connection.request("POST", f"/v2/models/{model}/infer", head + payload, headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise OSError(body[:200].decode("utf-8", "replace"))


@contextmanager
def load(
    port: int,
    model: str,
    threads: int = 1,
    pause: float = 0.0,
    burst_every: float = 0.0,
    size: Callable[[int], int] = lambda _: 2,
    batched: bool = False,
) -> Iterator[Clients]:
    """Load on a model while the block runs.

    `threads` clients send one request after the other, `pause` seconds apart; with `burst_every` they all send one
    request at the same moment, that often. `size` gives the length of the n-th request of a client.
    """
    seen, done, lock = Clients(), threading.Event(), threading.Lock()
    began = time.monotonic()

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        number = 0
        while not done.is_set():
            if burst_every:
                now = time.monotonic() - began
                done.wait(burst_every - now % burst_every)
            before = time.perf_counter()
            try:
                infer(connection, model, size(number), batched)
                with lock:
                    seen.latencies.append(time.perf_counter() - before)
            except (OSError, http.client.HTTPException) as error:
                with lock:
                    seen.errors.append(str(error))
                connection.close()
                done.wait(0.02)
            number += 1
            if pause:
                done.wait(pause)
        connection.close()

    running = [threading.Thread(target=client, daemon=True) for _ in range(threads)]
    for one in running:
        one.start()
    try:
        yield seen
    finally:
        done.set()
        for one in running:
            one.join(35)
