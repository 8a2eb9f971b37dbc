"""Digests of GPU profiles in people's own words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.gpu_digest import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def job(text: str) -> dict[str, Value]:
    """Values of the job's facts by id."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, text)).items() if path == "job:this"}


def test_line_of_a_script() -> None:
    """50 kernels busy for 2 of 8 ms; the second run is kept as readings."""
    text = (
        "run a  kernels 50 busy 2.00 ms span 8.00 ms mean kernel 40 us\n"
        "run b  kernels 70 busy 6.00 ms span 8.00 ms\n"
        "end\n"
    )
    found = job(text)
    assert found["step.kernel_count"] == 50
    assert found["step.gpu_busy_share"] == pytest.approx(0.25)
    assert found["step.kernel_mean_seconds"] == pytest.approx(40e-6)
    assert found["step.window_seconds"] == pytest.approx(8e-3)
    assert values(scan(FORMAT, text))["reading.seconds", "job:this/measurement:run b busy"] == pytest.approx(6e-3)
    assert claimed(scan(FORMAT, text)) == {1, 2}


def test_list_of_a_report() -> None:
    """A list in Markdown: 900 launches, 10 of 50 ms busy."""
    text = "* Before: **50.0 ms/step**\n* GPU busy time: **10 ms**\n* 900 kernels / 900 launches\n"
    found = job(text)
    assert found["step.launch_count"] == 900
    assert found["step.time_seconds"] == pytest.approx(0.05)
    assert found["step.gpu_busy_share"] == pytest.approx(0.2)


def test_kernels_of_a_whole() -> None:
    """`N kernels A ms of B`, and kernels by calls and time."""
    text = "gpu0: 1,000 kernels 90.0 ms of 100.0 (0.9)\n  volta_sgemm_128x64_nn 20 calls 30.0 ms; add 10/3\n"
    found = job(text)
    assert found["step.kernel_count"] == 1000
    assert found["step.gpu_busy_share"] == pytest.approx(0.9)
    assert found["step.float32_matmul_share"] == 1.0
    assert values(scan(FORMAT, text))["profile.calls", "job:this/entry:volta_sgemm_128x64_nn"] == 20


def test_lone_numbers_are_no_digest() -> None:
    """A sentence about kernels is none."""
    assert not scan(FORMAT, "compiled 12 kernels\nit takes 3 ms per step\n")
    assert not scan(FORMAT, "compiled 12 kernels in a while")
    assert not scan(FORMAT, "3 ms per step, 4 ms busy time")


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=80))
def test_damage_never_raises(junk: str) -> None:
    """Any text."""
    scan(FORMAT, f"kernels 5 busy {junk}\nspan 1 ms {junk} 5 kernels 1 ms of {junk}")
