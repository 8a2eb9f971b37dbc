"""A running training is watched from within the guided diagnosis, in a terminal of 80 columns and 24 lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwhy.probes.stack_samples import find_program
from tests.probes.pid.test_running_job import running
from tests.tui.terminal.conftest import Terminal

pytest.importorskip("torch")
pytestmark = pytest.mark.xdist_group("terminal")

if find_program() is None:
    pytest.skip("py-spy is not installed: no stacks can be read", allow_module_level=True)


def test_a_training_that_waits_for_data_is_chosen_and_understood(
    terminal: Callable[[], Terminal], tmp_path: Path
) -> None:
    (tmp_path / "job").mkdir()
    with running("slow-loader", tmp_path / "job") as job:
        one = terminal()
        one.start()
        one.until("What is wrong?", "No GPU to look at")
        one.press("1")
        shown = one.until("which job?", f" {job.pid} ")
        listed = re.findall(r"^┃ +(\d+) ", shown, re.MULTILINE)
        for _ in range(listed.index(str(job.pid))):
            one.press("Down")
        one.until(lambda shown: f"\n {job.pid} and " in shown)
        one.press("Enter")
        one.until(f"of process {job.pid}")
        one.press("y")
        one.until(f"job {job.pid}", "its settings", lambda shown: re.search(r"\b1[0-9]/20 s", shown) is not None)
        one.press("Enter")
        one.until(lambda shown: re.search(r"●[ Δ](?:slow\.)?io-wall", shown) is not None)  # ● is confirmed
        assert job.poll() is None  # it runs on
