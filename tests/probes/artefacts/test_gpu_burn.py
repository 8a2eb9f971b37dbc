"""gpu-burn's verdicts."""

from __future__ import annotations

from gpuwhy.probes.artefacts.gpu_burn import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

RUN = "100.0%  proc'd: 2261 (9000 Gflop/s)   errors: 0\ndone\n\nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: FAULTY\n"


def test_each_gpu_has_its_verdict() -> None:
    extracts = scan(FORMAT, RUN)
    assert values(extracts) == {
        ("gpu.stress_test_passed", "gpu:0"): True,
        ("gpu.stress_test_passed", "gpu:1"): False,
    }
    assert claimed(extracts) == {4, 5, 6}


def test_a_line_of_another_tool_is_no_verdict() -> None:
    assert scan(FORMAT, "we tested this\nGPU 0: OK\n") == []
    assert scan(FORMAT, "GPU 0: FAULTY\n") == []
