"""The log of a running Triton server: what it said before, and what it says while it is watched."""

from __future__ import annotations

from pathlib import Path

from gpuwhy.kb.facts import SERVER, load
from gpuwhy.kb.records import replace
from gpuwhy.probes.artefacts.cleaning import numbered
from gpuwhy.probes.artefacts.contract import Line, Missing, Reading
from gpuwhy.probes.artefacts.server_counters import WINDOW
from gpuwhy.probes.artefacts.triton_log import Lifecycle, scan_lines

HEAD_BYTES = 256 << 10
TAIL_BYTES = 2 << 20
NEW_BYTES = 8 << 20
_NOW = ("serve.load_count", "serve.unload_count", "serve.reload_count")
"""Of these only what happens while it is watched counts: every server loads its models once."""


class Follower:
    """Remembers where a log ended when the watch began."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reason = ""
        self.end = 0
        try:
            self.end = path.stat().st_size
        except OSError as error:
            self.reason = f"{path} cannot be read: {error.strerror}"

    def readings(self) -> tuple[list[Reading], list[Missing]]:
        """Facts of the log: the state that it tells of, and what happened since the watch began."""
        try:
            before, new = self._read()
        except OSError as error:
            self.reason = f"{self.path} cannot be read: {error.strerror}"
        if self.reason:
            return [], [Missing("serve.control_mode", self.reason, entity=SERVER)]
        lifecycle = Lifecycle()
        state, _ = scan_lines(before, lifecycle)
        now, _ = scan_lines(new, Lifecycle(ready=set(lifecycle.ready), loading=dict(lifecycle.loading)))
        kept = [one for one in state if one.fact not in _NOW and one.entity.kind != "load"]
        now = [_of_window(one) for one in now]
        newer = {(one.fact, one.entity) for one in now}
        return [*(one for one in kept if (one.fact, one.entity) not in newer), *now], []

    def _read(self) -> tuple[list[Line], list[Line]]:
        if not self.path.is_file():
            raise OSError(None, "it is no file")
        with open(self.path, "rb") as file:
            size = file.seek(0, 2)
            start = self.end if size >= self.end else 0  # a rotated log begins anew
            file.seek(0)
            head = file.read(min(HEAD_BYTES, start))
            tail_at = max(len(head), start - TAIL_BYTES)
            file.seek(tail_at)
            tail = file.read(start - tail_at)
            file.seek(max(start, size - NEW_BYTES))
            new = file.read(NEW_BYTES)
        return [*numbered(head), *numbered(tail)], list(numbered(new))


def _of_window(one: Reading) -> Reading:
    """What single requests told, as facts of the load that the counters tell of."""
    if one.entity.kind != "load" or one.entity.parent is None:
        return one
    return replace(one, entity=load(WINDOW, one.entity.parent))
