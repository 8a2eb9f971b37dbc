"""What `gpuwhy watch` takes of one core, at default settings, on a stand-in for the driver with eight GPUs.

The process is started as a user starts it; its CPU time is read twice, after the first windows and at the end, so that
loading the rules is told apart. The GPUs' readings move all the time. Prints the shares; 1 % is wanted.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NVML = ROOT / "tests" / "probes" / "nvml"
TARGET = 0.01
GPUS = 8
MOVING = {"util.gpu": "97;93;95;99;90;96", "power.draw_mw": "391250;380000;385500;399000", "temp.0": "71;72;70;73"}


def scenario() -> str:
    """A busy machine with so many GPUs, made of the scenario of one."""
    lines = []
    for line in (NVML / "scenarios" / "healthy-busy.scn").read_text().splitlines():
        if line.startswith("gpu0."):
            key = line.partition(" =")[0].removeprefix("gpu0.")
            values = ";".join([MOVING[key]] * 400) if key in MOVING else line.partition("= ")[2]
            lines += [f"gpu{number}.{key} = {values}" for number in range(GPUS)]
        else:
            lines.append(re.sub(r"^count .*", f"count = {GPUS}", line))
    return "\n".join(lines) + "\n"


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
        folder = Path(name)
        library = folder / "libnvidia-ml.so.1"
        command = ["cc", "-O1", "-fPIC", "-shared", f"-Wl,-soname,{library.name}", "-o", str(library)]
        subprocess.run([*command, str(NVML / "fakenvml.c"), "-lpthread"], check=True)
        (folder / "eight.scn").write_text(scenario())
        environment = os.environ | {"LD_LIBRARY_PATH": name, "FAKE_NVML_SCENARIO": str(folder / "eight.scn")}
        watch = [sys.executable, "-m", "gpuwhy", "watch", "--for", f"{seconds + 60:.0f}s"]
        process = subprocess.Popen(watch, env=environment, stdout=subprocess.DEVNULL)
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
