"""The guided diagnosis in a terminal: first paint against a bare Textual application, and bytes sent while idle.

Both are whole processes on a pseudo terminal of 80 by 24, and take turns, so that a busy machine slows both alike.
Painted is when a text of the first screen has arrived.
Prints the medians and the median of the ratios of neighbouring runs, the same of processor time, which a busy machine
disturbs less, then what a minute at rest sends.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time

BARE = (
    "from textual.app import App\nfrom textual.widgets import Static\n"
    "class Bare(App):\n    def compose(self):\n        yield Static('What is wrong?')\n"
    "Bare().run()\n"
)
SIGN = b"What is wrong?"
TARGET = 1.5


class Terminal:
    """A program on a pseudo terminal."""

    def __init__(self, command: list[str], state: str, **more: str) -> None:
        self.began = time.perf_counter()
        self.process, self.line = pty.fork()
        if self.process == 0:
            os.environ.update(XDG_STATE_HOME=state, TERM="xterm-256color", LANG="C.UTF-8", **more)
            os.execv(command[0], command)
        fcntl.ioctl(self.line, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self, seconds: float, until: bytes | None = None) -> bytes:
        """What arrives in so many seconds, or until a text has."""
        found, end = b"", time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0 and (until is None or until not in found):
            if select.select([self.line], [], [], left)[0]:
                try:
                    found += os.read(self.line, 65536)
                except OSError:
                    break
        return found

    def close(self) -> float:
        """End it; the processor seconds that it took."""
        os.kill(self.process, signal.SIGKILL)
        _, _, used = os.wait4(self.process, 0)
        os.close(self.line)
        return used.ru_utime + used.ru_stime


def first_paint(command: list[str], state: str) -> tuple[float, float]:
    """Seconds until the first screen stands, and processor seconds."""
    one = Terminal(command, state)
    one.read(60, SIGN)
    seconds = time.perf_counter() - one.began
    return seconds, one.close()


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=11)
    arguments.add_argument("--idle-seconds", type=float, default=60.0)
    given = arguments.parse_args()
    ours, bare = [sys.executable, "-m", "gpuwhy"], [sys.executable, "-c", BARE]
    with tempfile.TemporaryDirectory() as state:
        pairs = [(first_paint(ours, state), first_paint(bare, state)) for _ in range(given.runs + 1)][1:]
        for index, kind in enumerate(("first paint", "processor time of it")):
            mine, base = ([pair[whose][index] for pair in pairs] for whose in (0, 1))
            ratio = statistics.median(one / other for one, other in zip(mine, base, strict=True))
            print(
                f"{kind} {statistics.median(mine) * 1000:.0f} ms, a bare Textual application "
                f"{statistics.median(base) * 1000:.0f} ms, {given.runs} runs: ratio {ratio:.2f} (wanted: {TARGET:g})"
            )
        one = Terminal(ours, state)
        one.read(60, SIGN)
        one.read(5)
        sent = len(one.read(given.idle_seconds))
        one.close()
        print(f"{sent * 60 / given.idle_seconds:.0f} bytes per idle minute")


if __name__ == "__main__":
    main()
