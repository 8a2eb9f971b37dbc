"""The guided diagnosis in a browser: what the page's own socket carries, and who is refused."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve is not installed")
pytest.importorskip("textual_serve", reason="textual-serve is not installed")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address that a server printed."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "gpuwhy", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?key=\S+", server.stdout.readline())
        assert found is not None
        yield found[0]
        server.send_signal(signal.SIGINT)
        server.wait(60)


def test_a_browser_gets_the_start_and_its_keys_arrive(address: str) -> None:
    async def run() -> None:
        base = address.partition("/?")[0]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            async with browser.get(address) as page:
                assert page.status == 200
                text = await page.text()
                assert "/ws" in text
            async with browser.ws_connect(f"{base}/ws?width=80&height=24") as line:
                await seen(line, "What is wrong?")
                await line.send_json(["stdin", "2"])
                await seen(line, "Paste messages")

    async def seen(line: Any, wanted: str) -> None:
        shown = b""
        while wanted.encode() not in shown:
            message = await line.receive(timeout=60)
            assert message.type is aiohttp.WSMsgType.BINARY, message
            shown += message.data

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "headers", "why"),
    [
        ("/", {}, "whole address"),
        ("/ws", {}, "whole address"),
        ("/?key=guess", {}, "whole address"),
        ("/static/js/textual.js", {}, "whole address"),
        ("KEY", {"Origin": "https://evil.example"}, "this machine alone"),
        ("KEY", {"Host": "evil.example"}, "this machine alone"),
    ],
)
def test_others_are_refused(address: str, path: str, headers: dict[str, str], why: str) -> None:
    async def run() -> None:
        where = address if path == "KEY" else address.partition("/?")[0] + path
        async with aiohttp.ClientSession() as browser, browser.get(where, headers=headers) as answer:
            assert answer.status == 403
            assert why in await answer.text()

    asyncio.run(run())
