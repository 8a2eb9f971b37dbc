"""A PyTorch of our own with one GPU, as far as the check asks: it answers what its environment tells it to.

STUB_TORCH: `works`, `too-old` (the driver is too old), `no-kernel` (no code for the GPU), `dies`, `hangs`.
"""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

MODE = os.environ.get("STUB_TORCH", "works")
SECONDS_OF_A_RUN = 0.001
__version__ = "2.7.1+cu126"
version = SimpleNamespace(cuda="12.6", hip=None)
uint8, float32, float16, bfloat16 = "uint8", "float32", "float16", "bfloat16"
_BYTES = {"uint8": 1, "float32": 4, "float16": 2, "bfloat16": 2}


class Tensor:
    def __init__(self, dtype: str = "float32") -> None:
        self.dtype = dtype

    def _same(self, *_arguments: Any) -> Tensor:
        return self

    __add__ = __getitem__ = copy_ = fill_ = add_ = sum = _same

    def item(self) -> float:
        return 2048.0

    def element_size(self) -> int:
        return _BYTES[self.dtype]


def empty(*_shape: Any, dtype: str = "float32", **_more: Any) -> Tensor:
    return Tensor(dtype)


def ones(*_shape: Any, dtype: str = "float32", **_more: Any) -> Tensor:
    if MODE == "no-kernel":
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
    return Tensor(dtype)


randn = zeros = empty


def matmul(left: Tensor, _right: Tensor) -> Tensor:
    return left


def device(*_name: Any) -> str:
    return "cuda:0"


class no_grad:
    def __enter__(self) -> no_grad:
        return self

    def __exit__(self, *_error: object) -> None:
        pass


class _Event:
    def __init__(self, **_options: Any) -> None:
        pass

    def record(self) -> None:
        pass

    synchronize = record

    def elapsed_time(self, _other: Any) -> float:
        return SECONDS_OF_A_RUN * 1000


class _Context(no_grad):
    def __init__(self, *_arguments: Any) -> None:
        pass

    def replay(self) -> None:
        pass

    def wait_stream(self, _stream: Any) -> None:
        pass


def _available() -> bool:
    if MODE == "hangs":
        time.sleep(600)
    if MODE == "dies":
        os.kill(os.getpid(), 11)
    if MODE == "too-old":
        import warnings

        warnings.warn("The NVIDIA driver on your system is too old (found version 11040).", stacklevel=1)
        return False
    return True


def _init() -> None:
    raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).")


cuda = SimpleNamespace(
    is_available=_available,
    init=_init,
    device_count=lambda: 1,
    get_arch_list=lambda: ["sm_80", "sm_90"],
    nccl=SimpleNamespace(version=lambda: (2, 26, 2)),
    get_device_properties=lambda _index: SimpleNamespace(
        major=8, minor=0, name="NVIDIA A100-SXM4-80GB", uuid="no-such-gpu", L2_cache_size=40 << 20
    ),
    get_device_capability=lambda _index: (8, 0),
    mem_get_info=lambda _index: (80 << 30, 80 << 30),
    device=_Context,
    empty_cache=lambda: None,
    synchronize=lambda: None,
    Event=_Event,
    CUDAGraph=_Context,
    Stream=_Context,
    stream=_Context,
    graph=_Context,
    current_stream=_Context,
)
backends = SimpleNamespace(
    cudnn=SimpleNamespace(version=lambda: 90501),
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
)
distributed = SimpleNamespace(is_available=lambda: True, is_nccl_available=lambda: True)
