"""Starts the application, where there is a terminal to start it in."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwhy import __version__
from gpuwhy.tui.incident.events import Added, Event, Started

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.tui.incident.journal import Journal

DEMO = Path(__file__).resolve().parent / "demo"


def run(resume: str | None = None, demo: bool = False, rules: Path | None = None) -> None:
    """Open the application; with an incident to take up again, or with a recorded one."""
    from gpuwhy.tui.app.app import GpuwhyApp

    title = f"gpuwhy {__version__}   {platform.node()}"
    app = GpuwhyApp(lambda: read_rules(rules), title, resume, demo_events() if demo else ())
    app.run()
    if app.session is not None and app.session.journal is not None:
        print(farewell(app.session.journal))
    if app.rules_trouble is not None:
        from gpuwhy.kb.errors import KnowledgeError
        from gpuwhy.tui.rules_option import unusable

        if isinstance(app.rules_trouble, KnowledgeError):
            unusable(app.rules_trouble)
        raise app.rules_trouble


def farewell(journal: Journal) -> str:
    """Whether the incident is kept, and how it is taken up again."""
    resume = f"gpuwhy incident resume {journal.name}"
    if not journal.trouble:
        return f"The incident is kept: {resume}"
    return f"The incident is {f'kept in part: {resume}' if journal.is_there else 'not kept'} ({journal.trouble})"


def read_rules(rules: Path | None = None) -> KnowledgeBase:
    """The rules to use: the shipped ones and those of packs. Raises `KnowledgeError` where they cannot be used."""
    from gpuwhy.kb.load import load_stack
    from gpuwhy.tui.rules_option import stack

    return load_stack(stack(rules))


def demo_events() -> tuple[Event, ...]:
    """The recorded incident."""
    added = [Added(path.name, path.read_text("utf-8")) for path in sorted(DEMO.glob("*.txt"))]
    return (Started("oom", __version__), *added)
