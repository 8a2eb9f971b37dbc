"""Errors of the CUDA runtime and driver: their numbers, their names, and the sentence that stands for each."""

from __future__ import annotations

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.env_wordings import EnvWording, said


@dataclass(frozen=True)
class CudaError:
    """One error: what it says of the environment, its numbers (old and new), its names, its sentence as a pattern."""

    fact: str
    codes: tuple[int, ...]
    names: tuple[str, ...]
    sentence: str = ""


CUDA_ERRORS = (
    CudaError(
        "driver_insufficient",
        (35,),
        ("cudaErrorInsufficientDriver",),
        r"\bCUDA driver version is insufficient for CUDA runtime version\b",
    ),
    CudaError(
        "driver_insufficient",
        (36,),
        ("cudaErrorCallRequiresNewerDriver",),
        r"\bAPI call is not supported in the installed CUDA driver\b",
    ),
    CudaError(
        "compat_unsupported",
        (804,),
        ("cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        r"\bforward compatibility was attempted on non supported HW\b",
    ),
    CudaError(
        "ptx_too_new",
        (222,),
        ("cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        r"\bprovided PTX was compiled with an unsupported toolchain\b",
    ),
    CudaError(
        "version_mismatch",
        (803,),
        ("cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        r"\bsystem has unsupported display driver ?/ ?cuda driver combination\b",
    ),
    CudaError(
        "system_not_ready",
        (802,),
        ("cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"),
        r"\bsystem not yet initialized\b",
    ),
    CudaError(
        "no_kernel_image",
        (209, 48),
        ("cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "hipErrorNoBinaryForGpu"),
        r"\bno kernel image is available for execution on the device\b",
    ),
    CudaError("invalid_device_function", (98, 8), ("cudaErrorInvalidDeviceFunction",), r"\binvalid device function\b"),
    CudaError(
        "invalid_kernel_image",
        (200, 47),
        ("cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE"),
        r"\bdevice kernel image is invalid\b",
    ),
    CudaError(
        "no_device",
        (100, 38),
        ("cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE"),
        r"\bno CUDA-capable device is detected\b",
    ),
    CudaError(
        "invalid_device",
        (101, 10),
        ("cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE"),
        r"\binvalid device ordinal\b",
    ),
    CudaError(
        "device_busy",
        (46,),
        ("cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE"),
        r"\bCUDA-capable device(?:s|\(s\))? (?:are|is|is/are) busy or unavailable\b",
    ),
    CudaError(
        "device_in_use",
        (216, 54),
        ("cudaErrorDeviceAlreadyInUse", "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"),
        r"\bexclusive-thread device already in use by a different thread\b",
    ),
    CudaError(
        "not_supported",
        (801, 71),
        ("cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED"),
        r"(?:\bcuda|\bcu[A-Z]|\bmemory\b|\bstream\b|\bpinned\b)[^\n]{0,160}?: ['\"]?operation not supported\b",
    ),
    CudaError(
        "unlicensed",
        (102,),
        ("cudaErrorDeviceNotLicensed", "CUDA_ERROR_DEVICE_NOT_LICENSED"),
        r"\bdevice doesn't have(?: a)? valid Grid licen[sc]e\b",
    ),
    CudaError(
        "driver_stub",
        (34,),
        ("cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY"),
        r"\bCUDA driver is a stub library\b",
    ),
    CudaError(
        "cuda_init_failed",
        (3, 201, 127),
        ("cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "cudaErrorStartupFailure"),
        r"\b(?:CUDA|cuInit)\b[^\n]{0,200}?\binitialization error\b",
    ),
    CudaError(
        "cuda_init_failed",
        (999, 30),
        ("cudaErrorUnknown", "CUDA_ERROR_UNKNOWN"),
        r"\bCUDA unknown error - this may be due to an incorrectly set up environment\b",
    ),
    CudaError(
        "cuda_init_failed",
        (304,),
        ("cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM"),
        r"\bOS call failed or operation not supported on this OS\b",
    ),
    CudaError(
        "jit_library_missing",
        (221,),
        ("cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"),
        r"\bPTX JIT compiler library not found\b",
    ),
    CudaError(
        "mps_unreachable",
        (805,),
        ("cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED"),
        r"\bMPS client failed to connect to the MPS control daemon or the MPS server\b",
    ),
    CudaError(
        "mps_unreachable",
        (806,),
        ("cudaErrorMpsRpcFailure", "CUDA_ERROR_MPS_RPC_FAILURE"),
        r"\bremote procedural call between the MPS server and the MPS client failed\b",
    ),
    CudaError(
        "mps_unreachable",
        (807,),
        ("cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY"),
        r"\bMPS server is not ready to accept new MPS client requests\b",
    ),
)
"""What says something of the environment; errors of the program itself and shortages of memory are not among them."""

BY_CODE = {code: one.fact for one in CUDA_ERRORS for code in one.codes}

_CODE = r"(?P<code>[0-9]{1,3})\b(?!\.?[0-9])"
AT_START = (
    rf"\bcudaGetDeviceCount\(\)\.[^\n]{{0,160}}\s{{0,3}}[^\n]{{0,160}}?\bError {_CODE}",
    rf"\bCUDA initialization[^\n]{{0,300}}?\b[Ee]rror:? {_CODE}",
)
"""Where it stands if CUDA was being initialised: no error but want of memory is the program's own there."""
OUT_OF_MEMORY = 2

CODES: tuple[str, ...] = (
    rf"\bCUDA failure {_CODE}",
    rf"\bCUDA(?: runtime| driver)? error (?:code )?[(\[]?{_CODE}",
    rf"\bCUDA error:? [^\n]{{0,200}}?\bcode=?:? ?{_CODE}",
    rf"\bCUDA error at [^\n]{{1,200}}? code={_CODE}",
    rf"\bcu[A-Za-z]{{2,40}}(?:\(\))?(?: [^\n]{{0,60}}?)? (?:returned|failed:?|failed with(?: error)?(?: "
    rf"code)?) {_CODE}",
    *AT_START,
    rf"\bTHCudaCheck FAIL [^\n]{{0,300}}?\berror={_CODE}",
    r"\bcuInit[^\n]{0,80}?\((?P<code>[0-9]{1,3})\)",
)
"""Where the number of a CUDA error stands; a number alone means nothing."""


def cuda_wordings() -> list[EnvWording]:
    """The wordings of all errors, by name and by sentence."""
    found: list[EnvWording] = []
    for one in CUDA_ERRORS:
        if one.sentence:
            found += said(one.fact, one.sentence)
        for name in one.names:
            found += said(one.fact, rf"\b{name}\b")
    return found
