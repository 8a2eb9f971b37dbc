"""Nsight Systems exports: a small database made here, its figures worked out by hand."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.contract import Extract
from gpuwhy.probes.artefacts.nsys_sqlite import FORMAT, read

SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, correlationId INTEGER,
  demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, correlationId INTEGER,
  bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER);
INSERT INTO StringIds VALUES (1, 'ampere_sgemm_128x64_nn'), (2, 'cudaLaunchKernel_v7000'), (3, 'cudaMemcpyAsync_v3020');
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100', 42949672960, 100), (1, 'NVIDIA A100', 42949672960, 100);
"""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Per GPU 1 ms: a pinned copy of 2 MiB for 200 us, a kernel of 50 blocks for 300 us at the end."""
    path = tmp_path / "report.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        for device in (0, 1):
            at = 7_000_000_000
            copy, kernel = 10 + device, 20 + device
            connection.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, 1, 1, 2)",
                (at, at + 200_000, device, copy, 2 << 20),
            )
            connection.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, 1, 1, 50, 1, 1)",
                (at + 700_000, at + 1_000_000, device, kernel),
            )
            for name, correlation, start in ((3, copy, at), (2, kernel, at + 690_000)):
                connection.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)",
                    (start, start + 8_000, correlation, name),
                )
        connection.commit()
    return path


def job(extract: Extract) -> dict[str, Value]:
    """Values of the job's facts by id."""
    return {one.fact: one.value for one in extract.readings if one.entity.kind == "job"}


def test_shares(export: Path) -> None:
    """Busy for 500 of 1000 us on both GPUs, 200 of them copying at 2 MiB / 200 us, the gap for want of a launch."""
    extract = read(export, "report.sqlite")
    found = job(extract)
    assert not extract.troubles
    assert found["step.gpu_busy_share"] == pytest.approx(0.5)
    assert found["step.transfer_share"] == pytest.approx(0.2)
    assert found["step.host_wait_share"] == pytest.approx(0.5)
    assert found["step.pageable_copy_share"] == 0.0
    assert found["step.copy_bytes_per_second"] == pytest.approx((2 << 20) / 200e-6)
    assert found["step.kernel_count"] == 2
    assert found["step.kernel_mean_seconds"] == pytest.approx(300e-6)
    assert found["step.launch_count"] == 2
    assert found["step.launch_mean_seconds"] == pytest.approx(8e-6)
    assert found["step.kernel_blocks_per_sm"] == pytest.approx(0.5)
    assert found["step.float32_matmul_share"] == 1.0
    of_gpu = {one.fact: one.value for one in extract.readings if one.entity.path == "gpu:1"}
    assert of_gpu["gpu.name"] == "NVIDIA A100"
    assert of_gpu["trace.gpu_kernel_count"] == 1
    assert of_gpu["trace.gpu_busy_share"] == pytest.approx(0.5)


def test_compressed_and_in_memory(export: Path, tmp_path: Path) -> None:
    """The same figures from a compressed file and from bytes; the file itself stays as it is."""
    plain = export.read_bytes()
    packed = tmp_path / "report.sqlite.gz"
    packed.write_bytes(gzip.compress(plain))
    assert job(read(packed, "x")) == job(read(plain, "x")) == job(read(export, "x"))
    assert export.read_bytes() == plain


def test_recognised_by_its_start(export: Path) -> None:
    """The head of the file names the tables; another database is refused with a reason."""
    assert FORMAT.accepts(export.read_bytes()[:65536], "data.bin")
    assert not FORMAT.accepts(b"SQLite format 3\x00" + bytes(200), "notes.db")


def test_damaged_files_are_trouble(export: Path, tmp_path: Path) -> None:
    """Cut files, other databases, no file: a reason, no exception."""
    whole = export.read_bytes()
    for cut in (whole[:100], whole[: len(whole) // 2], whole[:5000] + bytes(3000) + whole[8000:], b""):
        read(cut, "x")
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.executescript("CREATE TABLE a (b); CREATE VIEW CUPTI_X AS SELECT 1;")
    assert read(other, "other").troubles
    assert read(tmp_path / "none", "none").troubles


def test_values_of_unexpected_types(export: Path) -> None:
    """SQLite lets any type stand in any column."""
    with closing(sqlite3.connect(export)) as connection:
        connection.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('a', NULL, x'00', 1.5, 'b', 'c', 'd', 'e', 'f')"
        )
        connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1.5, 'x', NULL, x'01')")
        connection.commit()
    assert job(read(export, "x"))["step.kernel_count"] == 2
