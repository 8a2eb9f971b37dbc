"""A stand-in for a Prometheus server, whose answers and failures a test chooses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

NOW = 1_790_000_400.0
HOSTS = ("n1", "n2", "n3", "n4")
NAMES = ["DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_ROW_REMAP_FAILURE"]
Reply = tuple[int, bytes]


def success(data: object, **more: object) -> Reply:
    return 200, json.dumps({"status": "success", "data": data, **more}).encode()


def error(status: int, kind: str, says: str) -> Reply:
    return status, json.dumps({"status": "error", "errorType": kind, "error": says}).encode()


def sound(path: str, asked: dict[str, str]) -> Reply:
    """What a server with four hosts of one GPU answers; a row remap failed on n2."""
    query = asked.get("query", "") + asked.get("match[]", "")
    if path.endswith("/label/__name__/values"):
        return success(NAMES if "DCGM_" in query else [])
    if path.endswith("/label/instance/values"):
        return success([f"{one}:9400" for one in HOSTS])
    about = [one for one in HOSTS if re.search(rf"\b{one}:9400", query.replace("\\", ""))]
    labels = {one: {"instance": f"{one}:9400", "job": "dcgm", "gpu": "0", "Hostname": one} for one in about}
    if path.endswith("/series"):
        return success([labels[one] for one in about])
    if not query.startswith("quantile") and "timestamp" not in query and "ROW_REMAP" not in query:
        return success({"resultType": "vector", "result": []})
    value = {"timestamp": NOW, "GPU_TEMP": 60, "GPU_UTIL": 95, "ROW_REMAP": 0}
    found = next(number for word, number in value.items() if word in query)
    if "min_over_time" in query and "timestamp" in query:
        found = NOW - 3600
    result = [
        {"metric": labels[one], "value": [NOW, str(1 if "ROW_REMAP" in query and one == "n2" else found)]}
        for one in about
    ]
    return success({"resultType": "vector", "result": result})


@contextmanager
def server(answer: Callable[[str, dict[str, str]], Reply], cut: bool = False, **needs: str) -> Iterator[str]:
    """A server with these answers; `cut` ends bodies early, `needs` are headers without which it refuses."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def answer(self, form: str) -> None:
            asked = {key: values[0] for key, values in parse_qs(form).items()}
            allowed = all(self.headers.get(key) == value for key, value in needs.items())
            status, body = answer(urlsplit(self.path).path, asked) if allowed else (401, b"who are you")
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if cut and "quantile" in asked.get("query", "") else body)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing: a client that gave up waiting is what is tested."""

    made = Quiet(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    thread = Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_address[1]}"
    finally:
        made.shutdown()
        made.server_close()
        thread.join()
