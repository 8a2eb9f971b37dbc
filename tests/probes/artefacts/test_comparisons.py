"""The same work timed under different conditions, in the words of those who timed it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.comparisons import FORMAT, comparison_readings
from tests.probes.artefacts.helpers import claimed, scan, text_of, values


def job(content: str) -> dict[str, Value]:
    """Facts about the job."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, content)).items() if path == "job:this"}


def test_versions_on_lines_of_their_own_hold_for_the_times_below_them() -> None:
    facts = job("9.1.0+cu121\ntime elapsed 60.0\n\n9.1.0+cu118\ntime elapsed 40.0\n\n8.4.1+cu118\ntime elapsed 36.0\n")
    assert facts["bench.version_ratio"] == pytest.approx(60 / 36)
    assert facts["bench.version_slowest"] == "torch 9.1.0+cu121"
    assert facts["bench.version_fastest"] == "torch 8.4.1+cu118"


def test_versions_within_sentences() -> None:
    facts = job("when using pytorch1.4 ,the iteration speed is 0.50/it\nwith pytorch 1.9 I see 2.00/it\n")
    assert facts["bench.version_ratio"] == pytest.approx(4.0)
    assert facts["bench.version_slowest"] == "torch 1.9"


def test_a_second_time_may_leave_out_what_it_is_per() -> None:
    facts = job("It takes 60s per epoch with one GPU versus 90s using 2 GPUs.\n")
    # the same epoch on twice the GPUs takes 1.5 times as long: 2/3 of the speed
    assert facts["bench.scaling_speedup"] == pytest.approx(60 / 90)


def test_thousands_of_tokens_are_read_with_their_k() -> None:
    facts = job("one gpu: 4.1k tokens/s\n2 gpus: 5.1k tokens/s\n")
    assert facts["bench.scaling_speedup"] == pytest.approx(5.1 / 4.1)


def test_a_list_of_installed_software_is_no_comparison() -> None:
    assert job("PyTorch version: 2.1.0\nNvidia driver version: 535.54.03\ncudnn 8.9.2\nTime: 4.2 s\n") == {}


def test_versions_of_different_software_are_not_compared() -> None:
    assert "bench.version_ratio" not in job("torch 2.1.0 takes 3.0 s/it\ntensorflow 2.15.0 takes 1.0 s/it\n")


def test_steps_on_more_gpus_have_a_batch_for_each() -> None:
    facts = job("with 1 GPU it runs at 0.80 s/it\nand with 2 GPUs at 1.28 s/it\n")
    # Two batches in 1.28 s against one in 0.80 s: 2 * 0.80 / 1.28.
    assert facts["bench.scaling_gpu_count"] == 2
    assert facts["bench.scaling_speedup"] == pytest.approx(1.25)
    assert facts["bench.scaling_efficiency_share"] == pytest.approx(0.625)


def test_epochs_hold_the_same_work_on_any_number_of_gpus() -> None:
    facts = job("single GPU: 30s/epoch 71.2@10epochs\nDataParallel (two GPUs): 24s/epoch 70.9@10epochs\n")
    assert facts["bench.scaling_speedup"] == pytest.approx(1.25)


def test_visible_devices_of_a_command_are_its_number_of_gpus() -> None:
    log = (
        "$ CUDA_VISIBLE_DEVICES=3 python t.py\nEp 1 | step 02 | 0.500 sec/step\n\n"
        "$ CUDA_VISIBLE_DEVICES=0,1,2,3 python t.py\nEp 1 | step 02 | 2.000 sec/step\n"
    )
    facts = job(log)
    assert facts["bench.scaling_gpu_count"] == 4
    assert facts["bench.scaling_speedup"] == pytest.approx(1.0)


def test_a_tail_of_numbers_without_one_gpu_says_nothing() -> None:
    assert job("4 GPUs: 1.0 s/it\n8 GPUs: 1.1 s/it\n") == {}


def test_jobs_side_by_side_on_one_gpu() -> None:
    facts = job(
        "a single process on a gpu gives 60 samples/sec\ntwo processes on the same gpu give 24 samples/sec each\n"
    )
    assert facts["bench.shared_job_count"] == 2
    assert facts["bench.shared_slowdown_ratio"] == pytest.approx(2.5)


def test_a_heading_outweighs_the_noise_below_it() -> None:
    log = (
        "Without CUDA graphs:\n$ python bench.py\nrunning in eager mode\nGPU Time: 90.0 milliseconds\n"
        "With CUDA graphs:\n$ python bench.py --graph\nrunning in eager mode\nGPU Time: 45.0 milliseconds\n"
    )
    assert job(log)["step.graph_speedup_ratio"] == pytest.approx(2.0)


def test_each_side_of_a_versus_has_its_own_condition() -> None:
    facts = job("500 graph replays (8000 ops) = 50.0ms vs 200.0ms for 8000 direct launches\n")
    assert facts["step.graph_speedup_ratio"] == pytest.approx(4.0)


def test_a_loader_against_the_same_data_in_memory() -> None:
    table = "Synthetic data            0.50s\nDataLoader (shuffle=True) 5.00s\n"
    assert job(table)["step.synthetic_speedup_ratio"] == pytest.approx(10.0)


def test_arrows_show_a_thread_limit() -> None:
    text = (
        "cap = `OMP_NUM_THREADS=4`\n| task | CPU cores busy |\n|---|---|\n| a | 80 -> 8 |\n\n"
        "per-step time went 90s -> 60s\n"
    )
    facts = job(text)
    assert facts["bench.thread_limit_speedup"] == pytest.approx(1.5)
    assert facts["bench.thread_limit_cpu_ratio"] == pytest.approx(10.0)


def test_arrows_without_a_word_on_threads_are_something_else() -> None:
    assert job("gpu step time went 90s -> 60s after the upgrade\n") == {}


def test_no_line_is_claimed() -> None:
    assert claimed(scan(FORMAT, "1 GPU: 1.0 s/it\n2 GPUs: 1.1 s/it\n")) == set()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_survived(content: str) -> None:
    scan(FORMAT, content + "\n1 GPU: 0 s/it\n2 GPUs: 0 s/it\nOMP_NUM_THREADS 1s -> 0s")


def test_sentences_about_one_and_two_gpus_are_compared_whatever_their_words() -> None:
    text = "the training time of two GPUs is 26min and that of one GPU is 16min in an epoch."
    found = {one.fact: one.value for one in comparison_readings(text_of(text).lines)}
    # an epoch is the same work: 16 / 26
    assert found["bench.scaling_speedup"] == pytest.approx(16 / 26)


def test_steps_per_second_and_seconds_per_step_in_a_long_paragraph() -> None:
    filler = "We train the model of the paper on our own images with the settings of its authors. " * 5
    text = filler + "With one GPU the speed is 1.34it/s. With two GPUs it is 1.38s/it.\n"
    # 1/1.34 = 0.746 s a step on one, 1.38 s on two that have a batch each: 2 * 0.746 / 1.38 = 1.082
    found = values(scan(FORMAT, text))
    assert found["bench.scaling_gpu_count", "job:this"] == 2
    assert found["bench.scaling_speedup", "job:this"] == pytest.approx(1.082, abs=1e-3)
