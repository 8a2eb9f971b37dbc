"""Messages of CUDA on failed hardware."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.hardware_messages import FORMAT
from tests.probes.artefacts.helpers import scan, values


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "transform: failed to synchronize: cudaErrorECCUncorrectable: uncorrectable ECC error encountered",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
    ],
)
def test_an_uncorrectable_error_is_told(line: str) -> None:
    assert values(scan(FORMAT, line)) == {("job.ecc_error", "job:this"): True}


@pytest.mark.parametrize("line", ["no uncorrectable ECC errors", "Volatile Uncorr. ECC", "0 uncorrectable ECC errors"])
def test_a_line_that_only_names_them_tells_nothing(line: str) -> None:
    assert scan(FORMAT, line) == []
