"""What comparing two versions of the rules over recorded hosts costs: `.venv/bin/python bench/rules_diff.py [HOSTS]`.

Hosts are generated: eight GPUs each, some with a fault, written as `gpuwhy collect` writes them. Both are whole
processes, started anew with the rules in the cache: `gpuwhy audit` of the folder, and `gpuwhy rules diff --facts` of it
after one threshold was changed. Printed are the least of several times and the ratio.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuwhy.kb import fact_file
from gpuwhy.kb.facts import HOST, Fact, Origin, OriginKind, Value, gpu
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.model import FactSpec

HOSTS, GPUS, TIMES = 2000, 8, 2
TARGET = 10.0
MACHINES = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L40S")
EDITED = "rules/signatures/hardware/platform-clock-limit-cool.yaml"


def facts(number: int, specs: Mapping[str, FactSpec]) -> Iterator[Fact]:
    """What was read on one host."""
    chance, origin = random.Random(number), Origin(OriginKind.MEASURED, "nvml")
    yield Fact("host.driver_version", "550.54.15", None, HOST, origin)
    for index in range(GPUS):
        faulty = chance.random() < 0.05
        read: dict[str, Value | None] = {
            "gpu.name": MACHINES[number % 3],
            "gpu.utilization_share": chance.uniform(0, 1),
            "gpu.memory_used_bytes": chance.uniform(1e9, 7e10),
            "gpu.memory_total_bytes": 85e9,
            "gpu.power_watts": chance.uniform(80, 700),
            "gpu.power_limit_watts": 700.0,
            "gpu.temperature_celsius": chance.uniform(30, 95),
            "gpu.sm_clock_megahertz": chance.uniform(300, 1980),
            "gpu.sm_clock_max_megahertz": 1980.0,
            "gpu.ecc_uncorrected_count": chance.randrange(1, 9) if faulty else 0,
            "gpu.xid_first": 79 if faulty and index == 0 else None,
            "gpu.link_width": 8 if faulty else 16,
            "gpu.link_width_max": 16,
        }
        for name, value in read.items():
            if value is not None and name in specs:
                yield Fact(name, value, specs[name].unit, gpu(index), origin)


def least(command: list[str], folder: Path) -> float:
    """The least time of several runs of a command, in seconds."""
    best = float("inf")
    for _ in range(TIMES):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "gpuwhy", *command], cwd=folder, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    """Measure and print."""
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else HOSTS
    specs = load().facts
    with tempfile.TemporaryDirectory() as place:
        space = Path(place)
        os.environ["XDG_CACHE_HOME"] = str(space / "cache")
        (space / "hosts").mkdir()
        for number in range(hosts):
            (space / f"hosts/h{number}.json").write_text(fact_file.dump(facts(number, specs)))
        shutil.copytree(rules_folder(), space / "rules")
        commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"]
        for words in (["init", "-q"], ["add", "rules"], commit):
            subprocess.run(["git", "-C", place, *words], check=True)
        path = space / EDITED
        text = path.read_text()
        swap = ("op: ge", "op: gt") if "op: ge" in text else ("op: gt", "op: ge")
        path.write_text(text.replace(*swap, 1))
        audit = least(["audit", "hosts", "--rules", "rules"], space)
        diff = least(["rules", "diff", "HEAD", "--facts", "hosts", "--rules", "rules"], space)
    print(f"{hosts} hosts: audit {audit:.1f} s, diff {diff:.1f} s: {diff / audit:.1f} times")
    print(f"wanted: less than {TARGET:.0f} times")


if __name__ == "__main__":
    main()
