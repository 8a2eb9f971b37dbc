"""JSON documents inside a text: a response pasted after its command, pretty-printed or on one line, maybe cut off."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Text

MAX_DOCUMENTS = 50
MAX_CHARACTERS = 4 << 20


@dataclass(frozen=True)
class Found:
    """A JSON object, and the numbers of the lines it stands on. `value` is None where it is cut off or damaged."""

    value: dict[str, object] | None
    first: int
    last: int


def objects(text: Text, marks: tuple[str, ...]) -> Iterator[Found]:
    """The outermost JSON objects that hold one of these literals, in order; other objects are stepped over."""
    if not text.lines:
        return
    whole = "\n".join(line.text for line in text.lines)[:MAX_CHARACTERS]
    starts: list[int] = []
    at = 0
    for line in text.lines:
        starts.append(at)
        at += len(line.text) + 1
    decoder = json.JSONDecoder()
    position = tried = 0
    while tried < MAX_DOCUMENTS:
        mark = min((found for found in (whole.find(one, position) for one in marks) if found >= 0), default=-1)
        if mark < 0:
            return
        begin = _outermost(whole, position, mark)
        if begin < 0:
            position = mark + 1
            continue
        tried += 1
        try:
            value, end = decoder.raw_decode(whole, begin)
        except (ValueError, RecursionError):
            value, end = None, whole.find("\n", mark) if whole.find("\n", mark) >= 0 else len(whole)
        first, last = _line(starts, begin), _line(starts, max(begin, end - 1))
        found = value if isinstance(value, dict) else None
        yield Found(found, text.lines[first].number, text.lines[last].number)
        position = max(end, mark + 1)


def _outermost(whole: str, position: int, mark: int) -> int:
    """Where the object that holds a mark begins: the first brace after the last line that holds none of it."""
    begin = whole.rfind("\n{", position, mark)
    return whole.find("{", position if begin < 0 else begin, mark)


def _line(starts: list[int], position: int) -> int:
    return max(0, bisect_right(starts, position) - 1)
