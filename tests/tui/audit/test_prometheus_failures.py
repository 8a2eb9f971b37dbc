"""A Prometheus server that fails: the audit ends with the right rows, and calls nothing sound that it did not see."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gpuwhy.probes import prometheus_http
from tests.tui.audit.test_audit import audit

pytest.importorskip("polars")
NOW = 1_790_000_400.0
AT = ("--since", "1h", "--until", "2026-09-21T14:20:00Z")
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
    assert told <= {"vector cannot contain metrics with the same labelset"}
    assert status in (0, 3)


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
    assert cut <= {"gpu.temperature_celsius", "gpu.utilization_share", "gpu.utilization_p10_share",
                   "gpu.utilization_p90_share"}  # fmt: skip


def test_a_server_that_hangs_is_given_up_in_time() -> None:
    from threading import Event

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
    from threading import Event

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
