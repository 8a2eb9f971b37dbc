"""Loading the rules: from the cache of checked data, against reading and checking every file; and linting them.

Each is timed in a process of its own, loads after their imports. Prints the medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LOAD = """
import sys, time
from pathlib import Path
from gpuwhy.kb.load import load
began = time.perf_counter()
load(None, Path(sys.argv[1]))
print(time.perf_counter() - began)
"""
LINT = """
import datetime, sys, time
from pathlib import Path
began = time.perf_counter()
from gpuwhy.engine.lint import lint
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.tui.rules_commands.supplied import supplied
words = load(None, Path(sys.argv[1])).facts
lint(rules_folder(), supplied(words), datetime.date.today())
print(time.perf_counter() - began)
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
TARGET_SECONDS = 0.030
TARGET_LINT = 2.0


def seconds(cache: Path, code: str = LOAD) -> float:
    """What one load, or other code, takes in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(cache)], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    return float(done.stdout)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=15)
    runs = arguments.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder) / "warm"
        seconds(warm)
        uncached, linted = [], []
        for number in range(3):  # in turns: a busy machine slows both
            uncached.append(seconds(Path(folder) / f"cache-{number}"))
            linted.append(seconds(warm, LINT))
        cached = [seconds(warm) for _ in range(runs)]
    print(
        f"checked {statistics.median(uncached) * 1000:.0f} ms, from the cache {statistics.median(cached) * 1000:.1f} ms"
    )
    print(f"wanted from the cache: less than {TARGET_SECONDS * 1000:.0f} ms")
    times = statistics.median(linted) / statistics.median(uncached)
    print(f"linted in {times:.2f} times the checked load; wanted: at most {TARGET_LINT:g} times")


if __name__ == "__main__":
    main()
