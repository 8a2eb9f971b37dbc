"""Python tracebacks: the frames are claimed, and the exception at the end says how the job ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import JOB
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

_PREFIX = r"^(?:\[?rank\s?\d{1,5}\]?:?\s?:?|\(\w{1,40} pid=\d{1,9}[^)]{0,60}\)\s?|> )?\s*"
_START = "Traceback (most recent call last):"
_FRAME = later(_PREFIX + r'File "[^"\n]{1,400}", line [0-9]{1,7}(?:, in .{1,200})?$')
_EXCEPTION = later(
    _PREFIX + r"(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{1,60}(?:Error|Exception|Interrupt|Exit|Warning|Timeout))"
    r"(?:: (?P<message>.{0,2000}))?$"
)
_CHAINED = later(r"During handling of the above exception|The above exception was the direct cause")
_MARKS = later(r"^[\s~^|]+$")
LONGEST_CODE = 40
"""Lines after a frame that may still belong to the traceback before its exception must have come."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract for all tracebacks; the type and message are those of the last exception of the text.

    An exception line without a traceback in front of it counts too: reports quote only that.
    """
    claimed: set[int] = set()
    last: tuple[str, str, Line] | None = None
    inside = 0
    for index, line in enumerate(text.lines):
        if _START in line.text:
            inside = LONGEST_CODE
            claimed.add(line.number)
            continue
        if _is_frame(line):
            inside = LONGEST_CODE
            claimed |= {line.number, *_code(text.lines[index + 1 : index + 3])}
            continue
        found = _EXCEPTION.match(line.text) if len(line.text) < 4000 else None
        if found and (inside or not found["type"].endswith("Warning")):
            last = found["type"], (found["message"] or "").strip(), line
            claimed.add(line.number)
            inside = 0
        elif inside and _CHAINED.search(line.text):
            claimed.add(line.number)
        else:
            inside = max(0, inside - 1)
    if last is not None:
        yield Extract("python-traceback", tuple(_readings(*last)), claimed=frozenset(claimed))
    elif claimed:
        yield Extract("python-traceback", claimed=frozenset(claimed))


def _is_frame(line: Line) -> bool:
    return 'File "' in line.text and _FRAME.match(line.text) is not None


def _code(lines: Sequence[Line]) -> Iterator[int]:
    """Numbers of the source line under a frame and of the marks beneath it."""
    for index, line in enumerate(lines):
        if _is_frame(line) or _EXCEPTION.match(line.text):
            return
        if (index == 0 and line.text[:1] in (" ", "\t", "[", "(", ">")) or _MARKS.match(line.text):
            yield line.number


def _readings(kind: str, message: str, line: Line) -> Iterator[Reading]:
    yield Reading("job.exception_type", kind, line.number, line.text.strip()[:200], JOB)
    if message:
        yield Reading("job.exception_message", message[:400], line.number, line.text.strip()[:200], JOB)


FORMAT = TextFormat(
    name="python-traceback",
    title="Python traceback",
    hints=("traceback (most recent call last)", ", line ", "error: ", "exception: ", "keyboardinterrupt", "error\n"),
    scan=scan,
)
