"""Reading artefacts: whatever they are packed in, however they are mixed, and nothing is lost without a word."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts import pytorch_oom, registry
from gpuwhy.probes.artefacts.contract import Extract, Text, TextFormat
from gpuwhy.probes.artefacts.large_scan import LARGE_BYTES
from gpuwhy.probes.artefacts.read import Gathered, NotUnderstood, Reader, UnusableInput, find_inputs, gather

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU {device} has a total capacity of "
    "{capacity} GiB of which 411.06 MiB is free. Of the allocated memory 17.94 GiB is allocated by PyTorch, and "
    "4.87 GiB is reserved by PyTorch but unallocated.\n"
)
STEPS = "".join(f"step {n}: loss 2.{n} data_time 0.300 batch_time 0.400\n" for n in range(1, 40))


def oom(device: int = 0, capacity: str = "23.69") -> str:
    return OOM.format(device=device, capacity=capacity)


@cache
def knowledge() -> KnowledgeBase:
    return load()


def read(*sources: tuple[str, Path | bytes | str]) -> Gathered:
    inputs = ((name, source.encode() if isinstance(source, str) else source) for name, source in sources)
    return gather(inputs, knowledge().facts)


def value_of(gathered: Gathered, fact: str) -> object:
    (value,) = {one.value for one in gathered.facts if one.id == fact}
    return value


def places(gathered: Gathered) -> list[tuple[str, int | None, int | None]]:
    return [(one.artefact, one.first, one.last) for one in gathered.not_understood]


def test_nothing_gives_nothing() -> None:
    assert read() == Gathered()
    assert read(("empty", b"")) == Gathered()


def test_a_reading_carries_its_artefact_line_and_words() -> None:
    gathered = read(("job/oom.txt", f"first\n\n{oom()}"))
    (request,) = [one for one in gathered.facts if one.id == "oom.request_bytes"]
    assert (request.value, request.unit) == (1.5 * 2**30, "bytes")
    assert (request.origin.source, request.origin.line) == ("job/oom.txt", 3)
    assert "1.50 GiB" in (request.origin.text or "")


def test_several_formats_in_one_text_are_all_read() -> None:
    gathered = read(("paste", f"# What happened\n\n```\n{oom()}```\n\n{STEPS}"))
    assert {name for _, name in gathered.formats} >= {"pytorch-oom", "step-log"}
    assert value_of(gathered, "step.time_seconds") == pytest.approx(0.4)
    assert gathered.not_understood == ()


def test_lines_that_nobody_understands_are_given_as_ranges() -> None:
    gathered = read(("a.txt", f"odd one\nodd two\n\nodd three\n{oom()}odd four\n"))
    assert places(gathered) == [("a.txt", 1, 4), ("a.txt", 6, 6)]
    assert [one.begins for one in gathered.not_understood] == ["odd one", "odd four"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings_do_not_matter(encoding: str) -> None:
    assert value_of(read(("x", ("# Übersicht\n" + oom()).encode(encoding))), "oom.request_bytes") == 1.5 * 2**30


@pytest.mark.parametrize("ends", ["\r\n", "\r", "\n"])
def test_line_ends_do_not_matter(ends: str) -> None:
    gathered = read(("x", (STEPS + oom()).replace("\n", ends)))
    (request,) = [one for one in gathered.facts if one.id == "oom.request_bytes"]
    assert request.origin.line == 40


# packed files


def test_gzip_is_read_as_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress((STEPS + oom()).encode()))
    assert read(("p", path)).facts == read(("p", STEPS + oom())).facts
    assert read(("p", path.read_bytes())).facts == read(("p", STEPS + oom())).facts


def test_a_gzip_file_of_several_members_is_read_whole() -> None:
    packed = gzip.compress(STEPS.encode()) + gzip.compress(oom().encode())
    gathered = read(("rotated.gz", packed))
    assert value_of(gathered, "oom.request_bytes") == 1.5 * 2**30
    assert gathered.not_understood == ()


def test_a_gzip_file_cut_short_gives_its_start_and_says_so() -> None:
    lines = "".join(f"step {n}: loss {n * 7919 % 9973} data_time 0.300 batch_time 0.400\n" for n in range(1, 4000))
    packed = gzip.compress((oom() + lines).encode())
    gathered = read(("cut.gz", packed[: len(packed) // 2]))
    assert value_of(gathered, "oom.request_bytes") == 1.5 * 2**30
    assert any(one.first is None and "cut short" in one.reason for one in gathered.not_understood)


def test_a_large_gzip_file_is_sampled_as_a_large_file_is(tmp_path: Path) -> None:
    lines = "".join(f"{n:08} a line that a program prints\n" for n in range(2 * LARGE_BYTES // 36))
    path = tmp_path / "big.log.gz"
    path.write_bytes(gzip.compress((lines + oom() + lines).encode(), 1))
    gathered = read(("big", path))
    (request,) = [one for one in gathered.facts if one.id == "oom.request_bytes"]
    assert request.origin.line == lines.count("\n") + 1
    assert any("large" in one.reason for one in gathered.not_understood)


def test_a_packed_trace_is_read(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": "kernel", "name": "k", "ts": 100 * n, "dur": 50, "pid": 0, "tid": 7} for n in range(20)
    ]
    path = tmp_path / "t.pt.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()))
    assert ("t", "kineto-trace") in read(("t", path)).formats


# what cannot be read


def test_what_cannot_be_opened_is_an_error_if_there_is_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(UnusableInput, match=r"bad\.gz: damaged gzip file"):
        read(("bad.gz", b"\x1f\x8b\x08\x00garbage that is no deflate stream"))
    with pytest.raises(UnusableInput, match="cannot be read: Is a directory"):
        read(("folder", tmp_path))


def test_one_bad_file_of_several_is_named_and_the_others_are_read() -> None:
    gathered = read(("bad.gz", b"\x1f\x8b\x08\x00garbage that is no deflate stream"), ("oom.txt", oom()))
    assert value_of(gathered, "oom.request_bytes") == 1.5 * 2**30
    assert places(gathered) == [("bad.gz", None, None)]


def test_a_binary_file_is_named_not_guessed_at() -> None:
    gathered = read(("core", b"\x7fELF\x02\x01" + b"\0" * 500 + oom().encode()))
    assert gathered.facts == ()
    assert gathered.not_understood == (NotUnderstood("core", None, None, "binary file of no known format"),)


# folders


def names(found: Iterable[tuple[str, Path]]) -> list[str]:
    return [name for name, _ in found]


def test_a_folder_gives_its_files_in_order_hidden_ones_apart(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/10.txt", "a.log", ".git/config", "b/.cache", "empty/.keep"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    assert names(find_inputs([str(tmp_path)])) == ["a.log", "b/10.txt", "b/2.txt"]
    assert names(find_inputs([str(tmp_path / "a.log")])) == ["a.log"]


def test_links_that_lead_nowhere_and_pipes_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "dead").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "real.txt").write_text("x\n")
    assert names(find_inputs([str(tmp_path)])) == ["real.txt"]


def test_a_path_that_is_not_there_is_an_error_with_a_hint() -> None:
    with pytest.raises(UnusableInput, match=r"nowhere\.txt: no such file or folder \(give a path"):
        list(find_inputs(["nowhere.txt"]))


# several artefacts


def failures(gathered: Gathered) -> dict[str, set[object]]:
    found: dict[str, set[object]] = {}
    for one in gathered.facts:
        if one.id == "oom.capacity_bytes":
            found.setdefault(one.entity.path, set()).add(one.value)
    return found


def test_the_same_failure_told_twice_is_one_failure() -> None:
    assert len(failures(read(("a", oom()), ("b", f"prompt$ cat log\n{oom()}")))) == 1


def test_different_failures_are_numbered_through_all_artefacts() -> None:
    found = failures(read(("a", oom(0)), ("b", oom(1, "39.39") + oom(2, "39.50"))))
    assert list(found) == ["gpu:0/failure:1", "gpu:1/failure:2", "gpu:2/failure:3"]


def test_a_failure_on_a_card_of_another_size_belongs_to_no_listed_gpu() -> None:
    table = "name, index, memory.total [MiB]\nTesla T4, 0, 15360 MiB\n"
    assert list(failures(read(("oom", oom(0, "14.58")), ("smi", table)))) == ["gpu:0/failure:1"]
    assert list(failures(read(("oom", oom(0, "79.15")), ("smi", table)))) == ["job:this/failure:1"]


def test_a_defect_of_one_reader_is_told_and_the_others_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: Text) -> Iterable[Extract]:
        raise ZeroDivisionError(text.name)

    entry = TextFormat("broken", "Broken format", ("out of memory",), broken)
    monkeypatch.setattr(registry, "text_formats", lambda _lowered: [entry, pytorch_oom.FORMAT])
    gathered = read(("log", oom()))
    assert value_of(gathered, "oom.request_bytes") == 1.5 * 2**30
    (told,) = gathered.not_understood
    assert told.reason == "could not be read as Broken format: a defect of gpuwhy (ZeroDivisionError)"


def test_a_reader_reads_each_content_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scans, scan = [], registry.text_formats

    def counted(lowered: str) -> Iterable[TextFormat]:
        scans.append(lowered)
        return scan(lowered)

    monkeypatch.setattr(registry, "text_formats", counted)
    reader = Reader()
    first = gather([("a", oom().encode())], knowledge().facts, reader=reader)
    assert gather([("a", oom().encode())], knowledge().facts, reader=reader) == first
    assert len(scans) == 1
    for number in range(Reader.MOST + 1):
        gather([(f"other {number}", oom().encode())], knowledge().facts, reader=reader)
    gather([("a", oom().encode())], knowledge().facts, reader=reader)
    assert len(scans) == 1 + Reader.MOST + 1 + 1  # it was forgotten in favour of what came later
