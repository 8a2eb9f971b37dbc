"""No text, however damaged, makes a parser of memory artefacts raise, or claim a line that is not there."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts import (
    allocator_settings,
    framework_oom,
    host_kills,
    loader_errors,
    memory_figures,
    memory_log,
    memory_summary,
    pytorch_oom,
)
from gpuwhy.probes.artefacts.contract import TextFormat
from tests.probes.artefacts.helpers import scan

_FORMATS: tuple[TextFormat, ...] = (
    pytorch_oom.FORMAT,
    allocator_settings.FORMAT,
    framework_oom.FORMAT,
    memory_figures.FORMAT,
    host_kills.FORMAT,
    loader_errors.FORMAT,
    memory_log.FORMAT,
    *memory_summary.FORMATS,
)
_SEEDS = (
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "
    "capacity of 8.00 GiB "
    "of which 2.00 MiB is free. Process 12 has 7.00 GiB memory in use. Of the allocated memory 5.00 GiB "
    "is allocated by",
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total capacity; 2.00 "
    "GiB already allocated; "
    "25.00 MiB free; 3.00 GiB reserved in total by PyTorch)",
    "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,roundup_power2_divisions:[256:1,>:4],expandable_segments:True",
    "W bfc_allocator.cc:267] Allocator (GPU_0_bfc) ran out of memory trying to allocate 256.00MiB.  Current allocation",
    "Limit: 100\nInUse: 90\nMaxInUse: 95\nNumAllocs: 7\n22 Chunks of size 256 totalling 5.5KiB",
    "OOM when allocating tensor with shape[999999999999,99999999999,9999] and type float on /device:GPU:0",
    "# GPU blocks: 10, # CPU blocks: 5\nGPU KV cache size: 1,000 tokens\nexited with code 137",
    "Memory cgroup out of memory: Killed process 4 (x) total-vm:3kB, anon-rss:8kB, file-rss:1kB, shmem-rss:0kB",
    "RuntimeError: DataLoader worker (pid(s) 1, 2) exited unexpectedly; num_workers=4 --shm-size=8g",
    "2024-05-01 10:00:00 free gpu memory: 10 MB\n2024-05-01 10:00:01 free gpu memory: 9 MB\n"
    "2024-99-01 10:00:02 free gpu memory: 8 MB",
    "|   PyTorch CUDA memory summary, device ID 0   |\n| Allocated memory |  14 MiB |  22 MiB |  71 GiB |  69 GiB |",
    "{'allocated_bytes.all.current': 5, 'num_ooms': 1} segments=1 reserved_MiB=5 allocated_MiB=4 active_MiB=3",
)


def _damage(seed: int) -> str:
    """Pieces of the seeds cut, doubled, joined and sprinkled with foreign characters, the same for one seed."""
    random_ = random.Random(seed)
    pieces = []
    for _ in range(random_.randint(1, 5)):
        text = random_.choice(_SEEDS)
        start = random_.randint(0, len(text) // 2)
        piece = text[start : random_.randint(start, len(text))]
        pieces.append(piece * random_.randint(1, 3))
    joined = random_.choice(("", "\n", " ", "\n> ")).join(pieces)
    for _ in range(random_.randint(0, 4)):
        position = random_.randint(0, len(joined))
        joined = joined[:position] + random_.choice("\t\x01|[]():;%9.,é\n") + joined[position:]
    return joined


def _check(content: str) -> None:
    lines = len(content.splitlines())
    for format_ in _FORMATS:
        for extract in scan(format_, content):
            assert all(1 <= number <= lines for number in extract.claimed)
            assert all(reading.text is None or len(reading.text) <= 200 for reading in extract.readings)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_damaged_artefacts(seed: int) -> None:
    _check(_damage(seed))


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=200))
def test_any_text(content: str) -> None:
    _check(content)


@pytest.mark.parametrize("piece", ["Tried to allocate ", "9" * 50 + " ", "a:b,", "MiB ", "(", "1,234,", "| ", "layer "])
def test_long_repetitions_end(piece: str) -> None:
    # a pattern that backtracks without bound would never return from these
    _check("CUDA out of memory. Tried to allocate " + piece * 3000)
    _check("PYTORCH_ALLOC_CONF=" + piece * 3000 + "\nLimit: " + piece * 500)
