"""The registry knows every parser, and would import it whenever one of its formats can be there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpuwhy.probes import artefacts
from gpuwhy.probes.artefacts import registry
from gpuwhy.probes.artefacts.contract import FileFormat, TextFormat
from gpuwhy.probes.artefacts.registry import FALLBACK_ENTRIES, FILE_ENTRIES, TEXT_ENTRIES, Entry, all_formats

FOLDER = Path(artefacts.__path__[0])
ALL_ENTRIES = (*TEXT_ENTRIES, *FILE_ENTRIES, *FALLBACK_ENTRIES)


def text_formats(entry: Entry) -> list[TextFormat]:
    return [one for one in entry.formats() if isinstance(one, TextFormat)]


@pytest.mark.parametrize("entry", TEXT_ENTRIES, ids=lambda entry: entry.module)
def test_hints_are_those_of_the_formats_of_the_module(entry: Entry) -> None:
    wanted = {hint for one in text_formats(entry) if not one.fallback for hint in one.hints}
    assert set(entry.hints) == wanted
    assert all(hint == hint.lower() and hint for hint in entry.hints)


def test_every_module_with_a_format_is_registered() -> None:
    with_formats = {path.stem for path in FOLDER.glob("*.py") if re.search(r"^FORMATS?\b", path.read_text(), re.M)}
    assert {entry.module for entry in ALL_ENTRIES} == with_formats


def test_every_format_is_in_the_list_of_its_kind() -> None:
    assert all(text_formats(entry) for entry in TEXT_ENTRIES)
    assert all(any(isinstance(one, FileFormat) for one in entry.formats()) for entry in FILE_ENTRIES)
    for entry in ALL_ENTRIES:
        has_fallback = any(one.fallback for one in text_formats(entry))
        assert (entry in FALLBACK_ENTRIES) is has_fallback


def test_names_are_one_per_format_and_titles_say_what_it_is() -> None:
    titles: dict[str, str] = {}
    for one in all_formats():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one.name)
        assert titles.setdefault(one.name, one.title) == one.title != ""


def test_a_plain_text_imports_no_reader_of_whole_files() -> None:
    code = (
        "import sys; from gpuwhy.probes.artefacts import registry\n"
        "assert registry.file_format(b'epoch 1 loss 2.0\\n', 'train.log') is None\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    readers = {f"gpuwhy.probes.artefacts.{entry.module}" for entry in FILE_ENTRIES}
    assert readers & set(loaded) == set()
    assert not {"sqlite3", "xml.etree.ElementTree"} & set(loaded)


@pytest.mark.parametrize(
    ("head", "name", "format_name"),
    [
        (b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}', "t.json", "kineto-trace"),
        (b'\xef\xbb\xbf {"traceEvents": []}', "t.json", "kineto-trace"),
        (b'[{"ph": "X", "ts": 1, "dur": 2}]', "t.json", "kineto-trace"),
        (b"SQLite format 3\0" + b"\0" * 80 + b"CUPTI_ACTIVITY_KIND_KERNEL", "r.sqlite", "nsys-sqlite"),
        (b"<?xml version='1.0'?>\n<nvidia_smi_log>", "q.xml", "nvidia-smi-xml"),
        (b"\xff\xfe" + "<nvidia_smi_log>".encode("utf-16-le"), "q.xml", "nvidia-smi-xml"),
        (b"\x80\x04\x95segment_type total_size device_traces", "s.pickle", "pytorch-memory-snapshot"),
        (b"epoch 1", "trace.json", None),
        (b'{"epoch": 1}', "log.json", None),
        (b"", "empty", None),
    ],
)
def test_a_file_is_known_by_its_beginning(head: bytes, name: str, format_name: str | None) -> None:
    found = registry.file_format(head, name)
    assert (found.name if found else None) == format_name
