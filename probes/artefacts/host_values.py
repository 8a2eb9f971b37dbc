"""Shared by the readers of host tools: numbers in any locale, sizes with one-letter units, rows under a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import HOST, Entity, Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Line, Reading
from gpuwhy.probes.artefacts.quantities import parse_number

_SIZE = re.compile(r"^([0-9][0-9.,]{0,20})\s?([KMGTPkmgtp]?)(i?)[Bb]?$")
_EXPONENT = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def host_number(text: str, *, comma_is_point: bool = False) -> float | None:
    """The number, with a decimal point or a decimal comma (`50.6`, `50,6`, `1,234.5`); None if it is none.

    `1,234` is read as thousands unless `comma_is_point`: for kinds of value that never come in thousands.
    """
    stripped = text.strip().rstrip("%+")
    if stripped.count(",") == 1 and "." not in stripped:
        whole, _, fraction = stripped.partition(",")
        if comma_is_point or len(fraction) != 3 or len(whole) > 3 or whole in ("0", ""):
            return parse_number(f"{whole}.{fraction}")
    return parse_number(stripped)


def binary_size(text: str, unit_bytes: float = 1.0) -> float | None:
    """Bytes of a size whose suffix, if any, is a power of 1024 (`883M`, `23Gi`); a bare number is in `unit_bytes`."""
    found = _SIZE.match(text.strip().rstrip("+"))
    if found is None:
        return None
    suffix = found[2].lower()
    value = host_number(found[1], comma_is_point=bool(suffix))
    if value is None:
        return None
    return value * (1024.0 ** _EXPONENT[suffix] if suffix else unit_bytes)


def percent(text: str) -> float | None:
    """A share of 1 from a percentage, with or without the sign."""
    value = host_number(text, comma_is_point=True)
    return None if value is None else value / 100.0


def host_reading(fact: str, value: Value | None, line: Line, entity: Entity = HOST) -> Iterator[Reading]:
    """The reading as an iterator of one, or of none where there is no value."""
    if value is not None:
        yield Reading(fact, value, line.number, line.text.strip()[:200], entity)


@dataclass(frozen=True)
class HeadedRow:
    """A row of a table split at blanks, by the lower-case words of its header; the last column takes the rest."""

    line: Line
    cells: dict[str, str]

    def number(self, *names: str) -> float | None:
        """The number in the first of these columns that the table has."""
        return next((host_number(self.cells[name]) for name in names if name in self.cells), None)

    def share(self, *names: str) -> float | None:
        """The percentage in the first of these columns that the table has, as a share of 1."""
        return next((percent(self.cells[name]) for name in names if name in self.cells), None)


def headed_row(header: Sequence[str], line: Line, *, open_ended: bool = False) -> HeadedRow | None:
    """The row under this header; None unless it has a cell for every column."""
    parts = line.text.split(None, len(header) - 1) if open_ended else line.text.split()
    if len(parts) != len(header):
        return None
    return HeadedRow(line, dict(zip(header, parts, strict=True)))


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of those that are known; None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
