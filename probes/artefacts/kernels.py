"""What the name of a GPU kernel, a copy or a host API call tells: matrix work, tensor cores, collectives, waits."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache

_COLLECTIVE = re.compile(
    r"nccl|rccl|cross_device_reduce|multimem_all|(?:one|two)_?shot_?all_?reduce|allreduce_fusion|nvshmem|deep_ep",
    re.IGNORECASE,
)
_MATRIX = re.compile(
    r"gemm|xmma|wgmma|cutlass|convolve|conv[12]d|conv3d|_conv_|convolution|dgrad|wgrad|fprop|winograd|scudnn|hcudnn|nvjet"
    r"|fmha|flash_fwd|flash_bwd|matmul|\bbmm_|\bcijk_",
    re.IGNORECASE,
)
_TENSOR_CORE = re.compile(
    r"s16816|s1688|s161616|s884|h884|h1688|h16816|i8816|i16832|d884|hmma|imma|[_:]wmma|wgmma|tensorop|warpgroup|gmma|nvjet|fmha"
    r"|flash_fwd|flash_bwd|tf32|xmma_\w{0,40}(?:bf16|f16|tf32|e4m3|e5m2|i8i8|f8)|utcmma|bmm_(?:bfloat16|mxe|e4m3|fp16|e2m1)",
    re.IGNORECASE,
)
_PLAIN_FLOAT32 = re.compile(
    r"sgemm|ffma|scudnn|f32f32_f32f32|(?:gemmSN|gemmk1|gemv2|gemm)\w{0,20}<float|(?:dgrad|wgrad)\w{0,24}<float|cgemm|winograd3x3",
    re.IGNORECASE,
)
_NOT_FLOAT32 = re.compile(r"<(?:__half|half|__nv_bfloat16|double)|dgemm|hgemm", re.IGNORECASE)


class MatrixKind(Enum):
    """How a matrix kernel computes, as far as its name says."""

    TENSOR_CORE = "tensor-core"
    FLOAT32 = "float32"
    OTHER = "other"


@lru_cache(maxsize=65536)
def matrix_kind(name: str) -> MatrixKind | None:
    """How a matrix kernel (product, convolution, attention) computes; None for the name of any other kernel."""
    if not _MATRIX.search(name) and not _TENSOR_CORE.search(name):
        return None
    if _TENSOR_CORE.search(name):
        return MatrixKind.TENSOR_CORE
    if _PLAIN_FLOAT32.search(name) and not _NOT_FLOAT32.search(name):
        return MatrixKind.FLOAT32
    return MatrixKind.OTHER


@lru_cache(maxsize=65536)
def is_collective(name: str) -> bool:
    """True for kernels that exchange data between GPUs."""
    return _COLLECTIVE.search(name) is not None


_VERSION = re.compile(r"_(?:v\d{4,6}|ptsz|ptds)(?:_(?:ptsz|ptds))?$")
_LAUNCH = re.compile(
    r"^(?:cuda|cu|hip)(?:Ext)?(?:Module)?Launch(?:Cooperative)?(?:Kernel\w{0,24})?(?:MultiDevice)?$|^(?:cuda|cu|hip)GraphLaunch$"
)
_WAIT = re.compile(r"^(?:cuda|cu|hip)(?:Stream|Device|Event|Ctx|Thread)Synchronize$")
_BLOCKING_COPY = re.compile(
    r"^(?:cuda|hip)Memcpy(?:2D|3D|ToSymbol|FromSymbol|WithStream)?$|^cuMemcpy(?:HtoD|DtoH)(?:_v2)?$"
)
_ASYNC_COPY = re.compile(r"^(?:cuda|hip|cu)Memcpy(?:2D|3D|HtoD|DtoH|DtoD|ToSymbol|FromSymbol|Peer)?Async(?:_v2)?$")


class CallKind(Enum):
    """What a host API call does, as far as waiting is concerned."""

    LAUNCH = 1
    WAIT = 2
    BLOCKING_COPY = 3
    ASYNC_COPY = 4
    OTHER = 0


@lru_cache(maxsize=4096)
def call_kind(name: str) -> CallKind:
    """The kind of a CUDA or HIP API call: `cudaLaunchKernel_v7000` is a launch, `cudaStreamSynchronize` a wait."""
    plain = _VERSION.sub("", name)
    tests: tuple[tuple[Callable[[str], object], CallKind], ...] = (
        (_LAUNCH.match, CallKind.LAUNCH),
        (_WAIT.match, CallKind.WAIT),
        (_BLOCKING_COPY.match, CallKind.BLOCKING_COPY),
        (_ASYNC_COPY.match, CallKind.ASYNC_COPY),
    )
    return next((kind for test, kind in tests if test(plain)), CallKind.OTHER)


class CopyKind(Enum):
    """Direction of a memory copy."""

    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3
    OTHER = 0


_COPY = (
    (re.compile(r"HtoD|Host.?to.?Device|HOST_TO_DEVICE", re.IGNORECASE), CopyKind.HOST_TO_DEVICE),
    (re.compile(r"DtoH|Device.?to.?Host|DEVICE_TO_HOST", re.IGNORECASE), CopyKind.DEVICE_TO_HOST),
    (re.compile(r"DtoD|PtoP|Device.?to.?Device|Peer.?to.?Peer", re.IGNORECASE), CopyKind.DEVICE_TO_DEVICE),
)


@lru_cache(maxsize=1024)
def copy_kind(name: str) -> CopyKind:
    """Direction of a copy by its name: `Memcpy HtoD (Pageable -> Device)`, `[CUDA memcpy Device-to-Host]`."""
    return next((kind for pattern, kind in _COPY if pattern.search(name)), CopyKind.OTHER)


def is_device_copy_row(name: str) -> bool:
    """True for the rows of profiles that are copies and fills (`[CUDA memcpy HtoD]`, `Memset (Device)`)."""
    lowered = name.lower()
    return lowered.startswith(("[cuda mem", "memcpy ", "memset ", "[cuda unified"))
