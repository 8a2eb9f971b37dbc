"""An audit of many small facts files, a tenth of them broken: `.venv/bin/python -m bench.facts_files [FILES]`.

Each of the 50,000 files is of a host with two GPUs as `gpuwhy collect` leaves it; of ten, one is cut, empty or of no
format, and one in fifty has a lost GPU. The rows of the report must be exactly those; printed are the processor time,
that of a file and the largest memory.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from bench.fleet import process
from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Fact, Origin, OriginKind, Value, gpu

MEASURED = Origin(OriginKind.MEASURED, "nvml")


def document(lost: bool) -> str:
    """The facts of a host."""
    facts = [
        Fact("host.instance_type", "p5.48xlarge", None, HOST, MEASURED),
        Fact("host.driver_version", "550.54.15", None, HOST, MEASURED),
    ]
    for number in range(2):
        readings: dict[str, tuple[Value, str | None]] = {
            "gpu.name": ("NVIDIA H100 80GB HBM3", None),
            "gpu.utilization_share": (0.9, "share"),
            "gpu.memory_used_bytes": (3e10, "bytes"),
            "gpu.power_watts": (500.0, "watts"),
            "gpu.temperature_celsius": (60.0, "celsius"),
            "gpu.lost": (lost and number == 1, None),
        }
        facts += [Fact(name, value, unit, gpu(number), MEASURED) for name, (value, unit) in readings.items()]
    return dump(facts)


def write(folder: Path, files: int) -> tuple[int, int]:
    """Writes the files; gives how many are broken, and how many of the others have a lost GPU."""
    sound, faulty = document(False), document(True)
    cut = (sound[: len(sound) // 2], "", "not a format that anybody knows\n")
    broken = lost = 0
    for number in range(files):
        if number % 10 == 3:
            content, broken = cut[number // 10 % 3], broken + 1
        elif number % 50 == 1:
            content, lost = faulty, lost + 1
        else:
            content = sound
        (folder / f"node-{number:06}.facts.json").write_text(content, "utf-8")
    return broken, lost


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place) / "facts", Path(place) / "report.json"
        folder.mkdir()
        broken, lost = write(folder, files)
        seconds, processor, memory = process(["-m", "gpuwhy", "audit", str(folder), "--format", "json"], out)
        report = json.loads(out.read_bytes())
    counts = report["counts"]
    found = {one["id"]: one["hosts"] for one in report["causes"]}
    if (counts["hosts"], counts["broken"], found) != (files, broken, {"hardware.gpu-lost": lost}):
        raise SystemExit(f"other rows: {counts}, {found}; written: {broken} broken, {lost} lost")
    print(f"{files:,} files, {broken:,} of them broken, {lost:,} hosts with a lost GPU: all found")
    print(f"{seconds:.1f} s, {processor:.1f} s of processor time, {processor / files * 1e3:.2f} ms a file, "
          f"{memory / 2**20:.0f} MiB")  # fmt: skip


if __name__ == "__main__":
    main()
