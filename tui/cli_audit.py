"""`gpuwhy audit`: the same rules over many machines, one report."""

from __future__ import annotations

import datetime
import os
import sys
import time
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gpuwhy.tui.audit.prometheus import prometheus_options
from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import fail, kb_option, packs, rules_option

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.fleet_inputs import Fleet
    from gpuwhy.tui.audit.history import Earlier, Waiver
    from gpuwhy.tui.audit.model import Audit
    from gpuwhy.tui.audit.prometheus import Fleet as Scraped
    from gpuwhy.tui.audit.run import Collected

POLARS = "polars"
ROOMY_COLUMNS = 80
MASTERS = ("spark://", "local", "yarn", "k8s://", "mesos://")
FORMATS = ("table", "json", "html", "csv", "parquet", "sarif", "junit")


class Cluster(NamedTuple):
    """A Spark cluster: its master, the paths it reads, and the folders of the packs that it judges by."""

    master: str
    paths: tuple[str, ...]
    folders: tuple[Path, ...]


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to this file.")
@click.option("--explain", metavar="HOST", help="The diagnosis of one host of the fleet, with the proofs.")
@click.option(
    "--fail-on",
    type=click.Choice(["likely", "confirmed", "never"]),
    default="likely",
    show_default=True,
    help="The status of a cause that makes the exit status 1.",
)
@click.option(
    "--waivers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Accepted risks: YAML with reason, owner and day of expiry.",
)
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An earlier report (--format parquet): tells what is new and what cleared.",
)
@click.option(
    "--known-sound",
    is_flag=True,
    help="Nothing is wrong with these hosts: report every cause as a false alarm, with their rate.",
)
@click.option(
    "--engine",
    default="polars",
    show_default=True,
    metavar="NAME",
    help="What judges tables: polars, or the master of a Spark cluster (spark://host:7077, yarn, local[4]).",
)
@prometheus_options
@rules_option
@kb_option
@click.pass_context
def audit(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    form: str,
    out: Path | None,
    explain: str | None,
    fail_on: str,
    waivers: Path | None,
    baseline: Path | None,
    known_sound: bool,
    engine: str,
    rules: Path | None,
    revision: str | None,
    **asked: Any,
) -> None:
    """Judge many machines by the rules of `diagnose`, and report by cause, machine type and host.

    PATHS are facts files, nvidia-smi output and every other artefact of `diagnose`, and folders of them. A file is of
    the host that its name says; each folder inside a folder is one host. What cannot be read is a row of the report.
    --prometheus audits the hosts that a Prometheus server scrapes, with or without PATHS. For --engine spark://...
    PATHS are Parquet files as Spark names them.

    Exit status: 0 nothing to fix, 1 a cause is confirmed or likely (see --fail-on), 2 unusable arguments, 3 some hosts
    could not be read or judged, and none has a cause.
    """
    from gpuwhy.kb.records import replace
    from gpuwhy.probes.fleet_inputs import find_fleet

    _check(paths, asked["url"], engine)
    if form == "parquet" and out is None and sys.stdout.isatty():
        fail("Parquet is nothing for a terminal", "name a file with --out")
    if explain is not None and (form != "table" or out is not None):
        fail("--explain prints text", "`gpuwhy diagnose FILE` writes the diagnosis of one host in other formats")
    kb, folders = packs(rules, revision)
    of_spark = paths if engine != POLARS and explain is None else ()
    fleet = find_fleet(() if of_spark else paths, kb.facts)
    scraped = _scraped(kb, asked, fleet, explain is not None or not paths) if asked["url"] else None
    if explain is not None:
        from gpuwhy.tui.audit.explained import explain_host

        context.exit(explain_host(kb, fleet, scraped, explain, _bar))
    found = _audit(kb, fleet, scraped, waivers, baseline, Cluster(engine, of_spark, folders))
    made = replace(found, known_sound=known_sound)
    _show(made, form, out)
    context.exit(_status(made, fail_on))


def _scraped(kb: KnowledgeBase, asked: dict[str, Any], fleet: Fleet, alone: bool) -> Scraped | None:
    """The hosts of the server; where it cannot be asked beside other inputs, that is a row of the report."""
    from gpuwhy.probes.fleet_inputs import Broken
    from gpuwhy.tui.audit import prometheus

    found = prometheus.find(kb, asked, alone)
    if not isinstance(found, Broken):
        return found
    fleet.broken.append(found)
    return None


def _check(paths: tuple[str, ...], url: str | None, engine: str) -> None:
    from importlib.util import find_spec

    if not paths and not url:
        fail("nothing to audit", "give facts files or folders, or --prometheus URL")
    if find_spec("polars") is None or find_spec("narwhals") is None:
        fail("auditing needs Polars and Narwhals", "pip install 'gpuwhy[fleet]'")
    if engine != POLARS and not engine.startswith(MASTERS):
        fail(f"no engine `{engine}`", "polars, or a Spark master: spark://host:7077, yarn, local[4]")
    if engine != POLARS and any(find_spec(one) is None for one in ("pyspark", "pyarrow", "pandas")):
        fail("a Spark cluster needs PySpark and PyArrow", "pip install 'gpuwhy[spark]'")


def _audit(
    kb: KnowledgeBase,
    fleet: Fleet,
    scraped: Scraped | None,
    waivers: Path | None,
    baseline: Path | None,
    cluster: Cluster,
) -> Audit:
    from gpuwhy.kb.records import replace
    from gpuwhy.tui.audit.run import add_twice, examples, run

    accepted = _accepted(waivers, kb) if waivers is not None else []
    earlier = _earlier(baseline) if baseline is not None else None
    with _bar(len(fleet.hosts) + _rows(fleet) + (len(scraped) if scraped is not None else 0)) as bar:
        collected = run(kb, fleet, partial(_advance, bar), frozenset() if earlier is None else earlier.hosts)
        if scraped is not None:
            from gpuwhy.tui.audit import prometheus

            prometheus.add_hosts(collected, scraped, partial(_advance, bar))
        if cluster.paths:
            _add_spark(collected, cluster, baseline is not None)
    add_twice(collected, len(fleet.tables))
    made = collected.audit()
    if earlier is not None:
        made = _compared(made, earlier, collected, fleet)
    if accepted:
        from gpuwhy.tui.audit import history

        made = history.with_waivers(made, accepted, datetime.date.today())
    return replace(made, examples=examples(made, fleet, collected.kept))


def _add_spark(collected: Collected, cluster: Cluster, with_names: bool) -> None:
    from gpuwhy.kb.load import carried
    from gpuwhy.tui.audit import spark

    spark.add_tables(collected, spark.session(cluster.master), cluster.paths, carried(cluster.folders), with_names)


def _accepted(waivers: Path, kb: KnowledgeBase) -> list[Waiver]:
    from gpuwhy.tui.audit.history import HistoryError, read_waivers

    try:
        return read_waivers(waivers, kb)
    except HistoryError as error:
        fail(str(error))


def _earlier(baseline: Path) -> Earlier:
    from gpuwhy.tui.audit.history import HistoryError, read_earlier

    try:
        return read_earlier(baseline)
    except HistoryError as error:
        fail(str(error))


def _compared(made: Audit, earlier: Earlier, collected: Collected, fleet: Fleet) -> Audit:
    from gpuwhy.tui.audit.cleared import Cleared, known_in_tables
    from gpuwhy.tui.audit.history import judged_hosts, with_baseline

    of_tables = set(earlier.hosts - collected.known.keys())
    known = collected.known | known_in_tables(made.kb, fleet.tables, of_tables)
    cleared = Cleared(made.kb, collected.without_rule, known)
    return with_baseline(made, earlier, judged_hosts(made, collected.seen), cleared.could_be_seen)


def _bar(length: int) -> ProgressBar[str]:
    """A progress bar with rate and remaining time on standard error, where that is a terminal; it keeps to one line."""
    seen = sys.stderr.isatty()
    columns = _columns()
    label = "auditing hosts" if columns >= ROOMY_COLUMNS else "audit"
    told = len(f"{label}  []  {length}/{length}  00:00:00  1,000,000/s") + 1
    return click.progressbar(
        length=length,
        label=label,
        width=max(1, min(16, columns - told)),
        show_pos=columns > told,
        item_show_func=lambda rate: rate,
        file=sys.stderr if seen else StringIO(),
    )


def _columns() -> int:
    """The columns of the terminal that shows errors."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return ROOMY_COLUMNS


def _advance(bar: ProgressBar[str], number: int) -> None:
    """Hosts or rows that are done, with the rate so far."""
    seconds = time.time() - bar.start
    bar.update(number, f"{(bar.pos + number) / seconds:,.0f}/s" if seconds > 0 else "")


def _rows(fleet: Fleet) -> int:
    """How many rows the tables have, where that costs nothing to know."""
    from gpuwhy.probes.fleet_tables import row_count

    return sum(row_count(one) for one in fleet.tables)


def _show(made: Audit, form: str, out: Path | None) -> None:
    content = _parquet(made) if form == "parquet" else _rendered(made, form)
    if out is None:
        _write(content)
        return
    try:
        out.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    except OSError as error:
        fail(f"{out}: {error.strerror}")


def _rendered(made: Audit, form: str) -> str:
    if form == "table":
        from gpuwhy.tui.audit.text import render

        return render(made)
    from gpuwhy.tui.audit import documents, page
    from gpuwhy.tui.report_json import dump

    if form in ("json", "sarif"):
        return dump(documents.as_json(made) if form == "json" else documents.as_sarif(made), ascii_only=True)
    return {"html": page.render, "csv": documents.as_csv, "junit": documents.as_junit}[form](made)


def _parquet(made: Audit) -> bytes:
    """One row for each finding, and for each host without any: what --baseline reads."""
    import io

    import polars

    from gpuwhy.tui import rules_stamp
    from gpuwhy.tui.audit.documents import COLUMNS, rows
    from gpuwhy.tui.audit.history import RULES

    types = {name: polars.Int64 if name == "gpus" else polars.String for name in COLUMNS}
    content = io.BytesIO()
    report = polars.DataFrame(list(rows(made)), schema=types)
    report.with_columns(polars.lit(rules_stamp.digest(made.kb)).alias(RULES)).write_parquet(content)
    return content.getvalue()


def _write(content: str | bytes) -> None:
    if isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        out(content)


def _status(made: Audit, fail_on: str) -> ExitCode:
    failing = {"likely": ("confirmed", "likely"), "confirmed": ("confirmed",), "never": ()}[fail_on]
    if any(one.is_cause and not one.waived and one.status in failing for one in made.findings):
        return ExitCode.CAUSE_FOUND
    counts = made.counts()
    unknown = counts["cannot tell"] + counts["broken"] > 0 or not counts["hosts"]
    return ExitCode.CANNOT_TELL if unknown and fail_on != "never" else ExitCode.NOTHING_TO_FIX
