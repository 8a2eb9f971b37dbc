"""What an audit of a large table costs against a bare scan of it: `.venv/bin/python bench/fleet.py [ROWS ...]`.

The fleet is generated: eight GPUs a host, a few machine types, idle and busy hosts, and one GPU in a hundred with a
fault. Both are whole processes, started anew: `gpuwhy audit`, and a Polars scan that touches every value of the same
columns. Printed are the least of several times, the ratios of time and of processor time, the cost of a row with the
start, that of each further row than the size before has, and the largest memory of the audit.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GPUS = 8
TIMES = 3
PIECE = 1 << 20
MACHINES = (
    ("p5.48xlarge", "NVIDIA H100 80GB HBM3"),
    ("p4d.24xlarge", "NVIDIA A100-SXM4-40GB"),
    ("g6e.48xlarge", "NVIDIA L40S"),
)
SCAN = """
import sys, polars
frame = polars.scan_parquet(sys.argv[1]).select(sys.argv[2:])
total = 0
for batch in frame.collect_batches(chunk_size=1 << 17, maintain_order=True):
    total += int(batch.hash_rows().is_null().sum()) + len(batch)
print(total)
"""


def piece(first: int, rows: int) -> Any:
    """GPUs `first` and following of the fleet; numbers vary from GPU to GPU as those of a real one do."""
    import numpy
    import polars

    chance = numpy.random.default_rng(first)
    number = numpy.arange(first, first + rows)
    host = number // GPUS
    kind = host % len(MACHINES)
    busy = (host % 5) != 0
    faulty = chance.random(rows) < 0.01
    fault = numpy.where(faulty, chance.integers(0, 5, rows), -1)

    def normal(mean: float, spread: float) -> Any:
        return chance.normal(mean, spread, rows).clip(0)

    def of_host(mean: float, spread: float) -> Any:
        return chance.normal(mean, spread, rows // GPUS + 1).clip(0)[host - host[0]]

    zeros, none = numpy.zeros(rows), numpy.zeros(rows, bool)
    return polars.DataFrame(
        {
            "host": polars.Series(host).cast(polars.String),
            "gpu": (number % GPUS).astype("int8"),
            "host.instance_type": polars.Series([one for one, _ in MACHINES]).gather(kind),
            "gpu.name": polars.Series([name for _, name in MACHINES]).gather(kind),
            "host.driver_version": polars.Series(["550.54.15", "535.104.05"]).gather(host % 2),
            "gpu.utilization_share": numpy.where(busy, normal(0.9, 0.05).clip(0, 1), 0.0),
            "gpu.memory_used_bytes": numpy.where(busy, normal(3e10, 2e9), 5e8),
            "gpu.memory_total_bytes": numpy.full(rows, 48e9),
            "gpu.power_watts": numpy.where(busy, normal(300, 20), 70.0),
            "gpu.power_limit_watts": numpy.full(rows, 350.0),
            "gpu.power_default_limit_watts": numpy.full(rows, 350.0),
            "gpu.temperature_celsius": numpy.where(busy, normal(62, 4), 35.0) + numpy.where(fault == 0, 30, 0),
            "gpu.temperature_slowdown_celsius": numpy.full(rows, 90.0),
            "gpu.sm_clock_megahertz": numpy.where(busy, 1755.0, 210.0),
            "gpu.sm_clock_max_megahertz": numpy.full(rows, 1980.0),
            "gpu.performance_state": numpy.where(busy, 0, 8).astype("int64"),
            "gpu.event_hardware_thermal_slowdown": fault == 0,
            "gpu.event_software_thermal_slowdown": none,
            "gpu.event_hardware_slowdown": fault == 0,
            "gpu.event_hardware_power_brake": none,
            "gpu.event_software_power_cap": none,
            "gpu.event_idle": ~busy,
            "gpu.event_application_clocks": none,
            "gpu.link_generation": numpy.where(busy, 5.0, 1.0),
            "gpu.link_generation_max": numpy.full(rows, 5.0),
            "gpu.link_width": numpy.where(fault == 1, 8.0, 16.0),
            "gpu.link_width_max": numpy.full(rows, 16.0),
            "gpu.link_replays": zeros,
            "gpu.lost": fault == 2,
            "gpu.ecc_uncorrected_count": numpy.where(fault == 3, 4.0, 0.0),
            "gpu.remap_pending": fault == 3,
            "gpu.remap_failed": none,
            "gpu.remapped_rows_uncorrectable": zeros,
            "gpu.xid_event_codes": polars.Series(["79", None]).gather(numpy.where(fault == 4, 0, 1)),
            "gpu.ecc_corrected_count": zeros,
            "gpu.ecc_enabled": ~none,
            "gpu.mig_enabled": none,
            "gpu.persistence_mode": ~none,
            "gpu.fabric_state": polars.Series(["Completed"]).gather(numpy.zeros(rows, int)),
            "gpu.memory_clock_megahertz": numpy.where(busy, 2619.0, 405.0),
            "gpu.memory_clock_max_megahertz": numpy.full(rows, 2619.0),
            "host.memory_total_bytes": numpy.full(rows, 2e12),
            "host.memory_available_bytes": numpy.full(rows, 1e12),
            "job.framework": polars.Series(["pytorch"]).gather(numpy.zeros(rows, int)),
            "step.time_seconds": of_host(0.4, 0.02),
            "step.data_wait_share": numpy.where(host % 40 == 1, 0.5, 0.01),
            "loader.workers": numpy.full(rows, 8),
            "step.count": numpy.full(rows, 200),
            "step.gpu_busy_share": numpy.where(busy, of_host(0.9, 0.02).clip(0, 1), 0.0),
            "step.transfer_share": of_host(0.02, 0.005),
            "step.communication_share": of_host(0.05, 0.01),
            "host.cpu_busy_share": of_host(0.3, 0.05).clip(0, 1),
            "host.cpu_iowait_share": of_host(0.01, 0.003),
            "host.out_of_memory_kills": numpy.zeros(rows, "int64"),
            "gpu.compute_process_count": numpy.where(busy, 1, 0),
            "gpu.memory_utilization_share": numpy.where(busy, normal(0.5, 0.05).clip(0, 1), 0.0),
            "gpu.host_to_device_bytes_per_second": numpy.where(busy, normal(2.5e10, 5e8), 2.4e10),
            "gpu.retired_pages_pending": none,
        }
    )  # fmt: skip


def known_only(frame: Any) -> Any:
    """The columns that are facts of the shipped vocabulary."""
    from gpuwhy.kb.load import load

    facts = load().facts
    unknown = [name for name in frame.columns if name not in facts and name not in ("host", "gpu")]
    if unknown:
        print("no facts:", *unknown)
    return frame.drop(unknown)


def generate(path: Path, rows: int) -> list[str]:
    """Writes a fleet of so many GPUs, a piece at a time; gives the columns."""
    import polars

    folder = path.with_suffix("")
    folder.mkdir()
    for first in range(0, rows, PIECE):
        made = known_only(piece(first, min(PIECE, rows - first)))
        made.write_parquet(folder / f"{first:012}.parquet", row_group_size=1 << 17)
    polars.scan_parquet(folder / "*.parquet").sink_parquet(path, row_group_size=1 << 17)
    for one in folder.iterdir():
        one.unlink()
    folder.rmdir()
    return list(made.columns)


def process(arguments: list[str], out: Path) -> tuple[float, float, int]:
    """The seconds that a process takes from start to end, its processor time, and its largest memory in bytes."""
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.execv(sys.executable, [sys.executable, *arguments])
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        raise SystemExit(f"failed: {arguments}")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def least(found: list[tuple[float, float, int]]) -> tuple[float, float, int]:
    """The least of several times, and the largest memory."""
    return min(one[0] for one in found), min(one[1] for one in found), max(one[2] for one in found)


def rules_in_play(columns: list[str]) -> int:
    """How many derivations and signatures such a table can bring into play."""
    import polars

    from gpuwhy.engine.fleet_table import rules_of
    from gpuwhy.kb.load import load

    del polars
    return len(rules_of(load(), columns))


def measured(path: Path, columns: list[str]) -> tuple[tuple[float, float, int], tuple[float, float, int]]:
    """The scan and the audit, turn by turn, so that a busy machine slows both."""
    scans, audits = [], []
    for _ in range(TIMES):
        scans.append(process(["-c", SCAN, str(path), *columns], path.with_suffix(".out")))
        audits.append(process(["-m", "gpuwhy", "audit", str(path)], path.with_suffix(".out")))
    return least(scans), least(audits)


def main() -> None:
    sizes = [int(one) for one in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    print("whole processes; CPU is processor time, and so are the costs of a row: with the start, and of a further one")
    names = ("rows", 12), ("scan s", 9), ("audit s", 9), ("ratio", 7), ("CPU", 7), ("us a row", 13), ("further", 8)
    print("".join(f"{name:>{width}}" for name, width in (*names, ("MiB", 7), ("rules", 7))))
    with tempfile.TemporaryDirectory() as folder:
        one_host = Path(folder) / "one.parquet"
        before, spent = GPUS, measured(one_host, generate(one_host, GPUS))[1][1]
        for rows in sizes:
            path = Path(folder) / "fleet.parquet"
            columns = generate(path, rows)
            scan, audit = measured(path, columns)
            print(
                f"{rows:12,}{scan[0]:9.2f}{audit[0]:9.2f}{audit[0] / scan[0]:7.2f}{audit[1] / scan[1]:7.2f}   "
                f"{audit[1] / rows * 1e6:10.2f}{(audit[1] - spent) / (rows - before) * 1e6:8.2f}{audit[2] / 2**20:7.0f}"
                f"{rules_in_play(columns):7}"
            )
            before, spent = rows, audit[1]


if __name__ == "__main__":
    main()
