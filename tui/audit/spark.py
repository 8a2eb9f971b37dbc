"""Audits tables on a Spark cluster: what does not fit into one machine is judged where it lies.

The workers need the Python packages Polars and PyArrow; this package and its rules go to them with the work, so that
all judge by the same.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gpuwhy.engine.fleet_table import DEVICE, NAME, base_of_rows, read_columns
from gpuwhy.engine.peers import Medians, Member, Peers, with_peers
from gpuwhy.probes.fleet_inputs import Broken
from gpuwhy.tui.audit.run import Collected
from gpuwhy.tui.audit.spark_worker import Work, add_told

if TYPE_CHECKING:
    from gpuwhy.engine.fleet_spark import SparkTable
    from gpuwhy.kb.load import Carried

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def session(master: str) -> Any:
    """A session on this master (`spark://host:7077`, `yarn`, `local[4]`). Settings are those of Spark's own files."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("gpuwhy audit")
    if master.startswith("local") or urlsplit(master).hostname in LOOPBACK:
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers of this machine run what runs here
    made = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    made.sparkContext.addPyFile(str(_package()))
    return made


@cache
def _package() -> Path:
    """An archive of the modules of this package, as workers import it; it is there until the process ends."""
    import gpuwhy

    top = Path(gpuwhy.__file__).parent
    folder = tempfile.mkdtemp(prefix="gpuwhy-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = Path(folder, "gpuwhy.zip")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for base, folders, names in os.walk(top, followlinks=True):
            folders[:] = [one for one in folders if one != "__pycache__"]
            for name in (one for one in names if one.endswith(".py")):
                file = Path(base, name)
                archive.write(file, Path("gpuwhy") / file.relative_to(top))
    return made


def add_tables(collected: Collected, spark: Any, paths: Iterable[str], rules: Carried, with_names: bool) -> None:
    """Judges the Parquet files of each path (as Spark reads paths); one that cannot be read is noted as broken.

    `rules`: the knowledge as workers get it. `with_names`: also fetches the names of all hosts, for the comparison with
    an earlier report.
    """
    opened: list[tuple[str, SparkTable]] = []
    compared: list[Any] = []

    def refused(path: str, error: Exception) -> None:
        collected.broken(Broken(path, _why(error)))

    for path in paths:
        try:
            table = _opened(collected, spark, path)
            if table is not None:
                compared.append(table.readings())
                opened.append((path, table))
        except _failures() as error:
            refused(path, error)
    compared = [one for one in compared if one is not None]
    collected.beyond_hosts = _medians(compared, collected.members)
    for path, table in opened:
        try:
            _add(collected, table, path, Work(table.columns, rules, collected.peers, with_names))
        except _failures() as error:
            refused(path, error)


def _failures() -> tuple[type[Exception], ...]:
    """What Spark raises: its own errors, and those of Java that it has no own for."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError


def _why(error: Exception) -> str:
    text = str(error)
    lacking = re.search(r"No module named '([\w.]{1,80})'", text)
    if lacking:
        return f"the workers of the cluster lack the Python package {lacking[1]}: they need polars and pyarrow"
    causes = re.findall(r"^(?:Caused by: |: )?[\w.$]{1,120}(?:Exception|Error): ([^\n]{1,300})", text, re.MULTILINE)
    return f"Spark gave up: {(causes or text.splitlines() or [''])[-1 if causes else 0][:300]}"


def _medians(tables: Sequence[Any], fleet: Sequence[Member]) -> Medians:
    """The medians over all tables; one that cannot be read to its end is left out, as it is when it is judged."""
    from gpuwhy.engine.fleet_spark import beyond_hosts

    def ends(table: Any) -> bool:
        try:
            return bool(table.count() >= 0)
        except _failures():
            return False

    try:
        return beyond_hosts(tables, fleet)
    except _failures():
        return beyond_hosts([one for one in tables if ends(one)], fleet)


def _opened(collected: Collected, spark: Any, path: str) -> SparkTable | None:
    from gpuwhy.engine.fleet_spark import SparkTable

    frame = spark.read.parquet(path)
    if NAME not in frame.columns:
        collected.broken(Broken(path, "has no column `host`: one row for each GPU, with the name of its host"))
        return None
    columns = [NAME, *([DEVICE] if DEVICE in frame.columns else []), *_usable(collected, dict(frame.dtypes), path)]
    return SparkTable(collected.kb, frame, columns)


def _add(collected: Collected, table: SparkTable, path: str, work: Work) -> None:
    found = collected.anew()
    for told in table.told(work):
        add_told(found, told)
    _keep(found, table, path, collected.peers)
    collected.absorb(found)


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
    first: dict[str, str] = {}
    for one in found.findings:  # partitions come in any order: the first by name is the same every time
        if one.is_cause:
            first[one.conclusion] = min(one.host, first.get(one.conclusion, one.host))
    rows = table.rows_of(sorted(set(first.values()))) if first else []
    for cause, host in first.items():
        own = [row for row in rows if row[NAME] == host]
        if own:
            found.kept[cause] = (host, with_peers(base_of_rows(found.kb, own, path), host, peers))
