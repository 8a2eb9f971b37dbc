"""Failures of CUDA, its libraries, frameworks and servers for lack of memory."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.framework_oom import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024.0**2
GIB = 1024.0**3


def _failures(content: str) -> dict[str, dict[str, Value]]:
    """Facts of each failure by the path of its entity."""
    found: dict[str, dict[str, Value]] = {}
    for (fact, path), value in values(scan(FORMAT, content)).items():
        if "failure:" in path:
            found.setdefault(path, {})[fact] = value
    return found


def _one(content: str) -> tuple[str, dict[str, Value]]:
    found = _failures(content)
    assert len(found) == 1, found
    return next(iter(found.items()))


@pytest.mark.parametrize(
    ("line", "allocator"),
    [
        ("RuntimeError: CUDA error: out of memory", "cuda"),
        ("torch.AcceleratorError: CUDA error: out of memory", "cuda"),
        ("RuntimeError: HIP error: out of memory", "cuda"),
        ("pycuda._driver.MemoryError: cuMemAlloc failed: out of memory", "cuda"),
        ("numba.cuda.cudadrv.driver.CudaAPIError: [2] CUDA_ERROR_OUT_OF_MEMORY", "cuda"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "cublas"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "cudnn"),
        ("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED", "other"),
        ("ncclUnhandledCudaError\nhost:1:2 [0] NCCL WARN Cuda failure 2 'out of memory'", "nccl"),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "vllm"),
        ("[E] 1: [defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)", "tensorrt"),
        ("mxnet.base.MXNetError: src/storage/pooled_storage_manager.h:157: cudaMalloc failed: out of memory", "mxnet"),
    ],
)
def test_who_reports_the_failure(line: str, allocator: str) -> None:
    path, facts = _one(line)
    assert facts["oom.allocator"] == allocator
    assert path == f"job:this/failure:{allocator}-1"
    assert facts["oom.no_figures"] is True


def test_status_codes_that_need_not_mean_memory_say_so() -> None:
    _, handle = _one("Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR")
    assert handle["oom.implied"] is True
    assert handle["oom.during"] == "handle-creation"
    _, plain = _one("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`")
    assert plain["oom.implied"] is True
    assert plain["oom.during"] == "handle-creation"


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
        "CUBLAS_STATUS_EXECUTION_FAILED",
        "CUDA error: an illegal",
    ],
)
def test_other_errors_of_the_libraries_are_left_alone(line: str) -> None:
    assert _failures(line) == {}


def test_the_two_lines_of_old_torch_are_one_failure() -> None:
    _, facts = _one(
        "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory\n"
        "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58"
    )
    assert facts["oom.error_code"] == 2
    assert facts["oom.source_line"] == 58


def test_a_pinned_allocation_is_host_memory() -> None:
    _, facts = _one(
        '  File "x.py", line 3, in pin_memory\n    return data.pin_memory()\nRuntimeError: CUDA error: out of memory'
    )
    assert facts["oom.host_allocation"] is True
    assert "oom.host_allocation" not in _one("RuntimeError: CUDA error: out of memory")[1]


def test_numpy_and_windows_commit_limit_are_host_memory() -> None:
    _, array = _one("Unable to allocate 7.45 GiB for an array with shape (1000, 1000000) and data type float64")
    assert array["oom.host_allocation"] is True
    assert array["oom.tensor_bytes"] == 8e9  # 10^9 elements of 8 bytes
    _, paging = _one("OSError: The paging file is too small for this operation to complete. (os error 1455)")
    assert paging["oom.commit_limit"] is True


def test_tensorflow_warnings_are_recovered_and_its_error_is_not() -> None:
    warning = (
        "2020-01-01 00:00:00.1: W tensorflow/core/common_runtime/bfc_allocator.cc:245] Allocator (GPU_0_bfc) "
        "ran out of "
        "memory trying to allocate {}GiB. The caller indicates that this is not a failure, but may mean that "
        "there could "
        "be performance gains if more memory were available."
    )
    error = "ResourceExhaustedError: OOM when allocating tensor with shape[8,1024] and type float on /device:GPU:1 by"
    content = "\n".join([warning.format("2.00"), warning.format("3.50"), error])
    found = _failures(content)
    assert found["job:this/failure:tensorflow-1"]["oom.recovered"] is True
    assert found["job:this/failure:tensorflow-2"]["oom.request_bytes"] == 3.5 * GIB
    failed = found["gpu:1/failure:tensorflow-3"]
    assert "oom.recovered" not in failed
    assert failed["oom.tensor_elements"] == 8192
    assert failed["oom.request_bytes"] == 32768.0  # 8 x 1024 elements of 4 bytes
    count = values(scan(FORMAT, content))[
        "reading.count", "job:this/measurement:tensorflow warnings of too little memory"
    ]
    assert count == 2


def test_a_shape_without_a_type_gives_no_size() -> None:
    _, facts = _one("ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[4096]")
    assert facts["oom.tensor_elements"] == 4096
    assert "oom.request_bytes" not in facts


def test_the_statistics_of_tensorflow_belong_to_the_failure_above_them() -> None:
    path, facts = _one(
        "W bfc_allocator.cc:267] Allocator (GPU_0_bfc) ran out of memory trying to allocate 256.00MiB.  "
        "Current allocation "
        "summary follows.\n"
        + "I bfc_allocator.cc:597] Bin (256): Total Chunks: 46, Chunks in use: 46.\n"
        * 40
        + "I bfc_allocator.cc:645] Sum Total of in-use chunks: 10.00GiB\n"
        "I bfc_allocator.cc:647] Stats:\n"
        "Limit:                 10920394752\n"
        "InUse:                 10737418240\n"
        "MaxInUse:              10800000000\n"
        "NumAllocs:                   12345\n"
        "\n"
        "OOM when allocating tensor with shape[64,1024,1024] and type float on /device:GPU:0 by allocator GPU_0_bfc\n"
    )
    assert path == "gpu:0/failure:tensorflow-1"
    assert facts["oom.request_bytes"] == 256 * MIB
    assert facts["oom.allocated_bytes"] == 10737418240.0
    assert facts["oom.allowed_bytes"] == 10920394752.0
    assert facts["oom.allocated_peak_bytes"] == 10800000000.0


def test_an_attempt_to_take_the_device_at_start_is_told_from_a_tensor() -> None:
    _, facts = _one(
        "E cuda_driver.cc:1080] failed to allocate 2.20G (2362232832 bytes) from device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    )
    assert facts["oom.preallocation"] is True
    assert facts["oom.request_bytes"] == 2362232832.0


def test_jax() -> None:
    _, facts = _one(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
        "17179869184 bytes."
    )
    assert facts["oom.allocator"] == "jax"
    assert facts["oom.request_bytes"] == 16 * GIB
    _, chip = _one("Ran out of memory in memory space hbm. Used 20.00G of 15.50G hbm. Exceeded hbm capacity by 4.50G.")
    assert chip["oom.capacity_bytes"] == 15.5 * GIB


@pytest.mark.parametrize(
    "head",
    [
        "onnx runtime error 6: Non-zero status code returned while running Mul node.",
        "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running MatMul node.",
    ],
)
def test_onnx_runtime(head: str) -> None:
    _, facts = _one(
        f"{head} Status Message: /onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:331 void* "
        "onnxruntime::BFCArena::"
        "AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer of size 4294967296"
    )
    assert facts["oom.request_bytes"] == 4 * GIB
    assert facts["oom.error_code"] == 6
    assert facts["oom.source_line"] == 331


def test_paddle() -> None:
    path, facts = _one(
        "ResourceExhaustedError: Out of memory error on GPU 2. Cannot allocate 2.000000GB memory on GPU 2, 10.500000GB "
        "memory has been allocated and available memory is only 512.000000MB."
    )
    assert path == "gpu:2/failure:paddle-1"
    assert facts["oom.request_bytes"] == 2 * GIB
    assert facts["oom.allocated_bytes"] == 10.5 * GIB
    assert facts["oom.free_bytes"] == 512 * MIB


def test_vllm_start_up_checks() -> None:
    _, free = _one(
        "ValueError: Free memory on device (20.50/24.00 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 21.6 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    )
    assert free["oom.free_bytes"] == 20.5 * GIB
    assert free["oom.capacity_bytes"] == 24 * GIB
    assert free["oom.request_bytes"] == pytest.approx(21.6 * GIB)
    _, cache = _one(
        "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV "
        "cache is needed, "
        "which is larger than the available KV cache memory (9.00 GiB). Based on the available memory,"
    )
    assert cache["oom.during"] == "key-value-cache"
    assert (cache["oom.request_bytes"], cache["oom.free_bytes"]) == (16 * GIB, 9 * GIB)


def test_llama_cpp_tells_one_failure_in_two_lines() -> None:
    content = (
        "compress start tokens=100000 keep=0.050\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 200.00 MiB on device 1: cudaMalloc failed: "
        "out of memory\n"
        "alloc_tensor_range: failed to allocate CUDA1 buffer of size 209715200\n"
        "failed: alloc failed at layer 7\n"
    )
    path, facts = _one(content)
    assert path == "gpu:1/failure:ggml-1"
    assert facts["oom.request_bytes"] == 209715200.0
    assert facts["oom.context_tokens"] == 100000
    assert facts["oom.layer"] == 7
    assert claimed(scan(FORMAT, content)) == {2, 3}


def test_llama_cpp_aborting_in_its_pool_is_implied() -> None:
    frame = "libggml-cuda.so(_ZN18ggml_cuda_pool_leg5allocEmPm+0x1d5)"
    _, facts = _one(f"/app/ggml/src/ggml-cuda/ggml-cuda.cu:73: CUDA error\nlibggml-base.so(ggml_abort+0x15f)\n{frame}")
    assert facts["oom.implied"] is True
    assert facts["oom.allocator"] == "ggml"
    assert _failures("/app/ggml/src/ggml-cuda/ggml-cuda.cu:73: CUDA error\nlibggml-base.so(ggml_abort+0x15f)") == {}


def test_llama_cpp_with_the_cuda_error_on_its_own_line() -> None:
    path, facts = _one("CUDA error: out of memory\n  current device: 0, in function alloc at /app/ggml-cuda.cu:466\n")
    assert (path, facts["oom.allocator"]) == ("gpu:0/failure:ggml-1", "ggml")


def test_pytorchs_own_message_is_not_read_twice() -> None:
    assert _failures("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity)") == {}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "MemoryError: Error allocating 2097152 bytes of device memory (out of memory). "
            "Driver report 1048576 bytes free and 4194304 bytes total",
            {"oom.request_bytes": 2 * MIB, "oom.free_bytes": MIB, "oom.capacity_bytes": 4 * MIB},
        ),
        (
            "OutOfMemoryError: out of memory to allocate 1048576 bytes (total 4194304 bytes)",
            {"oom.request_bytes": MIB, "oom.allocated_bytes": 4 * MIB},
        ),
        (
            "ERROR: Out of GPU memory trying to allocate 2.000 MiB\n"
            "Effective GPU memory usage: 91.54% (7.500 GiB/8.000 GiB)\n"
            "CUDA allocator usage: 3.000 GiB (capped at 4.000 GiB)",
            {
                "oom.request_bytes": 2 * MIB,
                "oom.capacity_bytes": 8 * GIB,
                "oom.allocated_bytes": 3 * GIB,
                "oom.allowed_bytes": 4 * GIB,
            },
        ),
        ("MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/a/pool_memory_resource.hpp:196: "
         "Maximum pool size exceeded", {"oom.limit_stated": True, "oom.no_figures": True}),
        ("[TRT] safeRuntime.cpp (25) - Cuda Error in nvinfer1::internal::DefaultAllocator::allocate: 2 (out of memory)",
         {"oom.allocator": "tensorrt", "oom.error_code": 2}),
        ("runtime.cpp (24) - Cuda Error in allocate: 2", {"oom.allocator": "tensorrt"}),
        ("ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.88.",
         {"oom.during": "key-value-cache"}),
    ],
)  # fmt: skip
def test_figures_and_limits_of_further_libraries(message: str, expected: dict[str, Value]) -> None:
    _, facts = _one(message)
    assert facts.items() >= expected.items()


def test_another_code_of_the_same_place_is_another_error() -> None:
    assert _failures("runtime.cpp (24) - Cuda Error in allocate: 77") == {}


@pytest.mark.parametrize(
    ("message", "allocator"),
    [
        ("Allocator (cuda_host_bfc) ran out of memory trying to allocate 3.00GiB.", "tensorflow"),
        ("Allocator (mklcpu) ran out of memory trying to allocate 3.00GiB.", "other"),
        ("ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 3221225472", "other"),
        ("alloc_tensor_range: failed to allocate CPU buffer of size 3221225472", "other"),
    ],
)
def test_an_allocator_of_the_host_says_so_by_its_name(message: str, allocator: str) -> None:
    _, facts = _one(message)
    assert facts["oom.host_allocation"] is True
    assert facts["oom.request_bytes"] == 3 * GIB
    assert facts["oom.allocator"] == allocator


def test_the_paging_file_in_any_language_of_windows() -> None:
    _, facts = _one("OSError: [WinError 1455] Die Auslagerungsdatei ist zu klein. Error loading x.dll")
    assert facts["oom.commit_limit"] is True


def test_words_that_a_terminal_cut_at_its_width_are_put_together() -> None:
    message = (
        "ValueError: To serve at least one request with the model's max seq len (8192), (4.00 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (1.00 GiB). Try increasing `gpu_memory_utilization`."
    )
    cut = "\n".join(message[start : start + 90] for start in range(0, len(message), 90))
    _, facts = _one(cut)
    assert facts["oom.request_bytes"] == 4 * GIB
    assert facts["oom.free_bytes"] == GIB


def test_two_requests_of_one_wording_are_two_failures_however_close() -> None:
    line = "failed to allocate {} from device: CUDA_ERROR_OUT_OF_MEMORY\n"
    found = _failures(line.format("1.52G (1631518720 bytes)") + line.format("1.51G (1617277696 bytes)"))
    assert {facts["oom.request_bytes"] for facts in found.values()} == {1631518720.0, 1617277696.0}


def test_a_failure_in_graph_capture_says_so() -> None:
    _, facts = _one(
        '  File "backends.py", line 681, in __call__\n    with torch.cuda.graph(cudagraph, pool=self.graph_pool):\n'
        '  File "graphs.py", line 84, in capture_end\n    super().capture_end()\n'
        "RuntimeError: CUDA error: out of memory"
    )
    assert facts["oom.during"] == "graph-capture"


@pytest.mark.parametrize("end", ["\n", "\\n", "\\\\n"])
def test_the_figures_of_xgboost_also_where_an_exception_is_quoted(end: str) -> None:
    head = "std::bad_alloc: cudaErrorMemoryAllocation: out of memory"
    _, facts = _one(end.join((head, "- Free memory: 2GB", "- Requested memory: 4GB")))
    assert facts["oom.free_bytes"] == 2 * GIB
    assert facts["oom.request_bytes"] == 4 * GIB


def test_a_program_that_does_not_fit_an_accelerator() -> None:
    _, facts = _one(
        "RuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:\n"
        "Attempting to reserve 4.00G at the bottom of memory. That was not possible. There are 2.00G free; \n"
        "HBM capacity 8.00G:\n"
        "       Top-of-Memory reserved:  512.00M (     536,870,912 bytes)\n"
        "          Currently allocated:    5.50G (   5,905,580,032 bytes)\n"
    )
    assert facts["oom.allocator"] == "jax"
    assert facts["oom.request_bytes"] == 4 * GIB
    assert facts["oom.free_bytes"] == 2 * GIB
    assert facts["oom.capacity_bytes"] == 8 * GIB
    assert facts["oom.allocated_bytes"] == 5.5 * GIB


def test_a_warning_after_a_failure_does_not_make_the_failure_a_warning() -> None:
    found = _failures(
        "W op_kernel.cc:1192] Resource exhausted: OOM when allocating tensor with shape[1000,500]\n"
        "W bfc_allocator.cc:217] Allocator (GPU_0_bfc) ran out of memory trying to allocate 84.60MiB. "
        "The caller indicates that this is not a failure, but may mean that there could be performance gains.\n"
    )
    failed, warned = found["job:this/failure:tensorflow-1"], found["job:this/failure:tensorflow-2"]
    assert "oom.recovered" not in failed
    assert warned["oom.recovered"] is True
