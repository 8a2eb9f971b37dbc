"""Loading the rules: from the cache of checked data, against reading and checking every file.

Each load is timed in a process of its own, after its imports. Prints the medians.
"""

from __future__ import annotations

import argparse
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
TARGET_SECONDS = 0.030


def seconds(cache: Path) -> float:
    """Time of one load in a new process."""
    done = subprocess.run([sys.executable, "-c", LOAD, str(cache)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=15)
    runs = arguments.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        uncached = [seconds(Path(folder) / f"cache-{number}") for number in range(3)]
        warm = Path(folder) / "warm"
        seconds(warm)
        cached = [seconds(warm) for _ in range(runs)]
    print(
        f"checked {statistics.median(uncached) * 1000:.0f} ms, from the cache {statistics.median(cached) * 1000:.1f} ms"
    )
    print(f"wanted from the cache: less than {TARGET_SECONDS * 1000:.0f} ms")


if __name__ == "__main__":
    main()
