"""Nsight Systems SQLite exports (`nsys export --type sqlite`), plain or compressed: step facts as from a trace."""

from __future__ import annotations

import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from lzma import LZMAError
from pathlib import Path

from gpuwhy.kb.facts import HOST, gpu
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Reading, Trouble
from gpuwhy.probes.artefacts.kineto_stream import open_bytes
from gpuwhy.probes.artefacts.timeline import COPY, FILL, KERNEL, Timeline
from gpuwhy.probes.artefacts.timeline_facts import readings_of

_MAGIC = b"SQLite format 3\x00"
_SIZE_LIMIT = 8 << 30
_ROWS_LIMIT = 20_000_000
_OPCODES_PER_CHECK = 100_000
_CHECKS_LIMIT = 100_000
_NANOSECONDS = 1e-3
"""Nanoseconds in microseconds, the unit of a timeline."""
_COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "HtoD unified", 12: "DtoH unified"}
_MEMORY_KINDS = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed"}
_HOST_WAITS = (1, 3, 4)
"""CUPTI synchronisation types of the host: event, stream and context; a stream that waits for an event (2) is none."""
_STRING_LIMIT = 400


class _Export:
    """One open export. Every read is bounded, since the file may hold anything."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.checks = 0
        connection.set_progress_handler(self._tick, _OPCODES_PER_CHECK)
        connection.execute("PRAGMA trusted_schema = OFF")
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 2000")
        self.tables = {str(name) for (name,) in found}
        self.strings: dict[object, str] = {}

    def _tick(self) -> int:
        self.checks += 1
        return int(self.checks > _CHECKS_LIMIT)

    def columns(self, table: str) -> set[str]:
        """The columns of a table; none where there is no such table."""
        if table not in self.tables:
            return set()
        return {str(row[1]) for row in self.connection.execute(f"PRAGMA table_info({table})")}

    def rows(self, table: str, *columns: str) -> Iterator[tuple[object, ...]]:
        """The rows of a table with these columns; a column that this version of the export lacks gives None."""
        known = self.columns(table)
        if not known:
            return iter(())
        listed = ", ".join(f'"{column}"' if column in known else "NULL" for column in columns)
        return iter(self.connection.execute(f"SELECT {listed} FROM {table} LIMIT {_ROWS_LIMIT}"))

    def load_strings(self) -> None:
        """Reads the table of names."""
        for key, value in self.rows("StringIds", "id", "value"):
            self.strings[key] = str(value)[:_STRING_LIMIT]


def _whole(value: object, missing: int = -1) -> int:
    return value if isinstance(value, int) and abs(value) < 1 << 62 else missing


def _span(start: object, end: object, base: int) -> tuple[float, float] | None:
    if not isinstance(start, int) or not isinstance(end, int) or end < start:
        return None
    return (start - base) * _NANOSECONDS, (end - base) * _NANOSECONDS


def _base(export: _Export) -> int:
    starts = [
        row[0]
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY")
        if "start" in export.columns(table)
        for row in export.connection.execute(f"SELECT min(start) FROM {table}")
    ]
    return min((start for start in starts if isinstance(start, int)), default=0)


def _load(export: _Export) -> Timeline:
    timeline, base = Timeline(), _base(export)
    export.load_strings()
    _load_kernels(export, timeline, base)
    _load_copies(export, timeline, base)
    for start, end, name, correlation in export.rows(
        "CUPTI_ACTIVITY_KIND_RUNTIME", "start", "end", "nameId", "correlationId"
    ):
        span = _span(start, end, base)
        if span is not None:
            timeline.calls.add(span, timeline.names.number(export.strings.get(name, "?")), _whole(correlation))
    for start, end, kind in export.rows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start", "end", "syncType"):
        span = _span(start, end, base)
        if span is not None and kind in _HOST_WAITS:
            timeline.waits.add(span, 0)
    _load_ranges(export, timeline, base)
    return timeline


def _load_kernels(export: _Export, timeline: Timeline, base: int) -> None:
    multiprocessors = {row[0]: row[1] for row in export.rows("TARGET_INFO_GPU", "id", "smCount")}
    columns = ("start", "end", "deviceId", "demangledName", "shortName", "correlationId", "gridX", "gridY", "gridZ")
    for row in export.rows("CUPTI_ACTIVITY_KIND_KERNEL", *columns):
        span = _span(row[0], row[1], base)
        if span is None:
            continue
        name = export.strings.get(row[3]) or export.strings.get(row[4]) or "?"
        count = _whole(multiprocessors.get(row[2]), 0)
        blocks = _whole(row[6], 0) * _whole(row[7], 0) * _whole(row[8], 0)
        timeline.activity.add(
            KERNEL,
            _whole(row[2]) if _whole(row[2]) < 1 << 20 else -1,
            span,
            timeline.names.number(name),
            _whole(row[5]),
            blocks_per_sm=min(blocks / count, 1e30) if count > 0 and blocks > 0 else -1.0,
        )
    for start, end, device, correlation in export.rows(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start", "end", "deviceId", "correlationId"
    ):
        span = _span(start, end, base)
        if span is not None and _whole(device) < 1 << 20:
            number = timeline.names.number("CUDA graph")
            timeline.activity.add(KERNEL, _whole(device), span, number, _whole(correlation))


def _load_copies(export: _Export, timeline: Timeline, base: int) -> None:
    columns = ("start", "end", "deviceId", "correlationId", "bytes", "copyKind", "srcKind", "dstKind")
    for row in export.rows("CUPTI_ACTIVITY_KIND_MEMCPY", *columns):
        span = _span(row[0], row[1], base)
        if span is None or _whole(row[2]) >= 1 << 20:
            continue
        ends = " -> ".join(_MEMORY_KINDS.get(_whole(kind), "Unknown") for kind in row[6:8])
        name = f"Memcpy {_COPY_KINDS.get(_whole(row[5]), 'Unknown')} ({ends})"
        number = timeline.names.number(name)
        timeline.activity.add(COPY, _whole(row[2]), span, number, _whole(row[3]), float(_whole(row[4])))
    for start, end, device, correlation in export.rows(
        "CUPTI_ACTIVITY_KIND_MEMSET", "start", "end", "deviceId", "correlationId"
    ):
        span = _span(start, end, base)
        if span is not None and _whole(device) < 1 << 20:
            timeline.activity.add(FILL, _whole(device), span, timeline.names.number("Memset"), _whole(correlation))


def _load_ranges(export: _Export, timeline: Timeline, base: int) -> None:
    """Ranges that the framework annotated: operators, steps, fetches of a batch, optimizer steps."""
    for start, end, text, text_id, thread in export.rows("NVTX_EVENTS", "start", "end", "text", "textId", "globalTid"):
        name = text if isinstance(text, str) else export.strings.get(text_id, "")
        span = _span(start, end, base)
        if span is None:
            continue
        on = _whole(thread) & 0xFFFFFF
        if name.startswith("aten::"):
            timeline.operators.add(span, on)
        elif name.startswith("ProfilerStep"):
            timeline.steps.add(span, on)
        elif name.startswith("Optimizer.step"):
            timeline.optimizers.add(span, on)
        elif "enumerate(DataLoader)" in name:
            timeline.fetches.add(span, on)
            timeline.in_main_process = "_SingleProcess" in name


def _machine_readings(export: _Export) -> Iterator[Reading]:
    for key, name, memory in export.rows("TARGET_INFO_GPU", "id", "name", "totalMemory"):
        if isinstance(name, str) and 0 <= _whole(key) < 1 << 20:
            yield Reading("gpu.name", name[:200], entity=gpu(_whole(key)))
        if _whole(memory) > 0 and 0 <= _whole(key) < 1 << 20:
            yield Reading("gpu.memory_total_bytes", float(_whole(memory)), entity=gpu(_whole(key)))
    for name, value in export.rows("TARGET_INFO_SYSTEM_ENV", "name", "value"):
        text = str(value)[:200]
        if name == "NvDriverVersion" and text:
            yield Reading("host.driver_version", text, entity=HOST)
        elif name == "CpuCores" and text.isdecimal() and len(text) < 7:
            yield Reading("host.cpu_count", int(text), entity=HOST)


def accepts(start: bytes, name: str) -> bool:
    """True for the start of an SQLite file that names CUPTI or NVTX tables, or that is called `.sqlite`."""
    return start.startswith(_MAGIC) and (b"CUPTI_" in start or b"NVTX_" in start or ".sqlite" in name)


def read(source: Path | bytes, name: str) -> Extract:
    """The step facts of an export. The file is opened read-only; compressed ones go through a temporary file."""
    try:
        if isinstance(source, Path) and _is_plain(source):
            return _read_file(source, name)
        with tempfile.NamedTemporaryFile(suffix=".sqlite") as copy:
            with open_bytes(source) as plain:
                size = 0
                while piece := plain.read(1 << 20):
                    size += len(piece)
                    if size > _SIZE_LIMIT:
                        return _failed("the export is larger than this program unpacks")
                    copy.write(piece)
            copy.flush()
            return _read_file(Path(copy.name), name)
    except (OSError, EOFError, zlib.error, LZMAError) as error:
        return _failed(f"cannot be read: {error}")


def _is_plain(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _failed(message: str) -> Extract:
    return Extract("nsys-sqlite", troubles=(Trouble(None, message),))


def _read_file(path: Path, name: str) -> Extract:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            export = _Export(connection)
            if not any(table.startswith(("CUPTI_", "NVTX_")) for table in export.tables):
                return _failed(f"{name} is an SQLite file without tables of Nsight Systems")
            readings, missing = readings_of(_load(export))
            return Extract("nsys-sqlite", (*readings, *_machine_readings(export)), tuple(missing))
    except (sqlite3.Error, ValueError) as error:
        return _failed(f"cannot be read as SQLite: {error}")


FORMAT = FileFormat("nsys-sqlite", "Nsight Systems SQLite export", accepts, read)
