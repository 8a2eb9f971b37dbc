"""What the commands about rules share: the pack, the rules meant, exit status, tables."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui.rules_option import close, fail, loaded, stack

if TYPE_CHECKING:
    from gpuwhy.engine.rule_cases import AnyRule
    from gpuwhy.kb.model import KnowledgeBase

FINE, FOUND = 0, 1
"""Exit status of the commands about rules: nothing to complain of, and something found."""


def own_stack(rules: Path | None) -> tuple[Path, ...]:
    """The packs to work on one of them, the last: the shipped one by default, else the one that is named."""
    from gpuwhy.kb.load import rules_folder

    found = (rules_folder(),) if rules is None else stack(rules)
    if len(found) > 2:
        names = ", ".join(shown_folder(one).rstrip("/") for one in found[1:])
        fail(f"{rules} holds {len(found) - 1} packs", f"name one of them: {names}")
    return found


def pack_folder(rules: Path | None) -> Path:
    """The folder of the pack to work on."""
    return own_stack(rules)[-1]


def own_pack(rules: Path | None) -> tuple[KnowledgeBase, Path]:
    """The knowledge that a pack is used with, and the folder of its files. Ends the process where it is no good."""
    found = own_stack(rules)
    return loaded(found), found[-1]


def shown_folder(folder: Path) -> str:
    """A folder as seen from where the person is, with a slash; what stands in front of file names."""
    try:
        inside = folder.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except ValueError:
        return f"{folder.as_posix()}/"
    return "" if inside == "." else f"{inside}/"


@contextmanager
def readable_cases(front: str) -> Iterator[None]:
    """Ends the process where a test file is no good, and says why; `front` stands before names of files."""
    try:
        yield
    except KnowledgeError as error:
        for problem in error.problems:
            click.echo(f"{front}{problem}", err=True)
        fail("a test file cannot be used")


def own_rules(kb: KnowledgeBase) -> list[AnyRule]:
    """The rules of the last pack of all."""
    from gpuwhy.engine.rule_cases import rules_of
    from gpuwhy.kb.model import pack_of

    own = kb.packs[-1].namespace if kb.packs else ""
    return [rule for rule in rules_of(kb) if pack_of(rule.id) == own]


def chosen(rules: list[AnyRule], names: Iterable[str]) -> list[AnyRule]:
    """Those rules of these ids, patterns of ids (`sig.oom.*`), files, areas or conclusions; all where no name is given.

    Ends the process for a name that no rule has.
    """
    wanted = list(names)
    if not wanted:
        return rules
    found: dict[str, AnyRule] = {}
    for name in wanted:
        fitting = [rule for rule in rules if _means(name, rule)]
        if not fitting:
            fail(f"no rule `{name}`", close(name, (rule.id for rule in rules)))
        found.update((rule.id, rule) for rule in fitting)
    return list(found.values())


def _means(name: str, rule: AnyRule) -> bool:
    from gpuwhy.kb.model import Fix, Signature

    if isinstance(rule, (Fix, Signature)) and name in (
        rule.conclusions if isinstance(rule, Fix) else (rule.concludes,)
    ):
        return True
    without = rule.id.rpartition(":")[2]
    if fnmatch.fnmatchcase(rule.id, name) or fnmatch.fnmatchcase(without, name) or without.split(".")[1] == name:
        return True
    path = name.removesuffix(".test.yaml").removesuffix(".yaml")
    return "/" in name and (
        path == rule.file.removesuffix(".yaml") or path.endswith("/" + rule.file.removesuffix(".yaml"))
    )


def table(rows: Iterable[tuple[str, ...]], widths: tuple[int, ...]) -> str:
    """Rows with columns of at least these widths; the last one as it comes."""
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append(" ".join([*cells, *row[len(widths) :]]).rstrip())
    return "".join(f"{line}\n" for line in lines)
