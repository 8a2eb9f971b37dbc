"""Training logs of many frameworks, read by the meaning of their keys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.step_log import FORMAT
from gpuwhy.probes.artefacts.step_log_keys import Meaning, meaning, to_number
from tests.probes.artefacts.helpers import claimed, scan, values

IMAGENET = """=> creating model 'resnet18'
Epoch: [0][0/2000]\tTime 40.000 (40.000)\tData 38.000 (38.000)\tLoss 6.9 (6.9)
Epoch: [0][10/2000]\tTime  1.000 ( 5.000)\tData  0.900 ( 4.000)\tLoss 6.9 (6.9)
Epoch: [0][20/2000]\tTime 12.000 ( 4.000)\tData 11.400 ( 3.200)\tLoss 6.9 (6.9)
"""


def job(content: str) -> dict[str, Value]:
    """Facts about the job, and the labelled readings under their labels."""
    found = values(scan(FORMAT, content))
    return {fact if path == "job:this" else path.rpartition(":")[2]: value for (fact, path), value in found.items()}


def test_running_means_give_the_mean_without_the_first_step() -> None:
    facts = job(IMAGENET)
    # 21 steps of mean 4.0 less the first of 40.0: 44.0 s over 20 steps; of it 21 * 3.2 - 38.0 = 29.2 s waiting.
    assert facts["step.time_mean_seconds"] == pytest.approx(2.2)
    assert facts["step.data_wait_seconds"] == pytest.approx(1.46)
    assert facts["step.data_wait_share"] == pytest.approx(29.2 / 44.0)
    assert facts["step.count"] == 20
    assert facts["step.warmup_only"] is False
    assert facts["step.data_wait_peak_share"] == pytest.approx(0.95)  # 38/40 and 11.4/12
    assert facts["step 20 mean data wait so far"] == 3.2
    assert facts["step 10 time"] == 1.0
    assert facts["steps in all"] == 2000


def test_running_means_of_a_log_cut_at_its_head_are_taken_as_they_are() -> None:
    facts = job(
        "Epoch: [3][50/99] Time 2.0 (4.000) Data 1.0 (3.000)\nEpoch: [3][60/99] Time 2.0 (4.000) Data 1.0 (3.000)\n"
    )
    assert facts["step.time_mean_seconds"] == 4.0
    assert facts["step.data_wait_share"] == 0.75
    assert facts["step.count"] == 61


def test_a_wait_longer_than_the_time_lies_outside_it() -> None:
    log = "\n".join(
        f"Epoch: [1][{step}/9000] Time 2.000 Err 8.5 LR 1e-02 DataLoadingTime {wait}"
        for step, wait in [(1, 50.0), (2, 0.05), (3, 0.05), (4, 20.0), (5, 0.05), (6, 0.05), (7, 0.05)]
    )
    facts = job(log)
    # Without step 1: 6 steps of 2 s and 20.25 s of waiting.
    assert facts["step.time_mean_seconds"] == pytest.approx((12 + 20.25) / 6)
    assert facts["step.data_wait_share"] == pytest.approx(20.25 / 32.25)
    assert facts["step.time_seconds"] == pytest.approx(2.05)
    assert facts["step.time_max_seconds"] == pytest.approx(22.0)
    assert facts["step.data_stalls_periodic"] is True
    assert facts["step.data_stall_seconds"] == 20.0


def test_steady_small_waits_are_no_stalls() -> None:
    log = "\n".join(f"iter {n} time: 0.50 data_time: 0.01" for n in range(100, 120))
    facts = job(log)
    assert facts["step.data_stalls_periodic"] is False
    assert facts["step.data_wait_grows"] is False
    assert facts["step.data_wait_share"] == pytest.approx(0.02)


def test_waits_that_grow() -> None:
    waits = [0.01] * 6 + [0.8] * 6
    log = "\n".join(
        f"step {n}: time 0.3s data 0.01s" if w < 0.1 else f"step {n}: time 1.1s data {w}s"
        for n, w in enumerate(waits, 200)
    )
    facts = job(log)
    assert facts["step.data_wait_grows"] is True
    assert facts.get("step.data_stalls_periodic") is not True


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[01/01 12:00:00 d2.utils.events]:  eta: 1:02:03  iter: 19  total_loss: 2.5  time: 0.5245  "
            "last_time: 0.5421  data_time: 0.0117  last_data_time: 0.0050   lr: 0.0001  max_mem: 3500M",
            {
                "step.time_seconds": 0.5245,
                "step.data_wait_seconds": 0.0117,
                "last step": 19,
                "last max_mem": 3500 * 2**20,
            },
        ),
        (
            "04/01 12:00:00 - mmengine - INFO - Epoch(train)  [1][  50/7330]  lr: 1.9e-03  eta: 17:10:10  "
            "time: 0.7040  data_time: 0.0270  memory: 3500  loss: 1.2",
            {"step.time_seconds": 0.704, "step.data_wait_seconds": 0.027, "last step": 50, "last memory": 3500 * 2**20},
        ),
        (
            "Train: 0 [ 50/1251 (  4%)]  Loss: 6.94 (6.94)  Time: 0.456s, 280.70/s  (0.500s,  250.00/s)  LR: 1e-04  "
            "Data: 0.012 (0.010)",
            {"step.time_seconds": 0.456, "step.time_mean_seconds": 0.5, "step.data_wait_seconds": 0.01},
        ),
        (
            "Epoch: [0]  [  10/5005]  eta: 1:02:03  lr: 0.1  img/s: 123.4  loss: 6.9 (6.9)  "
            "time: 0.3480  data: 0.0120  max mem: 3500",
            {"step.samples_per_second": 123.4, "step.data_wait_seconds": 0.012, "step.time_seconds": 0.348},
        ),
        (
            " iteration      100/  500000 | consumed samples: 25600 | elapsed time per iteration (ms): 1234.5 | "
            "global batch size:   256 | lm loss: 1.0E+00 | samples per second: 207.4 | TFLOPs: 45.6 |",
            {"step.time_seconds": 1.2345, "step.samples_per_second": 207.4, "steps in all": 500000},
        ),
        (
            "{'train_runtime': 123.4, 'train_samples_per_second': 45.6, 'train_steps_per_second': 1.4, "
            "'train_loss': 0.3, 'epoch': 3.0}",
            {"step.samples_per_second": 45.6, "step.throughput_per_second": 1.4},
        ),
        (
            "epoch: [1/100], global_step: 10, loss: 1.2, avg_reader_cost: 0.52000 s, avg_batch_cost: 1.30 s, "
            "ips: 26.6 samples/s",
            {"step.time_seconds": 1.3, "step.data_wait_share": 0.4, "last step": 10},
        ),
        ("100/500 [=====>......] - ETA: 1:02 - 155ms/step - loss: 0.5", {"step.time_seconds": 0.155, "last step": 100}),
        ("500/500 ━━━━━━━━━━━━━━━━━━━━ 78s 155ms/step - loss: 1.2", {"step.time_seconds": 0.155, "last step": 500}),
        ("iter 10: loss 4.2, time 123.45ms, mfu 12.3%", {"step.time_seconds": 0.12345, "last step": 10}),
        ("step   10/1000 | loss 4.2 (+1z)| lr 1e-4 | 120.0 ms | 45% MFU | 123456 tok/s", {"step.time_seconds": 0.12}),
        (
            "Iteration 100 (2.5 iter/s, 8s/20 iters), loss = 1.2",
            {"step.time_seconds": 0.4, "step.throughput_per_second": 2.5},
        ),
        ("12:00:01: step 10960, loss = 0.98 (9134.5 examples/sec; 0.014 sec/batch)", {"step.time_seconds": 0.014}),
        (
            "[100/500] loss: 1,2, batch time: 0,31s, data time: 0,02s",
            {"step.time_seconds": 0.31, "step.data_wait_seconds": 0.02},
        ),
    ],
)
def test_styles(line: str, expected: dict[str, float]) -> None:
    facts = job(line)
    for key, value in expected.items():
        assert facts[key] == pytest.approx(value), key
    assert claimed(scan(FORMAT, line)) == {1}


def test_the_whole_step_may_be_called_net() -> None:
    head = (
        "net/a |##    | train: [1][{0}/90]|Tot: 0:41:33 |ETA: 1:09:52 |loss 2.1 |hm_loss 1.4 |Data {1}s({1}s) |Net {2}s"
    )
    facts = job("\n".join(head.format(*one) for one in [(10, 1.5, 2.0), (11, 1.7, 2.0)]) + "\n")
    assert facts["step.time_seconds"] == 2.0
    assert facts["step.data_wait_share"] == pytest.approx(0.8)  # 1.6 of 2.0
    assert "step.time_seconds" not in job("epoch 1 step 3 net 5 loss 0.1\n")


@pytest.mark.parametrize(
    ("whole", "known"),
    [
        ("fwd 0.11s bwd 0.24s total 0.4s", True),
        ("step: 0.4s", True),
        ("total 0.4s", False),  # perhaps since the start
    ],
)
def test_the_whole_step_behind_the_wait_for_data(whole: str, known: bool) -> None:
    facts = job("".join(f"step {number} loss 2.1 data 0.1s {whole}\n" for number in (100, 101, 102)))
    assert facts.get("step.time_seconds") == (pytest.approx(0.4) if known else None)


def test_a_rate_whose_unit_is_in_the_key() -> None:
    line = "{'loss': 0.42, 'train_speed(iter/s)': 0.25, 'epoch': 0.2, 'global_step/max_steps': '295/4491'}"
    assert job(line + "\n")["step.throughput_per_second"] == 0.25


def test_progress_bar_table_without_gpu_memory() -> None:
    log = """Using 8 dataloader workers

     Epoch   gpu_mem       box       obj    labels  img_size
       0/2        0G    0.1098   0.07537       817       640:   1%|          | 40/1000 [02:00<4:14:39,  3.10s/it]
"""
    facts = job(log)
    assert facts["step.device_memory_zero"] is True
    assert facts["step.time_seconds"] == 3.1
    assert facts["step.time_mean_seconds"] == 3.0  # 120 s over 40 steps
    assert facts["loader.workers"] == 8
    assert claimed(scan(FORMAT, log)) == {1, 3, 4}


def test_progress_bar_with_gpu_memory_and_a_rate() -> None:
    facts = job("      1/100      2.50G      1.153      81        640: 100%|██████████| 8/8 [00:02<00:00,  4.00it/s]")
    assert facts["step.device_memory_zero"] is False
    assert facts["step.throughput_per_second"] == 4.0
    assert facts["step.time_seconds"] == 0.25


def test_bars_of_loading_and_mapping_are_no_steps() -> None:
    for bar in (
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:05<00:00,  2.50s/it]",
        "Map: 100%|██████████| 5000/5000 [00:05<00:00, 950.11 examples/s]",
        "model.bin: 100%|██████████| 1.2G/1.2G [00:10<00:00, 120MB/s]",
        "Epochs:  10%|█         | 1/10 [05:00<45:00, 300.00s/it]",
    ):
        assert job(bar) == {}


def test_free_memory_falling_in_one_step() -> None:
    sizes = [9000.5, 9000.5, 9000.5, 8000.5, 8000.5, 8000.5]
    log = "\n".join(
        f"2024-01-01 10:00:{2 * n:02d} host root[7] DEBUG {text}"
        for n, size in enumerate(sizes)
        for text in (f"Free GPU ram: {size}", "Batch loss: 0.05")
    )
    facts = job(log)
    assert facts["memory_trend.samples"] == 6
    assert facts["memory_trend.change_bytes"] == -1000 * 2**20
    assert facts["memory_trend.growth_bytes"] == 1000 * 2**20
    assert (facts["memory_trend.decreasing_steps"], facts["memory_trend.increasing_steps"]) == (1, 0)
    assert facts["memory_trend.monotone"] is True
    assert facts["memory_trend.span_seconds"] == 10.0
    assert len(claimed(scan(FORMAT, log))) == 12


def test_memory_that_goes_up_and_down_is_not_monotone() -> None:
    log = "\n".join(f"iter: {n}  time: 0.5  memory: {m}" for n, m in enumerate([3000, 3500, 3200, 3600], 10))
    assert job(log)["memory_trend.monotone"] is False


def test_time_since_start_is_turned_into_time_per_step() -> None:
    log = "\n".join(f"[{n}/1000] loss 0.5 time {0.25 * n:.2f}" for n in range(100, 600, 100))
    assert job(log)["step.time_seconds"] == pytest.approx(0.25)


def test_timestamps_give_a_step_time_where_nothing_else_does() -> None:
    log = "\n".join(f"2024-01-01 10:{n:02d}:00 step {100 * n} loss 0.5" for n in range(5))
    facts = job(log)
    assert facts["step.time_mean_seconds"] == pytest.approx(0.6)  # 60 s per 100 steps


def test_only_the_first_steps() -> None:
    assert job("Epoch: [0][0/5005] Time 48.8 (48.8) Data 45.0 (45.0)\n")["step.warmup_only"] is True


def test_evaluation_lines_do_not_mix_with_training() -> None:
    log = "Test: [ 0/196] Time 9.0 (9.0) Loss 1.0\n" + "\n".join(
        f"Epoch: [1][{n}/500] Time 0.5 Data 0.1" for n in range(9, 12)
    )
    facts = job(log)
    assert facts["step.time_max_seconds"] == 0.5


@pytest.mark.parametrize(
    "line",
    [
        "    Avg gRPC time: 247578 usec ((un)marshal request/response 11 usec + response wait 247567 usec)",
        "|    0   N/A  N/A      2443      G   /usr/lib/xorg/Xorg        126MiB |",
        "CUDA out of memory. Tried to allocate 1.39 GiB (GPU 0; 6.00 GiB total capacity; 478.00 MiB free)",
        "Optimizer.step#AdamW.step        22.95%        1.584s        56.71%        3.913s       1.228ms          3186",
        "[11/02/2021-09:15:15] [I] avgTiming: 8",
        "    Running time was 3 hours, at 12/05 we stopped.",
        "One card : 1.27 s/it",
        "",
    ],
)
def test_what_is_no_training_log_is_left_alone(line: str) -> None:
    assert scan(FORMAT, line) == []


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("DataLoadingTime", Meaning.DATA),
        ("data_time", Meaning.DATA),
        ("Data", Meaning.DATA),
        ("batch-generator", Meaning.DATA),
        ("data wait", Meaning.DATA),
        ("model load time", Meaning.OTHER),
        ("batch_time", Meaning.STEP),
        ("Time", Meaning.STEP),
        ("elapsed time per iteration", Meaning.STEP),
        ("Total time", Meaning.OTHER),
        ("forward_time", Meaning.OTHER),
        ("last_data_time", Meaning.LAST_DATA),
        ("CurrSamplesPerSec", Meaning.SAMPLES),
        ("global_step/sec", Meaning.RATE),
        ("max_mem", Meaning.PEAK_MEMORY),
        ("Free GPU ram", Meaning.FREE_MEMORY),
        ("cpu memory", Meaning.OTHER),
    ],
)
def test_meaning_of_keys(key: str, what: Meaning) -> None:
    assert meaning(key) is what


def test_decimal_commas_and_thousands() -> None:
    assert (to_number("0,35"), to_number("1,234.5"), to_number("5,432")) == (0.35, 1234.5, 5432.0)


SAMPLE = IMAGENET + "  0/2  0G  0.1  640: 1%| | 40/1000 [02:00<4:14:39, 3.10s/it]\nFree GPU ram: 10\n" * 3


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SAMPLE)), st.integers(0, len(SAMPLE)), st.text(max_size=30))
def test_cut_and_spliced_logs_never_raise(start: int, end: int, junk: str) -> None:
    scan(FORMAT, SAMPLE[start:] + junk + SAMPLE[:end])


def test_of_several_times_per_iteration_the_key_tells_which_is_the_whole() -> None:
    line = "Inference done {}/600. Dataloading: 0.0010 s/iter. Inference: 0.1900 s/iter. Total: 0.2000 s/iter.\n"
    facts = job("".join(line.format(at) for at in (100, 200, 300)))
    assert facts["step.time_mean_seconds"] == pytest.approx(0.2)
    assert facts["step.data_wait_share"] == pytest.approx(0.005)


def test_a_batch_of_several_items_is_one_step() -> None:
    facts = job(
        "[  50/900] loss: 1.1, 0.320s/16-batch (fw: 0.120s, bw: 0.195s)\n[ 100/900] loss: 1.0, 0.320s/16-batch\n"
    )
    assert facts["step.time_seconds"] == pytest.approx(0.32)


def test_the_first_window_of_a_short_windowed_log_is_its_warm_up() -> None:
    log = "".join(
        f"Epoch [1][{step}/9000] lr: 1e-3, time: {time}, data_time: {wait}, memory: 3000, loss: 1.0\n"
        for step, time, wait in [(50, 2.0, 1.5), (100, 0.5, 0.01), (150, 0.5, 0.01), (900, 0.5, 0.01)]
    )
    assert job(log)["step.data_wait_share"] == pytest.approx(0.02)
