"""`nvidia-bug-report.log`: each section by its own reader, with the lines of the report."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase, Value
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts import registry
from gpuwhy.probes.artefacts.contract import Extract, Text, TextFormat
from gpuwhy.probes.artefacts.read import Gathered, gather

RULER = "_" * 44
START = f"""{RULER}

Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem.

nvidia-bug-report.sh Version: 34000000

Date: Mon Nov 30 03:20:00 UTC 2026
"""
QUERY = f"""{RULER}

/usr/bin/nvidia-smi --query


==============NVSMI LOG==============

Driver Version                            : 550.90.07
Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    Remapped Rows
        Uncorrectable Error               : 2
        Pending                           : Yes

/usr/bin/nvidia-smi --query --unit

GPU 00000000:99:00.0
    Product Name                          : not a GPU

/usr/bin/nvidia-smi nvlink --status

GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-11111111-2222)
\t Link 0: 25 GB/s
\t Link 1: <inactive>

"""
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=train, GPU has fallen off the bus."
LOADING = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07"
MEMORY = f"""{RULER}

*** /proc/meminfo
*** ls: -r--r--r-- 1 root root 0 2026-11-30 03:20:01 /proc/meminfo
MemTotal:       1056780000 kB
MemAvailable:    900000000 kB

"""
FABRIC = f"""{RULER}

*** /var/log/fabricmanager.log
*** ls: -rw-r--r-- 1 root root 90 2026-11-30 03:20:01 /var/log/fabricmanager.log
[Nov 30 2026 03:00:01] [INFO] [tid 77] Fabric Manager version 535.104.05 is running with the following options

"""
LSPCI = f"""{RULER}

/usr/bin/lspci -nnDvvvxxxx

0000:3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x8 (downgraded)
00: de 10 b2 20 06 04 10 00 a1 00 02 03 00 00 00 00

"""


def kernel(*dmesg: str, journal: tuple[str, ...] = (), before: tuple[str, ...] = (), file: tuple[str, ...] = ()) -> str:
    """The scanned kernel logs and dmesg, as the script writes them."""
    parts = [RULER, "", "Scanning kernel log files for NVIDIA kernel messages:"]
    for name, lines in (("/var/log/kern.log", file), ("journalctl -b -0", journal), ("journalctl -b -1", before)):
        parts += ["", f"  {name}:", *(f"Nov 30 03:00:00 gpu7 kernel: {line}" for line in lines)] if lines else []
    parts += ["", RULER, "", "dmesg:", "", *(f"[   10.5] {line}" for line in dmesg)]
    return "\n".join(parts) + "\n"


def read(*sections: str) -> Gathered:
    return gather([("nvidia-bug-report.log", (START + "".join(sections)).encode())], load().facts)


def values(found: Gathered) -> dict[str, Value]:
    return {one.id: one.value for one in found.facts}


def test_sections_are_read_with_the_lines_of_the_report() -> None:
    text = START + MEMORY + kernel(LOADING, XID) + QUERY + LSPCI + FABRIC
    gathered = gather([("r", text.encode())], load().facts)
    found = values(gathered)
    assert found["gpu.name"] == "NVIDIA A100-SXM4-80GB"
    assert found["gpu.remap_pending"] is True
    assert found["gpu.nvlink_inactive_first"] == 1
    assert found["gpu.xid_first"] == 79
    assert found["host.fabric_manager_version"] == "535.104.05"
    assert found["gpu.link_width_downgraded"] is True
    assert found["host.memory_total_bytes"] == 1056780000 * 1024
    lines = text.split("\n")
    named = {one.id: lines[one.origin.line - 1] for one in gathered.facts if one.origin.line}
    assert "Xid (PCI:0000:3b:00): 79" in named["gpu.xid_first"]
    assert "Pending" in named["gpu.remap_pending"]
    assert "Link 1: <inactive>" in named["gpu.nvlink_inactive_first"]


def test_what_several_sections_show_of_one_gpu_is_of_one_gpu() -> None:
    entities = {one.entity.path for one in read(kernel(XID), QUERY, LSPCI).facts if one.entity.kind == "gpu"}
    assert entities == {"gpu:0"}


def test_the_same_line_in_dmesg_and_in_the_journal_is_one() -> None:
    assert values(read(kernel(LOADING, XID, journal=(LOADING, XID), file=(XID,))))["host.xid_count"] == 1
    twice = values(read(kernel(XID, XID, journal=(XID, XID))))
    assert twice["host.xid_count"] == 2


def test_what_dmesg_no_longer_holds_comes_from_the_journal() -> None:
    found = values(read(kernel(LOADING, journal=(XID, LOADING))))
    assert found["gpu.xid_first"] == 79
    assert "host.kernel_log_earlier" not in found


def test_xids_of_an_earlier_start_make_a_lost_gpu_likely_at_most() -> None:
    gathered = read(kernel(LOADING, journal=(LOADING,), before=(XID,), file=(XID, LOADING)), QUERY)
    found = values(gathered)
    assert (found["host.xid_count"], found["host.kernel_log_earlier"]) == (1, True)
    assert any("no Xid since this machine started" in one.reason for one in gathered.not_understood)
    result = diagnose(load(), FactBase.of(gathered.facts, gathered.absent), ask=False)
    assert {one.id: one.status.value for one in result.asserted}["hardware.gpu-lost"] == "likely"


def test_xids_of_an_earlier_start_are_only_told_where_this_one_has_some() -> None:
    other = "NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name=a, Ch 00000010"
    gathered = read(kernel(other, before=(XID,)))
    assert values(gathered)["gpu.xid_codes"] == "31"
    assert any("earlier start of this machine" in one.reason for one in gathered.not_understood)


def test_a_layout_without_stars_is_read() -> None:
    sections = (
        "/proc/meminfo\nMemTotal:       16384000 kB\nMemFree:  1000 kB\n",
        "/usr/sbin/dmidecode\n\nMemTotal: 3 kB\n",
    )
    old = "".join(f"{RULER}\n\n{one}\n" for one in sections)
    assert values(read(old))["host.memory_total_bytes"] == 16384000 * 1024


def test_a_report_cut_in_packed_form_gives_its_start() -> None:
    whole = gzip.compress((START + QUERY + "x" * 200_000).encode())
    gathered = gather([("nvidia-bug-report.log.gz", whole[:-9])], load().facts)
    assert values(gathered)["gpu.remap_pending"] is True
    assert any("cut short" in one.reason for one in gathered.not_understood)


def test_a_report_without_sections_that_are_read_says_so() -> None:
    reasons = [one.reason for one in read(f"{RULER}\n\n*** /etc/issue\nUbuntu\n").not_understood]
    assert reasons == ["no section of the report that is read says anything"]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_report_with_a_dump_of_tens_of_megabytes_is_never_held(tmp_path: Path, packed: bool) -> None:
    """24 MB of encoded dump between two sections: the second is read with its line, in a fraction of that memory."""
    rows = 24 * 2**20 // 77
    path = tmp_path / "report"
    with gzip.open(path, "wb") if packed else open(path, "wb") as file:
        file.write((START + MEMORY + f"{RULER}\n\n/usr/bin/nvidia-debugdump -D\n\n").encode())
        for _ in range(rows // 1024 + 1):
            file.write((b"QUJD" * 19 + b"\n") * 1024)
        file.write(QUERY.encode())
    load()
    tracemalloc.start()
    gathered = gather([("report", path)], load().facts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    line = next(one.origin.line for one in gathered.facts if one.id == "gpu.remap_pending")
    before = (START + MEMORY).count("\n") + 4 + (rows // 1024 + 1) * 1024
    assert line == before + QUERY[: QUERY.index("Pending")].count("\n") + 1


def test_a_reader_that_fails_costs_only_its_own_section(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_text: Text) -> Iterable[Extract]:
        raise KeyError("x")

    known = registry.text_formats
    broken = TextFormat("meminfo", "a broken reader", ("memtotal",), fails)
    monkeypatch.setattr(registry, "text_formats", lambda lowered: [broken, *known(lowered)])
    gathered = gather([("bug.log", (START + QUERY + MEMORY).encode())], load().facts)
    assert {"gpu.name", "host.memory_total_bytes"} <= {one.id for one in gathered.facts}
    assert any("a broken reader" in one.reason for one in gathered.not_understood)
