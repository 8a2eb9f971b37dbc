"""Logs that take a step apart into phases."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.step_log import FORMAT
from gpuwhy.probes.artefacts.step_log_phases import Phase, phase_of
from tests.probes.artefacts.helpers import claimed, scan, values


def job(content: str) -> dict[str, Value]:
    """Facts about the job, and the labelled readings under their labels."""
    found = values(scan(FORMAT, content))
    return {fact if path == "job:this" else path.rpartition(":")[2]: value for (fact, path), value in found.items()}


@pytest.mark.parametrize(
    ("key", "phase"),
    [
        ("forward_microstep", Phase.FORWARD),
        ("Forward", Phase.FORWARD),
        ("fw", Phase.FORWARD),
        ("backward", Phase.BACKWARD),
        ("backward_inner_microstep", None),
        ("backward_allreduce", Phase.EXCHANGE),
        ("step_microstep", Phase.OPTIMIZER),
        ("step_time", Phase.OPTIMIZER),
        ("optimizer_gradients", None),
        ("BS_TO_DEVICE", Phase.TRANSFER),
        ("data_time", Phase.DATA),
        ("Total", Phase.WHOLE),
        ("eta", None),
    ],
)
def test_phases_by_their_keys(key: str, phase: Phase | None) -> None:
    assert phase_of(key) is phase


def test_a_printed_total_is_the_step() -> None:
    log = "".join(
        f"{rank}: [Epoch 0, Batch 6] Data: 5.0ms | TO_DEVICE: 20.0ms | Forward: 200.0ms | Backward: 300.0ms"
        f" | Optimizer: 400.0ms | Total: 1000.0ms |\n"
        for rank in range(3)
    )
    facts = job(log)
    assert facts["step.data_wait_share"] == pytest.approx(0.005)
    assert facts["step.time_mean_seconds"] == pytest.approx(1.0)
    assert facts["step.optimizer_share"] == pytest.approx(0.4)
    assert facts["copy to the device"] == pytest.approx(0.02)
    assert claimed(scan(FORMAT, log)) == {1, 2, 3}


def test_without_a_total_the_step_is_the_sum_and_the_exchange_lies_inside_the_backward_pass() -> None:
    log = (
        "[Rank 0] time (ms) | forward_microstep: 100.00 | backward_microstep: 200.00 | backward_inner_microstep: 140.00"
        " | backward_allreduce_microstep: 60.00 | step_microstep: 100.00\n"
    )
    facts = job(log)
    # 60 of 100 + 200 + 100 ms.
    assert facts["step.communication_share"] == pytest.approx(0.15)
    assert facts["step.optimizer_share"] == pytest.approx(0.25)


def test_phases_behind_a_bar_do_not_stand_for_its_step() -> None:
    log = (
        "Train: 100%|####| 400/400 [03:20<00:00,  2.00it/s, loss=5.8, data_time=0.005, forward_time=0.1,"
        " backward_time=0.3, step_time=0.05\n"
    )
    facts = job(log)
    # 200 s over 400 steps; the optimizer's 50 ms are not the step.
    assert facts["step.time_mean_seconds"] == pytest.approx(0.5)
    assert facts["step.data_wait_share"] == pytest.approx(0.01)
    assert facts["step.optimizer_share"] == pytest.approx(0.1)


def test_a_loss_and_a_learning_rate_are_no_phases() -> None:
    assert "step.optimizer_share" not in job("step 5: forward 3 backward 4 loss: 0.5 lr: 0.1\n")
