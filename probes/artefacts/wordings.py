"""How a failure is worded: a pattern with named groups, each group standing for one fact, and whose failure it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpuwhy.kb.facts import Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern
from gpuwhy.probes.artefacts.quantities import SIZE, parse_number, parse_size

_W = r"\s{1,20}"
_PLACE = re.compile(r"(?<!\?P)<([a-z_]{1,20})>")
_UNTIL_BYTES = r"[0-9]{1,20}(?![0-9.,]?[0-9])"


def _whole(text: str) -> int | None:
    value = parse_number(text)
    return None if value is None else int(value)


GROUPS: Mapping[str, tuple[str, Callable[[str], Value | None]]] = {
    "request": ("oom.request_bytes", parse_size),
    "rounded": ("oom.request_rounded_bytes", parse_size),
    "free_gib": ("oom.free_bytes", lambda printed: parse_size(f"{printed} GiB")),
    "capacity": ("oom.capacity_bytes", parse_size),
    "free": ("oom.free_bytes", parse_size),
    "allocated": ("oom.allocated_bytes", parse_size),
    "reserved": ("oom.reserved_bytes", parse_size),
    "allowed": ("oom.allowed_bytes", parse_size),
    "peak": ("oom.allocated_peak_bytes", parse_size),
    "largest": ("oom.largest_free_block_bytes", parse_size),
    "device": ("oom.device_index", _whole),
    "code": ("oom.error_code", _whole),
    "source_line": ("oom.source_line", _whole),
    "shape": ("oom.tensor_shape", str),
    "dtype": ("oom.tensor_type", str),
    "count": ("oom.allocation_count", _whole),
    "status": ("oom.library_status", str),
}
"""What each named group of a wording means: the fact, and how the printed text becomes its value."""

_SIZES = tuple(name for name, (_, read) in GROUPS.items() if read is parse_size)


@dataclass(frozen=True)
class Wording:
    """One wording of a failure. `facts` hold whenever it is found; `detail` adds to a failure near by, or stands alone.

    A `detail` is a line that belongs to a longer report (allocator statistics), not the failure message itself.
    """

    allocator: str
    pattern: LazyPattern
    facts: Mapping[str, Value] = field(default_factory=dict)
    detail: bool = False


def _group(place: re.Match[str]) -> str:
    name = place.group(1)
    inner = rf"(?:{SIZE}|{_UNTIL_BYTES})" if name in _SIZES else r"[0-9]{1,9}"
    return rf"(?P<{name}>{inner})" if name in GROUPS else place.group(0)


def _name_only(place: re.Match[str]) -> str:
    return "." if place.group(1) in GROUPS else place.group(0)


def wording(allocator: str, pattern: str, /, *, detail: bool = False, **facts: Value) -> Wording:
    """A wording from a readable pattern: a space stands for any white space, `<request>` for a group of `GROUPS`.

    Keyword arguments are facts without their `oom.` prefix.
    """
    text = _PLACE.sub(_group, pattern.replace(" ", _W))
    return Wording(
        allocator,
        LazyPattern(text, _PLACE.sub(_name_only, pattern)),
        {f"oom.{name}": value for name, value in facts.items()},
        detail,
    )


def facts_of(match: re.Match[str]) -> dict[str, Value]:
    """The facts in the named groups of a match; a group that cannot be read is left out."""
    found: dict[str, Value] = {}
    for name, printed in match.groupdict().items():
        if printed is None:
            continue
        fact, read = GROUPS[name]
        value = read(printed.strip())
        if value is not None:
            found[fact] = value
    return found
