"""Messages that GPU, driver, framework and container do not fit, in the words of those who print them."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.env_messages import FORMAT
from gpuwhy.probes.artefacts.env_wordings import certain_literal
from tests.probes.artefacts.helpers import claimed, scan, values

MESSAGES = [
    ("version_mismatch", "Failed to initialize NVML: Driver/library version mismatch"),
    ("version_mismatch", "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: "
    "unknown"),
    ("version_mismatch", "NVRM: API mismatch: the client has the version 535.161.08, but\nNVRM: this kernel module "
    "has the version 535.129.03.  Please"),
    ("version_mismatch", "Error 803: system has unsupported display driver / cuda driver combination"),
    ("version_mismatch", "kernel version 384.81.0 does not match DSO version 384.90.0 -- cannot find working devices"),
    ("version_mismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver"),
    ("driver_insufficient", "CUDA driver version is insufficient for CUDA runtime version"),
    ("driver_insufficient", "cudaGetDeviceCount returned 35\n-> CUDA driver version is insufficient"),
    ("driver_insufficient", "[TRT] CUDA initialization failure with error: 35. Please check your CUDA installation"),
    ("driver_insufficient", "The NVIDIA driver on your system is too old (found version 11040). Please update your "
    "GPU driver"),
    ("driver_requirement", "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please "
    "update your driver"),
    ("driver_requirement", "ERROR: This container was built for NVIDIA Driver Release 535.86 or later, but\n       "
    "version 470.57.02 was detected and compatibility mode is UNAVAILABLE."),
    ("compat_unsupported", "Error 804: forward compatibility was attempted on non supported HW (Triggered "
    "internally at x.cpp:109.)"),
    ("ptx_too_new", "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain."),
    ("no_kernel_image", "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ("no_kernel_image", "cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image"),
    ("no_kernel_image", "CUDA error 209 at gpu/impl/L2Select.cu:225"),
    ("architecture_unsupported", "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the "
    "current PyTorch installation."),
    ("architecture_unsupported", "Found GPU0 Tesla K80 which is of cuda capability 3.7.\n    PyTorch no longer "
    "supports this GPU because it is too old."),
    ("architecture_unsupported", "nvcc fatal   : Unsupported gpu architecture 'compute_30'"),
    ("architecture_unsupported", "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'"),
    ("architecture_unsupported", "Ignoring visible gpu device (device: 0, name: GRID K520, pci bus id: 0000:00:03.0,"
    " compute capability: 3.0) with Cuda compute capability 3.0. The minimum required Cuda capability is 3.5."),
    ("invalid_device_function", "RuntimeError: CUDA error: invalid device function"),
    ("jit_from_ptx", "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. "
    "CUDA kernels will be jit-compiled"),
    ("cpu_only_build", "AssertionError: Torch not compiled with CUDA enabled"),
    ("cpu_only_build", "PyTorch version: 2.4.0+cpu\nIs debug build: False\nCUDA used to build PyTorch: None"),
    ("cpu_only_build", "torch                     2.4.0+cpu"),
    ("cpu_only_build", "torch.__version__ '2.3.0+cpu'"),
    ("cpu_only_build", "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. "
    "Falling back to cpu."),
    ("cpu_only_build", "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider "
    "names.Available providers: 'CPUExecutionProvider'"),
    ("cpu_only_build", "The installed version of bitsandbytes was compiled without GPU support. 8-bit optimizers "
    "are unavailable"),
    ("cpu_only_build", "warning: not compiled with GPU offload support, --gpu-layers option will be ignored"),
    ("cpu_only_build", "This CTranslate2 package was not compiled with CUDA support"),
    ("no_device", "RuntimeError: No CUDA GPUs are available"),
    ("no_device", "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected"),
    ("no_device", "E tensorflow/stream_executor/cuda/cuda_driver.cc:318] failed call to cuInit: "
    "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"),
    ("no_device", "RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices."),
    ("no_device", "cuda runtime error (38) : no CUDA-capable device is detected at THCGeneral.cpp:50"),
    ("invalid_device", "RuntimeError: CUDA error: invalid device ordinal"),
    ("driver_not_found", "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA "
    "GPU"),
    ("driver_not_found", "Could not find cuda drivers on your machine, GPU will not be used."),
    ("driver_not_found", "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"),
    ("driver_not_found", "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available."),
    ("driver_stub", "CUDA error 34: CUDA driver is a stub library"),
    ("libraries_missing", "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot "
    "open shared object file"),
    ("libraries_missing", "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above "
    "are installed"),
    ("libraries_missing", "Failed to create CUDAExecutionProvider. Please reference https://onnxruntime.ai to "
    "ensure all dependencies are met."),
    ("libraries_missing", "libcublasLt.so.12: cannot open shared object file: No such file or directory"),
    ("cuda_init_failed", "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing "
    "env variable CUDA_VISIBLE_DEVICES after program start."),
    ("cuda_init_failed", "RuntimeError: CUDA error: initialization error"),
    ("no_container_runtime", 'docker: Error response from daemon: could not select device driver "" with '
    'capabilities: [[gpu]].'),
    ("no_container_runtime", "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: "
    "cannot open shared object file"),
    ("no_container_runtime", "E0101 Incompatible platform detected\nE0101 If this is a GPU node, did you configure "
    "the NVIDIA Container Toolkit?"),
    ("no_gpu_resource", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
    ("devices_hidden", "export CUDA_VISIBLE_DEVICES=-1"),
    ("devices_hidden", "os.environ['CUDA_VISIBLE_DEVICES'] = ''"),
    ("module_not_loaded", "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"),
    ("module_not_loaded", "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic"),
    ("nouveau_conflict", "NVRM: The NVIDIA probe routine was not called for 1 device(s).\nNVRM: This can occur when "
    "a driver such as:\nNVRM: nouveau"),
    ("init_failed", "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x56:1474)"),
    ("init_failed", "nvidia 0000:01:00.0: probe with driver nvidia failed with error -1"),
    ("gpu_unsupported", "NVRM: The NVIDIA GPU 0000:02:00.0 (PCI ID: 10de:2235)\nNVRM: installed in this system is "
    "not supported by the\nNVRM: NVIDIA 550.90.07 driver release."),
    ("gpu_unsupported", "[   9.1] NVRM: installed in this system requires use of the NVIDIA open kernel modules."),
    ("pci_resources", "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\nNVRM: BAR1 is 0M @ 0x0 "
    "(PCI:0000:06:00.0)"),
    ("system_not_ready", "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 802: system not "
    "yet initialized"),
    ("system_not_ready", 'CUDA error at bandwidthTest.cu:256 code=802(cudaErrorSystemNotReady) '
    '"cudaSetDevice(currentDevice)"'),
    ("fabric_manager_failed", "nv-fabricmanager[1507]: fabric manager NVIDIA GPU driver interface version "
    "535.183.01 don't match with driver version 535.216.01. Please update"),
    ("fabric_manager_failed", "x nvidia-fabricmanager.service - NVIDIA fabric manager service\n   Loaded: loaded\n  "
    " Active: failed (Result: exit-code)"),
    ("fabric_manager_failed", "Unit nvidia-fabricmanager.service could not be found."),
    ("device_busy", "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"),
    ("device_busy", "CUDA error: CUDA-capable device(s) is/are busy or unavailable"),
    ("compute_prohibited", "deviceQuery: Compute Mode is set to Prohibited: no host thread can use this device; "
    "compute mode prohibited"),
    ("dtype_unsupported", "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
    "Your Tesla T4 GPU has compute capability 7.5."),
    ("dtype_unsupported", "RuntimeError: FlashAttention only supports Ampere GPUs or newer."),
    ("dtype_unsupported", "ValueError: FP8 quantized models is only supported on GPUs with compute capability >= "
    "8.9 or 9.0+"),
    ("dtype_unsupported", "ptxas error: Feature '.bf16' requires .target sm_80 or higher"),
    ("dtype_unsupported", "type fp8e4nv not supported in this architecture. The supported fp8 dtypes are "
    "('fp8e4b15', 'fp8e5')"),
    ("dtype_unsupported", "requires device with capability > (8, 0) but your GPU has capability (7, 5) (too old)"),
    ("dtype_unsupported", "Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with "
    "cuda>=11.0"),
    ("dtype_unsupported", "The quantization method awq is not supported for the current GPU. Minimum capability: "
    "75. Current capability: 70."),
    ("unlicensed", "        License Status                    : Unlicensed (Unrestricted)"),
    ("unlicensed", "nvidia-gridd[1234]: Failed to acquire/renew license from license server"),
    ("not_supported", "Unable to allocate pinned system memory, pinned memory pool will not be available: operation "
    "not supported"),
    ("not_supported", 'cudaMallocManaged failed: CUDA error 801: operation not supported'),
    ("profiling_virtual", "CUPTI error: CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED"),
    ("mps_unreachable", "Cannot find MPS control daemon process"),
    ("mps_unreachable", "CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server"),
    ("debug_mode", "UserWarning: Anomaly Detection has been enabled. This mode will increase the runtime"),
    ("version_mismatch", "error getting device info: ERROR_LIB_RM_VERSION_MISMATCH"),
    ("device_file_missing", "lstat /dev/nvidia-uvm-tools: no such file or directory"),
    ("device_file_missing", "/dev/nvidia0: No such file or directory"),
    ("device_file_missing", "failed to open /dev/nvidiactl"),
    ("module_not_loaded", "Failed to get device count: NVML_ERROR_DRIVER_NOT_LOADED"),
    ("nouveau_conflict", "ERROR: The Nouveau kernel driver is currently in use by your system."),
    ("no_container_runtime", 'failed to get sandbox runtime: no runtime for "nvidia" is configured'),
    ("no_device", "instance group net_0 of model net specifies invalid or unsupported gpu id 0. GPUs with at least"),
    ("driver_not_found", "WSL environment detected but no adapters were found."),
    ("cpu_only_build", "Could not run 'aten::empty.memory_format' with arguments from the 'CUDA' backend"),
    ("cpu_only_build", "xFormers wasn't build with CUDA support"),
    ("driver_insufficient", "CUDA driver version: 11040 is less than CUDA runtime version: 12010"),
    ("dtype_unsupported", "RuntimeError: Device does not support bfloat16"),
    ("cuda_init_failed", "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some cuda "
    "functions before calling NumCudaDevices() that might have already set an error? Error 500: "
    "named symbol not found"),
    ("vgpu_profile", "<product_name>NVIDIA A10-4Q</product_name>"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fact", "text"), MESSAGES, ids=[f"{number}-{fact}" for number, (fact, _) in enumerate(MESSAGES)]
)
def test_a_message_is_the_statement_that_it_makes(fact: str, text: str) -> None:
    extracts = scan(FORMAT, f"step 1\n{text}\nend")
    assert f"said.{fact}" in {name for name, _ in values(extracts)}
    assert claimed(extracts) & {2, 3, 4}


@pytest.mark.parametrize(
    "text",
    [
        "CUDA kernel errors might be asynchronously reported. For debugging consider passing CUDA_LAUNCH_BLOCKING=1.",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "RuntimeError: CUDA error: device-side assert triggered",
        "CUDA error 700: an illegal memory access was encountered",
        "CUDA error 500: named symbol not found",
        "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 2: out of memory",
        "CUDA_VISIBLE_DEVICES=0,1 python train.py",
        "export CUDA_VISIBLE_DEVICES=0",
        "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |",
        "NOTE: CUDA Minor Version Compatibility mode ENABLED. Using driver version 525.85.12 which has support for "
        "CUDA 12.0.",
        "This container was built for NVIDIA Driver Release 535.86 or later, but version 525.85.12 was detected and "
        "compatibility mode is ENABLED.",
        "epoch 35 loss 2.0 error 35",
        "Fabric Manager is running",
        "nvidia-fabricmanager.service - NVIDIA fabric manager service\n  Loaded: loaded\n  Active: active (running)",
        "License Status : Licensed (Expiry: N/A)",
        "bf16 is enabled",
    ],
)  # fmt: skip
def test_a_healthy_line_says_nothing(text: str) -> None:
    assert scan(FORMAT, text) == []


@pytest.mark.parametrize(
    ("text", "available"),
    [
        ("torch.cuda.is_available(): False", False),
        ("I ran torch.cuda.is_available(), which still returned False after the update", False),
        ("`torch.cuda.is_available()` is printing True in the same environment", True),
        (">>> torch.cuda.is_available()\nFalse", False),
        ("Is CUDA available: False", False),
        ("CUDA available: True", True),
    ],
)
def test_the_answer_of_the_framework_is_read(text: str, available: bool) -> None:
    assert values(scan(FORMAT, text))["job.cuda_available", "job:this"] is available


def test_a_model_name_is_no_virtual_gpu() -> None:
    assert scan(FORMAT, "loading llama-7b on the gpu") == []


def test_a_quick_look_misses_nothing() -> None:
    assert certain_literal(r"\bno CUDA-capable device(?:s)? (?:is|are) detected\b") == "detected"
    assert certain_literal(r"\bcolou?r red\b") == "red"
    assert certain_literal(r"\bone\b|\bother\b") == ""
    assert certain_literal(r"(?:a|bc)[def]{3,9}") == ""


def test_the_number_of_the_error_and_the_figures_are_read() -> None:
    found = values(
        scan(FORMAT, "Error: CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version ; GPU=0")
    )
    assert found["cuda.error_code", "job:this"] == 35
    old = values(scan(FORMAT, "The NVIDIA driver on your system is too old (found version 11040)."))
    assert old["said.driver_cuda", "job:this"] == "11.4"  # 11040 = 1000 * 11 + 10 * 4
    place = values(scan(FORMAT, "CUDA error at bandwidthTest.cu:256 code=802(cudaErrorSystemNotReady)"))
    assert (place["cuda.error_code", "job:this"], place["cuda.error_source_line", "job:this"]) == (802, 256)
    kernel = values(
        scan(
            FORMAT,
            "[ 9.1] nvidia: probe of 0000:01:00.0 failed with error -1\n[ 9.2] NVRM: The NVIDIA probe routine "
            "failed for 2 device(s).",
        )
    )
    assert kernel["driver.probe_error_code", "host:this"] == -1
    assert kernel["driver.probe_failed_count", "host:this"] == 2


def test_the_versions_of_a_mismatch_are_read_over_the_line_break_and_the_prefix() -> None:
    text = (
        "[   12.3] NVRM: API mismatch: the client has the version 535.161.08, but\n"
        "               NVRM: this kernel module has the version 535.129.03.  Please\n"
    )
    found = values(scan(FORMAT, text))
    assert found["host.nvml_library_version", "host:this"] == "535.161.08"
    assert found["host.kernel_module_version", "host:this"] == "535.129.03"


def test_a_message_that_a_terminal_has_wrapped_is_read() -> None:
    text = "RuntimeError: CUDA error: no kernel image is available for\nexecution on the device"
    assert ("said.no_kernel_image", "job:this") in values(scan(FORMAT, text))


def test_of_several_places_the_first_is_quoted() -> None:
    text = "a: no CUDA-capable device is detected\nb: RuntimeError: No CUDA GPUs are available"
    assert values(scan(FORMAT, text))["said.no_device", "job:this"] == "a: no CUDA-capable device is detected"
