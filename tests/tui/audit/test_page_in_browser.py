"""The page of an audit in a real browser, from a file and without a network: it sorts, filters and fetches nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tui.audit.test_audit import audit, write
from tests.tui.browser import CHROMIUM, Browser

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve is not installed")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: the page cannot be tried in a browser"),
    pytest.mark.xdist_group("terminal"),
]

HOSTS = "[...document.querySelectorAll('#all tbody tr')].map(row => row.cells[0].textContent)"
FILTER = """
(() => {
  const box = document.getElementById('filter');
  box.value = 'TEXT';
  box.dispatchEvent(new Event('input'));
})()
"""
CLICK = "document.querySelector('#all th button').click()"


def test_rows_are_sorted_and_filtered_without_a_network(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    for host in ("b", "a", "c"):
        write(folder, host, lost=host == "c")
    path = tmp_path / "page.html"
    path.write_text(audit(folder, "--format", "html").output, "utf-8")
    browser = Browser(tmp_path / "profile")

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            page, listening = await browser.open(session, path.as_uri())
            while await page.run("document.readyState") != "complete" or not await page.run(HOSTS):
                await asyncio.sleep(0.05)
            await page.run(CLICK)
            assert (rising := await page.run(HOSTS)) == sorted(rising)
            assert set(rising) == {"a", "b", "c"}
            await page.run(CLICK)
            assert await page.run(HOSTS) == rising[::-1]
            assert await page.run("document.querySelector('#all th').getAttribute('aria-sort')") == "descending"
            await page.run(FILTER.replace("TEXT", "lost"))
            assert set(await page.run(HOSTS)) == {"c"}
            assert await page.run("performance.getEntriesByType('resource').length") == 0
            listening.cancel()

    try:
        asyncio.run(run())
    finally:
        browser.close()
