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


def progress(*counts: str) -> str:
    return f"10.0%  proc'd: -1 (0 Gflop/s) - 2261 (9000 Gflop/s)   errors: {'- '.join(counts)}  temps: 40 C - 41 C \n"


VERDICTS = "Killing processes.. done\n\nTested 2 GPUs:\n\tGPU 0: FAULTY\n\tGPU 1: FAULTY\n"


def test_wrong_results_are_counted_and_a_test_that_died_has_no_verdict() -> None:
    """gpu-burn adds -1 to the errors of a test that died, and calls its GPU faulty."""
    (found,) = scan(FORMAT, progress("-1  (DIED!)", "12  (WARNING!)") + progress("0 ", "3  (WARNING!)") + VERDICTS)
    assert values([found]) == {
        ("gpu.stress_test_passed", "gpu:1"): False,
        ("gpu.stress_test_error_count", "gpu:1"): 12,
    }
    assert [one.message for one in found.troubles] == ["the test of GPU 0 died: its verdict is none"]


def test_a_test_that_died_after_wrong_results_keeps_its_verdict() -> None:
    found = values(scan(FORMAT, progress("5  (WARNING!)", "0 ") + progress("4  (DIED!)", "0 ") + VERDICTS))
    assert found["gpu.stress_test_passed", "gpu:0"] is False
    assert found["gpu.stress_test_error_count", "gpu:0"] == 5


def test_who_died_in_one_run_has_a_verdict_of_the_next() -> None:
    later = progress("0 ", "0 ") + VERDICTS.replace("FAULTY", "OK")
    found = values(scan(FORMAT, progress("-1  (DIED!)", "0 ") + VERDICTS + later))
    assert found["gpu.stress_test_passed", "gpu:0"] is True
