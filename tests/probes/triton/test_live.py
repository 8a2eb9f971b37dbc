"""A live look: facts where the server answers, and plain reasons where it does not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.kb.load import load
from gpuwhy.probes.gathering import Gathering
from gpuwhy.probes.triton_http import Address, AddressError, address
from gpuwhy.probes.triton_live import Target, look
from gpuwhy.probes.triton_log_follow import Follower
from tests.ports import free_port
from tests.probes.artefacts.test_triton_metrics import scrape
from tests.probes.triton.fake import OK, SHORT, VERSION, index, serving

WINDOW = "server:this/model:echo/load:window"


def seen(target: Target, seconds: float = 0.4) -> Gathering:
    return look(target, seconds, load().facts)


def facts(found: Gathering) -> dict[tuple[str, str], Value]:
    return {(one.id, one.entity.path): one.value for one in found.facts}


def reasons(found: Gathering) -> dict[str, str]:
    return {one.id: one.reason for one in found.absent}


def pages(*texts: str) -> dict[str, list[tuple[int, str]]]:
    return {"/metrics": [(OK, "nv_ "), *((OK, text) for text in texts)]}


def at(port: int, **more: object) -> Target:
    return Target(Address("127.0.0.1", port), **more)  # type: ignore[arg-type]


def test_two_reads_of_the_metrics_are_a_window() -> None:
    with serving(pages(scrape(100, queue=0, infer=10), scrape(140, queue=4_000_000, infer=10))) as (port, book):
        found = seen(at(port))
    told = facts(found)
    assert told["serve.request_count", WINDOW] == 40
    assert told["serve.queue_seconds", WINDOW] == pytest.approx(0.1)  # 4 s over 40
    assert told["serve.cumulative", WINDOW] is False
    assert told["serve.restarted", "server:this"] is False
    assert "nothing" not in reasons(found).get("serve.metrics_answered", "")
    assert all(method == "GET" for method, _ in book.asked)


def test_nothing_that_listens_is_a_reason() -> None:
    found = seen(at(free_port()))
    assert found.facts == ()
    assert "nothing listens" in reasons(found)["serve.metrics_answered"]


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "--triton-header"), (403, "--triton-header"), (302, "sends elsewhere"), (404, "status 404")],
)
def test_a_status_other_than_200_is_a_reason(status: int, words: str) -> None:
    with serving({"/metrics": [(status, "no")]}) as (port, _):
        assert words in reasons(seen(at(port)))["serve.metrics_answered"]


def test_an_authorisation_is_sent_and_told_to_nobody() -> None:
    with serving(pages(scrape(1, infer=1))) as (port, book):
        target = Target(Address("127.0.0.1", port, headers={"Authorization": "Bearer secret"}))
        found = seen(target)
    assert set(book.headers) == {"Bearer secret"}
    assert "secret" not in repr(found)


def test_metrics_of_something_else_are_not_those_of_triton() -> None:
    with serving({"/metrics": [(OK, "go_goroutines 12\n")]}) as (port, _):
        assert "not with metrics of Triton" in reasons(seen(at(port)))["serve.metrics_answered"]


def test_an_answer_that_ends_early_is_a_reason() -> None:
    with serving({"/metrics": [(SHORT, "nv_inference")]}) as (port, _):
        assert "ended its answer early" in reasons(seen(at(port)))["serve.metrics_answered"]


@contextmanager
def speaking(words: bytes) -> Iterator[int]:
    """A port that says something that is no HTTP to whoever connects."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(10_000)
                connection.sendall(words)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_the_grpc_port_is_recognised_as_no_http() -> None:
    with speaking(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x7f\xff\xff\xff\r\n") as port:
        assert "gRPC" in reasons(seen(at(port)))["serve.metrics_answered"]


def test_tls_where_none_is_spoken_is_a_reason() -> None:
    with speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        found = seen(Target(Address("127.0.0.1", port, tls=True)))
    assert "TLS" in reasons(found)["serve.metrics_answered"]


def http_pages(**more: list[tuple[int, str]]) -> dict[str, list[tuple[int, str]]]:
    config = {"name": "echo", "backend": "python", "max_batch_size": 8, "dynamic_batching": {}, "input": []}
    return {
        "/v2": [(OK, json.dumps(VERSION))],
        "/v2/models/echo/config": [(OK, json.dumps(config))],
        "/v2/repository/index": [(OK, index(echo="READY"))],
        **more,
    }


def statistics(count: int, queue_ns: int, busy_ns: int) -> str:
    one = {"count": count, "ns": queue_ns}
    return json.dumps(
        {
            "model_stats": [
                {
                    "name": "echo",
                    "version": "1",
                    "inference_count": count,
                    "execution_count": count,
                    "inference_stats": {"success": one, "queue": one, "compute_infer": {"count": count, "ns": busy_ns}},
                    "batch_stats": [{"batch_size": 1, "compute_infer": {"count": count, "ns": busy_ns}}],
                }
            ]
        }
    )


def test_statistics_alone_do_where_the_metrics_are_off() -> None:
    answers = [(OK, statistics(10, 0, 0)), (OK, statistics(30, 2_000_000_000, 200_000_000))]
    with serving(http_pages(**{"/v2/models/stats": answers})) as (port, _):
        found = seen(at(port))
    told = facts(found)
    assert told["serve.queue_seconds", WINDOW] == pytest.approx(0.1)  # 2 s over 20
    assert told["serve.max_batch_size", "server:this/model:echo"] == 8
    assert told["serve.dynamic_batching", "server:this/model:echo"] is True
    assert told["serve.software_version", "server:this"] == "2.51.0"
    assert "is the HTTP port" in reasons(found)["serve.metrics_answered"]


def test_a_model_whose_counters_begin_anew_was_loaded_again() -> None:
    answers = [(OK, statistics(count, count, count)) for count in (100, 110, 3, 9)]
    with serving(http_pages(**{"/v2/models/stats": answers})) as (port, _):
        told = facts(seen(at(port), 1.0))
    assert told["serve.counter_reset", WINDOW] is True
    assert told["serve.reload_count", "server:this/model:echo"] == 1
    assert told["serve.restarted", "server:this"] is False
    assert told["serve.request_count", WINDOW] == 19  # 10, then 3 and 6 after the reset


def test_configurations_on_disk_are_read_and_a_folder_that_is_not_there_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "echo").mkdir()
    (tmp_path / "echo" / "config.pbtxt").write_text(
        "max_batch_size: 4\ninstance_group [ { kind: KIND_CPU count: 3 } ]\n"
    )
    with serving(pages(scrape(1, infer=1), scrape(9, infer=9))) as (port, _):
        found = seen(at(port, repository=tmp_path))
        lost = seen(at(port, repository=tmp_path / "nowhere"))
    assert facts(found)["serve.instance_count", "server:this/model:echo"] == 3
    assert "cannot be read" in reasons(lost)["serve.max_batch_size"]


def test_only_what_the_log_says_during_the_watch_is_a_reload(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    old = (
        'I1130 08:06:06.000000 1 model_lifecycle.cc:472] "loading: echo:1"\n'
        "I1130 08:06:08.500000 1 model_lifecycle.cc:839] \"successfully loaded 'echo'\"\n"
        "| model_control_mode | MODE_EXPLICIT |\n"
    )
    log.write_text(old)
    follower = Follower(log)
    quiet = {one.fact: one.value for one in follower.readings()[0]}
    log.write_text(old + old.replace("08:06:0", "08:07:0"))
    told = {one.fact: one.value for one in follower.readings()[0]}
    assert quiet["serve.control_mode"] == "explicit"
    assert quiet["serve.load_seconds"] == 2.5
    assert "serve.reload_count" not in quiet
    assert told["serve.reload_count"] == 1
    with serving(pages(scrape(1, infer=1), scrape(9, infer=9))) as (port, _):
        found = facts(seen(at(port, log=log)))
    assert found["serve.control_mode", "server:this"] == "explicit"
    assert found["serve.reload_count", "server:this/model:echo"] == 0


def test_a_log_that_cannot_be_read_is_a_reason(tmp_path: Path) -> None:
    with serving(pages(scrape(1, infer=1))) as (port, _):
        assert "cannot be read" in reasons(seen(at(port, log=tmp_path / "none.log")))["serve.control_mode"]


def test_a_probe_that_cannot_be_sent_says_why() -> None:
    with serving(pages(scrape(1, infer=1))) as (port, _):
        assert "HTTP port" in reasons(seen(at(port, probe_load=3)))["serve.probe_count"]


@pytest.mark.parametrize(
    ("text", "host", "port", "tls"),
    [
        ("gpu-1:9002", "gpu-1", 9002, False),
        ("gpu-1", "gpu-1", 8002, False),
        (":9002", "localhost", 9002, False),
        ("https://gpu-1:443", "gpu-1", 443, True),
        ("[::1]:8002", "::1", 8002, False),
    ],
)
def test_addresses(text: str, host: str, port: int, tls: bool) -> None:
    found = address(text, 8002)
    assert (found.host, found.port, found.tls) == (host, port, tls)


@pytest.mark.parametrize("text", ["gpu:port", "ftp://gpu:21", "gpu:99999", "a b:1", "user@gpu:8002"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(AddressError):
        address(text, 8002)
