"""The allocator's state as PyTorch prints it."""

from __future__ import annotations

from gpuwhy.probes.artefacts.memory_summary import DIGEST, STATS, TABLE
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024.0**2
GIB = 1024.0**3

_SUMMARY = """\
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 0                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: {ooms}            |        cudaMalloc retries: 3         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |  14000 {u} |  22000 {u} |    712 {g} |    698 {g} |
|       from large pool |  13969 {u} |  21930 {u} |    700 {g} |    686 {g} |
|       from small pool |     31 {u} |     70 {u} |     12 {g} |     12 {g} |
|---------------------------------------------------------------------------|
| GPU reserved memory   |  23000 {u} |  23010 {u} |     30 {g} |   8000 {u} |
|---------------------------------------------------------------------------|
| Non-releasable memory |   9000 {u} |   9010 {u} |     30 {g} |   8000 {u} |
|---------------------------------------------------------------------------|
| Allocations           |    2031    |    2500    |     712 K  |     710 K  |
|---------------------------------------------------------------------------|
| GPU reserved segments |     231    |     240    |     500    |     269    |
|===========================================================================|
"""


def test_a_whole_table_in_both_spellings_of_units() -> None:
    for unit, larger in (("MiB", "GiB"), ("MB ", "GB ")):
        found = scan(TABLE, _SUMMARY.format(ooms=1, u=unit, g=larger))
        facts = {fact: value for (fact, path), value in values(found).items() if path == "job:this"}
        assert facts == {
            "allocator.oom_count": 1,
            "allocator.retry_count": 3,
            "allocator.allocated_bytes": 14000 * MIB,
            "allocator.allocated_peak_bytes": 22000 * MIB,
            "allocator.reserved_bytes": 23000 * MIB,
            "allocator.reserved_peak_bytes": 23010 * MIB,
            "allocator.inactive_split_bytes": 9000 * MIB,
            "allocator.segment_count": 231,
        }
        assert claimed(found) == set(range(1, 20))


def test_every_cell_is_kept() -> None:
    kept = values(scan(TABLE, _SUMMARY.format(ooms=0, u="MiB", g="GiB")))
    pool = "job:this/measurement:device 0, allocated memory from large pool, "
    assert kept["reading.bytes", pool + "peak"] == 21930 * MIB
    assert kept["reading.bytes", pool + "total allocated"] == 700 * GIB
    assert kept["reading.count", "job:this/measurement:device 0, allocations, total freed"] == 710000.0


def test_a_table_without_its_head_and_quoted_in_mail() -> None:
    quoted = "\n".join("> " + line for line in _SUMMARY.format(ooms=0, u="MiB", g="GiB").splitlines()[7:])
    facts = values(scan(TABLE, quoted))
    assert facts["allocator.allocated_bytes", "job:this"] == 14000 * MIB
    assert ("allocator.oom_count", "job:this") not in facts


def test_of_several_tables_the_one_with_a_failure_stands_for_the_job() -> None:
    first = _SUMMARY.format(ooms=2, u="MiB", g="GiB")
    second = _SUMMARY.format(ooms=0, u="MiB", g="GiB").replace("ID 0", "ID 1").replace("14000", "  100")
    facts = values(scan(TABLE, first + second))
    assert facts["allocator.oom_count", "job:this"] == 2
    assert facts["allocator.allocated_bytes", "job:this"] == 14000 * MIB
    assert facts["reading.bytes", "job:this/measurement:device 1 table 2, allocated memory, now"] == 100 * MIB


def test_a_title_without_rows_is_said_to_be_unreadable() -> None:
    found = scan(TABLE, "|                  PyTorch CUDA memory summary, device ID 0                 |")
    assert not found[0].readings
    assert found[0].troubles[0].line == 1


def test_statistics_as_a_dict_or_as_lines() -> None:
    as_dict = "{'allocated_bytes.all.current': 1048576, \"num_ooms\": 2, 'reserved_bytes.all.peak': 2097152}"
    as_lines = "allocated_bytes.all.current     1048576\nnum_ooms: 2\nreserved_bytes.all.peak=2097152"
    for content in (as_dict, as_lines):
        facts = values(scan(STATS, content))
        assert facts["allocator.allocated_bytes", "job:this"] == 1048576.0
        assert facts["allocator.oom_count", "job:this"] == 2
        assert facts["allocator.reserved_peak_bytes", "job:this"] == 2097152.0


def test_a_line_of_labelled_sizes() -> None:
    facts = values(scan(DIGEST, "segments=9 reserved_MiB=512.0 allocated_MiB=300.5 largest_inactive_MiB=64.0"))
    assert facts["allocator.segment_count", "job:this"] == 9
    assert facts["allocator.reserved_bytes", "job:this"] == 512 * MIB
    assert facts["allocator.allocated_bytes", "job:this"] == 300.5 * MIB
    assert facts["allocator.largest_free_block_bytes", "job:this"] == 64 * MIB
    assert not scan(DIGEST, "allocated_MiB=300.5")
