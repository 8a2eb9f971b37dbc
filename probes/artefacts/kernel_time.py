"""Times at the beginning of lines of a kernel log, in the forms of dmesg, journald, syslog and /dev/kmsg."""

from __future__ import annotations

import re
from datetime import datetime

from gpuwhy.kb.records import dataclass

_SINCE_START = re.compile(r"\[\s{0,8}(\d{1,9}\.\d{1,6})\]")
_KMSG = re.compile(r"^\s{0,4}\d{1,3},\d{1,12},(\d{1,16}),")
_WALL = re.compile(r"\[?([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\]?")
_SYSLOG = re.compile(r"^\s{0,4}([A-Za-z]{3,9}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d)\b")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class Stamp:
    """When a line was logged, in seconds on a clock of its kind; only stamps of one kind can be compared."""

    kind: str
    seconds: float
    printed: str


def stamp(line: str) -> Stamp | None:
    """The time at the beginning of a line; of two the calendar's, which goes on when the machine restarts."""
    head = line[:90]
    kmsg = _KMSG.match(head)
    if kmsg:
        return Stamp("start", int(kmsg[1]) / 1e6, kmsg[1])
    calendar = _calendar(head)
    if calendar:
        return calendar
    since = _SINCE_START.search(head)
    return Stamp("start", float(since[1]), since[1]) if since else None


def _calendar(head: str) -> Stamp | None:
    wall = _WALL.search(head)
    if wall:
        return _parsed("wall", "%a %b %d %H:%M:%S %Y", " ".join(wall[1].split()))
    iso = _ISO.search(head)
    if iso:
        base = _parsed("iso", "%Y-%m-%d %H:%M:%S", f"{iso[1]} {iso[2]}")
        fraction = float(f"0.{iso[3]}") if iso[3] else 0.0
        return base and Stamp("iso", base.seconds + fraction, base.printed)
    syslog = _SYSLOG.match(head)
    if syslog and syslog[1][:3].lower() in _MONTHS:
        month = _MONTHS.index(syslog[1][:3].lower()) + 1
        return _parsed("syslog", "%Y %m %d %H:%M:%S", f"2000 {month} {syslog[2]} {syslog[3]}")
    return None


def _parsed(kind: str, pattern: str, text: str) -> Stamp | None:
    try:
        moment = datetime.strptime(text, pattern)
    except ValueError:
        return None
    return Stamp(kind, (moment - datetime(1970, 1, 1)).total_seconds(), text)
