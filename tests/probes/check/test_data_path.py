"""How fast the user's data can be read: what is read, what cannot be, and that nothing is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuwhy.probes.data_path import MAX_FILES, DataRead, read

MIB = 1 << 20


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"x" * (33 * MIB + 17))  # not a whole number of blocks
    found = read(path, seconds=60.0)
    assert (found.bytes_read, found.files, found.listed, found.problem) == (33 * MIB + 17, 1, 1, None)


def test_files_are_spread_over_what_is_there(tmp_path: Path) -> None:
    for number in range(MAX_FILES * 2):
        (tmp_path / f"{number:04d}.jpg").write_bytes(b"x" * 100)
    found = read(tmp_path, seconds=60.0)
    assert (found.files, found.listed) == (MAX_FILES, MAX_FILES * 2)
    assert found.bytes_read == MAX_FILES * 100


def test_an_empty_folder_and_a_missing_path_have_a_reason(tmp_path: Path) -> None:
    assert read(tmp_path).problem == f"no file of any size is at {tmp_path}"
    assert "cannot be read" in (read(tmp_path / "none").problem or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secret.bin"
    path.write_bytes(b"x")
    path.chmod(0)
    assert "secret.bin cannot be read" in (read(path).problem or "")


@pytest.mark.parametrize(
    ("found", "rate"),
    [
        (DataRead(bytes_read=64 * MIB, seconds=0.5), 128 * MIB),
        (DataRead(bytes_read=4 * MIB, seconds=2.0), 2 * MIB),
        (DataRead(bytes_read=4 * MIB, seconds=0.1), None),
        (DataRead(), None),
    ],
    ids=["large", "slow", "too-little", "nothing"],
)
def test_a_rate_needs_enough_to_rest_on(found: DataRead, rate: float | None) -> None:
    assert found.rate == rate
