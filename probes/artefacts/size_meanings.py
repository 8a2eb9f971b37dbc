"""What the sizes in a failure message of an unknown library mean, by the words that stand next to them.

A size gets one meaning or none: where the words leave two readings, it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import SIZE, parse_size

_ROLE = later(
    r"(?P<request>\b(?:requires?|needs?) more (?:[a-z]{1,8} ){0,2}(?:memory|vram)\b"
    r"|\b(?:not|to|can't|couldn't) be (?:re)?allocated\b|(?:\b|_)(?:request\w{0,4}|asked|tried|attempt\w{0,3}"
    r"|needs?|needed|needing|requires?|required|requiring|wanted|wants"
    r"|size of|of size|allocat(?:e|ing|ion))(?:\b|(?=_))"
    r"|[a-z]{0,12}alloc\b)"
    r"|(?P<free>(?<!to )\b(?:free(?! up)|available|remaining|remains?|left)(?:\b|(?=_)))"
    r"|(?P<capacity>\b(?:total(?!ly)|capacity|(?:device|gpu|card|vram) (?:has|memory is|size))(?:\b|(?=_)))"
    r"|(?P<reserved>\breserved(?:\b|(?=_)))"
    r"|(?P<allocated>\b(?:used|in[ -]use|in_use|allocated|occupied)(?:\b|(?=_)))"
    r"|(?P<none>\b(?:limit\w{0,2}|max\w{0,5}|peak|min\w{0,5}|threshold|align\w{0,5}|cached?|swap|by|short\w{0,5}|exceed\w{0,3}"
    r"|missing|other|others|process(?:es)?|pid|host|cpu|ram|system|largest|block|contiguous)\b)",
    re.IGNORECASE,
)
"""Words that give a size its meaning; those of the last group say that it has none of the meanings looked for."""

_SIZE = later(
    rf"(?<![\w.])(?:{SIZE})"
    r"|(?<=allocate )[0-9]{6,20}(?![\w.])|(?<=size )[0-9]{6,20}(?![\w.])|(?<=size: )[0-9]{6,20}(?![\w.])"
    r"|(?<=size\[)[0-9]{6,20}(?![\w.])"
)
_BARE = later(  # as bytes: a message that names its figures and no unit counts in those
    r"\b(?P<label>free|available|remaining|asked|requested|required|needed|total|used|allocated|reserved)"
    r"(?: (?:memory|bytes|size)){0,2}\s?[:=]\s{0,2}(?P<number>[0-9]{7,20})(?![\w.,]|\s{0,2}[kKMGTi]{1,2}[bB]\b)",
    re.IGNORECASE,
)
_UNIT_IN_LABEL = later(
    r"\b(?P<label>[A-Za-z]{3,20}(?:[ _][A-Za-z]{3,12}){0,3})[ _]\(?(?P<unit>[kmgt]i?b|bytes)\)?"
    r"\s{0,3}[:=]\s{0,3}(?P<number>[0-9]{1,20}(?:\.[0-9]{1,6})?)(?![\w.])",
    re.IGNORECASE,
)
_BREAK = later(r"[,;|\n)\]}]|\.\s|\s(?:and|but|while|with|of which|than)\s", re.IGNORECASE)
_FILLER = (
    r"\s{0,3}(?:(?:gpu|device|memory|vram|size|bytes|is|are|was|were|only|of|for|a|the|at|least|about)\s{0,2}){0,5}"
)
_NEXT_TO = later(rf"{_FILLER}[:=(\[]{{0,2}}\s{{0,3}}$", re.IGNORECASE)
_OWN_LABEL_AHEAD = later(r"[\w ]{0,12}[:=(]\s{0,3}[0-9]|\s{1,3}[0-9]")
_PART_OF = later(r"\s{0,3}(?:/|of|out of)\s{0,3}(?:a )?", re.IGNORECASE)
_NUMBER = later(r"(?<![\w])[0-9]+(?:\.[0-9]+)?\s{0,3}(?:/|of|out of)\s{0,3}$", re.IGNORECASE)
_REACH_BEFORE, _REACH_AFTER = 80, 30
_ROUNDING = 0.01


@dataclass(frozen=True)
class _Word:
    role: str
    adjacent: bool
    marked: bool  # punctuation stands between the word and the size


def meanings(text: str) -> dict[str, float]:
    """Bytes by meaning (`request`, `free`, `capacity`, `allocated`, `reserved`) in one failure message.

    A meaning that two different sizes claim is left out, as are sizes that contradict the capacity.
    """
    found: dict[str, float | None] = {}
    for role, size in (*_printed(text), *_labelled(text)):
        old = found.setdefault(role, size)
        if old is not None and abs(old - size) > _ROUNDING * max(old, size):
            found[role] = None
    kept = {role: size for role, size in found.items() if size is not None}
    capacity = kept.get("capacity")
    if capacity is not None:
        beyond = [one for one in ("free", "allocated", "reserved") if kept.get(one, 0.0) > capacity * (1 + _ROUNDING)]
        for role in (*beyond, *(("capacity",) if beyond else ())):
            del kept[role]
    if "allocated" not in found and "reserved" in kept:
        kept["allocated"] = kept.pop("reserved")
    return kept


def _labelled(text: str) -> Iterator[tuple[str, float]]:
    """Sizes whose unit stands in their label: `requested_mb=2048`, `Free memory (MiB): 300`; or nowhere."""
    for found in (*_UNIT_IN_LABEL.finditer(text), *_BARE.finditer(text)):
        words = {one.lastgroup for one in _ROLE.finditer(found["label"])}
        size = parse_size(f"{found['number']} {found.groupdict().get('unit', 'bytes')}")
        role = words.pop() if len(words) == 1 else None
        if role is not None and role != "none" and size is not None:
            yield role, size


def _printed(text: str) -> Iterator[tuple[str, float]]:
    sizes = list(_SIZE.finditer(text))
    begin = 0  # what stands before this belongs to the sizes before
    for index, one in enumerate(sizes):
        following = sizes[index + 1].start() if index + 1 < len(sizes) else len(text)
        start, end = max(begin, one.start() - _REACH_BEFORE), min(following, one.end() + _REACH_AFTER)
        ahead = text[one.end() : end]
        role, used = _role(text[start : one.start()], ahead, text[one.end() : one.end() + 60])
        part = index > 0 and _PART_OF.fullmatch(text[sizes[index - 1].end() : one.start()])
        if (part or _NUMBER.search(text[start : one.start()])) and role != "capacity":
            role = None
        begin = one.end() + used
        size = parse_size(one[0])
        if role is not None and role != "none" and size is not None:
            yield role, size


def _role(behind: str, ahead: str, beyond: str) -> tuple[str | None, int]:
    """The meaning of the size between these two texts, and how much of the text ahead was spent on it."""
    before, (after, spent) = _before(behind), _after(ahead, beyond)
    if after is None or before is None or before.role == after.role:
        word = before or after
        return (word.role if word else None), (spent if after else 0)
    if before.adjacent and after.adjacent:
        if before.role != "request":
            return before.role, 0
        return (after.role, spent) if before.marked else (None, 0)
    if before.adjacent or after.adjacent:
        return (before.role, 0) if before.adjacent else (after.role, spent)
    return None, 0


def _before(behind: str) -> _Word | None:
    breaks = [one.end() for one in _BREAK.finditer(behind)]
    clause = behind[breaks[-1] :] if breaks else behind
    words = list(_ROLE.finditer(clause))
    if not words:
        return None
    between = clause[words[-1].end() :]
    role = "none" if words[0][0].lower() == "other" else str(words[-1].lastgroup)
    return _Word(role, bool(_NEXT_TO.match(between)), any(mark in between for mark in ":(["))


def _after(ahead: str, beyond: str) -> tuple[_Word | None, int]:
    broken = _BREAK.search(ahead)
    clause = ahead[: broken.start()] if broken else ahead
    word = _ROLE.search(clause)
    if word is None or _OWN_LABEL_AHEAD.match(beyond[word.end() :]):
        return None, 0
    if re.match(r" by (?:an)?other| by process", beyond[word.end() :]):
        return _Word("none", True, False), word.end()
    return _Word(str(word.lastgroup), bool(_NEXT_TO.match(clause[: word.start()])), False), word.end()
