"""Audits tables on a Spark cluster: what does not fit into one machine is judged where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gpuwhy.engine.fleet_table import DEVICE, NAME, base_of_rows, read_columns
from gpuwhy.engine.peers import Medians, Member, Peers, with_peers
from gpuwhy.probes.fleet_inputs import Broken
from gpuwhy.tui.audit.portions import note_portion
from gpuwhy.tui.audit.run import Collected

if TYPE_CHECKING:
    from gpuwhy.engine.fleet_spark import SparkTable

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def session(master: str) -> Any:
    """A session on this master (`spark://host:7077`, `yarn`, `local[4]`). Settings are those of Spark's own files."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("gpuwhy audit")
    if master.startswith("local") or urlsplit(master).hostname in LOOPBACK:
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    made = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def add_tables(collected: Collected, spark: Any, paths: Iterable[str], with_names: bool) -> None:
    """Judges the Parquet files of each path (as Spark reads paths); one that cannot be read is noted as broken.

    `with_names`: also fetches the names of all hosts, for the comparison with an earlier report.
    """
    from pyspark.errors import PySparkException

    opened: list[tuple[str, SparkTable]] = []

    def refused(path: str, error: Exception) -> None:
        collected.broken(Broken(path, f"cannot be read by Spark: {(str(error).splitlines() or [''])[0][:300]}"))

    for path in paths:
        try:
            table = _opened(collected, spark, path)
            if table is not None:
                opened.append((path, table))
        except PySparkException as error:
            refused(path, error)
    compared = [found for _, table in opened if (found := table.readings()) is not None]
    collected.beyond_hosts = _medians(compared, collected.members)
    for path, table in opened:
        try:
            _add(collected, table, path, with_names)
        except PySparkException as error:
            refused(path, error)


def _medians(tables: Sequence[Any], fleet: Sequence[Member]) -> Medians:
    """The medians over all tables; one that cannot be read to its end is left out, as it is when it is judged."""
    from pyspark.errors import PySparkException

    from gpuwhy.engine.fleet_spark import beyond_hosts

    def ends(table: Any) -> bool:
        try:
            return bool(table.count() >= 0)
        except PySparkException:
            return False

    try:
        return beyond_hosts(tables, fleet)
    except PySparkException:
        return beyond_hosts([one for one in tables if ends(one)], fleet)


def _opened(collected: Collected, spark: Any, path: str) -> SparkTable | None:
    from gpuwhy.engine.fleet_spark import SparkTable

    frame = spark.read.parquet(path)
    if NAME not in frame.columns:
        collected.broken(Broken(path, "has no column `host`: one row for each GPU, with the name of its host"))
        return None
    columns = [NAME, *([DEVICE] if DEVICE in frame.columns else []), *_usable(collected, dict(frame.dtypes), path)]
    return SparkTable(collected.kb, frame, columns)


def _add(collected: Collected, table: SparkTable, path: str, with_names: bool) -> None:
    found = collected.anew()
    try:
        table.judge(collected.peers)
        judged = table.with_cause()
        if judged is not None:
            note_portion(found, judged)
            found.possible.clear()
        counted = table.counted()
        found.counted.update({"nothing to fix": counted.sound, "cannot tell": counted.unsure, "gpus": counted.gpus})
        found.others.update(counted.others)
        found.possible.update(counted.possible)
        if with_names:
            found.seen.append(_series(table.names()))
        _keep(found, table, path, collected.peers)
    finally:
        table.close()
    collected.absorb(found)


def _series(names: list[str]) -> Any:
    import polars

    return polars.Series(NAME, names, polars.String)


def _usable(collected: Collected, dtypes: dict[str, str], path: str) -> list[str]:
    """The columns that the rules read and that are of the type of their fact; the others are told."""
    wanted: list[str] = []
    bad: list[str] = []
    for name in read_columns(collected.kb, dtypes):
        spec, dtype = collected.kb.facts[name], dtypes[name].partition("(")[0]
        fits = dtype in _NUMBERS if spec.is_number else dtype == ("boolean" if spec.type == "boolean" else "string")
        (wanted if fits else bad).append(name)
    if bad:
        collected.notes.append(f"{path}: of another type than the fact, and not used: {', '.join(bad)}")
    return wanted


def _keep(found: Collected, table: SparkTable, path: str, peers: Peers) -> None:
    """Keeps the facts of one host for each cause, for the sentence that proves it."""
    first = {one.conclusion: one.host for one in reversed(found.findings) if one.is_cause}
    rows = table.rows_of(sorted(set(first.values()))) if first else []
    for cause, host in first.items():
        own = [row for row in rows if row[NAME] == host]
        if own:
            found.kept[cause] = (host, with_peers(base_of_rows(found.kb, own, path), host, peers))
