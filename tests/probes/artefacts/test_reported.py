"""Symptoms as people describe them, and what is no description of one."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.reported import FORMAT
from tests.probes.artefacts.helpers import scan, values


def facts(content: str) -> dict[str, Value]:
    """Facts about the job."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, content)).items() if path == "job:this"}


REPORTED = [
    ("said.work_slow", "Training my model on a V100 is really slow, what can I check?"),
    ("said.work_slow", "Each epoch takes very long on our new machine."),
    ("said.work_slow", "We see slow training on two machines of this type."),
    ("said.latency_bad", "The p99 latency of our server jumps from 20 ms to 400 ms every few minutes."),
    ("said.latency_bad", "Under load response times become very high."),
    ("said.latency_bad", "We see jittery inference with two models."),
    ("said.synthetic_faster", "When we train on random tensors it is 5x faster."),
    ("said.synthetic_faster", "A step is 3.5 times faster with synthetic data."),
    ("said.model_reloaded", "The server unloads the model after every request, which takes a minute."),
    ("said.model_reloaded", "It keeps reloading the model although keep_alive is set."),
    ("said.model_reloaded", "The model is frequently reloaded, even within seconds."),
    ("said.first_request_slow", "The first inference is very slow, later ones take 10 ms."),
    ("said.dtype_beyond_gpu", "bf16 training on V100 is 4x slower than fp16."),
    ("said.dtype_beyond_gpu", "With fp8 on an A100 it fails."),
    ("said.first_request_slow", "Bad after a deployment: first ~20 requests take 3-8 s, afterwards 25 ms."),
    ("said.utilization_swings", "When I train the GPU util oscillates between 0 and 100%."),
    ("said.hang_at_full_use", "4 ranks, GPU usage 100% and the step never finishes."),
    ("said.first_request_slow", "Inference is slow for the first few images and fast then."),
    ("said.first_request_slow", "The first request takes 20 seconds; the model answers at once afterwards."),
    ("said.waits_for_data", "During training the GPU is mostly waiting for data."),
    ("said.waits_for_data", "In each epoch data loading takes most of the time."),
    ("said.waits_for_data", "At each epoch the dataloader gets stuck for around 30 seconds."),
    ("said.utilization_swings", "When I train, GPU utilization fluctuates between 0% and 90%."),
    ("said.utilization_low", "I see low GPU utilization while training."),
    ("said.memory_grows", "GPU memory keeps increasing during training."),
    ("said.memory_grows", "The GPU memory usage increases after every epoch."),
    ("said.memory_grows", "When training, the memory of the GPU keeps increasing."),
    ("said.memory_grows", "There is a continuous growth of GPU memory."),
    ("said.memory_grows", "The GPU memory gets filled up after 4 epochs."),
    ("said.some_gpus_spin", "Of our 8 GPUs 7 are at 100% and the remaining one is at 0%."),
    ("said.power_cap_active", "On this GPU SW Power Cap is permanently active."),
    ("said.clock_stuck", "The GPU clock is stuck at 210 MHz (max clock: 3105 MHz)."),
    ("said.gpu_not_used", "My script does not seem to use the GPU."),
    ("said.gpu_not_used", "It runs on the CPU instead of the GPU."),
    ("said.peer_access_avoided", "With several GPUs it works only with NCCL_P2P_DISABLE=1."),
    ("said.peer_access_avoided", "It hangs without NCCL_P2P_DISABLE=1."),
    ("said.hang_at_full_use", "Multi-GPU serving stops: GPU utilization is 100% but power is low."),
    ("said.hangs", "It hangs here: NCCL INFO Channel 00/08 : 0 1"),
    ("said.throttled_by_heat", "The GPU throttles down to keep the temperature below 84 degrees."),
    ("said.throttled_by_heat", "My GPU overheats and slows down."),
    ("said.throttled_by_heat", "The GPU is thermally throttled all day."),
    ("said.throttled_by_heat", "GPU 0 at 84C, 900 MHz, SW Thermal Slowdown: Active"),
    ("said.throttled_by_heat", "When it gets hot the GPU stays on but gets too hot, clocks drop."),
    ("said.first_request_slow", "The first time we run inference we see poor latency."),
    ("said.first_request_slow", "The warm-up effect exists in our serving latency."),
    ("said.instances_slow_each_other", "Multi-server runs on a shared pod degrade latency."),
    ("said.instances_slow_each_other", "When 8 server processes are started, latency spikes on our GPU."),
    ("said.slower_with_more_gpus", "Multiple node training is slower than single node."),
    ("said.slower_with_more_gpus", "With 2 GPUs training is slower."),
    ("said.slower_with_more_gpus", "It is slower on two GPUs than on one of the GPUs."),
    ("said.hang_at_full_use", "With DDP it hangs and the GPU utilization is 100%."),
    ("said.memory_grows", "I do not know why GPU memory keeps increasing during training."),
    ("said.memory_grows", "No matter what batch size, GPU memory keeps increasing."),
    ("said.model_reloaded", "keep_alive does not work: the model is unloaded after each request."),
    ("said.first_request_slow", "Without warm-up the first request is very slow."),
    ("said.hangs", "The job does not end but hangs: NCCL INFO Channel 00"),
    ("said.hangs", "NCCL INFO Channel 00. I tried to fix it, but it hangs."),
    ("said.hangs", "NCCL WARN x. The new version causes a hang in all_reduce."),
    ("said.hangs", "I can reproduce it: training hangs at the first step, NCCL version 2.18."),
    ("said.peer_access_avoided", "On two GPUs it does not work without NCCL_P2P_DISABLE=1."),
    ("said.peer_access_avoided", "NCCL runs fine with NCCL_P2P_DISABLE=1."),
    ("said.waits_for_data", "In training a batch takes very long to load."),
    ("said.utilization_low", "While training the GPU is always waiting for the CPU."),
    ("said.host_memory_grows", "While training the RAM usage keeps growing."),
    ("said.host_memory_grows", "System memory keeps increasing on the GPU box."),
    ("said.model_reloaded", "The app clears the model from VRAM after each request."),
    ("said.memory_grows", "In evaluation the GPU gets more and more GPU memory."),
    ("said.spills_to_host", "On Windows the VRAM is full and shared GPU memory is being used."),
    ("said.spills_to_host", "VRAM spills into shared GPU memory in Task Manager."),
    ("said.memory_kept", "I stopped it with Ctrl-C but the GPU memory is not released."),
    ("said.memory_kept", "GPU memory is not freed after the process is killed."),
    ("said.memory_kept", "A zombie process still holds GPU memory."),
    ("said.handler_blocks", "In torchserve the GPU is idle while images are decoded."),
    ("said.handler_blocks", "Our endpoint is slow: preprocessing is the bottleneck."),
    ("said.waits_for_data", "When I train, data time goes up with every epoch."),
    ("said.host_memory_grows", "Host memory increases every epoch."),
    ("said.host_memory_grows", "The CPU memory steadily grows in training."),
    ("said.exchange_dominates", "On 16 GPUs the allreduce time takes 70% of the step."),
    ("said.exchange_dominates", "With several nodes communication is the bottleneck."),
    ("said.exchange_dominates", "With DDP gradient synchronization takes longer than the backward pass."),
    ("said.synchronising_takes", "On the GPU cudaStreamSynchronize takes 12 ms of each step."),
    ("said.synchronising_takes", "The GPU code spends most of its time in torch.cuda.synchronize."),
    ("said.synchronising_takes", "With torch loss.item() takes too long."),
    ("said.slower_with_more_gpus", "The more GPUs I use, the slower it gets."),
    ("said.throttled_by_heat", "I see throttling because the Max Operating Temp of the GPU is low."),
    ("said.gpu_not_seen", "TensorFlow does not detect my GPU."),
    ("said.gpu_not_seen", "With tensorflow 2.10 the GPU is not recognized."),
    ("said.gpu_not_seen", "tensorflow: Num GPUs Available: 0"),
    (
        "said.first_request_slow",
        "It takes 60 seconds to return a result for the first time, and 15 ms afterwards; same model.",
    ),
    ("said.first_request_slow", "With ollama the 1st time I run a prompt it takes long, the next ones 10 seconds."),
    ("said.utilization_low", "Each iteration takes 5 seconds and the GPU is mostly idling."),
    ("said.memory_grows", "The GPU memory usage growed slowly during training."),
    ("said.spans_machines", "Cross-node collective operations are slow with NCCL."),
    ("said.spans_machines", "NCCL is slow between two machines."),
]


@pytest.mark.parametrize(("fact", "sentence"), REPORTED)
def test_what_is_reported(fact: str, sentence: str) -> None:
    assert facts(sentence + "\n")[fact] == sentence


def test_figures_of_a_report() -> None:
    found = facts(
        "Training: GPU-util jumps from 0% to 85% all the time.\nThe GPU clock stays at 300 MHz (max: 1980 MHz).\n"
    )
    assert found["said.utilization_one_share"] == 0
    assert found["said.utilization_other_share"] == 0.85
    assert found["said.clock_megahertz"] == 300
    assert found["said.clock_max_megahertz"] == 1980
    assert facts("With fake data a step is 2.5x faster.\n")["said.synthetic_speedup_ratio"] == 2.5


@pytest.mark.parametrize(
    "sentence",
    [
        "My first epoch is extremely slow, 30 minutes.\nFrom the second epoch on it is much better.",
        "The first epoch took 20 minutes, the second epoch only 2.",
        "In training later epochs are faster than the first.",
    ],
)
def test_a_second_epoch_that_is_faster_is_an_answer(sentence: str) -> None:
    assert facts(sentence + "\n")["job.second_epoch_faster"] is True


@pytest.mark.parametrize(
    "sentence",
    ["We train with DeepSpeed ZeRO-3, optimizer CPU offload enabled.", "FSDP with CPU offload is used.",
     "accelerate offloads the optimizer states to the CPU"],
)  # fmt: skip
def test_that_states_are_offloaded_is_an_answer(sentence: str) -> None:
    assert facts(sentence + "\n")["job.offload"] is True


def test_a_failure_that_comes_late() -> None:
    found = facts("After about 600 steps of training I got an out of memory error on the GPU.\n")
    assert found == {"job.memory_failure": True, "job.fails_at_start": False}


def test_machines_and_bandwidth_in_a_sentence() -> None:
    # 9.84 GB/s, decimal
    found = facts("We run NCCL on 2 nodes; the average bus bandwidth is only 9.84 GB/s.\n")
    assert found == {"comm.node_count": 2, "comm.bus_bandwidth_average_bytes_per_second": 9.84e9}


@pytest.mark.parametrize(
    "sentence",
    [
        "Training is not slow at all on this machine.",
        "Does anybody know how to avoid slow training?",
        "If the latency increases under load we will buy another GPU.",
        "The p99 latency is 20 ms, as it should be.",
        "Training takes 20 minutes per epoch.",
        "We train on synthetic data.",
        "The new kernel is 3x faster in this step.",
        "How do I unload the model after every request?",
        "I want the model to be unloaded after each request.",
        "Could it be that the GPU is waiting for data while training?",
        "Maybe training waits for data.",
        "Does your model keep GPU memory if memory keeps increasing?",
        "Increase num_workers to avoid waiting for data in training.",
        "I am not using the GPU for this.",
        "It does not use the GPU memory efficiently.",
        "The first epoch is slow.",
        "My second GPU has 24 GB.",
        "GPU utilization is 90% in training.",
        "The GPU clock is 1980 MHz.",
        "NCCL connects 8 GPUs.",
        "Is the GPU thermally throttled?",
        "How to tell whether the GPU is throttling for temperature?",
        "There is no thermal throttling on the GPU.",
        "It never hangs with NCCL version 2.21.",
        "Training on 2 GPUs of our GPUs is not slower.",
        "It hangs.",
        "NCCL INFO x\nusing GPU 0 to perform barrier. This can potentially cause a hang if the mapping is incorrect.",
        "NCCL version 2.21.5\nThe hang was fixed by upgrading the driver.",
        "NCCL INFO Bootstrap\nThis release fixes a hang in all_reduce.",
        "NCCL INFO Bootstrap\nTo debug hanging jobs set TORCH_NCCL_TRACE_BUFFER_SIZE.",
        "NCCL INFO Bootstrap\nUnused parameters can hang the reducer.",
        "NCCL INFO Bootstrap\nwatchdog thread for hung collectives started, 0 hangs detected",
        "The GPU is not used by other jobs.",
        "GPU memory usage increases with batch size.",
        "NCCL: with NCCL_P2P_DISABLE=1 it works no better.",
        "With more GPUs throughput drops per GPU, on 8 GPUs.",
        "TensorFlow cannot find a GPU memory leak.",
        "If TensorFlow does not detect the GPU, install a driver.",
        "Several models are served on the same GPU.",
        "Training on the GPU never runs out of memory.",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.59GiB: no failure, but slower.",
        "After 3 epochs the accuracy is 90 %, and there is no OOM in training.",
        "GPU memory does not increase after every epoch.",
        "The GPU memory no longer keeps increasing during training.",
        "The model is not unloaded after every request.",
        "The first inference is not slow, requests all take 10 ms.",
        "The first request takes 0.02 s, like later requests.",
        "The first request takes 3 s with this large model.",
        "Training is not waiting for data.",
        "The data loader is not the bottleneck in training.",
        "There is no low GPU utilization in training.",
        "GPU utilization is not low in training.",
        "    SW Power Cap                      : Not Active (GPU 0)",
        "The GPU clock stays above 1900 MHz.",
        "The GPU is not limited to 210 MHz (max 3105 MHz).",
        "We do not use GPUs for decoding.",
        "NCCL tests work without NCCL_P2P_DISABLE=1.",
        "NCCL works fine with NCCL_P2P_DISABLE=0.",
        "The job runs, env: NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO.",
        "With NCCL_P2P_DISABLE=1 it still does not work.",
        "Setting NCCL_P2P_DISABLE=1 does not help.",
        "With 2 GPUs of our GPUs training is faster, on one slower.",
        "The expected average bus bandwidth is 390 GB/s.",
        "The GPU is not waiting for the CPU in training.",
        "The batcher of the GPU server waits for a batch of requests.",
        "The CUDA kernel uses shared memory on the GPU of this Windows box.",
        "Shared GPU memory is not used on Windows.",
        "GPU memory is released after the process is killed.",
        "GPU memory is not used after the warm-up ends.",
        "In torchserve the GPU is not idle while images are decoded.",
        "The host memory does not grow while training.",
        "The RAM of this training machine is 64 GB.",
        "On 8 GPUs communication takes 5% of the step.",
        "On several GPUs allreduce is not the bottleneck.",
        "Should communication be the bottleneck on GPUs, use NVLink.",
        "torch: call loss.item() every 100 steps.",
        "Does torch.cuda.synchronize() take long?",
        "The more GPUs we use, the faster it gets.",
    ],
)
def test_guesses_wishes_and_other_matters_are_no_reports(sentence: str) -> None:
    assert facts(sentence + "\n") == {}
