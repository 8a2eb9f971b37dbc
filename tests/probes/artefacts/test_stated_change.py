"""What people say was changed before it became slower."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.stated_change import FORMAT
from tests.probes.artefacts.helpers import scan, values


def change(report: str) -> object:
    """What was changed; None where the report does not say it."""
    return values(scan(FORMAT, report + "\n")).get(("job.slower_after_upgrade", "job:this"))


@pytest.mark.parametrize(
    ("report", "what"),
    [
        ("After upgrading from T4 to A10 our training got no faster.", "gpu"),
        ("After moving from T4 to A10 instances (ecs.gn7i) training is not any faster.", "machine"),
        ("We switched to a new server last week. Each epoch takes longer since then.", "machine"),
        ("Since we upgraded PyTorch from 1.13 to 2.0 every step is slower.", "software"),
        ("After the migration to another instance type throughput stayed the same.", "machine"),
        ("I replaced the V100 with an A100 and see hardly any speedup.", "gpu"),
        ("我们从T4换成A10之后，训练没有变快", "gpu"),
        ("We moved from a local box to ECS gn7i. Epoch time went from 11 min to 47 min.", "machine"),
        ("升级到cuda 12之后反而慢了", "software"),
    ],
)
def test_what_was_changed(report: str, what: str) -> None:
    assert change(report) == what


@pytest.mark.parametrize(
    "report",
    [
        "After upgrading from T4 to A10 training is twice as fast.",
        "If we upgraded to an A100, would it be no faster?",
        "After moving the batch to the GPU it is slower.",  # neither a GPU model, nor a machine, nor software
        "After upgrading to A100 and PyTorch 2.0 it is slower.",  # two changes at once
        "Since we upgraded PyTorch it is slower. After moving to another instance it is slower too.",
        "After changing the learning rate to 0.1 it is slower.",
        "We moved from a local box to ECS gn7i. Epoch time went from 47 min to 11 min.",
        "Since we upgraded the driver from 525 to 535 the training speed is the same.",
        "After moving to A10 instances a step takes 2 s to 3 s.",  # a range
        "It is slower.",
    ],
)
def test_reports_that_do_not_tell_one_change(report: str) -> None:
    assert change(report) is None
