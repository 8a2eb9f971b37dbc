"""Tables of ad-hoc benchmarks: Markdown, bars, commas or aligned columns, with a header row that names the columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from gpuwhy.probes.artefacts.contract import Line
from gpuwhy.probes.artefacts.labelled_lines import Kind, Labelled, in_unit, unit_of_label
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_number

_RULER = re.compile(r"^[\s|:=+-]{3,400}$")
_CELL = re.compile(rf"^[~≈]?([-+]?{NUMBER})\s?([A-Za-zµ%×°/]{{0,16}})$")
_WHOLE_UNIT = re.compile(r"(?i)^(?:seconds?|secs?|s|ms|us|µs|ns|minutes?|bytes|[KMGT]i?B|[KMGT]i?B/s|%)$")
_MOST_ROWS = 200

Split = Callable[[str], list[str]]


def _by_bar(text: str) -> list[str]:
    cells = [cell.strip().strip("*`").strip() for cell in text.strip().removeprefix("> ").strip().split("|")]
    if cells and not cells[0]:
        cells = cells[1:]
    return cells[:-1] if cells and not cells[-1] else cells


def _by_comma(text: str) -> list[str]:
    return [cell.strip().strip('"') for cell in text.split(",")]


def _by_gap(text: str) -> list[str]:
    return re.split(r"\s{2,}|\t", text.strip())


_STYLES: tuple[tuple[str, Split, int], ...] = (("|", _by_bar, 2), (",", _by_comma, 3), ("  ", _by_gap, 3))


def read_tables(lines: Sequence[Line]) -> Iterator[tuple[list[Labelled], set[int]]]:
    """For each table the numbers under row and column names, and the numbers of its lines (header and ruler too)."""
    index = 0
    while index < len(lines):
        for mark, split, least in _STYLES:
            if mark in lines[index].text:
                found = _table_at(lines, index, split, least)
                if found is not None:
                    entries, claimed = found
                    yield entries, claimed
                    index += len(claimed) - 1
                    break
        index += 1


def _table_at(lines: Sequence[Line], start: int, split: Split, least: int) -> tuple[list[Labelled], set[int]] | None:
    header = split(lines[start].text)
    if len(header) < least or not _is_header(header):
        return None
    claimed, entries = {lines[start].number}, list[Labelled]()
    rows = 0
    for before, line in zip(lines[start:], lines[start + 1 : start + 1 + _MOST_ROWS], strict=False):
        if line.number > before.number + 1:
            break
        if _RULER.match(line.text) and line.text.strip():
            claimed.add(line.number)
            continue
        cells = split(line.text)
        found = list(_row(header, cells, line)) if len(cells) == _columns(header, cells, split) else []
        if not found:
            break
        rows += 1
        entries.extend(found)
        claimed.add(line.number)
    return (entries, claimed) if rows >= (1 if split is _by_bar else 2) else None


def _columns(header: Sequence[str], cells: Sequence[str], split: Split) -> int:
    """Cells that a row must have; a remark may follow the last column of a header between bars."""
    extra = split is _by_bar and len(header) == len(cells) + 1 and header[-1].startswith("(")
    return len(header) - 1 if extra else len(header)


def _is_header(cells: Sequence[str]) -> bool:
    named = [cell for cell in cells if cell]
    if len(named) < len(cells) - 1 or any(len(cell) > 60 for cell in named):
        return False
    return all(any(map(str.isalpha, cell)) and not _CELL.match(cell) for cell in named)


def _row(header: Sequence[str], cells: Sequence[str], line: Line) -> Iterator[Labelled]:
    """The numbers of a row under the names of their columns; the row's name is its leading text, or its first cell."""
    texts = [cell for cell in cells if cell and not _CELL.match(cell)]
    name = " ".join(texts[:3]) if texts else f"{header[0]} {cells[0]}".strip()
    for column, cell in zip(header, cells, strict=False):
        found = _CELL.match(cell)
        value = parse_number(found[1]) if found else None
        if found is None or value is None or (not texts and cell is cells[0] and len(cells) > 2):
            continue
        kind, scaled = _scaled(column, value, found[2])
        yield Labelled(name[:80], column, scaled, kind, found[2], line)


def _scaled(column: str, value: float, unit: str) -> tuple[Kind, float]:
    unit = unit or (column if _WHOLE_UNIT.match(column) else "")
    if unit.lower() in ("x", "×"):
        return Kind.RATIO, value
    if unit == "%":
        return Kind.SHARE, value / 100.0
    if unit:
        for kind in (Kind.SECONDS, Kind.BYTES):
            scaled = in_unit(kind, abs(value), unit)
            if scaled is not None:
                actual = Kind.BYTE_RATE if kind is Kind.BYTES and "/s" in unit else kind
                return actual, scaled if value >= 0 else -scaled
        return Kind.RATE if "/s" in unit else Kind.VALUE, value
    return unit_of_label(value, column)
