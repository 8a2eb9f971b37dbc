"""Starts the application, where there is a terminal to start it in."""

from __future__ import annotations

import platform
from pathlib import Path

from gpuwhy import __version__
from gpuwhy.tui.incident.events import Added, Event, Started
from gpuwhy.tui.rules_option import knowledge

DEMO = Path(__file__).resolve().parent / "demo"


def run(resume: str | None = None, demo: bool = False, rules: Path | None = None) -> None:
    """Open the application; with an incident to take up again, or with a recorded one."""
    from gpuwhy.tui.app.app import GpuwhyApp

    kb = knowledge(rules)
    headline = f"gpuwhy {__version__}   {platform.node()}   rules {kb.version} ({kb.digest[:4]})"
    GpuwhyApp(kb, headline, resume, demo_events() if demo else ()).run()


def demo_events() -> tuple[Event, ...]:
    """The recorded incident."""
    added = [Added(path.name, path.read_text("utf-8")) for path in sorted(DEMO.glob("*.txt"))]
    return (Started("oom", __version__), *added)
