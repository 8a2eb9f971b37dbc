"""A terminal of 80 columns and 24 lines that a test types into and reads, held by tmux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.probes.nvml.conftest import compiled
from tests.probes.nvml.live import environment

PATIENCE_SECONDS = 90.0  # how long a screen is waited for on a busy machine; nothing is measured
COLUMNS, LINES = 80, 24


class Terminal:
    """One terminal. Nothing of the tester's own tmux, settings or state is touched."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = f"gpuwhy-{uuid.uuid4().hex[:12]}"

    def tmux(self, *arguments: str, text: str | None = None) -> str:
        """A command of tmux."""
        done = subprocess.run(
            ["tmux", "-u", "-L", self._socket, "-f", "/dev/null", *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *arguments: str, library: Path | None = None, scenario: str = "idle", **more: str) -> None:
        """The program, in a terminal of its own."""
        wanted = {"XDG_STATE_HOME": str(self._folder / "state"), "LANG": "C.UTF-8", "LC_ALL": "", **more}
        made = environment(library, scenario, **wanted)
        pairs = [f"{name}={made[name]}" for name in (*wanted, "LD_LIBRARY_PATH", "FAKE_NVML_SCENARIO", "PATH")]
        command = ["env", "-u", "SSH_CONNECTION", *pairs, sys.executable, "-m", "gpuwhy", *arguments]
        size = ("-x", str(COLUMNS), "-y", str(LINES))
        self.tmux("new-session", "-d", *size, "-c", str(self._folder), "sh", "-c", 'exec "$@"', "sh", *command)

    def press(self, *keys: str) -> None:
        """Keys, as tmux names them."""
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Signs, one by one."""
        self.tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        """A bracketed paste."""
        self.tmux("load-buffer", "-", text=text)
        self.tmux("paste-buffer", "-p")

    def screen(self) -> str:
        """What stands on the screen."""
        return self.tmux("capture-pane", "-p")

    def until(self, *wanted: str | Callable[[str], bool]) -> str:
        """Waits until all of it stands on the screen, and gives the screen."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            shown = self.screen()
            if all(one in shown if isinstance(one, str) else one(shown) for one in wanted):
                lines = shown.splitlines()
                assert len(lines) <= LINES
                assert all(len(line) <= COLUMNS for line in lines)
                return shown
            assert time.monotonic() < end, f"{wanted} is not on the screen:\n{shown}"
            time.sleep(0.1)

    def process(self) -> int:
        """The process id of the program."""
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def close(self) -> None:
        """Ends everything in it."""
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, timeout=60)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[[], Terminal]]:
    """Makes terminals that share the state of one user."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: the program cannot be tried in a terminal")
    made: list[Terminal] = []

    def make() -> Terminal:
        made.append(Terminal(tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A driver's library whose answers a test chooses."""
    return compiled(tmp_path_factory.mktemp("nvml"))


def ended(process: int) -> bool:
    """True if there is no such process any more, or only its entry that tmux has not collected yet."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return True
    except OSError:  # it ended meanwhile, or there is no /proc: asked again by who waits
        return False
    return state == "Z"
