"""Allocator settings wherever a text shows them, but not where a message only advises them."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.allocator_settings import FORMAT
from tests.probes.artefacts.helpers import scan, values

MIB = 1024.0**2


def _job(content: str) -> dict[str, Value]:
    return {fact: value for (fact, entity), value in values(scan(FORMAT, content)).items() if entity == "job:this"}


@pytest.mark.parametrize(
    "line",
    [
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "PYTORCH_ALLOC_CONF='expandable_segments:True' python train.py",
        'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"',
        "ENV PYTORCH_CUDA_ALLOC_CONF expandable_segments:True",
        "  PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True",
        'torch.cuda.memory._set_allocator_settings("expandable_segments:True")',
        "I run with expandable_segments:True already",
    ],
)
def test_expandable_segments_however_they_are_set(line: str) -> None:
    assert _job(line) == {"allocator.expandable_segments": True}


def test_all_keys_of_one_variable() -> None:
    facts = _job(
        "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,garbage_collection_threshold:0.8,backend:cudaMallocAsync,"
        "roundup_power2_divisions:[256:1,512:2,>:4],max_non_split_rounding_mb:64,per_process_memory_fraction:0.5"
    )
    assert facts == {
        "allocator.max_split_size_bytes": 128 * MIB,
        "allocator.garbage_collection_threshold": 0.8,
        "allocator.backend": "cudaMallocAsync",
        "allocator.roundup_divisions": "[256:1,512:2,>:4]",
        "allocator.max_non_split_rounding_bytes": 64 * MIB,
        "allocator.memory_fraction_share": 0.5,
    }


@pytest.mark.parametrize(
    "text",
    [
        "If reserved memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.",
        "If reserved but unallocated memory is large try setting\nPYTORCH_ALLOC_CONF=expandable_segments:True to avoid",
        "you could use max_split_size_mb:128 for example",
        "unset PYTORCH_CUDA_ALLOC_CONF",
    ],
)
def test_advice_is_not_a_setting(text: str) -> None:
    assert _job(text) == {}


def test_two_variables_that_differ_conflict() -> None:
    both = "PYTORCH_ALLOC_CONF=expandable_segments:True\nPYTORCH_CUDA_ALLOC_CONF={}"
    assert _job(both.format("max_split_size_mb:64"))["allocator.settings_conflict"] is True
    assert _job(both.format("expandable_segments:True"))["allocator.settings_conflict"] is False


@pytest.mark.parametrize("pair", ["expandable_segments:true", "max_split_size_mb:10", "garbage_collection_threshold:7"])
def test_values_that_pytorch_refuses(pair: str) -> None:
    assert _job(f"PYTORCH_ALLOC_CONF={pair}")["allocator.setting_invalid"] == pair


def test_a_key_that_does_not_exist() -> None:
    assert _job("PYTORCH_ALLOC_CONF=max_split_size:64") == {"allocator.setting_unknown": "max_split_size:64"}


def test_settings_of_jax_and_tensorflow() -> None:
    facts = _job(
        "XLA_PYTHON_CLIENT_PREALLOCATE=false XLA_PYTHON_CLIENT_MEM_FRACTION=.50 python x.py\n"
        "tf.config.experimental.set_memory_growth(gpus[0], True)\n"
        "TF_GPU_ALLOCATOR=cuda_malloc_async\n"
    )
    assert facts == {
        "allocator.preallocates": False,
        "allocator.memory_fraction_share": 0.5,
        "allocator.grows": True,
        "allocator.kind": "cuda_malloc_async",
    }


def test_an_assertion_of_the_allocator_is_no_report_of_memory_that_ran_out() -> None:
    asserted = '!block->expandable_segment_ INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":2814'
    assert _job(asserted) == {"allocator.assertion_failed": True}
    report = 'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":844'
    assert _job(report) == {}
    assert _job('INTERNAL ASSERT FAILED at "../aten/src/ATen/Context.cpp":12, allow_growth') == {}
