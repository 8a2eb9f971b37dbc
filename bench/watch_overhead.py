"""What `gpuwhy watch` takes of one core, at default settings, on a stand-in for the driver with eight GPUs.

The process is started as a user starts it; its CPU time is read twice, after the first windows and at the end, so that
loading the rules is told apart. The GPUs' readings move all the time. Prints the shares; 1 % is wanted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.eight_gpus import environment

TARGET = 0.01


def cpu_seconds(process: int) -> float:
    """User and kernel time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=120.0)
    seconds = arguments.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        found = environment(Path(name))
        watch = [sys.executable, "-m", "gpuwhy", "watch", "--for", f"{seconds + 60:.0f}s"]
        process = subprocess.Popen(watch, env=found, stdout=subprocess.DEVNULL)
        try:
            time.sleep(15)  # the first windows
            first, began = cpu_seconds(process.pid), time.monotonic()
            time.sleep(seconds)
            last, wall = cpu_seconds(process.pid), time.monotonic() - began
        finally:
            process.terminate()
            process.wait()
    print(f"start and first windows: {first:.2f} s of CPU time")
    print(f"then {last - first:.2f} s in {wall:.0f} s: {(last - first) / wall:.2%} of one core (wanted: {TARGET:.0%})")


if __name__ == "__main__":
    main()
