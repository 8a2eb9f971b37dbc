"""A large training log: memory and time of `gpuwhy diagnose`, against `grep -c loss` over the same file.

The log is generated: steps with losses and times, a warning now and then, one out-of-memory failure near the end. Both
commands take turns. Prints the medians, the ratio, the peak memory, and whether the failure was found.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET_BYTES, TARGET_RATIO = 200 << 20, 5.0
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
FAILURE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB "
    "of which 411.06 MiB is free. Of the allocated memory 17.94 GiB is allocated by PyTorch, and 4.87 GiB is reserved "
    "by PyTorch but unallocated.\n"
)


def write_log(path: Path, size: int) -> None:
    """A log of about this many bytes."""
    written, step = 0, 0
    with path.open("w") as file:
        while written < size:
            step += 1
            line = f"2026-11-30 04:{step // 60 % 60:02}:{step % 60:02} step {step} loss {2 + 1 / step:.4f} lr 3.0e-04 "
            line += f"data_time {0.01 + step % 7 / 1000:.3f} batch_time {0.4 + step % 5 / 100:.3f} max mem: 22910\n"
            if step % 5000 == 0:
                line += f"WARNING: gradient overflow, loss scale reduced to {2 ** (step // 5000 % 16)}\n"
            if written < size * 0.97 <= written + len(line):
                line += FAILURE
            written += file.write(line)


def measured(command: list[str]) -> tuple[float, int, bytes]:
    """Wall time in seconds, peak resident memory in bytes, and the output of one process."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return time.perf_counter() - began, usage.ru_maxrss * 1024, output


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--megabytes", type=int, default=100)
    arguments.add_argument("--runs", type=int, default=5)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "train.log"
        write_log(log, given.megabytes * 1_000_000)
        ours = [sys.executable, "-m", "gpuwhy", "diagnose", "--format", "json", str(log)]
        grep = ["grep", "-c", "loss", str(log)]
        measured(ours), measured(grep)  # fills caches
        pairs = [(measured(ours), measured(grep)) for _ in range(given.runs)]
    diagnosis, search = (statistics.median(one[0] for one in column) for column in zip(*pairs, strict=True))
    peak = max(one[1] for one, _ in pairs)
    found = {fact["id"] for fact in json.loads(pairs[0][0][2])["facts"]}
    print(f"{given.megabytes} MB: diagnose {diagnosis * 1000:.0f} ms, grep -c loss {search * 1000:.0f} ms")
    print(f"ratio {diagnosis / search:.1f} (wanted: at most {TARGET_RATIO:g})")
    print(f"peak memory {peak / 2**20:.0f} MiB (wanted: at most {TARGET_BYTES >> 20})")
    print(f"failure found: {'oom.request_bytes' in found}; step times found: {'step.time_seconds' in found}")


if __name__ == "__main__":
    main()
