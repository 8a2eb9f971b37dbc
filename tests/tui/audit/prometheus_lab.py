"""A real Prometheus server on loopback, filled by promtool with series of any shape, or scraping replayed text."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.ports import free_port

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
needs_prometheus = pytest.mark.skipif(
    not PROMETHEUS or not PROMTOOL, reason="needs prometheus and promtool (the Debian package prometheus)"
)
END = 1_790_000_400
"""The end of every window of these tests, in seconds since the epoch: a whole minute."""
SCRAPE_SECONDS = 60
Shape = float | Callable[[float], float | None]


@dataclass
class Recording:
    """Series of several hours before `END`; a shape is a constant, or a function of hours before the end."""

    hours: float = 6.0
    lines: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, labels: Mapping[str, str], shape: Shape) -> None:
        """One series. Where the shape gives None there is no sample."""
        inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
        into = self.lines.setdefault(name, [])
        for number in range(int(self.hours * 3600 / SCRAPE_SECONDS) + 1):
            before = self.hours - number * SCRAPE_SECONDS / 3600
            value = shape(before) if callable(shape) else shape
            if value is not None:
                into.append(f"{name}{{{inside}}} {value} {END - round(before * 3600)}")

    def text(self) -> str:
        """All of it as OpenMetrics text."""
        parts = []
        for name, lines in self.lines.items():
            parts += [f"# TYPE {name} unknown", *lines]
        return "\n".join([*parts, "# EOF", ""])


def counting(per_second: float, hours: float = 6.0, reset_before: float | None = None) -> Callable[[float], float]:
    """A counter that grows evenly, and begins anew so many hours before the end."""

    def shape(before: float) -> float:
        if reset_before is not None and before <= reset_before:
            return (reset_before - before) * 3600 * per_second
        return (hours - before) * 3600 * per_second + 1000

    return shape


@contextmanager
def prometheus(folder: Path, config: str = "global: {}\n", recording: Recording | None = None) -> Iterator[str]:
    """The address of a server with this configuration and recording."""
    assert PROMETHEUS
    assert PROMTOOL
    data = folder / "data"
    data.mkdir(parents=True)
    if recording is not None:
        (folder / "recording.om").write_text(recording.text(), "utf-8")
        made = [PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", str(folder / "recording.om"), str(data)]
        subprocess.run(made, check=True, capture_output=True, timeout=120)
    (folder / "prometheus.yml").write_text(config, "utf-8")
    port = free_port()
    command = [
        PROMETHEUS, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=100y", "--log.level=error",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/-/ready"), (folder / "log").read_text)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def answers(address: str) -> bool:
    """True if this address answers with status 200."""
    try:
        with urllib.request.urlopen(address, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def wait_until(test: Callable[[], bool], told: Callable[[], str], most: float = 60.0) -> None:
    """Waits for something of another process; fails with what is told after a minute."""
    end = time.monotonic() + most
    while not test():
        if time.monotonic() > end:
            raise AssertionError(f"not within {most:g} s: {told()}")
        time.sleep(0.1)


@contextmanager
def replay(text: Callable[[], str]) -> Iterator[str]:
    """The host and port of a server whose /metrics is this text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text().encode("utf-8")
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
