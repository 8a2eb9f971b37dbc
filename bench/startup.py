"""Start-up: one `gpuwhy diagnose` of an out-of-memory message, against a Python that only imports yaml and click.

Both are whole processes and take turns, so that a busy machine slows both alike. Modules are compiled before, as those
of an installed package are. Prints the medians and their ratio.
"""

from __future__ import annotations

import argparse
import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpuwhy

MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB "
    "of which 411.06 MiB is free. Of the allocated memory 17.94 GiB is allocated by PyTorch, and 4.87 GiB is reserved "
    "by PyTorch but unallocated.\n"
)
TARGET = 3.0
PACKAGE = Path(gpuwhy.__file__).parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(command: list[str]) -> float:
    """Wall time of one process."""
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env=ENVIRONMENT)
    return time.perf_counter() - began


def compare(name: str, command: list[str], runs: int, target: float) -> None:
    """Print the medians of a command of gpuwhy and of the imports alone, and their ratio."""
    for room in filter(Path.is_dir, PACKAGE.iterdir()):
        compileall.compile_dir(room.resolve(), quiet=1)
    ours = [sys.executable, "-m", "gpuwhy", *command]
    base = [sys.executable, "-c", "import yaml, click"]
    pairs = [(seconds(ours), seconds(base)) for _ in range(runs + 1)][1:]  # the first fills caches
    median, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{name} {median * 1000:.0f} ms, import yaml and click {bare * 1000:.0f} ms, {runs} runs each")
    print(f"ratio {median / bare:.1f} (wanted: at most {target:g})")


def runs_wanted(description: str | None) -> int:
    """How many runs the command line asks for."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--runs", type=int, default=21)
    runs: int = arguments.parse_args().runs
    return runs


def main() -> None:
    """Measure and print."""
    runs = runs_wanted(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        artefact = Path(folder) / "oom.txt"
        artefact.write_text(MESSAGE)
        compare("diagnose", ["diagnose", str(artefact)], runs, TARGET)


if __name__ == "__main__":
    main()
