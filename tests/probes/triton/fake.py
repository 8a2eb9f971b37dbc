"""A server that answers as Triton does, from texts: for what a real one without a GPU cannot show."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OK = 200
SHORT = -1
"""Stands for an answer that ends before its end."""

VERSION = {"name": "triton", "version": "2.51.0", "extensions": ["statistics"]}


class Pages:
    """What each path answers: a text with its status; of several, one after the other, the last again and again."""

    def __init__(self, pages: dict[str, list[tuple[int, str]]]) -> None:
        self.pages = {path: list(answers) for path, answers in pages.items()}
        self.asked: list[tuple[str, str]] = []
        self.headers: list[str | None] = []

    def answer(self, path: str) -> tuple[int, str]:
        answers = self.pages.get(path)
        if not answers:
            return 404, "not found"
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextmanager
def serving(pages: dict[str, list[tuple[int, str]]]) -> Iterator[tuple[int, Pages]]:
    """The port of a server with these pages, and what was asked of it."""
    book = Pages(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            book.asked.append((self.command, self.path))
            book.headers.append(self.headers.get("Authorization"))
            if self.headers.get("Content-Length"):
                self.rfile.read(int(self.headers["Content-Length"]))
            status, text = book.answer(self.path)
            content = text.encode()
            self.send_response(OK if status == SHORT else status)
            self.send_header("Content-Length", str(len(content) + (100 if status == SHORT else 0)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1]), book
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def index(**states: str) -> str:
    """The answer of the repository index."""
    return json.dumps([{"name": name, "version": "1", "state": state} for name, state in states.items()])
