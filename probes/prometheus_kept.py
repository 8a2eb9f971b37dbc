"""What was read from a Prometheus server, kept in a file: a reading that was broken off goes on where it stopped.

Lines of JSON: what was asked, then a line for each host with its facts. A line that was cut off is read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuwhy.kb.fact_file import FactFileError, dump
from gpuwhy.kb.fact_file import load as load_facts
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.prometheus_fleet import HostFacts
from gpuwhy.probes.prometheus_page import Window

FORMAT = "gpuwhy-prometheus-1"


class KeptError(ValueError):
    """A file that cannot be gone on with; says why."""


@dataclass
class Kept:
    """A file of hosts read so far. `window` is the one that they were read over."""

    path: Path
    window: Window
    hosts: dict[str, HostFacts] = field(default_factory=dict)

    def add(self, one: HostFacts) -> None:
        """Writes a host. One that could not be read is not kept: it is asked for again."""
        if one.failed:
            return
        line = {"host": one.name, "stale": one.stale, "facts": dump(one.facts, one.absent)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def resume(path: Path, asked: Mapping[str, Any], over: Window) -> Kept:
    """What a file holds of an earlier reading with the same question, over its window; a new file where there is none.

    Raises `KeptError` if the file is of another question, is no such file, or cannot be written.
    """
    head = {"format": FORMAT, **asked, "start": over.start, "end": over.end, "step": over.step}
    try:
        text = path.read_text("utf-8", "replace") if path.exists() else ""
        if not text.endswith("\n"):
            text = text[: text.rfind("\n") + 1]
        lines = text.splitlines()
        if not lines:
            path.write_text(json.dumps(head) + "\n", "utf-8")
            return Kept(path, over)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise KeptError(f"{path}: {error.strerror}") from None
    return _read(path, lines, head, asked)


def _read(path: Path, lines: list[str], head: Mapping[str, Any], asked: Mapping[str, Any]) -> Kept:
    try:
        first = json.loads(lines[0])
        if not isinstance(first, dict) or first.get("format") != head["format"]:
            raise KeptError(f"{path}: no file that --resume wrote")
        other = [key for key, value in asked.items() if first.get(key) != value]
        if other:
            raise KeptError(f"{path}: of another question ({', '.join(other)}): ask the same, or name a new file")
        window = Window(*(float(first[key]) for key in ("start", "end", "step")))
        hosts = {}
        for line in lines[1:]:
            one = json.loads(line)
            facts, absent = load_facts(one["facts"])
            hosts[one["host"]] = HostFacts(one["host"], tuple(facts), tuple(absent), one["stale"])
    except (ValueError, TypeError, KeyError, RecursionError, FactFileError) as error:
        if isinstance(error, KeptError):
            raise
        raise KeptError(f"{path}: damaged ({error}); name a new file") from None
    return Kept(path, window, hosts)
