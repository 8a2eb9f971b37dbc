"""What changed between two versions of a pack, as text and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.engine.corpus_diff import CorpusDiff
from gpuwhy.engine.rule_diff import BUMPS, Change, bump, pack_bump
from gpuwhy.kb.records import dataclass

MOST_FLIPS = 10


@dataclass(frozen=True)
class Comparison:
    """Two versions by name, the rules that changed, and what hosts would be told otherwise."""

    base: str
    head: str
    changes: tuple[Change, ...]
    hosts: CorpusDiff | None = None
    versions: tuple[str, str] | None = None
    """The pack's own version before and after."""

    @property
    def enough(self) -> bool:
        """True if the version of every rule says as much as changed."""
        return not self.short

    @property
    def short(self) -> list[Change]:
        """The rules whose version says less than changed."""
        return [one for one in self.changes if not one.enough and one.kind == "changed"]

    @property
    def pack_needs(self) -> str:
        """The bump that the pack needs."""
        return pack_bump(self.changes)

    @property
    def pack_enough(self) -> bool:
        """True if the version of the pack says as much as changed, or more."""
        return BUMPS.index(self.pack_needs) <= (BUMPS.index(self.pack_given) if self.pack_given in BUMPS else -1)

    @property
    def pack_given(self) -> str:
        """The bump of the pack's own version; empty where there was no pack."""
        return bump(*self.versions) if self.versions else ""


def as_text(found: Comparison) -> str:
    """Lines for a terminal."""
    lines = []
    for one in found.changes:
        lines.append(_head(one, found))
        lines += [f"  {reason}" for reason in one.reasons]
        lines += [f"  {name}: {before or 'none'} -> {after or 'none'}" for name, before, after in one.logic]
        lines += [f"  flip: {flip}" for flip in _flips(one)]
        if one.sentence:
            lines += [f"  said: {one.sentence[0]}", f"  says: {one.sentence[1]}"]
    lines += _host_lines(found)
    lines.append(_sum(found))
    return "\n".join(lines) + "\n"


def as_markdown(found: Comparison) -> str:
    """A comment for a pull request: a table, then what is behind each row."""
    lines = [f"### Rules: {_cell(found.base)} to {_cell(found.head)}", "", _sum(found), ""]
    if found.changes:
        lines += ["| rule | version | needs | given | why |", "|---|---|---|---|---|"]
    for one in found.changes:
        sign = "" if one not in found.short else " ❌"
        versions = " → ".join(version for version in (one.before, one.after) if version)
        why = _cell("; ".join(one.reasons) or one.kind)
        versions = versions or "word of the pack"
        lines.append(f"| `{one.id}` | {versions} | {one.needed} | {one.given}{sign} | {why} |")
    for one in found.changes:
        lines += _details(one)
    return "\n".join([*lines, "", *_host_lines(found)]).rstrip() + "\n"


def _details(one: Change) -> Iterator[str]:
    if not (one.logic or one.flips or one.sentence):
        return
    yield from ["", f"<details><summary><code>{one.id}</code></summary>", ""]
    for name, before, after in one.logic:
        yield f"- {name}: `{_code(before) or 'none'}` → `{_code(after) or 'none'}`"
    yield from (f"- flips {_cell(flip)}" for flip in _flips(one))
    if one.sentence:
        yield f"- said: {_cell(one.sentence[0])}"
        yield f"- says: {_cell(one.sentence[1])}"
    yield from ["", "</details>"]


def _head(one: Change, found: Comparison) -> str:
    if one.kind == "word":
        return f"{one.id}: the pack needs {one.needed}"
    if one.kind != "changed":
        return f"{one.id} {one.kind} ({one.after or one.before})"
    verdict = "not enough" if one in found.short else "ok"
    return f"{one.id} {one.before} -> {one.after}: needs {one.needed}, given {one.given}: {verdict}"


def _flips(one: Change) -> Iterator[str]:
    for flip in one.flips[:MOST_FLIPS]:
        yield f"{flip.rule}, {flip.case}: {flip.before} -> {flip.after}"
    if len(one.flips) > MOST_FLIPS:
        yield f"and {len(one.flips) - MOST_FLIPS} more"


def _host_lines(found: Comparison) -> list[str]:
    if found.hosts is None:
        return []
    hosts = found.hosts
    lines = [f"{hosts.changed:,} of {hosts.hosts:,} hosts change, {hosts.newly_critical:,} newly critical"]
    for flip in hosts.flips[:MOST_FLIPS]:
        lines.append(
            f"- {flip.host}: {flip.conclusion}: {flip.before or 'not spoken of'} -> {flip.after or 'not spoken of'}"
        )
    if len(hosts.flips) > MOST_FLIPS:
        lines.append(f"- and {len(hosts.flips) - MOST_FLIPS} more")
    return lines


def _sum(found: Comparison) -> str:
    counts = {kind: sum(one.kind == kind for one in found.changes) for kind in ("changed", "added", "removed")}
    text = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    words = sum(one.kind == "word" for one in found.changes)
    text += f", {words} word{'s' if words > 1 else ''} changed" if words else ""
    text += f"; {len(found.short)} with too small a bump; the pack needs: {found.pack_needs}"
    if found.versions is None:
        return text
    return f"{text}, given: {found.pack_given} ({' -> '.join(dict.fromkeys(found.versions))})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _code(text: str) -> str:
    return text.replace("`", "'").replace("\n", " ")
