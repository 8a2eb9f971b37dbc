"""gpustat lines, plain and with its options."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.gpustat import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024**2

PLAIN = """\
node7                      Mon Nov 30 02:15:06 2026  535.104.05
[0] NVIDIA A100-SXM4-80GB | 52'C,  98 % | 72297 / 81920 MB | alice(70000M) bob(1234M)
[1] NVIDIA A100-SXM4-80GB | 31'C,   0 % |     3 / 81920 MB |
"""
FULL = """\
[0] GeForce RTX 2080 | 45°C, 30 %, 98 % (E: 5 % D: 0 %), 60 / 250 W | 1200 / 11019 MB | b:python/1234(1000M) e:x/99(5M)
[1] Tesla K80           | ??'C,  ?? %,  ?? %,   ?? / 149 W | ??? / ??? MB | (null)
"""


def test_plain_lines_with_their_header() -> None:
    extracts = scan(FORMAT, PLAIN)
    found = values(extracts)
    assert found["gpu.name", "gpu:0"] == "NVIDIA A100-SXM4-80GB"
    assert found["gpu.temperature_celsius", "gpu:0"] == 52
    assert found["gpu.utilization_share", "gpu:0"] == 0.98
    assert found["gpu.memory_used_bytes", "gpu:0"] == 72297 * MIB
    assert found["gpu.memory_total_bytes", "gpu:0"] == 81920 * MIB
    assert found["gpu.processes_memory_bytes", "gpu:0"] == 71234 * MIB  # 70000 + 1234
    assert found["gpu.process_count", "gpu:0"] == 2
    assert found["gpu.process_count", "gpu:1"] == 0
    assert found["host.driver_version", "host:this"] == "535.104.05"
    assert claimed(extracts) == {1, 2, 3}


def test_fan_power_codecs_and_process_ids() -> None:
    extracts = scan(FORMAT, FULL)
    found = values(extracts)
    assert found["gpu.fan_share", "gpu:0"] == 0.30
    assert found["gpu.utilization_share", "gpu:0"] == 0.98
    assert found["gpu.encoder_share", "gpu:0"] == 0.05
    assert (found["gpu.power_watts", "gpu:0"], found["gpu.power_limit_watts", "gpu:0"]) == (60, 250)
    assert found["process.gpu_memory_bytes", "gpu:0/process:1234"] == 1000 * MIB
    assert found["process.name", "gpu:0/process:1234"] == "python"
    assert found["gpu.power_limit_watts", "gpu:1"] == 149
    missing = {one.fact for one in extracts[0].missing if one.entity.path == "gpu:1"}
    assert {"gpu.utilization_share", "gpu.power_watts", "gpu.memory_used_bytes", "gpu.process_count"} <= missing


def test_a_list_that_could_not_be_read_says_so_and_not_that_there_is_no_process() -> None:
    found = values(scan(FORMAT, "[6] NVIDIA A100 | 52'C, 100 % | 10151 / 81920 MB | (null)\n"))
    assert found["gpu.process_list_unreadable", "gpu:6"] is True
    assert found["gpu.memory_used_bytes", "gpu:6"] == 10151 * MIB
    assert ("gpu.process_count", "gpu:6") not in found
    assert ("gpu.process_list_unreadable", "gpu:6") not in values(
        scan(FORMAT, "[6] NVIDIA A100 | 52'C, 100 % | 10151 / 81920 MB | (Not Supported)\n")
    )


def test_a_process_without_a_command_line_has_no_name() -> None:
    found = values(
        scan(FORMAT, "[0] NVIDIA A10 | 52'C, 0 % | 10151 / 23028 MB | ana:?/77(9000M) bob:python/8(1000M)\n")
    )
    assert found["gpu.nameless_processes_memory_bytes", "gpu:0"] == 9000 * MIB
    assert found["process.name", "gpu:0/process:8"] == "python"
    assert ("process.name", "gpu:0/process:77") not in found


def test_repeated_output_is_folded() -> None:
    text = "".join(
        f"[0] Tesla T4 | 40'C, {share} % | {used} / 15109 MB | a(5M)\n" for share, used in ((10, 1), (90, 9), (80, 8))
    )
    found = values(scan(FORMAT, text))
    assert found["gpu.utilization_share", "gpu:0"] == 0.80
    assert found["gpu.memory_used_max_bytes", "gpu:0"] == 9 * MIB
    assert found["gpu.sample_count", "gpu:0"] == 3


def test_other_text_is_left_alone() -> None:
    assert scan(FORMAT, "[1] see | the table | 10 / 20 GB |\n[0] a | b\n") == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_makes_it_raise(data: st.DataObject) -> None:
    whole = PLAIN + FULL
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    noise = data.draw(st.text("[]| 0123456789/%MB'C(),:\n", max_size=60))
    scan(FORMAT, whole[:start] + noise + whole[stop:])
