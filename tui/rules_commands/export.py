"""`gpuwhy rules export --prometheus`: signatures as alert rules, with unit tests for promtool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy.tui.durations import duration_up_to
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import chosen, pack_folder
from gpuwhy.tui.rules_option import fail, knowledge, rules_option

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.tui.alerts.alerts import Exported
    from gpuwhy.tui.alerts.unit_tests import UnitTests

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("export")
@click.argument("names", nargs=-1)
@click.option("--prometheus", is_flag=True, help="As recording and alert rules of Prometheus.")
@click.option("--out", "path", type=_FILE, help="Write the rules to this file.")
@click.option("--tests", type=_FILE, help="Write unit tests for `promtool test rules` here; needs --out.")
@click.option(
    "--window",
    metavar="TIME",
    callback=duration_up_to(86400.0),
    default="10m",
    show_default=True,
    help="The window that facts are taken over.",
)
@click.option(
    "--for",
    "hold",
    metavar="TIME",
    callback=duration_up_to(86400.0),
    default="5m",
    show_default=True,
    help="How long a condition must hold before the alert fires.",
)
@click.option(
    "--missing", is_flag=True, help="Only list the rules of causes that cannot be alerts, each with the reason."
)
@rules_option  # fmt: skip
def export_command(
    names: tuple[str, ...],
    prometheus: bool,
    path: Path | None,
    tests: Path | None,
    window: float,
    hold: float,
    missing: bool,
    rules: Path | None,
) -> None:
    """Write the rules that exporters give facts for as alert rules of Prometheus.

    Every fact is recorded, then alerts compare the records: of a rule one where its conclusion is confirmed (severity
    critical) and one where it is likely (warning), as far as it can be. NAMES: conclusions, rules or areas; all
    by default.
    """
    from gpuwhy.tui.alerts.alerts import export, rules_document
    from gpuwhy.tui.alerts.recordings import recordings
    from gpuwhy.tui.alerts.unit_tests import document, unit_tests

    if not prometheus:
        fail("nothing says as what", "--prometheus")
    if tests is not None and path is None:
        fail("--tests needs a file of rules that they test", "name it with --out")
    kb = knowledge(rules)
    made = recordings(kb, window, max(window / 20, 15.0))
    exported = _only(kb, export(kb, made), names)
    if missing:
        out("".join(f"{name}: {why}\n" for name, why in exported.missing.items()))
        return
    if not exported.alerts:
        fail("none of these rules can be an alert", "--missing says why")
    text = _head(exported) + _yaml(rules_document(kb, made, exported, hold))
    if path is None:
        out(text)
        return
    _write(path, text)
    found = None
    if tests is not None:
        found = unit_tests(kb, made, exported, pack_folder(rules))
        _write(tests, _yaml(document(found, _beside(path, tests))))
    click.echo(_summary(exported, len(made.rules), found), err=True)


def _only(kb: KnowledgeBase, exported: Exported, names: tuple[str, ...]) -> Exported:
    from gpuwhy.engine.rule_cases import rules_of
    from gpuwhy.kb.records import replace

    if not names:
        return exported
    wanted = {one.id for one in chosen(rules_of(kb), names)}
    kept = {name: why for name, why in exported.missing.items() if name in wanted}
    return replace(exported, alerts=tuple(a for a in exported.alerts if a.signature.id in wanted), missing=kept)


def _head(exported: Exported) -> str:
    rules = len({one.signature.id for one in exported.alerts})
    lines = [
        f"Made by `gpuwhy rules export --prometheus`: {len(exported.alerts)} alerts of {rules} rules.",
        f"{len(exported.missing)} more cannot be alerts: `gpuwhy rules export --prometheus --missing` says why.",
    ]
    return "".join(f"# {line}\n" for line in lines)


def _yaml(document: dict[str, Any]) -> str:
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            del data
            return True

    return str(yaml.dump(document, Dumper=Plain, sort_keys=False, width=1 << 20, allow_unicode=True))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def _beside(path: Path, tests: Path) -> str:
    """The file of rules as seen from the folder of the tests."""
    import os

    return os.path.relpath(path, tests.parent)


def _summary(exported: Exported, recorded: int, found: UnitTests | None) -> str:
    rules = len({one.signature.id for one in exported.alerts})
    told = f"{recorded} records, {len(exported.alerts)} alerts of {rules} rules; {len(exported.missing)} not exported"
    if found is None:
        return told
    left = "".join(f", {number} left out ({why})" for why, number in found.left.items())
    return f"{told}; {found.used} test cases{left}"
