"""Runs in the job's own Python: says what its PyTorch is, and measures what the GPU does with it.

Needs the standard library and torch only, and Python 3.8 or later. Every answer is one line of JSON on standard output,
written at once, so that what was measured before a time-out or an interrupt is kept. Arguments: one JSON object with
`measure` (false leaves the measurements out), `seconds` for all measurements, `memory_share` of the free memory.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Callable  # noqa: UP035 - collections.abc.Callable takes no arguments before Python 3.9

if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]  # the folder of this file holds modules of another program

REPEATS = 20
"""Timed repetitions of each measurement; the median counts."""

COPY_BYTES = 128 << 20
DEVICE_COPY_BYTES = 1 << 30
MATMUL_SIZES = (8192, 4096, 2048)
LAUNCHES = 1000
_DTYPES = (("float32", "float32"), ("tf32", "float32"), ("float16", "float16"), ("bfloat16", "bfloat16"))
_ERRORS = (RuntimeError, AssertionError, AttributeError, KeyError, ValueError, TypeError, OSError, ImportError)

_out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever a library prints is not an answer


def tell(**answer: Any) -> None:
    """One answer, at once."""
    _out.write(json.dumps(answer) + "\n")
    _out.flush()


def fact(name: str, value: Any, device: int | None = None, text: str | None = None) -> None:
    """One reading: of the job, or of the CUDA device with this index."""
    tell(fact=name, value=value, device=device, text=text)


def lack(name: str, reason: str, device: int | None = None) -> None:
    """Why a reading cannot be had."""
    tell(lack=name, reason=str(reason)[:300], device=device)


def words(error: BaseException) -> str:
    """An error in one line."""
    return "{}: {}".format(type(error).__name__, " ".join(str(error).split()))[:600]


def main() -> None:
    """Everything, in the order of what the next answer needs."""
    options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    fact("job.python_executable", sys.executable, text=sys.version.split()[0])
    try:
        import torch
    except Exception as error:  # noqa: BLE001 - a broken installation can raise anything
        tell(said="torch", message=words(error))
        return
    describe(torch)
    if not available(torch):
        return
    for index in range(torch.cuda.device_count()):
        try:
            device(torch, index, options)
        except _ERRORS as error:
            tell(said="device", message=words(error), device=index)


def describe(torch: Any) -> None:
    """Versions of PyTorch and of what it was built with."""
    fact("job.framework", "pytorch")
    fact("job.framework_version", str(torch.__version__))
    hip = getattr(torch.version, "hip", None)
    if torch.version.cuda:
        fact("job.cuda_build_version", str(torch.version.cuda))
    elif not hip:
        tell(said="build", message=f"PyTorch {torch.__version__}, CUDA used to build PyTorch: None")
    try:
        version = torch.backends.cudnn.version() if torch.version.cuda else None
        if version:
            fact("job.cudnn_version", str(version))
        elif torch.version.cuda:
            lack("job.cudnn_version", "cuDNN cannot be loaded")
        if torch.version.cuda and torch.distributed.is_available() and torch.distributed.is_nccl_available():
            fact("comm.nccl_version", ".".join(str(part) for part in torch.cuda.nccl.version()))
    except _ERRORS as error:
        lack("job.cudnn_version", words(error))
    if torch.version.cuda:
        fact("job.cuda_architectures", " ".join(torch.cuda.get_arch_list()) or "none")


def available(torch: Any) -> bool:
    """Whether CUDA works for this PyTorch; what it says if not."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        works = bool(torch.cuda.is_available())
    fact("job.cuda_available", works)
    for one in caught[:5]:
        tell(said="warning", message=" ".join(str(one.message).split())[:600])
    if not works:
        try:
            torch.cuda.init()
        except Exception as error:  # noqa: BLE001 - the driver's refusal comes in many types
            tell(said="init", message=words(error))
        lack("job.kernel_runs", "CUDA is not available to PyTorch")
        return False
    fact("job.cuda_device_count", torch.cuda.device_count())
    return True


def device(torch: Any, index: int, options: dict[str, Any]) -> None:
    """One CUDA device: what it is, whether a kernel runs on it, and how fast it is."""
    found = torch.cuda.get_device_properties(index)
    uuid = getattr(found, "uuid", None)
    tell(device=index, uuid=str(uuid) if uuid is not None else None, name=found.name)
    fact("gpu.compute_capability", f"{found.major}.{found.minor}", index)
    where = torch.device("cuda", index)
    result = (torch.ones(1024, device=where) + 1).sum().item()
    fact("job.kernel_runs", result == 2048.0, text=f"a sum on CUDA device {index}")
    free, total = torch.cuda.mem_get_info(index)
    fact("gpu.memory_free_bytes", free, index)
    fact("gpu.memory_total_bytes", total, index)
    if not options.get("measure", True):
        return
    budget = Budget(float(options.get("seconds", 10.0)), int(free * float(options.get("memory_share", 0.1))))
    with torch.cuda.device(index), torch.no_grad():
        for measure in (copies, device_memory, matmuls, launches):
            try:
                measure(torch, where, index, budget)
            except _ERRORS as error:
                tell(said="measure", message=words(error), device=index)
            torch.cuda.empty_cache()


class Budget:
    """Time and memory that are left for measurements."""

    def __init__(self, seconds: float, memory: int) -> None:
        self.ends = time.monotonic() + seconds
        self.memory = memory

    def over(self) -> bool:
        """True if no time is left."""
        return time.monotonic() > self.ends


def timed(
    torch: Any, budget: Budget, run: Callable[..., Any], *arguments: Any, repeats: int = REPEATS
) -> tuple[float, int, float, float] | None:
    """Median seconds of a run by CUDA events after a warm-up, and how many runs that rests on; None without time."""
    if budget.over():
        return None
    for _ in range(3):
        run(*arguments)
    torch.cuda.synchronize()
    seconds = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run(*arguments)
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1000.0)
        if budget.over():
            break
    seconds.sort()
    return seconds[len(seconds) // 2], len(seconds), seconds[0], seconds[-1]


def rate(name: str, index: int, amount: float, found: tuple[float, int, float, float] | None) -> None:
    """A rate from a timed run, with how it was measured."""
    if found is None:
        lack(name, "no time was left", index)
        return
    median, count, best, worst = found
    text = f"median of {count} after warm-up, from {amount / worst:.4g} to {amount / best:.4g}"
    fact(name, amount / median, index, text)


def copies(torch: Any, where: Any, index: int, budget: Budget) -> None:
    """Copies between host and device, from page-locked and from ordinary memory."""
    size = min(COPY_BYTES, budget.memory // 4)
    if size < (8 << 20):
        lack("gpu.host_to_device_bytes_per_second", "too little free memory", index)
        return
    on_device = torch.empty(size, dtype=torch.uint8, device=where)
    for kind, pinned in (("", True), ("_pageable", False)):
        host = torch.empty(size, dtype=torch.uint8, pin_memory=pinned).fill_(1)
        found = timed(torch, budget, on_device.copy_, host, True)
        rate(f"gpu.host_to_device{kind}_bytes_per_second", index, size, found)
        found = timed(torch, budget, host.copy_, on_device, True)
        rate(f"gpu.device_to_host{kind}_bytes_per_second", index, size, found)


def device_memory(torch: Any, where: Any, index: int, budget: Budget) -> None:
    """Bandwidth of the device's own memory: a copy reads and writes every byte."""
    cache = getattr(torch.cuda.get_device_properties(index), "L2_cache_size", 64 << 20)
    size = min(DEVICE_COPY_BYTES, budget.memory // 3)
    if size < 10 * cache:
        lack("gpu.copy_bandwidth_bytes_per_second", "too little free memory to get past the cache", index)
        return
    source, target = (
        torch.ones(size, dtype=torch.uint8, device=where),
        torch.empty(size, dtype=torch.uint8, device=where),
    )
    rate("gpu.copy_bandwidth_bytes_per_second", index, 2 * size, timed(torch, budget, target.copy_, source))


def matmuls(torch: Any, where: Any, index: int, budget: Budget) -> None:
    """Rates of matrix products by type, with random numbers (power depends on the data)."""
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        for name, kind in _DTYPES:
            label = f"gpu.matmul_{name}_flops"
            dtype = getattr(torch, kind)
            if name in ("tf32", "bfloat16") and torch.cuda.get_device_capability(index)[0] < 8:
                lack(label, "this GPU has no such units (compute capability below 8.0)", index)
                continue
            torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
            bytes_each = torch.empty((), dtype=dtype).element_size()
            size = next((n for n in MATMUL_SIZES if 4 * n * n * bytes_each <= budget.memory), None)
            if size is None:
                lack(label, "too little free memory", index)
                continue
            left, right = (torch.randn(size, size, device=where, dtype=dtype) for _ in range(2))
            rate(label, index, 2.0 * size**3, timed(torch, budget, torch.matmul, left, right))
            del left, right
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def launches(torch: Any, where: Any, index: int, budget: Budget) -> None:
    """Time of one small kernel, launched alone and replayed as part of a graph."""
    small = torch.zeros(32, device=where)

    def loop() -> None:
        for _ in range(LAUNCHES):
            small.add_(1.0)

    found = timed(torch, budget, loop, repeats=5)
    if found is None:
        lack("gpu.launch_seconds", "no time was left", index)
        return
    fact("gpu.launch_seconds", found[0] / LAUNCHES, index, f"{LAUNCHES} launches, median of {found[1]}")
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        small.add_(1.0)
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        loop()
    found = timed(torch, budget, graph.replay, repeats=5)
    if found is not None:
        text = f"{LAUNCHES} kernels in one graph, median of {found[1]}"
        fact("gpu.graph_launch_seconds", found[0] / LAUNCHES, index, text)


if __name__ == "__main__":
    main()
    tell(end=True)
