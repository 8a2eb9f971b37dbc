"""Choosing a machine: a whole `gpuwhy select`, against a Python that only imports yaml and click, in turns."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

TARGET = 4.0
WORK = ["--task", "finetune", "--params", "7B", "--method", "lora", "--sequence", "1024", "--hours", "48"]


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(command: list[str]) -> float:
    """Wall time of one process."""
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env=ENVIRONMENT)
    return time.perf_counter() - began


def main(runs: int = 21) -> None:
    """Measure and print the medians and their ratio."""
    ours = [sys.executable, "-m", "gpuwhy", "select", *WORK]
    base = [sys.executable, "-c", "import yaml, click"]
    pairs = [(seconds(ours), seconds(base)) for _ in range(runs + 1)][1:]  # the first fills caches
    choosing, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"select {choosing * 1000:.0f} ms, import yaml and click {bare * 1000:.0f} ms, {runs} runs each")
    print(f"ratio {choosing / bare:.1f} (wanted: at most {TARGET:g})")


if __name__ == "__main__":
    main()
