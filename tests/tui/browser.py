"""A headless Chromium that a test drives by its debugging protocol: keys, pastes, and what a page receives."""

from __future__ import annotations

import asyncio
import base64
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_SECONDS = 90.0  # how long something is waited for on a busy machine; nothing is measured
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]?[@-~]|[\]P][^\x07\x1b]{0,4000}(?:\x07|\x1b\\)|[@-Z\\-_])")


class Page:
    """One page. `received` is all text that came over its sockets, without the sequences that steer a terminal."""

    def __init__(self, line: Any) -> None:
        self._line, self._number = line, 0
        self._bytes = b""
        self._answers: dict[int, Any] = {}

    @property
    def raw(self) -> str:
        """What came, as it came."""
        return self._bytes.decode("utf-8", "replace")

    @property
    def received(self) -> str:
        """What came, as text."""
        return _SEQUENCE.sub("", self.raw)

    async def listen(self) -> None:
        """Takes what the browser tells, until it is gone."""
        async for message in self._line:
            told = message.json()
            if told.get("method") == "Network.webSocketFrameReceived":
                frame = told["params"]["response"]
                binary = frame["opcode"] == 2
                self._bytes += base64.b64decode(frame["payloadData"]) if binary else b""
            elif "id" in told:
                self._answers[told["id"]] = told.get("result", told)

    async def call(self, method: str, **parameters: Any) -> Any:
        """A command of the protocol, and its answer."""
        self._number += 1
        number = self._number
        await self._line.send_json({"id": number, "method": method, "params": parameters})
        await self.until(lambda: number in self._answers, method)
        return self._answers.pop(number)

    async def until(self, holds: Any, what: str) -> None:
        """Waits until it holds."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < end, f"{what}: not seen; received {self.received[-2000:]}"
            await asyncio.sleep(0.05)

    async def sees(self, wanted: str) -> None:
        """Waits until a text was received."""
        await self.until(lambda: wanted in self.received, wanted)

    async def press(self, key: str, text: str = "", modifiers: int = 0) -> None:
        """One key."""
        more = {"text": text} if text else {}
        code = ord(key.upper()) if len(key) == 1 else 0
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers, windowsVirtualKeyCode=code, **more
            )

    async def run(self, script: str) -> Any:
        """The value of a script in the page."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return found.get("result", {}).get("value")


class Browser:
    """A browser with a profile of its own."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        self._folder = folder
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--window-size=1000,700"]
        command = [CHROMIUM, *flags, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def open(self, session: Any, address: str) -> tuple[Page, asyncio.Task[None]]:
        """A page at an address."""
        told, end = self._folder / "DevToolsActivePort", time.monotonic() + PATIENCE_SECONDS
        while not told.exists() or not told.read_text().strip():
            assert time.monotonic() < end, "the browser does not start"
            await asyncio.sleep(0.1)
        base = f"http://127.0.0.1:{told.read_text().split()[0]}"
        async with session.get(f"{base}/json") as answer:
            target = next(one for one in await answer.json() if one["type"] == "page")
        page = Page(await session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0))
        listening = asyncio.get_running_loop().create_task(page.listen())
        await page.call("Network.enable")
        await page.call("Page.navigate", url=address)
        return page, listening

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(60)
