"""Whole incidents in a terminal of 80 columns and 24 lines, by keys and pastes alone, with the shipped rules."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probes.artefacts.test_triton_metrics import scrape
from tests.tui.incident.test_session import IN_PIECES, LATER
from tests.tui.terminal.conftest import Terminal

pytestmark = pytest.mark.xdist_group("terminal")


def test_out_of_memory_is_fragmentation_and_the_fix_works(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.start()
    one.until("What is wrong?", "No GPU to look at")
    one.press("2")
    one.until("Paste messages")
    one.paste(IN_PIECES)
    one.until("understood: ")
    one.press("C-d")
    one.until("● oom.fragmentation", "CONFIRMED", "4.87 GiB is")
    one.press("f")
    one.until("fix 1 of", "expandable_segments:True")
    one.press("m")
    one.until("Marked as carried out")
    one.press("v")
    one.until("CANNOT TELL YET")
    one.press("a")
    one.until("Paste messages")
    one.paste(LATER)
    one.until("understood: ")
    one.press("C-d")
    one.until("fix 1 of")
    one.press("v")
    one.until("RECOVERED")


def _an_io_wall(shown: str) -> bool:
    """Confirmed, as the cause or beneath a finer one: how busy the tester's CPUs are decides which."""
    return re.search(r"●[ Δ](?:slow\.)?io-wall", shown) is not None


def test_a_slow_a10_is_an_io_wall_after_two_answers(terminal: Callable[[], Terminal], library: Path) -> None:
    one = terminal()
    one.start(library=library, scenario="starved")
    one.until("NVIDIA A10", "31%", "slows at 98")
    one.press("1")
    shown = one.until(lambda shown: "GPU readings" in shown or "CPUs" in shown)
    if "which job?" in shown:  # somebody else's job runs on the tester's machine
        one.press("n")
    one.until("GPU readings", "of 98", lambda shown: "4/20 s" in shown)
    one.press("Enter")
    one.until("◐ slow.gpu-starved", "waits for the next batch?")
    one.press("3")
    one.until(_an_io_wall, "1 answer", "Δ")
    one.press("1")
    one.until(_an_io_wall, "2 answers")


def test_jitter_of_a_server_is_read_from_two_files_of_metrics(terminal: Callable[[], Terminal], tmp_path: Path) -> None:
    # between the two files, ten seconds apart: 100 requests, 2 s of 2.1 s each in the queue, executed one by one
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "1.txt").write_text("Mon Nov 30 02:15:06 UTC 2026\n" + scrape(100, queue=1_000_000, infer=20_000_000))
    (folder / "2.txt").write_text("Mon Nov 30 02:15:16 UTC 2026\n" + scrape(200, queue=201_000_000, infer=30_000_000))
    one = terminal()
    one.start()
    one.until("What is wrong?")
    one.press("3")
    one.until("Paste messages")
    one.press("Escape")
    one.until("CANNOT TELL", lambda shown: "Paste messages" not in shown)
    one.press("o")
    one.until("Open a file or a folder")
    one.type("metrics")
    one.press("Enter")
    one.until("● serve.queue-saturated", "21 requests are in flight")  # 10 a second, 2.1 s each


def test_an_incident_outlives_kill_9(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.start()
    one.until("What is wrong?")
    one.press("2")
    one.until("Paste messages")
    one.paste(IN_PIECES)
    one.until("understood: ")
    one.press("C-d")
    one.until("● oom.fragmentation")
    os.kill(one.process(), signal.SIGKILL)
    again = terminal()
    again.start()
    again.until("What is wrong?", "Out of memory  open")
    again.press("r")
    again.until("● oom.fragmentation", "4.87 GiB is")


def test_without_utf8_everything_is_ascii(terminal: Callable[[], Terminal], library: Path) -> None:
    one = terminal()
    one.start("--demo", library=library, scenario="starved", LANG="C", LC_ALL="C", LC_CTYPE="C")
    shown = one.until("* oom.fragmentation", "x oom.capacity")
    assert shown.isascii()
    one.press("f")
    assert one.until("fix 1 of", "expandable_segments").isascii()
    one.press("Escape")
    one.until("Conclusions")
    one.press("l")
    assert one.until("GPU readings", "of 98").isascii()


@pytest.mark.parametrize("kind", ["linux", "xterm", "screen", "tmux-256color"])
def test_it_opens_in_every_kind_of_terminal(terminal: Callable[[], Terminal], kind: str) -> None:
    one = terminal()
    one.start("--demo", TERM=kind, NO_COLOR="1")
    one.until("oom.fragmentation", "CONFIRMED")
    drawn = one.tmux("capture-pane", "-p", "-e")
    assert ";5;" not in drawn
    assert ";2;" not in drawn  # nothing but the terminal's own sixteen colours, and of those none here
    assert "\x1b[3" not in drawn.replace("\x1b[39m", "")
