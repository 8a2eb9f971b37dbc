"""A Prometheus server that fails: the audit ends with the right rows, and calls nothing sound that it did not see."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from gpuwhy.probes import prometheus_http
from tests.tui.audit.fake_prometheus import Reply, error, server, sound
from tests.tui.audit.test_audit import audit, write

pytest.importorskip("polars")
AT = ("--since", "1h", "--until", "2026-09-21T14:20:00Z")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr(prometheus_http, "FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(prometheus_http, "LONGEST_PAUSE_SECONDS", 0.0)


def report(address: str, *more: object) -> tuple[int, dict[str, Any]]:
    found = audit("--prometheus", address, *AT, "--format", "json", *more)
    return found.exit_code, json.loads(found.output)


def causes(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (one["id"], host["host"]) for one in document["causes"] for group in one["types"] for host in group["hosts"]
    ]


def rows(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {row["host"]: (row["verdict"], row["says"] or "") for row in document["findings"]}


def test_a_sound_server(tmp_path: Path) -> None:
    with server(sound) as address:
        status, document = report(address, "--resume", tmp_path / "kept")
    assert (status, document["counts"]["hosts"]) == (1, 4)
    assert causes(document) == [("hardware.memory-errors", "n2")]


def test_too_many_samples_are_asked_for_in_halves() -> None:
    asked_for: list[int] = []

    def answer(path: str, asked: dict[str, str]) -> Reply:
        hosts = asked.get("query", "").count(":9400")
        if path.endswith("/query") and "timestamp" not in asked["query"] and "up{" not in asked["query"]:
            asked_for.append(hosts)
            if hosts > 1:
                return error(422, "execution", "query processing would load too many samples into memory")
        return sound(path, asked)

    with server(answer) as address:
        _, document = report(address)
    assert causes(document) == [("hardware.memory-errors", "n2")]
    assert max(asked_for) == 4
    assert asked_for.count(1) >= 4


def test_a_query_that_never_works_makes_its_facts_absent_with_the_reason() -> None:
    def answer(path: str, asked: dict[str, str]) -> Reply:
        if "ROW_REMAP" in asked.get("query", ""):
            return error(422, "execution", "vector cannot contain metrics with the same labelset")
        return sound(path, asked)

    with server(answer) as address:
        status, document = report(address)
    assert causes(document) == []
    told = {one["reason"] for one in document["unread"] if one["fact"] == "gpu.remap_failed"}
    assert told == {"vector cannot contain metrics with the same labelset"}
    assert status == 3


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (error(503, "unavailable", "TSDB not ready"), "TSDB not ready"),
        ((502, b"<html>bad gateway</html>"), "status 502"),
        ((429, b""), "status 429"),
    ],
    ids=["not-ready", "bad-gateway", "too-many-requests"],
)
def test_a_server_that_stops_answering_leaves_rows_of_what_was_not_read(
    bad: Reply, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuwhy.probes import prometheus_fleet

    monkeypatch.setattr(prometheus_fleet, "PAGE_HOSTS", 2)
    is_down = True

    def answer(path: str, asked: dict[str, str]) -> Reply:
        return bad if is_down and path.endswith("/query") and "n3" in asked["query"] else sound(path, asked)

    kept = tmp_path / "kept"
    with server(answer) as address:
        status, document = report(address, "--resume", kept)
        assert status == 1
        assert {host for host, told in rows(document).items() if told[0] == "broken"} == {"n3", "n4"}
        assert says in rows(document)["n3"][1]
        is_down = False
        status, document = report(address, "--resume", kept)
    assert document["counts"]["broken"] == 0
    assert causes(document) == [("hardware.memory-errors", "n2")]


def test_answers_that_are_cut_off_are_not_taken_for_whole() -> None:
    with server(sound, cut=True) as address:
        _, document = report(address)
    assert causes(document) == [("hardware.memory-errors", "n2")]  # which `last_over_time` gives, and is whole
    cut = {one["fact"] for one in document["unread"] if one["reason"] == "the answer ended before its end"}
    assert {"gpu.temperature_celsius", "gpu.utilization_share"} <= cut
    assert cut <= {"gpu.temperature_celsius", "gpu.utilization_share", "gpu.utilization_p10_share",
                   "gpu.utilization_p90_share"}  # fmt: skip


def test_a_server_that_hangs_is_given_up_in_time() -> None:
    ended = Event()

    def answer(path: str, asked: dict[str, str]) -> Reply:
        if "ROW_REMAP" in asked.get("query", ""):
            ended.wait(30)
        return sound(path, asked)

    with server(answer) as address:
        try:
            _, document = report(address, "--query-timeout", "200ms")
        finally:
            ended.set()
    assert document["counts"]["hosts"] == 4
    assert causes(document) == []


def test_a_server_that_hangs_for_good_is_not_asked_for_every_host() -> None:
    ended = Event()
    asked_for: list[str] = []

    def answer(path: str, asked: dict[str, str]) -> Reply:
        if path.endswith("/query") and "up{" not in asked["query"]:
            asked_for.append(asked["query"])
            ended.wait(30)
        return sound(path, asked)

    with server(answer) as address:
        try:
            _, document = report(address, "--query-timeout", "100ms")
        finally:
            ended.set()
    assert len(asked_for) == prometheus_http.MOST_HANGS
    assert {told[0] for told in rows(document).values()} == {"broken"}


def test_warnings_of_the_server_are_told() -> None:
    def answer(path: str, asked: dict[str, str]) -> Reply:
        status, body = sound(path, asked)
        return status, json.dumps({**json.loads(body), "warnings": ["partial response: store-2 is down"]}).encode()

    with server(answer) as address:
        _, document = report(address)
    assert any("partial response: store-2 is down" in one for one in document["notes"])


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ((401, b""), "refuses access (status 401)"),
        ((302, b""), "sends elsewhere"),
        ((200, b"<!doctype html><html>log in</html>"), "a web page"),
        ((404, b""), "no Prometheus API"),
        (error(400, "bad_data", "parse error"), "parse error"),
    ],
    ids=["401", "302", "page", "404", "400"],
)
def test_what_is_no_prometheus_ends_with_the_reason(reply: Reply, says: str) -> None:
    with server(lambda _path, _asked: reply) as address:
        found = audit("--prometheus", address, *AT)
    assert found.exit_code == 2
    assert says in " ".join(found.output.split())


def test_nothing_listens_there() -> None:
    found = audit("--prometheus", "127.0.0.1:9", *AT)
    assert found.exit_code == 2
    assert "cannot be reached" in found.output


def test_secrets_come_from_files_and_the_environment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n", "utf-8")
    with server(sound, Authorization="Bearer s3cret") as address:
        assert report(address, "--bearer-file", token)[0] == 1
        monkeypatch.setenv(prometheus_http.BEARER, "s3cret")
        assert report(address)[0] == 1
        monkeypatch.delenv(prometheus_http.BEARER)
        refused = audit("--prometheus", address, *AT)
        assert (refused.exit_code, "s3cret" in refused.output) == (2, False)
    with server(sound, Authorization="Basic " + base64.b64encode(b"me:pw").decode()) as address:
        monkeypatch.setenv(prometheus_http.BASIC, "me:pw")
        assert report(address)[0] == 1
    found = audit("--prometheus", "http://me:pw@127.0.0.1:9", *AT)
    assert found.exit_code == 2
    assert "no password in the address" in found.output


@pytest.mark.parametrize(
    "text",
    ["labels: {host: node}", "hosts: [{name: a}]", "other: 1", "hosts: [{like: a, colour: red}]", "match: [1]", "- a"],
)
def test_a_mapping_that_cannot_be_used_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(text, "utf-8")
    found = audit("--prometheus", "127.0.0.1:9", *AT, "--mapping", path)
    assert found.exit_code == 2
    assert "mapping.yaml" in found.output


def test_a_server_that_is_away_is_a_row_beside_other_inputs(tmp_path: Path) -> None:
    write(tmp_path, "bad-1", lost=True)
    found = audit(tmp_path, "--prometheus", "127.0.0.1:9", *AT, "--format", "json")
    document = json.loads(found.output)
    assert found.exit_code == 1
    assert rows(document)["127.0.0.1:9"][0] == "broken"
    assert "cannot be reached" in rows(document)["127.0.0.1:9"][1]
    assert rows(document)["bad-1"][0] == "cause"


def test_access_that_ends_in_between_leaves_rows_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuwhy.probes import prometheus_fleet

    monkeypatch.setattr(prometheus_fleet, "PAGE_HOSTS", 2)

    def answer(path: str, asked: dict[str, str]) -> Reply:
        return (401, b"") if path.endswith("/query") and "n3" in asked["query"] else sound(path, asked)

    with server(answer) as address:
        status, document = report(address)
    assert status == 1
    assert causes(document) == [("hardware.memory-errors", "n2")]
    assert {host for host, told in rows(document).items() if told[0] == "broken"} == {"n3", "n4"}
    assert "--bearer-file" in rows(document)["n3"][1]


def test_an_answer_that_trickles_in_for_ever_is_given_up() -> None:
    from gpuwhy.probes import http_exchange

    with trickling() as port, pytest.raises(TimeoutError):
        http_exchange.exchange("127.0.0.1", port, "/", {}, None, 0.3, 1 << 20)


@contextmanager
def trickling() -> Iterator[int]:
    """The port of a server that sends a byte of its answer every tenth of a second, for a minute."""
    ended = Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        line, _ = listener.accept()
        with line, suppress(OSError):
            line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n")
            for _ in range(600):
                if ended.wait(0.1):
                    return
                line.sendall(b" ")

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        ended.set()
        listener.close()
        thread.join()


def test_every_entry_of_a_mapping_that_is_like_a_host_counts_and_one_like_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(
        'labels: {host: [rack, Hostname]}\nhosts:\n  - {like: "n*", instance_type: p4d.24xlarge}\n'
        "  - {like: n2, name: rack1-1, instance_type: p5.48xlarge}\n  - {like: zz9, region: eu}\n",
        "utf-8",
    )
    with server(sound) as address:
        _, document = report(address, "--mapping", path)
    assert causes(document) == [("hardware.memory-errors", "rack1-1")]
    assert {row["host"]: row["instance_type"] for row in document["findings"]} == {
        "n1": "p4d.24xlarge",
        "rack1-1": "p4d.24xlarge",  # of each matter the first entry that says something
        "n3": "p4d.24xlarge",
        "n4": "p4d.24xlarge",
    }
    assert "no series has the label `rack`" in document["notes"]
    assert any("no host is like `zz9`" in one for one in document["notes"])


def test_a_host_of_which_every_query_failed_is_told_with_the_reason() -> None:
    def answer(path: str, asked: dict[str, str]) -> Reply:
        late = error(503, "timeout", "query timed out in expression evaluation")
        return late if path.endswith("/query") else sound(path, asked)

    with server(answer) as address:
        status, document = report(address)
    assert status == 3
    told = ("broken", "query timed out in expression evaluation")
    assert rows(document) == dict.fromkeys(("n1", "n2", "n3", "n4"), told)
    assert any("--resume" in one and "--query-timeout" in one for one in document["notes"])


def test_an_answer_that_is_cut_off_is_asked_for_in_halves_without_waiting() -> None:
    def pause(seconds: float) -> None:
        raise AssertionError(f"waits {seconds} s")

    with server(sound, cut=True) as address:
        client = prometheus_http.Client(prometheus_http.server(address), pause=pause)
        with pytest.raises(prometheus_http.QueryError, match="ended before its end"):
            client.instant("quantile(1, n1)", 0.0)


@pytest.mark.parametrize(
    ("reply", "says"), [((200, b"{}"), "not of the API"), ((500, b"?"), "an answer with status 500")]
)
def test_an_answer_without_words_is_told_in_words(reply: Reply, says: str) -> None:
    with server(lambda _path, _asked: reply) as address:
        assert says in " ".join(audit("--prometheus", address, *AT).output.split())
