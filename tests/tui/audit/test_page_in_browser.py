"""The page of an audit in a real browser, from a file and without a network: it sorts, filters and fetches nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.tui.audit.test_audit import audit, write
from tests.tui.browser import CHROMIUM, Browser, Page

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


def in_browser(folder: Path, html: str, tried: Callable[[Page], Awaitable[None]]) -> None:
    """Opens a page from a file, and has it tried once its rows stand."""
    path = folder / "page.html"
    path.write_text(html, "utf-8")
    browser = Browser(folder / "profile")

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            page, listening = await browser.open(session, path.as_uri())
            while await page.run("document.readyState") != "complete" or not await page.run(HOSTS):
                await asyncio.sleep(0.05)
            await tried(page)
            listening.cancel()

    try:
        asyncio.run(run())
    finally:
        browser.close()


def test_rows_are_sorted_and_filtered_without_a_network(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    for host in ("b", "a", "c"):
        write(folder, host, lost=host == "c")

    async def tried(page: Page) -> None:
        await page.run(CLICK)
        assert (rising := await page.run(HOSTS)) == sorted(rising)
        assert set(rising) == {"a", "b", "c"}
        await page.run(CLICK)
        assert await page.run(HOSTS) == rising[::-1]
        assert await page.run("document.querySelector('#all th').getAttribute('aria-sort')") == "descending"
        await page.run(FILTER.replace("TEXT", "lost"))
        assert set(await page.run(HOSTS)) == {"c"}
        assert await page.run("performance.getEntriesByType('resource').length") == 0

    in_browser(tmp_path, audit(folder, "--format", "html").output, tried)


def test_the_page_fits_a_phone_counts_numbers_and_leads_from_a_cause_to_its_hosts(tmp_path: Path) -> None:
    import polars

    names = ["node-10", "node-9", "<img src=x onerror=alert(1)>", "n" * 300]
    table = tmp_path / "table.parquet"
    lost = [name != "node-9" for name in names]
    failed = [name == "node-9" for name in names]
    types = ["p5.48xlarge", "p4d.24xlarge"] * 2
    rows = {"host": names, "gpu": [0] * 4, "gpu.lost": lost, "gpu.remap_failed": failed, "host.instance_type": types}
    polars.DataFrame(rows).write_parquet(table)

    async def tried(page: Page) -> None:
        await page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        assert await page.run("document.documentElement.scrollWidth") <= 390
        await page.run(CLICK)
        found = await page.run(HOSTS)
        assert found.index("node-9") < found.index("node-10")
        assert "<img src=x onerror=alert(1)>" in found  # as text
        await page.run("document.querySelector('.go[data-words=\"hardware.memory-errors\"]').click()")
        assert set(await page.run(HOSTS)) == {"node-9"}
        assert await page.run("document.images.length") == 0

    in_browser(tmp_path, audit(table, "--format", "html").output, tried)
