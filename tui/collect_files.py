"""The files of `gpuwhy collect`: facts of a host, or why there are none."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.remote_hosts import file_stem

if TYPE_CHECKING:
    from gpuwhy.probes.ssh_collect import Outcome

FAILURE_FORMAT = "gpuwhy-collect-failure"
FAILURE_VERSION = 1


@dataclass(frozen=True)
class Folder:
    """A folder with `HOST.facts.json` for each host that was collected, and `HOST.failed.json` for each other one."""

    path: Path

    def facts(self, host: str) -> Path:
        """The facts file of a host."""
        return self.path / f"{file_stem(host)}.facts.json"

    def failure(self, host: str) -> Path:
        """The file that says why a host was not collected."""
        return self.path / f"{file_stem(host)}.failed.json"

    def is_fresh(self, host: str, seconds: float) -> bool:
        """True if there are facts of a host, younger than so many seconds, that can be read."""
        from gpuwhy.kb.fact_file import FactFileError, parse

        path = self.facts(host)
        try:
            return 0 <= time.time() - path.stat().st_mtime < seconds and bool(parse(path.read_text("utf-8")).facts)
        except (OSError, UnicodeDecodeError, FactFileError):
            return False

    def write(self, one: Outcome) -> None:
        """Writes what became of a host. Older facts of a host that fails now stay, and its failure says so."""
        from gpuwhy.kb.fact_file import dump

        if one.found is None:
            _replace(self.failure(one.host), json.dumps(self._failed(one), indent=2) + "\n")
        else:
            _replace(self.facts(one.host), dump(one.found.facts, one.found.absent))
            self.failure(one.host).unlink(missing_ok=True)

    def _failed(self, one: Outcome) -> dict[str, Any]:
        older = self.facts(one.host)
        assert one.reason is not None
        return {
            "format": FAILURE_FORMAT,
            "schema": FAILURE_VERSION,
            "host": one.host,
            "reason": one.reason.value,
            "says": one.reason.says,
            "detail": one.detail,
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "seconds": round(one.seconds, 3),
            "older_facts": older.name if older.exists() else None,
        }


def _replace(path: Path, text: str) -> None:
    """Writes a file in one step, for its owner alone."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
