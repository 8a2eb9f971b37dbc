"""What a text was found to hold, in a few lines: the formats that were recognised, and what no format knows."""

from __future__ import annotations

from collections.abc import Mapping

from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.artefacts.read import Gathered, Reader, gather
from gpuwhy.probes.artefacts.registry import all_formats
from gpuwhy.tui.report import places

MOST = 4


def understood(name: str, text: str, specs: Mapping[str, FactSpec], reader: Reader) -> tuple[str, ...]:
    """The lines to show beneath a paste, of this name; the reader need not read it again when it is taken."""
    if not text.strip():
        return ("nothing yet",)
    return told(gather([(name, text.encode())], specs, reader=reader))


def told(found: Gathered) -> tuple[str, ...]:
    """Formats found and what was not understood."""
    titles = {one.name: one.title for one in all_formats()}
    names = dict.fromkeys(titles.get(name, name) for _, name in found.formats)
    lines = [f"understood: {name}" for name in list(names)[:MOST]] or ["no known format yet"]
    lines[0] += f"  ({len(found.facts)} facts in all)" if found.facts else ""
    lines += [f"not read: {place}: {reason}" for place, reason in places(found.not_understood)[:2]]
    return tuple(lines)
