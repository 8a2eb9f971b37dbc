"""Events are posted beside the watch: once where the receiver is well, counted where it is not, never waited for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gpuwhy.tui.webhook import MAX_WAITING, TRIES, Webhook, problem_with_address


class Receiver(ThreadingHTTPServer):
    """Takes what is posted; answers with the next of `answers`, the last one again and again."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.bodies: list[Any] = []
        self.types: list[str | None] = []
        self.hold = threading.Event()
        self.hold.set()
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.hold.wait(60)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        self.server.types.append(self.headers["Content-Type"])
        answers = self.server.answers
        self.send_response(answers.pop(0) if len(answers) > 1 else answers[0])
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def receivers() -> Iterator[list[Receiver]]:
    made: list[Receiver] = []
    yield made
    for one in made:
        one.hold.set()
        one.shutdown()
        one.server_close()


def started(receivers: list[Receiver], *answers: int) -> tuple[Receiver, Webhook]:
    receiver = Receiver(*answers)
    receivers.append(receiver)
    webhook = Webhook(receiver.address, timeout_seconds=30.0, pause=0.01)
    webhook.start()
    return receiver, webhook


def test_events_arrive_in_order_as_json(receivers: list[Receiver]) -> None:
    receiver, webhook = started(receivers, 200)
    for number in range(5):
        webhook.post({"event": "appeared", "number": number, "says": "\u20ac"})
    webhook.end(30)
    assert [one["number"] for one in receiver.bodies] == [0, 1, 2, 3, 4]
    assert receiver.bodies[0]["says"] == "\u20ac"
    assert set(receiver.types) == {"application/json"}
    assert (webhook.sent, webhook.failed, webhook.dropped) == (5, 0, 0)


def test_a_receiver_in_trouble_is_tried_again_a_few_times(receivers: list[Receiver]) -> None:
    receiver, webhook = started(receivers, 503, 503, 200)
    webhook.post({})
    webhook.end(30)
    assert (len(receiver.bodies), webhook.sent) == (3, 1)
    receiver, webhook = started(receivers, 500)
    webhook.post({})
    webhook.end(30)
    assert (len(receiver.bodies), webhook.failed, webhook.last_problem) == (TRIES, 1, "HTTP 500")


def test_a_refusal_is_not_repeated(receivers: list[Receiver]) -> None:
    receiver, webhook = started(receivers, 404)
    webhook.post({})
    webhook.end(30)
    assert (len(receiver.bodies), webhook.failed) == (1, 1)


def test_a_receiver_that_hangs_holds_nothing_up_and_what_is_lost_is_counted(receivers: list[Receiver]) -> None:
    receiver, webhook = started(receivers, 200)
    receiver.hold.clear()
    for number in range(MAX_WAITING + 10):
        webhook.post({"number": number})
    webhook.end(0.1)
    assert webhook.sent == 0
    assert webhook.dropped >= 9  # one is under way, so many wait, and the rest found no room


def test_a_receiver_that_is_not_there_is_said() -> None:
    webhook = Webhook("http://127.0.0.1:9/", timeout_seconds=5.0, pause=0.01)
    webhook.start()
    webhook.post({})
    webhook.end(60)
    assert webhook.failed == 1
    assert webhook.last_problem


@pytest.mark.parametrize(
    ("address", "sound"),
    [
        ("https://hooks.example.com/x?y=1", True),
        ("http://[::1]:8080/", True),
        ("ftp://example.com/", False),
        ("file:///etc/passwd", False),
        ("example.com", False),
        ("http://", False),
        ("http://a:99999/", False),
        ("http://a b/", False),
    ],
)
def test_only_addresses_of_the_web_are_taken(address: str, sound: bool) -> None:
    assert (problem_with_address(address) is None) is sound
