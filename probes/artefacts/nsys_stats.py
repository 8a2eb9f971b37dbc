"""Reports of `nsys stats` and `nsys profile --stats=true`: kernel, API, copy and OS runtime summaries, text or CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.kernels import is_device_copy_row
from gpuwhy.probes.artefacts.profile_rows import (
    CALLS,
    COPIES,
    KERNELS,
    OTHER,
    ProfileRow,
    row_readings,
    summary_readings,
)
from gpuwhy.probes.artefacts.quantities import parse_number

_LABEL = re.compile(
    r"(?<![A-Za-z])(?P<label>Time|Total Time|Total|Instances|Num Calls|Count|Operations|Average|Avg|Minimum|Min|Maximum"
    r"|Max|Median|Med|StdDev|Range|Operation|Name|Style|Category)\s?(?:\((?P<unit>%|ns|us|µs|ms|s|sec|nsec|MB|KB|KiB|MiB|GB|bytes)\))?(?=\s|,|\||\"|$)"
)
_RULER = re.compile(r"^[\s>|]{0,20}-{3,}[-\s|:]{0,2000}$")
_TITLE = re.compile(
    r"\((?P<report>cuda_gpu_kern_sum|cuda_gpu_sum|cuda_kern_exec_sum|gpukernsum|cuda_api_sum|cudaapisum"
    r"|cuda_gpu_mem_time_sum|gpumemtimesum|cuda_gpu_mem_size_sum|gpumemsizesum|osrt_sum|osrtsum"
    r"|nvtx_sum|nvtxsum|nvtx_pushpop_sum|nvtxppsum)[^)]{0,80}\)"
    r"|(?P<old>CUDA Kernel Statistics|CUDA API Statistics|CUDA Memory Operation Statistics"
    r"|Operating System Runtime API Statistics|NVTX (?:Push-Pop )?Range Statistics)"
)
_SECONDS = {"ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}
_SIZES = {"bytes": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2}
_NUMBER = r"[0-9][0-9,]{0,24}(?:\.[0-9]{0,9})?"
_VALUES = re.compile(rf"^[\s>|]{{0,40}}({_NUMBER}(?:[\s|]{{1,60}}{_NUMBER}){{2,10}})[\s|]{{1,60}}(\S[^\n]{{0,4000}})$")
_NAME_COLUMN = re.compile(r"(?i)\b(?:name|function|operation|kernel|api call|range)s?\b")
_API = re.compile(r"^(?:cuda|cu|hip)[A-Z]")


@dataclass
class _Section:
    """One summary: the columns with their units in order, and what its rows are."""

    columns: list[tuple[str, str]]
    kind: str
    comma: bool
    name: int = -1
    bars: bool = False


@dataclass
class _Found:
    rows: list[ProfileRow] = field(default_factory=list)
    sizes: list[Reading] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    title: str = ""
    section: _Section | None = None


def scan(text: Text) -> Iterable[Extract]:
    """One extract for all reports of a text: their rows, and the step facts of the kernel, copy and API summaries."""
    found = _Found()
    for line in text.lines:
        _take(line, found)
    if found.rows or found.sizes:
        readings = [*row_readings(found.rows), *found.sizes, *summary_readings(found.rows)]
        yield Extract("nsys-stats", tuple(readings), claimed=frozenset(found.claimed))


def _take(line: Line, found: _Found) -> None:
    title = _TITLE.search(line.text)
    section = _header(line.text, found.title)
    if section is not None:
        found.section = section
        found.claimed.add(line.number)
    elif title is not None:
        found.title, found.section = (title["report"] or title["old"]).lower(), None
        found.claimed.add(line.number)
    elif found.section is not None and not _take_row(line, found, found.section) and _ends(line.text):
        found.section = None


def _ends(text: str) -> bool:
    return bool(text.strip()) and _RULER.match(text) is None


def _header(text: str, title: str) -> _Section | None:
    """The section that a header line opens: it has a share, a time or size with its unit, and a name."""
    if len(text) > 1000 or "(" not in text:
        return None
    if text.count("|") >= 4:
        return _bar_header(text, title)
    columns = [(match["label"], match["unit"] or "") for match in _LABEL.finditer(text)]
    labels = [label for label, _ in columns]
    if len(columns) < 4 or labels[-1] not in ("Name", "Operation", "Range", "Operations", "Style"):
        return None
    if not any(unit in _SECONDS or unit in _SIZES for _, unit in columns):
        return None
    return _Section(columns, _kind(labels, title), text.count(",") >= len(columns) - 1)


def _bar_header(text: str, title: str) -> _Section | None:
    """The section that a header between bars opens: people set the reports as tables, with the name in front."""
    cells = _bar_cells(text)
    columns = [_bar_column(cell) for cell in cells]
    names = [at for at, cell in enumerate(cells) if _NAME_COLUMN.search(cell) and not columns[at][1]]
    labels = [label for label, _ in columns]
    if not names or "Total Time" not in labels or not any(unit in _SECONDS for _, unit in columns):
        return None
    return _Section(columns, _kind(labels, f"{title} {cells[names[0]].lower()}".strip()), False, names[0], True)


def _bar_column(cell: str) -> tuple[str, str]:
    match = _LABEL.search(cell.replace("Avg Time", "Avg").replace("Average Time", "Average"))
    return (match["label"], match["unit"] or "") if match else ("", "")


def _bar_cells(text: str) -> list[str]:
    return [cell.strip().strip("`*").strip() for cell in text.strip().removeprefix(">").strip().strip("|").split("|")]


def _kind(labels: Sequence[str], title: str) -> str:
    if "kern" in title or title == "cuda_gpu_sum":
        return KERNELS
    if "cuda_api" in title or "cudaapi" in title or title == "cuda api statistics" or title.endswith("api function"):
        return CALLS
    if "mem" in title:
        return COPIES
    if "osrt" in title or "nvtx" in title or title.startswith("operating"):
        return OTHER
    if "Instances" in labels and labels[-1] == "Name":
        return KERNELS
    return COPIES if labels[-1] in ("Operation", "Operations") else ""


def _take_row(line: Line, found: _Found, section: _Section) -> bool:
    cells = _row_cells(line.text, section)
    if cells is None:
        return False
    values: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for (label, unit), cell in zip(section.columns, cells, strict=False):
        number = None if cell is cells[section.name] else parse_number(cell.removesuffix("%"))
        if number is None or not label:
            continue
        if unit in _SIZES:
            sizes[label] = number * _SIZES[unit]
        else:
            values["Share" if unit == "%" or label == "Time" else label] = number * _unit(label, unit)
    name = cells[section.name].strip()
    found.claimed.add(line.number)
    text = line.text.strip()[:200]
    if sizes:
        found.sizes += [
            Reading(
                "reading.bytes", size, line.number, text, Entity("measurement", f"{name[:160]}: {label.lower()}", JOB)
            )
            for label, size in sizes.items()
        ]
        return True
    found.rows.append(_row(line.number, text, name, values, section.kind))
    return True


def _unit(label: str, unit: str) -> float:
    """Factor to seconds or to a share of 1. Older reports print `Average` and its like without a unit: nanoseconds."""
    if unit == "%":
        return 0.01
    if unit in _SECONDS:
        return _SECONDS[unit]
    return 1e-9 if label in ("Average", "Minimum", "Maximum", "Avg", "Min", "Max") else 1.0


def _row(line: int, text: str, name: str, values: dict[str, float], kind: str) -> ProfileRow:
    section = kind
    if not kind:
        section = CALLS if _API.match(name) else OTHER
    elif is_device_copy_row(name):
        section = COPIES
    calls = values.get("Instances", values.get("Num Calls", values.get("Count", values.get("Operations"))))
    return ProfileRow(
        line,
        text,
        section,
        name,
        values.get("Share"),
        values.get("Total Time", values.get("Total")),
        None if calls is None else int(calls),
        values.get("Avg", values.get("Average")),
        values.get("Min", values.get("Minimum")),
        values.get("Max", values.get("Maximum")),
    )


def _row_cells(text: str, section: _Section) -> list[str] | None:
    if section.bars:
        cells = _bar_cells(text) if "|" in text else []
        return cells if len(cells) == len(section.columns) and any(map(parse_number, cells)) else None
    if section.comma:
        try:
            cells = next(csv.reader([text[:8000]]), [])
        except csv.Error:
            return None
        return cells if len(cells) == len(section.columns) and parse_number(cells[0]) is not None else None
    match = _VALUES.match(text)
    if match is None:
        return None
    cells = [*re.split(r"[\s|]+", match[1]), match[2]]
    return cells if len(cells) == len(section.columns) else None


FORMAT = TextFormat(
    "nsys-stats",
    "Nsight Systems statistics",
    (
        "total time (ns)",
        "total time (",
        "cuda_gpu_kern_sum",
        "gpukernsum",
        "cuda_api_sum",
        "cudaapisum",
        "mem_time_sum",
        "gpumemtimesum",
        "mem_size_sum",
        "gpumemsizesum",
        "osrt_sum",
        "osrtsum",
        "cuda kernel statistics",
        "cuda api statistics",
    ),
    scan,
)
