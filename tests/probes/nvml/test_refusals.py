"""NVML that refuses as a whole: the library is missing, the driver does not start, or it will not count its GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwhy.kb.facts import HOST
from tests.probes.nvml.live import probe


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (4, "no-permission"),
        (8, "insufficient-power"),
        (9, "driver-not-loaded"),
        (11, "interrupt-problem"),
        (12, "library-missing"),
        (14, "corrupted-inforom"),
        (15, "gpu-lost"),
        (16, "reset-required"),
        (17, "blocked-by-os"),
        (18, "version-mismatch"),
        (20, "host-memory"),
        (999, "unknown-error"),
        (77, "other"),
    ],
)
def test_a_driver_that_refuses_is_asked_nothing_more(library: Path, tmp_path: Path, code: int, error: str) -> None:
    scenario = tmp_path / "refuses.scn"
    scenario.write_text(f"count = 1\ngpu0.name = NVIDIA L4\nerr.nvmlInit = {code}\n")
    seen = probe(library, scenario)
    assert seen.host("host.nvml_error") == error
    assert seen.host("host.nvml_error_code") == code
    assert f"NVML {code}" in seen.reason("gpu.count", HOST)
    assert "gpu" not in {one.entity.kind for one in seen.facts}
    assert seen.status == 3


def test_a_missing_library_is_told(library: Path) -> None:
    del library
    seen = probe(None, "healthy-busy")
    assert seen.host("host.nvml_error") == "library-missing"
    assert seen.status == 3


def test_a_count_that_is_refused_after_the_start(library: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "refuses.scn"
    scenario.write_text("count = 1\nerr.nvmlDeviceGetCount_v2 = 999\n")
    seen = probe(library, scenario)
    assert seen.host("host.nvml_error") == "unknown-error"
    assert seen.status == 3
