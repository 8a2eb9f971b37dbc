"""Events sent to an address, in the background: a slow or dead receiver never holds up what sends."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 5.0
TRIES = 3
PAUSE_SECONDS = 1.0
"""Before the second try; twice as long before each further one."""

MAX_WAITING = 64
"""Events that wait to be sent; further ones are dropped and counted."""


class Webhook:
    """Posts JSON to one address, one event after another."""

    def __init__(self, address: str, timeout_seconds: float = TIMEOUT_SECONDS, pause: float = PAUSE_SECONDS) -> None:
        self._address = address
        self._timeout = timeout_seconds
        self._pause = pause
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)
        self.sent = 0
        self.failed = 0
        self.dropped = 0
        self.last_problem = ""

    def start(self) -> None:
        """Begins to send."""
        self._thread.start()

    def post(self, event: Mapping[str, Any]) -> None:
        """Hands over an event; returns at once."""
        try:
            self._waiting.put_nowait(json.dumps(event, allow_nan=False).encode("utf-8"))
        except queue.Full:
            self.dropped += 1

    def end(self, seconds: float) -> None:
        """Gives what still waits so many seconds to be sent."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(seconds)
        self._stop.set()
        if self._thread.is_alive():
            self.dropped += self._waiting.qsize()

    def _run(self) -> None:
        while not self._stop.is_set():
            body = self._waiting.get()
            if body is None:
                return
            if self._send(body):
                self.sent += 1
            else:
                self.failed += 1

    def _send(self, body: bytes) -> bool:
        pause = self._pause
        for turn in range(TRIES):
            if turn and self._stop.wait(pause * 2 ** (turn - 1)):
                return False
            request = urllib.request.Request(
                self._address, data=body, headers={"Content-Type": "application/json"}, method="POST"
            )
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                    answer.read(1)
                return True
            except urllib.error.HTTPError as error:
                error.close()
                self.last_problem = f"HTTP {error.code}"
                if 400 <= error.code < 500 and error.code not in (408, 429):
                    return False  # the same again is refused again
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.last_problem = str(error)
        return False


def problem_with_address(address: str) -> str | None:
    """Why nothing can be posted there; None if it can be tried."""
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    return None if sound and address.isprintable() and " " not in address else "write http://… or https://…"
