"""Tables of facts: Parquet, Arrow and lines of JSON with one row for each GPU, read in portions of whole hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gpuwhy.probes.artefacts.read import UnusableInput

ROWS = 1 << 17
"""How many rows are judged at once: enough to fill the columns, few enough for a small machine."""
HOST_COLUMN = "host"


def scan(path: Path) -> Any:
    """The table as a lazy Polars frame. Raises `UnusableInput` if it is none, or has no column `host`."""
    import polars

    lowered = path.name.lower()
    try:
        if lowered.endswith(".parquet"):
            frame = polars.scan_parquet(path)
        elif lowered.endswith((".ndjson", ".jsonl")):
            frame = polars.scan_ndjson(path, infer_schema_length=10_000)
        else:
            frame = polars.scan_ipc(path)
        names = frame.collect_schema().names()
    except (polars.exceptions.PolarsError, OSError) as error:
        raise UnusableInput(path.name, f"cannot be read as a table: {_first(error)}") from None
    if HOST_COLUMN not in names:
        raise UnusableInput(path.name, "has no column `host`", "one row for each GPU, with the name of its host")
    return frame.with_columns(polars.col(HOST_COLUMN).cast(polars.String).fill_null("(no name)"))


def portions(frame: Any, columns: Sequence[str], name: str) -> Iterator[Any]:
    """The rows in portions; rows of one host that stand together are never divided. Raises `UnusableInput`."""
    import polars

    rest: Any = None
    try:
        for batch in frame.select(columns).collect_batches(chunk_size=ROWS, maintain_order=True):
            whole = batch if rest is None else polars.concat([rest, batch])
            last = whole.item(-1, HOST_COLUMN) if len(whole) else None
            cut = _start_of_last(whole, last)
            rest = whole.slice(cut)
            if cut:
                yield whole.head(cut)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise UnusableInput(name, f"cannot be read to its end: {_first(error)}") from None
    if rest is not None and len(rest):
        yield rest


def rows_of(frame: Any, host: str) -> list[dict[str, Any]]:
    """The rows of one host."""
    import polars

    found: list[dict[str, Any]] = frame.filter(polars.col(HOST_COLUMN) == host).collect().to_dicts()
    return found


def _start_of_last(whole: Any, last: str | None) -> int:
    """Where the rows of the last host begin."""
    size = 64
    while size < 2 * len(whole):
        tail = whole.get_column(HOST_COLUMN).tail(size)
        other = (tail != last) if last is not None else tail.is_not_null()
        if other.any():
            return int(len(whole) - len(tail) + other.arg_true()[-1] + 1)
        size *= 2
    return 0


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
