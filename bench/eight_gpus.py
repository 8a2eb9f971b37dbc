"""A stand-in for the driver's library with eight busy GPUs whose readings move all the time."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NVML = ROOT / "tests" / "probes" / "nvml"
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


def environment(folder: Path) -> dict[str, str]:
    """The environment in which a program finds the stand-in; it is built in a folder."""
    library = folder / "libnvidia-ml.so.1"
    command = ["cc", "-O1", "-fPIC", "-shared", f"-Wl,-soname,{library.name}", "-o", str(library)]
    subprocess.run([*command, str(NVML / "fakenvml.c"), "-lpthread"], check=True)
    (folder / "eight.scn").write_text(scenario())
    return os.environ | {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML_SCENARIO": str(folder / "eight.scn")}
