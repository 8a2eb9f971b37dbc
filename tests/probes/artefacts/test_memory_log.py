"""Memory that a program logs over time."""

from __future__ import annotations

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.memory_log import FORMAT
from tests.probes.artefacts.helpers import scan, values


def _log(numbers: list[float], label: str = "GPU memory used", unit: str = "MB") -> dict[tuple[str, str], Value]:
    lines = [f"2024-05-01 10:00:{10 * i:02d} INFO step {i} {label}: {n} {unit}" for i, n in enumerate(numbers)]
    return values(scan(FORMAT, "\n".join(lines)))


def test_first_last_and_span() -> None:
    facts = _log([1000.5, 1000.5, 900.5, 900.5], "Free GPU ram", "")
    place = "job:this/measurement:free gpu ram"
    assert facts["reading.value", f"{place}, first"] == 1000.5
    assert facts["reading.value", f"{place}, last"] == 900.5
    assert facts["reading.value", f"{place}, fall"] == 100.0
    assert facts["memory_log.sample_count", place] == 4
    assert facts["memory_log.change_count", place] == 1
    assert facts["memory_log.span_seconds", place] == 30.0


def test_one_step_is_no_trend() -> None:
    assert ("job.memory_grows", "job:this") not in _log([1000, 1000, 2000, 2000, 2000])


def test_steady_growth_is_a_trend_also_of_falling_free_memory() -> None:
    assert _log([1000, 1100, 1200, 1300])["job.memory_grows", "job:this"] is True
    assert _log([4000, 3500, 3000, 2500], "free cuda memory")["job.memory_grows", "job:this"] is True


def test_a_working_set_that_falls_back_does_not_grow() -> None:
    assert ("job.memory_grows", "job:this") not in _log([1000, 1400, 1000, 1400, 1000, 1400])


def test_a_pool_that_has_filled_does_not_grow() -> None:
    assert ("job.memory_grows", "job:this") not in _log([1000, 1100, 1200, 1300, 1300, 1300, 1300])


def test_growth_within_rounding_does_not_count() -> None:
    assert ("job.memory_grows", "job:this") not in _log([10000, 10001, 10002, 10003])


def test_use_of_total_per_epoch_is_device_memory() -> None:
    lines = "\n".join(f"after epoch {n}: {1000 + 900 * n}MiB / 24576MiB" for n in range(4))
    assert values(scan(FORMAT, lines))["job.memory_grows", "job:this"] is True
    level = "\n".join(f"after epoch {n}: 1900MiB / 24576MiB" for n in range(4))
    assert ("job.memory_grows", "job:this") not in values(scan(FORMAT, level))


def test_host_memory_and_single_lines_are_left_alone() -> None:
    assert not _log([1, 2, 3, 4], "memory")
    assert not _log([1000.0, 2000.0])


def test_the_head_of_a_line_says_what_its_figures_are_and_a_peak_is_no_trend() -> None:
    lines = [f"Memory info of GPU /device:GPU:0: current: {n}, peak: {n + 2}" for n in (1.1, 1.2, 1.3, 1.4)]
    facts = values(scan(FORMAT, "\n".join(lines)))
    place = "job:this/measurement:memory gpu device"
    assert facts["reading.value", f"{place} current, last"] == 1.4
    assert facts["reading.value", f"{place} peak, last"] == 3.4
    assert facts["job.memory_grows", "job:this"] is True
    peaks = [f"Memory info of GPU: peak: {n}" for n in (1.1, 1.2, 1.3, 1.4)]
    assert ("job.memory_grows", "job:this") not in values(scan(FORMAT, "\n".join(peaks)))
    host = [f"Memory info of CPU: total: 200, available: {n}" for n in (9.4, 8.3, 7.2, 6.1)]
    assert not values(scan(FORMAT, "\n".join(host)))
