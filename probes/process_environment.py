"""The settings of a running process that matter to its speed and memory; nothing else of its environment is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.artefacts.read import Gathered, gather
from gpuwhy.probes.gathering import plain

_READ_LIMIT = 1 << 20

_WANTED = re.compile(
    r"(?:PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF|PYTORCH_NO_CUDA_MEMORY_CACHING|NCCL_[A-Z0-9_]{1,60}|TORCH_NCCL_[A-Z0-9_]{1,60}"
    r"|OMP_NUM_THREADS|OPENBLAS_NUM_THREADS|MKL_[A-Z0-9_]{1,60}|CUDA_[A-Z0-9_]{1,60}|XLA_PYTHON_CLIENT_[A-Z_]{1,40}"
    r"|TF_FORCE_GPU_ALLOW_GROWTH|TF_GPU_ALLOCATOR)\Z"
)
_TELLS_OF_PLACES = re.compile(r"/|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|@|[0-9a-f]{0,4}:[0-9a-f]{0,4}:")
HIDDEN = "(set, not shown)"


WHAT = "the settings of PyTorch, NCCL, CUDA, OMP and MKL"


@dataclass(frozen=True)
class Settings:
    """Names and values, and how many variables were left out."""

    shown: tuple[tuple[str, str], ...]
    left_out: int


def settings(proc: Path, pid: int) -> Settings:
    """The settings of a process. A value with a path or an address in it is not shown. Raises `OSError`."""
    with open(proc / str(pid) / "environ", "rb") as file:
        text = file.read(_READ_LIMIT).decode("utf-8", "replace")
    shown, left_out = [], 0
    for entry in filter(None, text.split("\0")):
        name, _, value = entry.partition("=")
        if _WANTED.match(name):
            shown.append((name, HIDDEN if _TELLS_OF_PLACES.search(value) else plain(value)))
        else:
            left_out += 1
    return Settings(tuple(sorted(shown)), left_out)


def gathered(found: Settings, pid: int, specs: Mapping[str, FactSpec]) -> Gathered:
    """What settings tell, read like a pasted listing of them."""
    lines = "".join(f"{name}={value}\n" for name, value in found.shown)
    return gather([(f"environment of {pid}", lines.encode())], specs) if lines else Gathered()
