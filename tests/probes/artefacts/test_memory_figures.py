"""Memory figures that servers and frameworks print."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.memory_figures import FORMAT
from tests.probes.artefacts.helpers import scan, values

MIB = 1024.0**2
GIB = 1024.0**3


def _job(content: str) -> dict[str, Value]:
    return {fact: value for (fact, entity), value in values(scan(FORMAT, content)).items() if entity == "job:this"}


def test_vllm_profiling_lines() -> None:
    facts = _job(
        "INFO worker.py:266] model weights take 6.00GiB; non_torch_memory takes 0.25GiB; PyTorch activation "
        "peak memory "
        "takes 1.50GiB; the rest of the memory reserved for KV Cache is 14.00GiB.\n"
        "INFO the current vLLM instance can use total_gpu_memory (24.00GiB) x gpu_memory_utilization (0.90) "
        "= 21.60GiB\n"
    )
    assert facts == pytest.approx(
        {
            "model.weights_bytes": 6 * GIB,
            "cache.outside_framework_bytes": 0.25 * GIB,
            "cache.activation_peak_bytes": 1.5 * GIB,
            "cache.available_bytes": 14 * GIB,
            "cache.device_bytes": 24 * GIB,
            "cache.instance_limit_bytes": 21.6 * GIB,
            "job.gpu_memory_utilization_share": 0.9,
        }
    )


def test_vllm_cache_lines() -> None:
    facts = _job(
        "# GPU blocks: 0, # CPU blocks: 256\n"
        "GPU KV cache size: 103,456 tokens\n"
        "Maximum concurrency for 32,768 tokens per request: 3.16x\n"
        "Model loading took 14.50 GiB and 5.341 seconds\n"
        "the estimated maximum model length is 74768. Try\n"
    )
    assert facts == pytest.approx(
        {
            "cache.gpu_block_count": 0,
            "cache.cpu_block_count": 256,
            "cache.capacity_tokens": 103456,
            "cache.sequence_limit_tokens": 32768,
            "cache.concurrency": 3.16,
            "model.weights_bytes": 14.5 * GIB,
            "model.load_seconds": 5.341,
            "cache.possible_sequence_tokens": 74768,
        }
    )


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve x --max-model-len 2048 --tensor-parallel-size 2 --gpu-memory-utilization 0.85",
        "config: max_model_len=2048, tensor_parallel_size=2, gpu_memory_utilization=0.85, seed=0",
    ],
)
def test_settings_on_a_command_line_or_in_a_log(line: str) -> None:
    assert _job(line) == {
        "cache.sequence_limit_tokens": 2048,
        "job.tensor_parallel_size": 2,
        "job.gpu_memory_utilization_share": 0.85,
    }


def test_llama_cpp_buffers_and_layers() -> None:
    found = values(
        scan(
            FORMAT,
            "llm_load_tensors: offloaded 25/33 layers to GPU\n"
            "llm_load_tensors:      CUDA0 model buffer size =  3820.50 MiB\n"
            "llama_kv_cache_init:   CUDA0 KV buffer size =   512.00 MiB\n"
            "ERROR - llama-bench exited with code -6\n",
        )
    )
    assert found["model.offloaded_layers", "job:this"] == 25
    assert found["model.layer_count", "job:this"] == 33
    assert found["reading.bytes", "job:this/measurement:CUDA0 model buffer"] == 3820.5 * MIB
    assert found["reading.bytes", "job:this/measurement:CUDA0 KV buffer"] == 512 * MIB
    assert found["job.exit_code", "job:this"] == -6


@pytest.mark.parametrize(
    ("text", "gigabytes"),
    [("device: NVIDIA H100 80GB HBM3 MIG 2g.20gb", 20), ("Device 0: NVIDIA A16-4Q, compute capability 8.6", 4)],
)
def test_slices_by_their_profile_name(text: str, gigabytes: int) -> None:
    assert _job(text) == {"job.slice_memory_gigabytes": gigabytes}


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB", "Tesla V100-PCIE-16GB", "NVIDIA GeForce RTX 4090"])
def test_whole_gpus_are_no_slices(name: str) -> None:
    assert _job(name) == {}


def test_the_chunk_table_of_tensorflow() -> None:
    found = values(
        scan(
            FORMAT,
            "I bfc_allocator.cc:692] 22 Chunks of size 256 totalling 5.5KiB\n"
            "I bfc_allocator.cc:692] 7 Chunks of size 4096 totalling 28.0KiB\n"
            "I bfc_allocator.cc:680] Free  at 0x7f00 of size 1048576 next 12\n"
            "I bfc_allocator.cc:680] Free  at 0x7f10 of size 524288 next 13\n"
            "Created device /job:localhost/replica:0/task:0/device:GPU:1 with 10240 MB memory: -> device: 1\n",
        )
    )
    assert found["reading.count", "job:this/measurement:chunks of 4096 bytes"] == 7
    assert found["reading.bytes", "job:this/measurement:chunks of 256 bytes"] == 5632.0
    assert found["reading.count", "job:this/measurement:chunk sizes listed"] == 2
    assert found["allocator.largest_free_block_bytes", "job:this"] == 1048576.0
    assert found["allocator.free_blocks_bytes", "job:this"] == 1572864.0
    assert found["gpu.framework_limit_bytes", "gpu:1"] == 10240 * MIB


LISTED = "Found device 0 with properties:\nname: Some GPU\nmajor: 7 minor: 0\npciBusID: 0000:3b:00.0\n"


@pytest.mark.parametrize(
    "memory",
    ["totalMemory: 16.00GiB freeMemory: 512.00MiB\n", "Total memory: 16.00GiB\nFree memory: 512.00MiB\n"],
    ids=["one-line", "two-lines"],
)
def test_what_tensorflow_lists_before_it_takes_memory(memory: str) -> None:
    found = _job(f"I gpu_device.cc:1432] {LISTED}{memory}")
    assert found["job.device_total_at_start_bytes"] == 16 * GIB
    assert found["job.device_free_at_start_bytes"] == 512 * MIB


def test_several_listed_devices_or_memory_of_something_else_say_nothing_of_one() -> None:
    memory = "totalMemory: 16.00GiB freeMemory: 15.50GiB\n"
    assert "job.device_free_at_start_bytes" not in _job(
        LISTED + memory + LISTED.replace("device 0", "device 1") + memory
    )
    assert "job.device_free_at_start_bytes" not in _job("Total memory: 64.00GiB\nFree memory: 2.00GiB\n")


def test_of_several_values_the_last_counts_and_the_others_are_kept() -> None:
    found = values(scan(FORMAT, "vllm serve a --max-model-len 2048\nvllm serve b --max-model-len 8192\n"))
    assert found["cache.sequence_limit_tokens", "job:this"] == 8192
    assert 2048 in found.values()


def test_a_table_of_different_slices_says_nothing_of_this_job() -> None:
    facts = _job("NVIDIA A10-4Q  8.1 t/s\nNVIDIA A10-8Q  20 t/s\n")
    assert "job.slice_memory_gigabytes" not in facts
