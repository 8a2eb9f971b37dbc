"""A terminal on a bad day: half a paste, Ctrl-C, another size in the middle of a look, a connection that ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.terminal.conftest import PATIENCE_SECONDS, Terminal, ended

pytestmark = pytest.mark.xdist_group("terminal")


def gone(process: int) -> bool:
    """True once there is no such process; waited for."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not ended(process):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_half_a_paste_and_ctrl_c_leave_an_incident_to_resume(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.start()
    one.until("What is wrong?", "No GPU to look at")
    one.press("2")
    one.until("Paste messages")
    one.tmux("send-keys", "-H", "1b", "5b", "32", "30", "30", "7e", "ff")  # a paste begins, with no UTF-8
    one.type("half of it")
    one.press("C-c")
    one.until(lambda shown: "Paste messages" not in shown, "CANNOT TELL")
    process = one.process()
    one.press("C-c")
    assert gone(process)
    again = terminal()
    again.start()
    again.until("What is wrong?", "Out of memory  open")


def test_another_size_while_looking_keeps_everything_in_view(terminal: Callable[[], Terminal], library: Path) -> None:
    one = terminal()
    one.start(library=library, scenario="starved")
    one.until("NVIDIA A10")
    one.press("5")
    one.until("GPU readings", "/20 s")
    one.tmux("resize-window", "-x", "70", "-y", "20")
    one.tmux("resize-window", "-x", "80", "-y", "24")
    one.press("C-c")  # ends the look, and what was seen counts
    one.until("Conclusions", "Next", "e Report", lambda shown: " 0 readings" not in shown)


def test_what_another_program_wrote_on_the_screen_goes_by_a_key(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.start("--demo")
    one.until("CONFIRMED", "oom.fragmentation", "e Report")
    with open(one.tmux("display-message", "-p", "#{pane_tty}").strip(), "w") as device:
        device.write("\x1b[5;1HBroadcast message from root: 3 a.m.\r\n")
    one.until("Broadcast message")
    one.press("C-l")
    one.until("oom.fragmentation", "e Report", lambda shown: "Broadcast" not in shown)


def test_a_terminal_that_goes_away_ends_it(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.start()
    one.until("What is wrong?")
    process = one.process()
    one.close()
    assert gone(process)


def test_a_signal_to_end_restores_the_terminal(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.tmux("new-session", "-d", "-s", "keep", "sleep", "600")
    one.tmux("set-option", "-g", "remain-on-exit", "on")
    one.start()
    one.until("What is wrong?")
    state = "#{alternate_on} #{mouse_any_flag}"
    pane = one.tmux("display-message", "-p", "#{pane_id}").strip()
    assert one.tmux("display-message", "-p", "-t", pane, state).split() == ["1", "1"]
    process = one.process()
    os.kill(process, signal.SIGTERM)
    assert gone(process)
    assert one.tmux("display-message", "-p", "-t", pane, state).split() == ["0", "0"]
