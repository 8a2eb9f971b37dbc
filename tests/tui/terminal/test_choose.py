"""Choosing an instance in a terminal of 80 columns and 24 lines: from the start screen, and from a diagnosis."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tui.terminal.conftest import Terminal

pytestmark = pytest.mark.xdist_group("terminal")


def test_a_form_gives_an_instance_its_rejections_and_how_to_start(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.start()
    one.until("What is wrong?", "instance")
    one.press("c")
    one.until("Choose an instance", "types would do", "gn7e-c16g1.8xlarge")  # full fine-tuning of 7B
    one.press("Down", "Down", "Right", "Right", "Right")  # to the method: full, half, LoRA
    one.until("gn7i-c8g1.2xlarge", "QLoRA instead of LoRA")
    one.press("F3")
    one.until("[select.memory.too-small-to-train]")
    one.press("F4")
    one.until("ecs.gn7i-c8g1.2xlarge", "CNY an hour")
    one.press("Escape")
    one.until("┏━ Work")  # the form has the focus again
    one.press("Escape")
    one.until("What is wrong?")


def test_a_finished_diagnosis_leads_to_an_instance(terminal: Callable[[], Terminal]) -> None:
    one = terminal()
    one.start()
    one.until("What is wrong?", "No GPU to look at")
    one.press("2")
    one.until("Paste messages")
    one.paste(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 22.49 "
        "GiB of which 410.88 MiB is free. Process 4711 has 22.08 GiB memory in use. Of the allocated memory 20.44 GiB "
        "is allocated by PyTorch, and 127.00 MiB is reserved by PyTorch but unallocated.\n"
    )
    one.until("understood: ")
    one.press("C-d")
    one.until("oom.")
    one.press("c")
    one.until("Choose an instance", "types would do")
    one.press("F4")
    one.until(lambda shown: "diagnosed run needed at" in shown and "21.94 GiB" in shown)  # 20.44 + 1.50
