"""Starts and ends a real tritonserver: the binary and the Python backend that the wheel nvidia-pytriton carries."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.ports import free_port

START_SECONDS = 120


def why_not() -> str:
    """Why the server cannot run on this machine; empty where it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "nvidia-pytriton is for Linux on x86-64"
    found = importlib.util.find_spec("pytriton")
    if found is None or not found.submodule_search_locations:
        return "nvidia-pytriton is not installed (the extra `dev` has it)"
    if not _stub(Path(found.submodule_search_locations[0])).exists():
        return f"nvidia-pytriton has no Python backend for {sys.version_info.major}.{sys.version_info.minor}"
    libc, version = platform.libc_ver()
    if libc != "glibc" or tuple(int(part) for part in version.split(".")[:2]) < (2, 35):
        return f"tritonserver needs glibc 2.35 or later, here is {libc} {version}"
    return ""


def _stub(package: Path) -> Path:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return package / "tritonserver" / "python_backend_stubs" / version / "triton_python_backend_stub"


@dataclass
class Server:
    """A running server: where its repository and log are, and its ports."""

    folder: Path
    options: tuple[str, ...] = ()
    http: int = 0
    grpc: int = 0
    metrics: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def repository(self) -> Path:
        """The model repository."""
        return self.folder / "models"

    @property
    def log(self) -> Path:
        """The log of the server."""
        return self.folder / "server.log"

    def start(self) -> None:
        """Starts the process on its ports, chosen the first time; does not wait."""
        if not self.http:
            self.http, self.grpc, self.metrics = free_port(), free_port(), free_port()
        found = importlib.util.find_spec("pytriton")
        assert found is not None
        assert found.submodule_search_locations
        package = Path(found.submodule_search_locations[0])
        backend = self.folder / "backends" / "python"
        if not backend.exists():
            shutil.copytree(package / "tritonserver" / "backends" / "python", backend)
            shutil.copy2(_stub(package), backend)
        self.repository.mkdir(exist_ok=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(package.parent / "nvidia_pytriton.libs")}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment.get('PATH', '')}"
        environment["PYTHONPATH"] = str(package.parent)
        addresses = [f"--{name}-address=127.0.0.1" for name in ("http", "grpc", "metrics")]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [
                    str(package / "tritonserver" / "bin" / "tritonserver"),
                    f"--model-repository={self.repository}",
                    f"--backend-directory={self.folder / 'backends'}",
                    f"--cache-directory={package / 'tritonserver' / 'caches'}",
                    f"--http-port={self.http}",
                    f"--grpc-port={self.grpc}",
                    f"--metrics-port={self.metrics}",
                    "--metrics-config=summary_latencies=true",
                    "--exit-on-error=false",
                    "--exit-timeout-secs=5",
                    *addresses,
                    *self.options,
                ],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Waits until it is ready; says what its log ends with if that never happens."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process is not None and self.process.poll() is None:
            if self.ready():
                return
            time.sleep(0.1)
        raise RuntimeError(f"tritonserver did not start: {self.log.read_text('utf-8', 'replace')[-2000:]}")

    def ready(self, name: str = "") -> bool:
        """True if the server, or one of its models, is ready."""
        try:
            self.call(f"/v2/models/{name}/ready" if name else "/v2/health/ready", None)
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """Ends it, and the processes of its models, which outlive a server that is killed."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def call(self, path: str, body: object | None = None, timeout: float = 30) -> bytes:
        """One request of the control plane; a body makes it a POST."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", content)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return bytes(answer.read())

    def load(self, name: str) -> None:
        """Loads a model, or loads it anew."""
        self.call(f"/v2/repository/models/{name}/load", {}, timeout=60)

    def unload(self, name: str) -> None:
        """Unloads a model, and waits until it is gone."""
        self.call(f"/v2/repository/models/{name}/unload", {}, timeout=60)
        while self.ready(name):
            time.sleep(0.05)


@contextmanager
def running(*servers: Server) -> Iterator[tuple[Server, ...]]:
    """Servers, started side by side and ended at last."""
    try:
        for one in servers:
            one.start()
        for one in servers:
            one.wait()
        yield servers
    finally:
        for one in servers:
            one.stop()
