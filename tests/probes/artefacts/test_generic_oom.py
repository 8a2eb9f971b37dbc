"""Failed allocations of libraries that no pattern knows: sizes with their meanings, and no failure where none is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts import pytorch_oom
from gpuwhy.probes.artefacts.framework_oom import FORMAT
from tests.probes.artefacts.helpers import scan

MIB, GIB = 2.0**20, 2.0**30
REQUEST, FREE, CAPACITY = "oom.request_bytes", "oom.free_bytes", "oom.capacity_bytes"
ALLOCATED, HOST, DEVICE = "oom.allocated_bytes", "oom.host_allocation", "oom.device_index"

FAILURES: dict[str, tuple[str, dict[str, Value]]] = {
    "rmm": (
        "MemoryError: std::bad_alloc: out_of_memory: CUDA error (failed to allocate 33295450768 bytes) at: "
        "/opt/conda/include/rmm/mr/device/cuda_memory_resource.hpp:62: cudaErrorMemoryAllocation out of memory",
        {REQUEST: 33295450768.0},
    ),
    "rmm pool": (
        "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/opt/rmm/mr/device/pool_memory_resource.hpp:257: "
        "Maximum pool size exceeded (failed to allocate 1073741824 bytes)",
        {REQUEST: GIB},
    ),
    "cupy": (
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes "
        "(allocated so far: 17,179,869,184 bytes).",
        {REQUEST: 8 * GIB, ALLOCATED: 16 * GIB},
    ),
    "cupy with a limit": (
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 4,294,967,296 bytes "
        "(allocated so far: 2,147,483,648 bytes, limit set to: 5,368,709,120 bytes).",
        {REQUEST: 4 * GIB, ALLOCATED: 2 * GIB},
    ),
    "faiss": (
        "RuntimeError: Error in virtual void* faiss::gpu::StandardGpuResourcesImpl::allocMemory(const "
        "faiss::gpu::AllocRequest&) at StandardGpuResources.cpp:452: Error: 'err == cudaSuccess' failed: "
        "StandardGpuResources: alloc fail type TemporaryMemoryOverflow dev 0 space Device stream 0x7effcc5f47a0 "
        "size 4513349632 bytes (cudaMalloc error out of memory [2])",
        {REQUEST: 4513349632.0, DEVICE: 0},
    ),
    "mindspore free": (
        "RuntimeError: Memory not enough: current free memory size[104857600] is smaller than required "
        "size[241827840]. device memory",
        {REQUEST: 241827840.0, FREE: 100 * MIB},
    ),
    "mindspore alloc": (
        "RuntimeError: Device(id:1) memory isn't enough and alloc failed, kernel name: Default/Conv2D-op1, "
        "alloc size: 241827840B.",
        {REQUEST: 241827840.0, DEVICE: 1},
    ),
    "oneflow cpu": (
        "terminate called after throwing an instance of 'oneflow::RuntimeException'\n"
        "  what():  Error: CPU can't allocate memory. Tried to allocate 64.5 GB",
        {REQUEST: 64.5 * GIB, HOST: True},
    ),
    "vulkan": (
        "ggml_vulkan: Device memory allocation of size 2147483648 failed.\n"
        "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
        {REQUEST: 2 * GIB},
    ),
    "sycl": (
        "ggml_backend_sycl_buffer_type_alloc_buffer: can't allocate 21583194624 Bytes of memory on device",
        {REQUEST: 21583194624.0},
    ),
    "level zero": (
        "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
        {},
    ),
    "opencl buffer": ("pyopencl._cl.MemoryError: create_buffer failed: MEM_OBJECT_ALLOCATION_FAILURE", {}),
    "opencl kernel": (
        "clEnqueueNDRangeKernel(): error -4 (CL_MEM_OBJECT_ALLOCATION_FAILURE): failed to allocate device memory",
        {},
    ),
    "hashcat": ("* Device #1: Not enough allocatable device memory for this attack.", {DEVICE: 1}),
    "paddle": (
        "ResourceExhaustedError: \n\nOut of memory error on GPU 2. Cannot allocate 2.250000GB memory on GPU 2, "
        "19.500000GB memory has been allocated and available memory is only 1.900000GB.",
        {REQUEST: 2.25 * GIB, ALLOCATED: 19.5 * GIB, FREE: 1.9 * GIB, DEVICE: 2},
    ),
    "mxnet": (
        "mxnet.base.MXNetError: [10:11:12] src/storage/./pooled_storage_manager.h:161: "
        "cudaMalloc retry failed: out of memory",
        {},
    ),
    "arrayfire": (
        "ArrayFire Exception (Device out of memory:101): In function T* af::array::device<float>() - "
        "Unable to allocate 3072 MB on device 0",
        {REQUEST: 3 * GIB, DEVICE: 0},
    ),
    "taichi": (
        "[E 11/30/26 02:15:06.312 4711] [cuda_driver.h:operator()@88] CUDA Error CUDA_ERROR_OUT_OF_MEMORY: "
        "out of memory while calling malloc_async_impl (cuMemAllocAsync)",
        {},
    ),
    "legion": (
        "[0 - 7f12] 12.300000 {6}{default_mapper}: Default mapper failed allocation of size 1342177280 bytes for "
        "region requirement 0 of task train (UID 17) in memory 1e00000000000002 (GPU_FB_MEM)",
        {REQUEST: 1342177280.0},
    ),
    "xgboost": (
        "xgboost.core.XGBoostError: [10:00:00] /workspace/src/c_api/../data/../common/device_helpers.cuh:431: "
        "Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n"
        "- Free memory: 512MB\n- Requested memory: 2048MB",
        {REQUEST: 2 * GIB, FREE: 512 * MIB},
    ),
    "dali": (
        "RuntimeError: Critical error in pipeline: [/opt/dali/pipeline/data/buffer.h:321] "
        "Can't allocate 4362076160 on device 0.",
        {REQUEST: 4362076160.0, DEVICE: 0},
    ),
    "kokkos": (
        'Kokkos failed to allocate memory for label "atom:x". Allocation using MemorySpace named "Cuda" failed with '
        "the following error: Allocation of size 24.5 G failed, likely due to insufficient memory. (The allocation "
        "mechanism was cudaMalloc().)",
        {REQUEST: 24.5 * GIB},
    ),
    "namd": ("FATAL ERROR: CUDA error in malloc forces on Pe 0 (node7 device 0): out of memory", {}),
    "amrex": (
        "amrex::Abort::0::Out of gpu memory. Free: 135266304 Asked: 402653184 !!!",
        {REQUEST: 384 * MIB, FREE: 129 * MIB},
    ),
    "openmm": ("openmm.OpenMMException: Error creating array velm: CUDA_ERROR_OUT_OF_MEMORY (2)", {}),
    "ollama": (
        "Error: model requires more system memory (12.6 GiB) than is available (7.8 GiB)",
        {REQUEST: 12.6 * GIB, FREE: 7.8 * GIB, HOST: True},
    ),
    "metal": (
        "Error: command buffer exited with error status. The Metal Performance Shaders operations encoded on it may "
        "not have completed. Error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
        {},
    ),
    "unreal": (
        "Fatal error: Out of video memory trying to allocate a rendering resource. Make sure your video card",
        {},
    ),
}

HEALTHY: dict[str, str] = {
    "figures": "Memory allocation: 12 GiB of 24 GiB in use",
    "advice": "To avoid out-of-memory errors, lower the batch size or set gpu_memory_utilization to 0.8 (24 GB cards).",
    "explanation": "Out of memory errors on the GPU usually mean that the batch is too large.",
    "success": "[INFO] rmm pool: allocation of 1073741824 bytes succeeded, 20 GiB of device memory left",
    "conditional": "If you run out of GPU memory while loading the 7 GB model, use --cpu-offload.",
    "fallback": "WARNING: failed to allocate 512 MB of pinned memory, falling back to pageable memory",
    "counters": "step 100 loss 2.1 oom=0 retries=0 allocated 12.3 GB",
    "count": "OOM count: 0, num_ooms: 0, gpu memory 12.1 GB",
    "retry": "WARNING failed to allocate 1073741824 bytes on device; spilled 2147483648 bytes to host, retrying\n"
    "INFO allocation of 1073741824 bytes succeeded after retry",
    "code": '    raise MemoryError(f"cannot allocate {size} bytes of device memory")',
    "comment": "# cudaMalloc failed to allocate 2 GB: device out of memory, see below",
    "preempted": "WARNING scheduler.py:1483] Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because "
    "there is not enough KV cache space. total_num_cumulative_preemption=1",
    "kubernetes": "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available",
    "reference": "CL_OUT_OF_HOST_MEMORY if there is a failure to allocate resources required by the implementation.",
    "case": "    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return CL_MEM_OBJECT_ALLOCATION_FAILURE;",
    "negation": "Trained 100 epochs without running out of GPU memory (peak 20.1 GiB allocated).",
    "none": "No out-of-memory errors were found on device 0 (24 GB).",
    "allocator": "using jemalloc: malloc_conf narenas:2, dirty_decay_ms:1000; memory 64 GB",
    "bank": "Not enough negatives in the memory bank yet: 4096 of 65536 features, allocation continues",
    "loader": "epoch 3: train iterator exhausted, resetting; GPU memory 20.1 GB allocated",
    "tests": "tests/test_oom_retry.py::test_cuda_out_of_memory PASSED",
    "sizes": "Full fine-tuning requires more memory than LoRA: about 60 GB of GPU memory against 16 GB.",
    "changelog": "* Fixed: out of memory when loading a 13 GB model on a 24 GB GPU (#1234)",
    "commit": "a1b2c3d Fix OOM in attention: allocate 2 GB less GPU memory",
    "estimate": "estimated GPU memory: 23 GB needed, 24 GB available: fits",
    "batch finder": "Batch size 64 failed with OOM on the GPU, trying 32\nFinished batch size finder, goes on with 32",
    "buffers": "allocated 512 MB of 1024 MB buffer memory; nothing failed; 3 tests failed before",
    "question": "Why do I get CUDA out of memory although 20 GB of GPU memory are free?",
    "reserve": "Allocation of 80 % of the 24 GB device memory to the KV cache: 19.2 GB",
    "shape": "allocation plan: 64 buffers of 2 MiB, pool of 128 MiB device memory, 0 failures",
}


def facts_of(content: str) -> list[dict[str, Value]]:
    """The facts of each failure that is found."""
    found: dict[str, dict[str, Value]] = {}
    for format_ in (FORMAT, pytorch_oom.FORMAT):
        for extract in scan(format_, content):
            for one in extract.readings:
                if one.entity.kind == "failure":
                    found.setdefault(f"{format_.name} {one.entity.path}", {})[one.fact] = one.value
    return list(found.values())


def sizes(facts: Mapping[str, Value]) -> dict[str, Value]:
    """What a failure says of sizes and where it was."""
    kept = (REQUEST, FREE, CAPACITY, ALLOCATED, HOST, DEVICE)
    return {fact: value for fact, value in facts.items() if fact in kept}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_found_with_what_its_sizes_mean(name: str) -> None:
    content, expected = FAILURES[name]
    (facts,) = facts_of(content)
    assert facts["oom.event"] is True
    for fact, value in expected.items():
        assert facts[fact] == (pytest.approx(value) if isinstance(value, float) else value), fact
    assert sizes(facts).keys() - expected.keys() <= {DEVICE}
    assert facts.get("oom.recovered") is not True


@pytest.mark.parametrize("name", HEALTHY)
def test_no_failure_is_found_where_none_is(name: str) -> None:
    """A warning of something that goes on is told as that."""
    assert [facts for facts in facts_of(HEALTHY[name]) if facts.get("oom.recovered") is not True] == []
