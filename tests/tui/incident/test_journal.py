"""Journals of incidents: what was written is there after a crash, for this user alone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpuwhy.tui.incident import journal as journals
from gpuwhy.tui.incident.events import Added, Answered, Applied, Event, Looked, Started, Verified, Withdrawn
from gpuwhy.tui.incident.journal import Journal, JournalError

EVENTS: list[Event] = [
    Started("oom", "1.0"),
    Added("paste 1", "line one\nline two \x1b[31m\u202e"),
    Looked("{}", 20.0),
    Answered("gpu:0/gpu.power_watts", "30 W"),
    Answered("loader.pinned", None),
    Withdrawn("loader.pinned"),
    Applied("fix.oom.expandable-segments", "oom.fragmentation"),
    Verified("fix.oom.expandable-segments", "recovered"),
]


def test_every_event_comes_back(tmp_path: Path) -> None:
    journal = Journal(where=tmp_path)
    for event in EVENTS:
        journal.write(event)
    assert journals.read(journal.name, tmp_path) == EVENTS
    (kept,) = journals.listed(tmp_path)
    assert (kept.name, kept.title, kept.steps, kept.state) == (journal.name, "Out of memory", 8, "recovered")


def test_only_this_user_can_read_it(tmp_path: Path) -> None:
    where = tmp_path / "state" / "incidents"
    journal = Journal(where=where)
    journal.write(EVENTS[0])
    assert stat.S_IMODE((where / f"{journal.name}.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE(where.stat().st_mode) == 0o700


def test_a_line_cut_short_costs_that_line_alone(tmp_path: Path) -> None:
    journal = Journal(where=tmp_path)
    for event in EVENTS[:3]:
        journal.write(event)
    path = tmp_path / f"{journal.name}.jsonl"
    path.write_bytes(path.read_bytes()[:-5] + b'\n{"event": "unheard of"}\nnot json\n[1]\n')
    again = Journal(journal.name, tmp_path)
    again.write(EVENTS[3])
    assert journals.read(journal.name, tmp_path) == [*EVENTS[:2], EVENTS[3]]


def test_what_was_answered_outlives_kill_9(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from gpuwhy.tui.incident.journal import Journal; from gpuwhy.tui.incident.events import Answered, Started\n"
        "journal = Journal(where=Path(sys.argv[1]))\n"
        "journal.write(Started('slow', '1.0')); journal.write(Answered('loader.workers', '4'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    (kept,) = journals.listed(tmp_path)
    assert journals.read(kept.name, tmp_path)[-1] == Answered("loader.workers", "4")


def test_two_incidents_of_one_second_have_two_names(tmp_path: Path) -> None:
    assert len({Journal(where=tmp_path).name for _ in range(3)}) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_told_and_the_incident_goes_on(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    journal = Journal(where=tmp_path / "incidents")
    journal.write(EVENTS[0])
    assert "Permission denied" in journal.trouble


def test_a_full_disk_is_told_and_what_fits_later_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(where=tmp_path)
    journal.write(EVENTS[0])
    write, room = os.write, [10]

    def full(descriptor: int, data: bytes) -> int:
        if not room:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: room.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        journal.write(EVENTS[1])
    assert journal.trouble.startswith("No space left on device")
    journal.write(EVENTS[2])
    assert journals.read(journal.name, tmp_path) == [EVENTS[0], EVENTS[2]]
    assert (tmp_path / f"{journal.name}.jsonl").read_bytes().count(b"\n") == 2  # nothing of the one in between


@pytest.mark.parametrize("name", ["../../etc/passwd", "20261130-010203/x", "", "20261130-010203\n"])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(JournalError, match="no incident"):
        journals.read(name, tmp_path)


def test_an_incident_can_be_deleted(tmp_path: Path) -> None:
    journal = Journal(where=tmp_path)
    journal.write(EVENTS[0])
    journals.delete(journal.name, tmp_path)
    assert journals.listed(tmp_path) == []
    with pytest.raises(JournalError):
        journals.delete(journal.name, tmp_path)
