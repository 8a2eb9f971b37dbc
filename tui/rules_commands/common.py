"""What the commands about rules share: the pack, the rules meant, exit status, output."""

from __future__ import annotations

import difflib
import fnmatch
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwhy.tui.rules_option import fail

if TYPE_CHECKING:
    from gpuwhy.engine.rule_cases import AnyRule
    from gpuwhy.kb.model import KnowledgeBase

FINE, FOUND = 0, 1
"""Exit status of the commands about rules: nothing to complain of, and something found."""


def pack_folder(rules: Path | None) -> Path:
    """The folder of a pack; that of the shipped rules by default."""
    from gpuwhy.kb.load import rules_folder

    return rules if rules is not None else rules_folder()


def shown_folder(folder: Path) -> str:
    """A folder as seen from where the person is, with a slash; what stands in front of file names."""
    try:
        inside = folder.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except ValueError:
        return f"{folder.as_posix()}/"
    return "" if inside == "." else f"{inside}/"


def chosen(kb: KnowledgeBase, names: Iterable[str]) -> list[AnyRule]:
    """The rules of these ids, patterns of ids (`sig.oom.*`), files or areas; all rules where no name is given.

    Ends the process for a name that no rule has.
    """
    from gpuwhy.engine.rule_cases import rules_of

    rules = rules_of(kb)
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
    if fnmatch.fnmatchcase(rule.id, name) or rule.id.split(".")[1] == name:
        return True
    path = name.removesuffix(".test.yaml").removesuffix(".yaml")
    return "/" in name and (
        path == rule.file.removesuffix(".yaml") or path.endswith("/" + rule.file.removesuffix(".yaml"))
    )


def close(word: str, known: Iterable[str]) -> str:
    """A hint with words that are written like this one; empty where none is."""
    found = difflib.get_close_matches(word, list(known), 3)
    return f"did you mean {' or '.join(found)}?" if found else ""


def out(text: str) -> None:
    """Text on standard output, without what steers a terminal, in signs that its encoding has."""
    from gpuwhy.tui.wording import encodable

    sys.stdout.write(encodable(text, sys.stdout.encoding or "utf-8"))


def table(rows: Iterable[tuple[str, ...]], widths: tuple[int, ...]) -> str:
    """Rows with columns of at least these widths; the last one as it comes."""
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append(" ".join([*cells, *row[len(widths) :]]).rstrip())
    return "".join(f"{line}\n" for line in lines)
