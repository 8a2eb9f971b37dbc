"""PyTorch's out-of-memory messages of all versions, whole, wrapped, shortened and repeated."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.pytorch_oom import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024.0**2
GIB = 1024.0**3

_NEW_TIP = (
    "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
    "fragmentation.  See documentation for Memory Management  "
    "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)


def _only(content: str, path: str = "gpu:0/failure:1") -> dict[str, Value]:
    """The facts of one failure."""
    return {fact: value for (fact, entity), value in values(scan(FORMAT, content)).items() if entity == path}


def _sizes(facts: dict[str, Value]) -> dict[str, float]:
    return {fact: float(value) for fact, value in facts.items() if fact.endswith("_bytes")}


def test_cached_of_versions_1_0_to_1_3_is_what_no_tensor_uses() -> None:
    facts = _only(
        "RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB (GPU 0; 8.00 GiB total capacity; "
        "4.50 GiB already allocated; 2.25 GiB free; 12.50 MiB cached)"
    )
    assert _sizes(facts) == pytest.approx(
        {
            "oom.request_bytes": 3 * GIB,
            "oom.capacity_bytes": 8 * GIB,
            "oom.allocated_bytes": 4.5 * GIB,
            "oom.free_bytes": 2.25 * GIB,
            "oom.reserved_unallocated_bytes": 12.5 * MIB,
        }
    )
    assert facts["oom.event"] is True
    assert facts["oom.allocator"] == "pytorch"
    assert "oom.tip" not in facts


def test_reserved_in_total_and_the_limit_of_versions_1_8_to_2_0() -> None:
    facts = _only(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 3; 16.00 GiB total capacity; "
        "10.00 GiB already allocated; 1.00 GiB free; 12.00 GiB allowed; 11.50 GiB reserved in total by PyTorch) If "
        "reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
        "gpu:3/failure:1",
    )
    assert facts["oom.reserved_bytes"] == 11.5 * GIB
    assert facts["oom.allowed_bytes"] == 12 * GIB
    assert facts["oom.tip"] == "max_split_size_mb"
    assert facts["oom.device_index"] == 3


def test_the_misspelt_capacity_of_2_1_and_zero_bytes() -> None:
    facts = _only(
        "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacty of 6.00 GiB of which 0 "
        "bytes is free. "
        "Of the allocated memory 3.00 GiB is allocated by PyTorch, and 2.25 GiB is reserved by PyTorch but unallocated."
    )
    assert facts["oom.capacity_bytes"] == 6 * GIB
    assert facts["oom.free_bytes"] == 0.0
    assert facts["oom.reserved_unallocated_bytes"] == 2.25 * GIB


def test_private_pools_and_another_process_of_2_4() -> None:
    found = scan(
        FORMAT,
        "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 2 has a total "
        "capacity of "
        "40.00 GiB of which 32.00 MiB is free. Process 4711 has 12.00 GiB memory in use. Including non-PyTorch memory, "
        "this process has 27.00 GiB memory in use. Of the allocated memory 25.00 GiB is allocated by PyTorch, with "
        "512.00 MiB allocated in private pools (e.g., CUDA Graphs), and 1.00 GiB is reserved by PyTorch but "
        "unallocated. " + _NEW_TIP,
    )
    facts = values(found)
    failure = "gpu:2/failure:1"
    assert facts["oom.private_pools_bytes", failure] == 512 * MIB
    assert facts["oom.process_in_use_bytes", failure] == 27 * GIB
    assert facts["oom.listed_processes_bytes", failure] == 12 * GIB
    assert facts["oom.other_processes_bytes", failure] == 12 * GIB
    assert facts["oom.listed_process_count", failure] == 1
    assert facts["oom.rank", failure] == 2
    assert facts["oom.tip", failure] == "expandable_segments"
    assert facts["process.gpu_memory_bytes", "gpu:2/process:4711"] == 12 * GIB


def _listed(size: str) -> str:
    return (
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which "
        "512.00 MiB is "
        f"free. Process 21 has {size} memory in use. Of the allocated memory 20.00 GiB is allocated by "
        "PyTorch, and 1.00 "
        "GiB is reserved by PyTorch but unallocated."
    )


def test_a_listed_process_that_cannot_be_another_is_this_one() -> None:
    # 23.4 GiB of it and 21 GiB of this process's allocator are more than the 23.5 GiB in use
    facts = _only(_listed("23.40 GiB"))
    assert facts["oom.process_in_use_bytes"] == pytest.approx(23.4 * GIB)
    assert facts["oom.other_processes_bytes"] == 0.0


def test_a_listed_process_that_fits_beside_this_one_is_another() -> None:
    facts = _only(_listed("2.00 GiB"))
    assert "oom.process_in_use_bytes" not in facts
    assert facts["oom.other_processes_bytes"] == 2 * GIB


def test_zero_bytes_of_this_process_are_kept_as_printed() -> None:
    facts = _only(
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which "
        "512.00 MiB is "
        "free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 20.00 GiB "
        "is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated."
    )
    assert facts["oom.process_in_use_bytes"] == 0.0


def test_a_size_that_stands_for_not_available_is_missing() -> None:
    found = scan(
        FORMAT,
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which "
        "512.00 MiB is "
        "free. Process 7 has 17179869184.00 GiB memory in use. Including non-PyTorch memory, this process has "
        "17179869184.00 GiB memory in use. Of the allocated memory 20.00 GiB is allocated by PyTorch, and 1.00 GiB is "
        "reserved by PyTorch but unallocated.",
    )
    facts = values(found)
    assert not any(fact in ("oom.process_in_use_bytes", "oom.listed_processes_bytes") for fact, _ in facts)
    assert {one.fact for one in found[0].missing} == {"oom.process_in_use_bytes", "oom.listed_processes_bytes"}


@pytest.mark.parametrize(("character", "index"), [("\x01", 1), ("\x07", 7)])
def test_a_device_index_printed_as_a_raw_character(character: str, index: int) -> None:
    content = (
        f"CUDA out of memory. Tried to allocate 2.00 MiB. GPU {character} has a total capacity of 44.00 GiB of which"
    )
    assert values(scan(FORMAT, content))["oom.device_index", f"gpu:{index}/failure:1"] == index


def test_a_device_index_lost_in_copying_is_missing_not_zero() -> None:
    found = scan(
        FORMAT, "CUDA out of memory. Tried to allocate 2.00 MiB. GPU  has a total capacity of 44.00 GiB of which"
    )
    assert values(found)["oom.capacity_bytes", "job:this/failure:1"] == 44 * GIB
    assert [one.fact for one in found[0].missing] == ["oom.device_index"]


def test_cuda_malloc_async() -> None:
    content = (
        "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
        "Currently allocated     : 5.00 GiB\n"
        "Requested               : 50.00 MiB\n"
        "Device limit            : 6.00 GiB\n"
        "Free (according to CUDA): 0 bytes\n"
        "PyTorch limit (set by user-supplied memory fraction)\n"
        "                        : 17179869184.00 GiB"
    )
    found = scan(FORMAT, content)
    facts = _only(content)
    assert facts["oom.allocator"] == "pytorch-async"
    assert _sizes(facts) == {
        "oom.request_bytes": 50 * MIB,
        "oom.capacity_bytes": 6 * GIB,
        "oom.allocated_bytes": 5 * GIB,
        "oom.free_bytes": 0.0,
    }
    assert [one.fact for one in found[0].missing] == ["oom.allowed_bytes"]
    assert claimed(found) == set(range(1, 8))


def test_mps() -> None:
    facts = _only(
        "RuntimeError: MPS backend out of memory (MPS allocated: 16.00 GB, other allocations: 96.00 KB, max allowed: "
        "18.00 GB). Tried to allocate 256.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable",
        "job:this/failure:1",
    )
    assert facts["oom.allocator"] == "pytorch-mps"
    assert _sizes(facts) == {
        "oom.allocated_bytes": 16 * GIB,
        "oom.other_allocations_bytes": 96 * 1024.0,
        "oom.allowed_bytes": 18 * GIB,
        "oom.request_bytes": 256 * MIB,
    }


def test_the_cpu_allocator_asks_for_host_memory() -> None:
    facts = _only(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 40000000000 bytes. Error code 12 (Cannot allocate memory)",
        "job:this/failure:1",
    )
    assert facts["oom.allocator"] == "pytorch-cpu"
    assert facts["oom.host_allocation"] is True
    assert facts["oom.request_bytes"] == 40000000000.0
    assert facts["oom.error_code"] == 12


@pytest.mark.parametrize(("prefix", "allocator"), [("XPU", "pytorch-xpu"), ("HIP", "pytorch")])
def test_other_vendors(prefix: str, allocator: str) -> None:
    facts = _only(f"{prefix} out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 16.00 GiB.")
    assert facts["oom.allocator"] == allocator


def test_a_message_without_the_vendor_prefix() -> None:
    facts = _only("Out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 16.00 GiB.")
    assert facts["oom.capacity_bytes"] == 16 * GIB


def test_a_message_that_a_logger_wrapped_and_prefixed() -> None:
    content = (
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "train.py", line 5, in <module>\n'
        "[rank1]:     loss.backward()\n"
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to\n"
        "[rank1]: allocate 2.00 GiB. GPU 1 has a total capacity of\n"
        "[rank1]: 64.00 GiB of which 1.00 GiB is free. Of the allocated memory 60.00\n"
        "[rank1]: GiB is allocated by PyTorch, and 1.50 GiB is reserved by PyTorch but\n"
        "[rank1]: unallocated.\n"
        "done"
    )
    facts = _only(content, "gpu:1/failure:1")
    assert facts["oom.allocated_bytes"] == 60 * GIB
    assert facts["oom.reserved_unallocated_bytes"] == 1.5 * GIB
    assert facts["oom.during"] == "backward"
    assert claimed(scan(FORMAT, content)) == {4, 5, 6, 7, 8}


def test_a_terminal_that_cut_words_at_its_width() -> None:
    message = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 has a total capacity "
        "of 24.00 GiB "
        "of which 30.00 MiB is free. Of the allocated memory 22.50 GiB is allocated by PyTorch, and 1.25 GiB "
        "is reserved "
        "by PyTorch but unallocated."
    )
    content = "\n".join(message[start : start + 64] for start in range(0, len(message), 64))
    assert _sizes(_only(content)) == _sizes(_only(message))


def test_a_shortened_message_gives_what_stands() -> None:
    facts = _only(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB.\n"
        "GPU 0 has a total capacity of 24.00 GiB of which 20.00 MiB is free.\n"
        "21.00 GiB allocated, 16.00 MiB in private pools (CUDA Graphs),\n"
        "500 MiB reserved by PyTorch but unallocated.\n"
    )
    assert _sizes(facts) == {
        "oom.request_bytes": 40 * MIB,
        "oom.capacity_bytes": 24 * GIB,
        "oom.free_bytes": 20 * MIB,
        "oom.allocated_bytes": 21 * GIB,
        "oom.private_pools_bytes": 16 * MIB,
        "oom.reserved_unallocated_bytes": 500 * MIB,
    }


def test_the_same_message_twice_is_one_failure_and_another_gpu_is_another() -> None:
    line = (
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU {}; 8.00 GiB total capacity; 6.00 GiB already allocated; "
        "100.00 MiB free; 7.00 GiB reserved in total by PyTorch)"
    )
    facts = values(scan(FORMAT, "\n".join([line.format(0), line.format(0), line.format(1)])))
    assert {path for fact, path in facts if fact == "oom.event"} == {"gpu:0/failure:1", "gpu:1/failure:2"}
    assert facts["oom.repeat_count", "gpu:0/failure:1"] == 2


def test_a_failed_report_of_the_allocator_is_a_failure_without_figures() -> None:
    facts = _only(
        'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":1234, please',
        "job:this/failure:1",
    )
    assert facts["oom.no_figures"] is True
    assert facts["oom.report_failed"] is True
    assert facts["oom.source_line"] == 1234


def test_other_assertions_of_the_allocator_are_no_lack_of_memory() -> None:
    assert not scan(FORMAT, 'RuntimeError: block INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":12')


def test_a_bare_exception_counts_only_where_no_message_with_figures_stands() -> None:
    bare = "torch.OutOfMemoryError: CUDA out of memory."
    assert _only(bare, "job:this/failure:1")["oom.no_figures"] is True
    full = "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity)"
    facts = values(scan(FORMAT, bare + "\n" * 12 + full))
    assert [path for fact, path in facts if fact == "oom.event"] == ["gpu:0/failure:1"]


def test_somebody_who_writes_of_allocating_is_no_failure() -> None:
    assert not scan(FORMAT, "my colleague tried to allocate 5 GB of budget for it")


def test_a_caller_that_goes_on_is_recorded() -> None:
    facts = _only(
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity)\nWARNING: skipping batch 7\n"
    )
    assert facts["oom.recovered"] is True


@pytest.mark.parametrize(
    ("frame", "activity"),
    [
        ("    self.model_runner.profile_run()", "profiling"),
        ("    model = AutoModel.from_pretrained(name)", "load"),
        ("    optimizer.step()", "optimizer"),
        ("    loss.backward()", "backward"),
        ("    out = self.validation_step(batch)", "evaluation"),
        ("    self.capture_model()", "graph-capture"),
    ],
)
def test_what_the_program_did_is_read_from_the_stack(frame: str, activity: str) -> None:
    facts = _only(
        "Traceback (most recent call last):\n"
        f"{frame}\n"
        '  File "m.py", line 3, in forward\n'
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity)"
    )
    expected = "forward" if activity == "optimizer" else activity  # the deeper frame is the step that failed
    assert facts["oom.during"] == expected
