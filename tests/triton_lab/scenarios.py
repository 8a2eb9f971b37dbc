"""Causes of latency, provoked on purpose on a real server: each is a load with a known answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.triton_lab.clients import Clients, load
from tests.triton_lab.models import EXPLICIT, POLLED, ensemble
from tests.triton_lab.server import Server, running

COLD_AFTER_SECONDS = 2.5
"""When requests to a model begin that has had none: by then it is watched."""


@dataclass
class Lab:
    """Two servers: one polls its repository and logs as usual, one loads on request and logs every request."""

    polled: Server
    explicit: Server
    shapes_from: int = 0

    def prime(self, *names: str) -> None:
        """Sends a few requests to models, so that nothing is left of their start."""
        batched = {one.name for one in (*POLLED, *EXPLICIT) if one.max_batch_size}
        for name in names:
            server = self.explicit if name in {one.name for one in EXPLICIT} else self.polled
            with load(server.http, name, batched=name in batched) as seen:
                wait_for(partial(_answered, seen))


def _answered(seen: Clients, count: int = 2) -> bool:
    return len(seen.latencies) + len(seen.errors) >= count


def wait_for(true: Callable[[], bool], seconds: float = 60) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """Both servers, running."""
    polled = Server(
        folder / "polled",
        ("--model-control-mode=poll", "--repository-poll-secs=1", "--cache-config=local,size=1048576"),
    )
    explicit = Server(folder / "explicit", ("--model-control-mode=explicit", "--log-verbose=1"))
    for server, models in ((polled, POLLED), (explicit, EXPLICIT)):
        server.folder.mkdir(parents=True)
        server.repository.mkdir()
        for one in models:
            one.write(server.repository)
    ensemble("staged", ("pre", "net"), polled.repository)
    with running(polled, explicit):
        for name in ("reloaded", "shaped"):
            explicit.load(name)
        yield Lab(polled, explicit)


Provoked = AbstractContextManager[Clients]


def _plain(name: str, threads: int, **how: object) -> Callable[[Lab], Provoked]:
    def provoke(where: Lab) -> Provoked:
        return load(where.polled.http, name, threads, **how)  # type: ignore[arg-type]

    return provoke


@contextmanager
def _repeating(act: Callable[[], None], every: float) -> Iterator[None]:
    """Does something again and again beside the block."""
    done = threading.Event()

    def work() -> None:
        while not done.wait(every):
            act()

    one = threading.Thread(target=work, daemon=True)
    one.start()
    try:
        yield
    finally:
        done.set()
        one.join(60)


@contextmanager
def _reloaded_by_client(where: Lab) -> Iterator[Clients]:
    code = where.explicit.repository / "reloaded" / "1" / "model.py"

    def again() -> None:
        os.utime(code)  # a model whose files are as they were is not loaded anew
        where.explicit.load("reloaded")

    with load(where.explicit.http, "reloaded") as seen, _repeating(again, 0.3):
        yield seen


@contextmanager
def _touched(where: Lab) -> Iterator[Clients]:
    code = where.polled.repository / "touched" / "1" / "model.py"
    with load(where.polled.http, "touched") as seen, _repeating(lambda: os.utime(code), 0.5):
        yield seen


@contextmanager
def _cold(where: Lab, name: str, batched: bool) -> Iterator[Clients]:
    where.explicit.load(name)
    try:
        with ExitStack() as stack:
            begun: list[Clients] = []
            start = threading.Timer(
                COLD_AFTER_SECONDS,
                lambda: begun.append(stack.enter_context(load(where.explicit.http, name, batched=batched))),
            )
            start.start()
            yield Clients()
            start.join()
    finally:
        where.explicit.unload(name)


def _shaped(where: Lab) -> Provoked:
    """Three requests of each length; no length comes again, however often this is provoked."""
    where.shapes_from += 1000
    first = where.shapes_from
    return load(where.explicit.http, "shaped", size=lambda number: first + number // 3, pause=0.05)


@dataclass(frozen=True)
class Scenario:
    """A cause: how it is provoked, on which server, which models are primed before, and how long it takes to show."""

    name: str
    provoke: Callable[[Lab], Provoked]
    prime: tuple[str, ...] = ()
    explicit: bool = False
    seconds: float = 2.5


SCENARIOS = (
    Scenario("steady", _plain("steady", 1), ("steady",)),
    Scenario("delayed", _plain("delayed", 1, batched=True), ("delayed",)),
    Scenario("saturated", _plain("saturated", 16, batched=True), ("saturated",)),
    Scenario("unbatched", _plain("unbatched", 8, batched=True), ("unbatched",)),
    Scenario("bursty", _plain("bursty", 16, burst_every=1.2), ("bursty",)),
    Scenario("staged", _plain("staged", 4), ("pre", "net", "staged")),
    Scenario("handler", _plain("handler", 1), ("net", "handler")),
    Scenario("failing", _plain("failing", 1), ("failing",)),
    Scenario("cached", _plain("cached", 1), ("cached",)),
    Scenario("slow-client", _plain("steady", 1, pause=0.5), ("steady",)),
    Scenario("touched", _touched, ("touched",), seconds=7),
    Scenario("reloaded", _reloaded_by_client, ("reloaded",), explicit=True, seconds=7),
    Scenario("cold", lambda where: _cold(where, "cold", False), explicit=True, seconds=6),
    Scenario("warmed", lambda where: _cold(where, "warmed", True), explicit=True, seconds=6),
    Scenario(
        "shaped",
        _shaped,
        ("shaped",),
        explicit=True,
    ),
)
