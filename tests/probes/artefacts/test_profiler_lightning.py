"""Lightning's SimpleProfiler tables of several versions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.profiler_lightning import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

OLD = """FIT Profiler Report

Action                                  |  Mean duration (s)    |Num calls              |  Total time (s)       |  Percentage %         |
--------------------------------------------------------------------------------------------------------------------------------------
Total                                   |  -                    |_                      |  120.0                |  100 %                |
--------------------------------------------------------------------------------------------------------------------------------------
run_training_epoch                      |  50.0                 |2                      |  100.0                |  83.333               |
run_training_batch                      |  0.08                 |1000                   |  80.0                 |  66.667               |
optimizer_step_and_closure_0            |  0.06                 |1000                   |  60.0                 |  50.0                 |
training_step_and_backward              |  0.05                 |1000                   |  50.0                 |  41.667               |
get_train_batch                         |  0.015                |1002                   |  15.0                 |  12.5                 |
fetch_next_train_batch                  |  0.014                |1002                   |  14.0                 |  11.667               |
Trainer finished.
"""  # noqa: E501

NEW = """--------------------------------------------------------------------
|  Action                                      |  Mean duration (s)  |  Num calls  |  Total time (s)  |  Percentage %  |
---------------------------------------------------------------------------------------------------------------------------
|  Total                                       |  -                  |  900        |  50.0            |  100 %         |
---------------------------------------------------------------------------------------------------------------------------
|  run_training_epoch                          |  40.0               |  1          |  40.0            |  80.0          |
|  [_TrainingEpochLoop].train_dataloader_next  |  0.3                |  100        |  30.0            |  60.0          |
|  [Strategy]SingleDeviceStrategy.backward     |  0.02               |  100        |  2.0             |  4.0           |
|  [Strategy]SingleDeviceStrategy.training_step|  0.03               |  100        |  3.0             |  6.0           |
|  [LightningModule]Net.optimizer_step         |  0.06               |  100        |  6.0             |  12.0          |
---------------------------------------------------------------------------------------------------------------------------
"""


def test_old_table_with_nested_rows() -> None:
    facts = values(scan(FORMAT, OLD))
    job = {fact: value for (fact, path), value in facts.items() if path == "job:this"}
    assert job["step.count"] == 1000
    assert job["step.time_mean_seconds"] == pytest.approx(0.1)
    assert job["step.data_wait_share"] == pytest.approx(0.15)  # 15 of 100 s; the row inside it does not count again
    assert job["step.data_wait_seconds"] == pytest.approx(0.015)
    assert job["step.outside_batch_share"] == pytest.approx(0.2)
    assert job["step.batch_overhead_share"] == pytest.approx(0.2)
    assert job["step.optimizer_share"] == pytest.approx(0.1)
    assert facts["profile.share", "job:this/entry:run_training_batch"] == pytest.approx(0.66667)
    assert claimed(scan(FORMAT, OLD)) == {1, *range(3, 13)}


@pytest.mark.parametrize("prefix", ["", "> ", "    "])
def test_new_table_also_quoted_and_indented(prefix: str) -> None:
    content = "\n".join(prefix + line for line in NEW.splitlines())
    facts = values(scan(FORMAT, content))
    assert facts["step.data_wait_share", "job:this"] == pytest.approx(0.75)
    assert facts["step.optimizer_share", "job:this"] == pytest.approx(1.0 / 40.0)  # 6 s less 2 s and 3 s in its closure
    assert facts["profile.calls", "job:this/entry:Total"] == 900


def test_markdown_table_cut_short() -> None:
    content = """Action |  Mean duration (s) |  Num calls |  Total time (s) |  Percentage %
--- | --- | --- | --- | ---
run_training_epoch |  90 | 1 | 90 | 90 |
|  [_TrainingEpochLoop].train_dataloader_next | 4.5 | 16 | 72 | 72 |
[_EvaluationLoop].val_next |  0.2"""
    facts = values(scan(FORMAT, content))
    assert facts["step.data_wait_share", "job:this"] == pytest.approx(0.8)
    assert 5 not in claimed(scan(FORMAT, content))


def test_without_fetch_rows_nothing_is_said_about_data() -> None:
    facts = values(scan(FORMAT, "\n".join(OLD.splitlines()[:10])))
    assert ("step.data_wait_share", "job:this") not in facts


def test_an_early_table_without_a_row_for_the_epoch_is_the_sum_of_its_parts() -> None:
    content = """Action              \t|  Mean duration (s)\t|  Total time (s)
-----------------------------------------------------------------
on_train_start      \t|  0.0            \t|  0.0
get_train_batch     \t|  0.6            \t|  6.0
model_forward       \t|  0.1            \t|  1.0
model_backward      \t|  0.2            \t|  2.0
optimizer_step      \t|  0.1            \t|  1.0
"""
    facts = values(scan(FORMAT, content))
    assert facts["step.data_wait_share", "job:this"] == pytest.approx(0.6)  # 6 of 6 + 1 + 2 + 1 s
    closure = content.replace(
        "optimizer_step      \t|  0.1            \t|  1.0", "optimizer_step      \t|  0.4  \t|  4.0"
    )
    # An optimizer step of 4 s holds the 3 s of both passes: 6 of 6 + 4 s.
    assert values(scan(FORMAT, closure))["step.data_wait_share", "job:this"] == pytest.approx(0.6)


TWO_OPTIMIZERS = """FIT Profiler Report
Action                             |  Mean duration (s) |Num calls |  Total time (s) |  Percentage % |
Total                              |  -                 |_         |  110.0          |  100 %        |
run_training_epoch                 |  10.0              |10        |  100.0          |  91           |
run_training_batch                 |  0.95              |100       |  95.0           |  86           |
training_step_and_backward         |  0.45              |200       |  90.0           |  82           |
optimizer_step_and_closure_0       |  0.6               |100       |  60.0           |  55           |
optimizer_step_and_closure_1       |  0.32              |100       |  32.0           |  29           |
"""


def test_optimizers_that_take_turns_belong_together() -> None:
    facts = values(scan(FORMAT, TWO_OPTIMIZERS))
    assert facts["step.batch_overhead_share", "job:this"] == pytest.approx(0.03)  # 95 less 60 and 32 s
    assert facts["step.optimizer_share", "job:this"] == pytest.approx(0.02)  # 92 s less 90 s in the closures


def test_an_optimizer_that_is_cut_off_takes_at_least_what_its_closure_holds() -> None:
    facts = values(scan(FORMAT, TWO_OPTIMIZERS.rpartition("optimizer_step")[0]))
    assert facts["step.batch_overhead_share", "job:this"] == pytest.approx(0.05)  # 95 less 90 s
    assert ("step.optimizer_share", "job:this") not in facts


@settings(max_examples=40, deadline=None)
@given(st.integers(0, len(OLD)), st.integers(0, len(NEW)), st.text(max_size=20))
def test_cut_and_spliced_tables_never_raise(start: int, end: int, junk: str) -> None:
    scan(FORMAT, OLD[start:] + junk + NEW[:end])
