"""The journal of an incident: one JSON line an event, written through to the disk before anything else happens.

Files lie in `$XDG_STATE_HOME/gpuwhy/incidents` (by default `~/.local/state/...`), readable by this user alone. A line
that a crash cut short is passed over when the journal is read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from gpuwhy.kb.records import dataclass
from gpuwhy.tui.incident.events import SYMPTOMS, Event, Started, Verified, from_plain, to_plain

_NAME = re.compile(r"[0-9]{8}-[0-9]{6}(?:-[0-9]{1,3})?\Z")


class JournalError(Exception):
    """A journal that cannot be read or written; the text says why."""


@dataclass(frozen=True)
class Kept:
    """An incident on disk: its name, when it began, what it was about, how many steps it has, and how it stands."""

    name: str
    began_at: str
    symptom: str
    steps: int
    state: str

    @property
    def title(self) -> str:
        """What it was about, in words."""
        return SYMPTOMS.get(self.symptom, self.symptom)


def folder() -> Path:
    """Where journals lie."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(base) / "gpuwhy" / "incidents"


class Journal:
    """An open journal. `trouble` says why not every event is written, where that failed; the incident goes on."""

    def __init__(self, name: str | None = None, where: Path | None = None) -> None:
        self.where = where or folder()
        self.name = name or ""
        self.trouble = ""
        self._descriptor = -1
        try:
            self.where.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = self._open(name)
        except OSError as error:
            self.trouble = f"{error.strerror}: {self.where}"

    def _open(self, name: str | None) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        if name is not None:
            return os.open(self.where / f"{name}.jsonl", flags, 0o600)
        stem = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
        for number in range(1000):
            self.name = stem if number == 0 else f"{stem}-{number}"
            with suppress(FileExistsError):
                return os.open(self.where / f"{self.name}.jsonl", flags | os.O_EXCL, 0o600)
        raise FileExistsError(17, "a thousand incidents in one second")

    def write(self, event: Event) -> None:
        """Append an event and wait until it is on the disk.

        What a full disk has no room for is told in `trouble` and left out as a whole: what comes later may fit, and a
        step that is answered weighs less than a log that is pasted.
        """
        if self._descriptor < 0:
            return
        moment = datetime.now(timezone.utc).isoformat(timespec="seconds")
        line = json.dumps({**to_plain(event), "at": moment}, ensure_ascii=True) + "\n"
        end = os.fstat(self._descriptor).st_size
        try:
            _write_all(self._descriptor, line.encode())
            os.fsync(self._descriptor)
        except OSError as error:
            self.trouble = f"{error.strerror}: {self.where / self.name}.jsonl"
            with suppress(OSError):
                os.ftruncate(self._descriptor, end)

    @property
    def is_there(self) -> bool:
        """True if something of the incident is on the disk."""
        return (self.where / f"{self.name}.jsonl").is_file()

    def close(self) -> None:
        """Stop writing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def read(name: str, where: Path | None = None) -> list[Event]:
    """The events of a journal. Raises `JournalError` if there is no such journal."""
    return [event for event, _ in _entries(_path(name, where))]


def listed(where: Path | None = None, most: int | None = None) -> list[Kept]:
    """The incidents on disk, the latest first, and no more than `most`; what cannot be read is left out."""
    found: list[Kept] = []
    for path in sorted((where or folder()).glob("*.jsonl"), reverse=True):
        if len(found) == most:
            break
        with suppress(JournalError):
            entries = list(_entries(path))
            started = next((event for event, _ in entries if isinstance(event, Started)), None)
            outcomes = [event.outcome for event, _ in entries if isinstance(event, Verified)]
            if started is not None:
                state = outcomes[-1] if outcomes else "open"
                found.append(Kept(path.stem, entries[0][1], started.symptom, len(entries), state))
    return found


def delete(name: str, where: Path | None = None) -> None:
    """Remove a journal. Raises `JournalError` if there is none."""
    path = _path(name, where)
    try:
        path.unlink()
    except OSError as error:
        raise JournalError(f"{name} cannot be deleted: {error.strerror}") from error


def _path(name: str, where: Path | None) -> Path:
    if not _NAME.match(name):
        raise JournalError(f"`{name}` is no incident; `gpuwhy incident list` names them")
    return (where or folder()) / f"{name}.jsonl"


def _entries(path: Path) -> Iterator[tuple[Event, str]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise JournalError(f"no incident {path.stem}: {error.strerror}") from error
    for line in lines:
        with suppress(ValueError):
            plain = json.loads(line)
            event = from_plain(plain) if isinstance(plain, dict) else None
            if event is not None:
                yield event, str(plain.get("at", ""))
