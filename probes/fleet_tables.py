"""Tables of facts: Parquet, Arrow and lines of JSON with one row for each GPU, read in portions of whole hosts."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from gpuwhy.probes.artefacts.read import UnusableInput

ROWS = 1 << 18
"""How many rows are judged at once: enough to fill the columns, few enough for a small machine."""
MOST_ROWS = 1 << 21
"""How many rows are held in memory to be sorted."""
HOST_COLUMN = "host"
LINES = (".ndjson", ".jsonl")
"""How the names of tables of JSON lines end."""


def scan(path: Path) -> Any:
    """The table as a lazy Polars frame. Raises `UnusableInput` if it is none, or has no column `host`."""
    import polars

    lowered = path.name.lower()
    try:
        if lowered.endswith(".parquet"):
            frame = polars.scan_parquet(path)
        elif lowered.endswith(LINES):
            frame = polars.scan_ndjson(_sound_lines(path)[0], infer_schema_length=10_000)
        else:
            frame = polars.scan_ipc(path)
        names = frame.collect_schema().names()
    except (polars.exceptions.PolarsError, OSError) as error:
        raise UnusableInput(path.name, f"cannot be read as a table: {_first(error)}") from None
    if HOST_COLUMN not in names:
        raise UnusableInput(path.name, "has no column `host`", "one row for each GPU, with the name of its host")
    return frame.with_columns(polars.col(HOST_COLUMN).cast(polars.String).fill_null("(no name)"))


def unread_lines(path: Path) -> tuple[int, ...]:
    """The numbers of the lines of a table that are no JSON objects and are left out; other tables have none."""
    return _sound_lines(path)[1] if path.name.lower().endswith(LINES) else ()


@cache
def _sound_lines(path: Path) -> tuple[Path, tuple[int, ...]]:
    """Lines of JSON that can be read to their end, and the numbers of the lines that they lack.

    Where Polars reads the file, that is the file. Else it is a copy of its sound lines, with null in place of NaN and
    infinities, which JSON does not have; it is there until the process ends.
    """
    import polars

    try:
        frame = polars.scan_ndjson(path, infer_schema_length=10_000)
        frame.select(polars.first()).collect(engine="streaming")
    except (polars.exceptions.PolarsError, OSError):
        return _copied(path) if path.is_file() else (path, ())
    return path, ()


def _copied(path: Path) -> tuple[Path, tuple[int, ...]]:
    folder = tempfile.mkdtemp(prefix="gpuwhy-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made, bad = Path(folder, "lines.ndjson"), []
    with path.open("rb") as lines, made.open("w", encoding="utf-8") as out:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line, parse_constant=lambda _: None) if line.strip() else None
            except (ValueError, RecursionError):
                row = ()
            if isinstance(row, dict):
                out.write(json.dumps(row) + "\n")
            elif row is not None:
                bad.append(number)
    return made, tuple(bad)


@contextmanager
def read_whole(name: str) -> Iterator[None]:
    """Whatever Polars cannot read of a table within this is an `UnusableInput`."""
    import polars

    try:
        yield
    except (polars.exceptions.PolarsError, OSError) as error:
        raise UnusableInput(name, f"cannot be read to its end: {_first(error)}") from None


def portions(frame: Any, columns: Sequence[str], name: str, rows: int = 0) -> Iterator[Any]:
    """The rows in portions. Rows of one host that stand together are never divided. Raises `UnusableInput`.

    `rows`: how many there are, where that is known: then a portion is read when it is asked for. Else the engine of
    Polars reads ahead, and hosts of which a batch ends amid the rows come last, together: what is read is not copied
    for their sake.
    """
    with read_whole(name):
        yield from _pieces(frame.select(columns), rows) if rows else _batches(frame.select(columns))


def _pieces(frame: Any, rows: int) -> Iterator[Any]:
    first = 0
    while first < rows:
        end = min(first + ROWS, rows)
        end += _more_of_host(frame, end) if end < rows else 0
        yield frame.slice(first, end - first).collect()
        first = end


def _more_of_host(frame: Any, end: int) -> int:
    """How many rows from this on are of the host of the row before."""
    size = 64
    while True:
        names = frame.select(HOST_COLUMN).slice(end - 1, size).collect().get_column(HOST_COLUMN)
        others = (names != names[0]).arg_true()
        if len(others) or len(names) < size:
            return int(others[0] if len(others) else len(names)) - 1
        size *= 8


def _batches(frame: Any) -> Iterator[Any]:
    import polars

    held: Any = None
    divided: list[Any] = []
    last = ""
    for batch in frame.collect_batches(chunk_size=ROWS, maintain_order=True):
        rest = batch
        if held is not None and len(batch) and batch.item(0, HOST_COLUMN) == last:
            held, rest = _cut(held, batch, last, divided)
        if held is not None and len(held):
            yield held
        held = rest
        last = batch.item(-1, HOST_COLUMN) if len(batch) else last
    if held is not None and len(held):
        yield held
    if divided:
        yield polars.concat(divided, rechunk=True)


def whole_hosts(batches: Iterable[Any], rows: int = 1 << 16) -> Iterator[Any]:
    """Batches in which rows of one host stand together, joined to portions of about this many; no host is divided."""
    import polars

    held: list[Any] = []
    wanted, count = rows, 0
    for batch in batches:
        held.append(batch)
        count += len(batch)
        if count < wanted:
            continue
        whole = polars.concat(held, rechunk=True)
        start = _start_of_last(whole, whole.item(-1, HOST_COLUMN))
        if start:
            yield whole.head(start)
        held, count = [whole.slice(start)], len(whole) - start
        wanted = max(rows, 2 * count)
    if count:
        yield polars.concat(held, rechunk=True)


def _cut(held: Any, batch: Any, last: str, divided: list[Any]) -> tuple[Any, Any]:
    """Both without the rows of the host that is divided between them; those are added to `divided`."""
    start = _start_of_last(held, last) if len(held) else 0
    end = _end_of_first(batch)
    divided += [held.slice(start), batch.head(end)]
    return held.head(start), batch.slice(end)


def sorted_portions(frame: Any, columns: Sequence[str], name: str, rows: int) -> Iterator[Any]:
    """The same for a table whose rows of one host do not stand together: read once for each `MOST_ROWS` of its rows.

    Raises `UnusableInput`.
    """
    import polars

    parts = -(-rows // MOST_ROWS)
    for part in range(parts):
        some = frame.select(columns).filter(polars.col(HOST_COLUMN).hash() % parts == part)
        with read_whole(name):
            whole = some.collect(engine="streaming").sort(HOST_COLUMN, maintain_order=True)
        while len(whole):
            end = (
                len(whole)
                if len(whole) <= ROWS
                else _start_of_last(whole.head(ROWS + 1), whole.item(ROWS, HOST_COLUMN))
            )
            end = end or _end_of_first(whole)
            yield whole.head(end)
            whole = whole.slice(end)


def rows_of(frame: Any, host: str) -> list[dict[str, Any]]:
    """The rows of one host."""
    import polars

    found: list[dict[str, Any]] = frame.filter(polars.col(HOST_COLUMN) == host).collect().to_dicts()
    return found


def _start_of_last(whole: Any, last: str) -> int:
    """Where the rows of the last host begin."""
    size = 64
    while size < 2 * len(whole):
        tail = whole.get_column(HOST_COLUMN).tail(size)
        other = tail != last
        if other.any():
            return int(len(whole) - len(tail) + other.arg_true()[-1] + 1)
        size *= 2
    return 0


def _end_of_first(whole: Any) -> int:
    """Where the rows of the first host end."""
    other = (whole.get_column(HOST_COLUMN) != whole.item(0, HOST_COLUMN)).arg_true()
    return int(other[0]) if len(other) else len(whole)


def _first(error: Exception) -> str:
    """The first line of what went wrong."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def row_count(path: Path) -> int:
    """How many rows a Parquet file has; 0 where that cannot be known without reading everything."""
    import polars

    if not path.name.lower().endswith(".parquet"):
        return 0
    try:
        return int(polars.scan_parquet(path).select(polars.len()).collect().item())
    except (polars.exceptions.PolarsError, OSError):
        return 0
