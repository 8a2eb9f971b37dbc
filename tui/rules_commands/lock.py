"""`gpuwhy rules lock`: version and digest of every rule, to keep with a release and to check against."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy.tui import rules_store
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import FINE, FOUND, own_rules, own_stack
from gpuwhy.tui.rules_option import fail, loaded, rules_option

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase


@click.command("lock")
@click.option("--check", type=click.Path(dir_okay=False, path_type=Path), help="Compare with a lock that was kept.")
@click.option("--keep", is_flag=True, help="Keep the rules in ~/.local/share/gpuwhy/rules, for `diagnose --kb`.")
@rules_option
@click.pass_context
def lock_command(context: click.Context, check: Path | None, keep: bool, rules: Path | None) -> None:
    """Print version, digest of the logic and digest of the file of every rule, as JSON; or compare with such a file.

    With --keep the rules themselves are kept as well: `gpuwhy diagnose --kb VERSION` makes a report by them again.
    """
    folders = own_stack(rules)
    kb, folder = loaded(folders), folders[-1]
    if keep:
        try:
            click.echo(f"kept in {rules_store.keep(kb, folders)}", err=True)
        except OSError as error:
            fail(f"the rules cannot be kept: {error}")
    now = _lock(kb, folder)
    if check is None:
        out(json.dumps(now, indent=1, ensure_ascii=False) + "\n")
        return
    try:
        kept = dict(json.loads(check.read_text("utf-8"))["rules"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{check} is no lock: {error}")
    differing = [name for name in sorted({*kept, *now["rules"]}) if kept.get(name) != now["rules"].get(name)]
    for name in differing:
        out(f"{name}: {_told(kept.get(name), now['rules'].get(name))}\n")
    out(f"{len(now['rules'])} rules, {len(differing)} not as locked\n")
    context.exit(FOUND if differing else FINE)


def _lock(kb: KnowledgeBase, folder: Path) -> dict[str, Any]:
    from gpuwhy.engine.lint_logic import logic

    rules = {
        rule.id: {
            "version": rule.version,
            "logic": _digest(repr(logic(rule)).encode()),
            "file": _digest((folder / rule.file).read_bytes()),
        }
        for rule in sorted(own_rules(kb), key=lambda rule: rule.id)
    }
    own = kb.packs[-1]
    return {
        "format": "gpuwhy-rules-lock",
        "pack": own.name,
        "version": own.version,
        "digest": own.digest,
        "rules": rules,
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _told(kept: Any, now: Any) -> str:
    if kept is None or now is None:
        return "not in the lock" if kept is None else "gone"
    if kept["version"] != now["version"]:
        return f"{kept['version']} is locked, {now['version']} is here"
    return "other logic" if kept["logic"] != now["logic"] else "other words"
