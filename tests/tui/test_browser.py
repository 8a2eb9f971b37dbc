"""`gpuwhy serve` in a real browser: a paste gives the diagnosis, keys work, hostile text stays text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.tui.browser import CHROMIUM, Browser
from tests.tui.incident.test_session import IN_PIECES
from tests.tui.test_serve import address

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve is not installed")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: the page cannot be tried in a browser"),
    pytest.mark.xdist_group("terminal"),
]
__all__ = ["address"]

HOSTILE = "<img src=x onerror=document.title='broken'> \x1b]52;c;aGk=\x07 \u202egnp.exe"
PASTE = """
(() => {
  const data = new DataTransfer();
  data.setData('text/plain', TEXT);
  const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
  document.querySelector('.xterm-helper-textarea').dispatchEvent(event);
})()
"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    one = Browser(tmp_path / "profile")
    yield one
    one.close()


def test_a_paste_in_a_browser_gives_the_diagnosis(address: str, browser: Browser) -> None:
    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            page, listening = await browser.open(session, address)
            await page.sees("What is wrong?")
            await page.run("document.querySelector('.xterm-helper-textarea').focus()")
            await page.press("2", "2")
            await page.sees("Paste messages")
            text = f"{IN_PIECES}{HOSTILE}\n"
            await page.run(PASTE.replace("TEXT", json.dumps(text)))
            await page.sees("understood: ")
            await page.press("d", modifiers=2)
            await page.sees("oom.fragmentation")
            await page.sees("4.87 GiB")
            await page.press("f", "f")
            await page.sees("expandable_segments")
            assert "\x1b]52;c;aGk=" not in page.raw
            assert "\u202e" not in page.raw
            assert await page.run("document.title") != "broken"
            assert await page.run("document.querySelectorAll('img[src=x]').length") == 0
            listening.cancel()

    asyncio.run(run())


def test_only_loopback_is_listened_on(address: str) -> None:
    port = urlsplit(address).port
    assert port is not None
    listening = [line.split() for name in ("tcp", "tcp6") for line in _table(name) if line.split()[3] == "0A"]
    ours = {one[1].split(":")[0] for one in listening if int(one[1].split(":")[1], 16) == port}
    assert ours == {"0100007F"}  # 127.0.0.1, as the kernel writes it


def _table(name: str) -> list[str]:
    path = Path("/proc/net") / name
    return path.read_text().splitlines()[1:] if path.exists() else []
