"""Selecting from a text too large to read as a whole."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from gpuwhy.probes.artefacts import large_scan
from gpuwhy.probes.artefacts.large_scan import Ahead, Scan, scan
from gpuwhy.probes.artefacts.large_text import select


def write(path: Path, lines: int, failures: dict[int, str]) -> list[str]:
    """A log of numbered lines with some of them replaced."""
    content = [failures.get(n, f"step {n} loss 0.5 time 0.31 data 0.01 {'x' * (n % 40)}") for n in range(1, lines + 1)]
    path.write_text("\n".join(content) + "\n")
    return content


def test_every_selected_line_stands_under_its_number(tmp_path: Path) -> None:
    content = write(tmp_path / "log", 200_000, {120_001: "torch.OutOfMemoryError: CUDA out of memory."})
    large = select(tmp_path / "log", "log")
    assert large.total_lines == 200_000
    assert large.total_bytes == (tmp_path / "log").stat().st_size
    assert all(content[line.number - 1] == line.text for line in large.text.lines)
    numbers = [line.number for line in large.text.lines]
    assert numbers == sorted(set(numbers))
    assert {1, 120_001, 200_000} <= set(numbers)


def test_skipped_ranges_and_selected_lines_make_up_the_file(tmp_path: Path) -> None:
    write(tmp_path / "log", 100_000, {})
    large = select(tmp_path / "log", "log")
    skipped = {number for first, last in large.skipped for number in range(first, last + 1)}
    selected = {line.number for line in large.text.lines}
    assert not skipped & selected
    assert skipped | selected == set(range(1, 100_001))


def test_a_failure_comes_with_the_lines_around_it(tmp_path: Path) -> None:
    write(
        tmp_path / "log",
        150_000,
        {70_000: "Traceback (most recent call last):", 70_004: "RuntimeError: CUDA error: bad"},
    )
    numbers = {line.number for line in select(tmp_path / "log", "log").text.lines}
    assert set(range(69_990, 70_020)) <= numbers


def test_a_word_that_stands_on_every_line_does_not_hide_the_failure(tmp_path: Path) -> None:
    path = tmp_path / "log"
    rows = [f"step {n} Top1 Error 0.5 and some more text" for n in range(1, 200_001)]
    rows[150_000] = "Traceback (most recent call last):"
    path.write_text("\n".join(rows))
    large = select(path, "log")
    assert 150_001 in {line.number for line in large.text.lines}
    assert large.total_lines == 200_000


def test_kernel_logs_are_searched_for_their_own_words(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    rows = [f"Nov 30 01:02:03 host kernel: usb {n} something usual" for n in range(1, 150_001)]
    rows[99_999] = "Nov 30 01:02:03 host kernel: NVRM: Xid (PCI:0000:05:00): 79, pid=1, GPU has fallen off the bus."
    path.write_text("\n".join(rows) + "\n")
    assert 100_000 in {line.number for line in select(path, "syslog").text.lines}


def test_a_burst_of_kernel_messages_keeps_every_number(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    rows = [f"Nov 30 01:02:03 host kernel: usb {n} something usual" for n in range(1, 150_001)]
    burst = range(149_900, 150_000)
    for n in burst:
        rows[n] = f"Nov 30 01:02:03 host kernel: NVRM: Xid (PCI:0000:05:00): {48 if n == 149_950 else 31}, pid={n}"
    path.write_text("\n".join(rows) + "\n")
    kept = {line.number: line.text for line in select(path, "syslog").text.lines}
    assert "): 48, pid=149950" in kept[149_951]
    assert {n + 1 for n in burst} <= set(kept)


def test_of_lines_that_differ_in_numbers_alone_the_last_are_kept_and_rare_ones_between_them(tmp_path: Path) -> None:
    path = tmp_path / "log"
    rows = [f"step {n} loss 0.{n % 89} time 0.31" for n in range(1, 200_001)]
    rows[199_799] = "NaN seen, gradients were skipped"
    path.write_text("\n".join(rows) + "\n")
    large = select(path, "log")
    kept = {line.number for line in large.text.lines}
    assert {199_800, *range(199_961, 200_001)} <= kept
    assert 199_900 not in kept
    assert any(first <= 199_900 <= last for first, last in large.skipped)


def test_samples_cover_the_middle(tmp_path: Path) -> None:
    write(tmp_path / "log", 200_000, {})
    numbers = [line.number for line in select(tmp_path / "log", "log").text.lines]
    for tenth in range(10):
        assert any(tenth * 20_000 < number <= (tenth + 1) * 20_000 for number in numbers)


def test_one_endless_line_and_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 3_000_000)
    assert select(path, "log").total_lines == 1
    path.write_bytes(b"")
    empty = select(path, "log")
    assert (empty.total_lines, empty.total_bytes, empty.skipped) == (0, 0, ())


def test_memory_stays_far_below_the_size_of_the_file(tmp_path: Path) -> None:
    write(tmp_path / "log", 600_000, {})
    tracemalloc.start()
    select(tmp_path / "log", "log")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20 < (tmp_path / "log").stat().st_size


def test_a_pass_begun_ahead_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    path = tmp_path / "log"
    write(path, 200_000, {120_001: "torch.OutOfMemoryError: CUDA out of memory."})
    with Ahead([str(path), str(tmp_path / "none"), str(tmp_path)]) as ahead:
        assert select(path, "log", ahead) == select(path, "log")
        assert ahead.take(path) == scan(path)  # there was one; the next is made on demand


def test_a_pass_that_nobody_asks_for_ends_with_the_diagnosis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    path = tmp_path / "log"
    write(path, 200_000, {})
    with Ahead([str(path)]) as ahead:
        ((child, _),) = ahead._running.values()
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


def test_a_pass_that_was_killed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(large_scan, "_report", lambda *_: os._exit(1))
    path = tmp_path / "log"
    write(path, 200_000, {})
    with Ahead([str(path)]) as ahead:
        assert ahead.take(path) == scan(path)


def test_a_file_that_grows_while_it_is_read_ends_where_the_pass_ended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, 200_000, {})

    class Grown(Ahead):
        def take(self, path: str | Path) -> Scan:
            found = super().take(path)
            with open(path, "a") as file:
                file.write("later\n" * 300_000)
            return found

    large = select(path, "log", Grown([]))
    assert large.total_lines == 200_000
    assert large.text.lines[-1].number == 200_000
