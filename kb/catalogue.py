"""What is known of GPUs, machine types and driver error codes by their name: look-ups, from data of rules/catalogue.

A name that a table has cut, or that leaves the variant open, gives only what all cards it may mean have in common. A
virtual GPU or a MIG partition gives only what holds for the chip: memory, power and link are those of its slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from typing import Any

from gpuwhy.kb.facts import Value
from gpuwhy.kb.patterns import later
from gpuwhy.kb.records import dataclass, field
from gpuwhy.kb.units import parse_quantity

SECTIONS = (
    "chips", "gpus", "instances", "xids", "versions", "numbers", "families", "machines", "prices", "works", "claims",
    "denials",
)  # fmt: skip

FACT_SECTIONS = ("chips", "gpus", "instances", "xids", "versions", "numbers")
"""What facts of a diagnosis are looked up in; the others tell what can be rented, and what is claimed."""

XID_CLASSES = (
    "lost", "memory", "internal", "link", "bus", "power", "corrected", "remap", "hang", "application", "software",
    "cleanup", "notice",
)  # fmt: skip
"""Classes of faults that Xid codes name, the gravest first."""

_BRANDS = ("nvidia", "tesla", "geforce", "grid")
_CUT = later(r"\s*(?:\.{2,}|…)\s*\Z")
_SLICE = later(r"(?:\bmig\b.*| \d{1,3}(?:q|c|a|b|cme)| laptop gpu| with max q design)\s*\Z")
_VERSION = later(r"\s{0,4}v?([0-9]{1,4}(?:\.[0-9]{1,3}){0,4})")
_SEPARATORS = later(r"[\s_/-]+")


@dataclass(frozen=True)
class Known:
    """One value of the catalogue, as written there, the reference it rests on, and the entry it is of."""

    fact: str
    value: Value
    source: str
    entry: str


@dataclass(frozen=True)
class Xid:
    """A driver error code: the class of fault it names, what it says and what to do."""

    code: int
    group: str
    says: str
    action: str
    source: str


@dataclass(frozen=True)
class Catalogue:
    """All catalogue entries, as plain data; look-ups build what they need once."""

    sections: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)

    @staticmethod
    def of(documents: Iterable[Mapping[str, Any]]) -> Catalogue:
        """The catalogue of several files."""
        return Catalogue(_sections(documents))

    @staticmethod
    def later(files: Iterable[tuple[Iterable[str], Callable[[], Mapping[str, Any]]]]) -> Catalogue:
        """The catalogue of files that are read when one of their sections is first looked at: sections and reader."""
        return Catalogue(_Later(files))

    def of_gpu(self, name: str) -> Sequence[Known]:
        """What is known of the GPU with this product name, as a driver or a person writes it; empty if nothing is."""
        return self._looked_up(("gpu", name), self._of_gpu)

    def of_instance(self, name: str) -> Sequence[Known]:
        """What is known of the machine type with this name (`g6e.xlarge`); empty if nothing is."""
        return self._looked_up(("instance", name), self._of_instance)

    def _looked_up(self, key: tuple[str, str], look_up: Callable[[str], Sequence[Known]]) -> Sequence[Known]:
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = look_up(key[1])
        return found

    @cached_property
    def _found(self) -> dict[tuple[str, str], Sequence[Known]]:
        """What is known by the names that were asked for: a fleet has few."""
        return {}

    def _of_gpu(self, name: str) -> list[Known]:
        wanted = normal(name)
        whole = _SLICE.sub("", wanted).strip()
        sliced = whole != wanted
        if not whole:
            return []
        candidates = self._candidates(whole, bool(_CUT.search(name)))
        return _common([self._of_card(entry, with_card=not sliced) for entry in candidates])

    def _of_instance(self, name: str) -> list[Known]:
        lowered = name.lower()
        for entry in self.sections.get("instances", ()):
            if any(fnmatchcase(lowered, pattern.lower()) for pattern in entry["names"]):
                return _values(entry["values"], entry["names"][0])
        return []

    def of_version(self, fact: str, version: str) -> list[Known]:
        """What is known of the thing whose version this fact holds; empty if nothing is."""
        number = version_number(version)
        if number is None:
            return []
        return [
            known
            for entry in self.sections.get("versions", ())
            if entry["of"] == fact and _within(number, entry)
            for known in _values(entry["values"], f"{fact} {version}")
        ]

    def numbers(self) -> list[tuple[str, str]]:
        """Facts that hold a version, each with the fact that becomes its number."""
        return [(entry["of"], entry["gives"]) for entry in self.sections.get("numbers", ())]

    def xid(self, code: int) -> Xid | None:
        """What an Xid code means; None for one that the catalogue does not have."""
        return self._xids.get(code)

    @cached_property
    def _xids(self) -> dict[int, Xid]:
        return {
            code: Xid(code, entry["class"], entry["says"], entry["action"], entry["source"])
            for entry in self.sections.get("xids", ())
            for code in entry["codes"]
        }

    @cached_property
    def _names(self) -> dict[str, Mapping[str, Any]]:
        return {normal(name): entry for entry in self.sections.get("gpus", ()) for name in entry["names"]}

    @cached_property
    def _chips(self) -> dict[str, Mapping[str, Any]]:
        return {entry["id"]: entry for entry in self.sections.get("chips", ())}

    def _candidates(self, wanted: str, cut: bool) -> list[Mapping[str, Any]]:
        exact = self._names.get(wanted)
        if exact is not None and not cut:
            return [exact]
        start = wanted if cut else f"{wanted} "
        found = {id(entry): entry for name, entry in self._names.items() if name.startswith(start) or name == wanted}
        return list(found.values())

    def _of_card(self, entry: Mapping[str, Any], with_card: bool) -> list[Known]:
        name, chip = entry["names"][0], self._chips.get(entry["chip"])
        found = _values(chip["values"], name) if chip is not None else []
        return found + (_values(entry.get("values", {}), name) if with_card else [])


class _Later(Mapping[str, tuple[Mapping[str, Any], ...]]):
    """Sections that are read when they are first looked at."""

    def __init__(self, files: Iterable[tuple[Iterable[str], Callable[[], Mapping[str, Any]]]]) -> None:
        self._files = [(frozenset(sections), cache(read)) for sections, read in files]
        self._read: dict[str, tuple[Mapping[str, Any], ...]] = {}

    def __getitem__(self, section: str) -> tuple[Mapping[str, Any], ...]:
        if section not in SECTIONS:
            raise KeyError(section)
        if section not in self._read:
            documents = [read() for sections, read in self._files if section in sections]
            self._read[section] = _sections(documents)[section]
        return self._read[section]

    def __iter__(self) -> Iterator[str]:
        return iter(SECTIONS)

    def __len__(self) -> int:
        return len(SECTIONS)


def _sections(documents: Iterable[Mapping[str, Any]]) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
    found: dict[str, list[Mapping[str, Any]]] = {section: [] for section in SECTIONS}
    for document in documents:
        for section in SECTIONS:
            found[section].extend(document.get(section, ()))
    return {section: tuple(entries) for section, entries in found.items()}


@lru_cache(maxsize=1024)
def version_number(version: str) -> int | None:
    """A version as a number that can be compared, of its first three parts: 535.104.05 is 535104005."""
    found = _VERSION.match(version)
    if found is None:
        return None
    scales = (1_000_000, 1_000, 1)
    return sum(int(part) * scale for part, scale in zip(found.group(1).split("."), scales, strict=False))


def _within(number: int, entry: Mapping[str, Any]) -> bool:
    first, end = version_number(entry["from"]), version_number(entry["below"])
    return first is not None and end is not None and first <= number < end


def normal(name: str) -> str:
    """A product name for comparison: lower case, without brand words in front, separators as single spaces."""
    words = _SEPARATORS.split(_CUT.sub("", name).lower().strip())
    while len(words) > 1 and words[0] in _BRANDS:
        words.pop(0)
    return " ".join(words)


@lru_cache(maxsize=1024, typed=True)
def typed(value: Value, unit: str | None, kind: str) -> Value:
    """A catalogue value in the unit of its fact: `80 GiB` in bytes, whole numbers as such. Raises `ValueError`."""
    if kind in ("boolean", "text", "choice"):
        return value
    number = parse_quantity(value, unit) if isinstance(value, str) else value
    if number is None:
        raise ValueError(f"{value!r} is no quantity in {unit or 'plain numbers'}")
    return int(number) if kind == "integer" else number


def _values(plain: Mapping[str, Mapping[str, Any]], entry: str) -> list[Known]:
    return [Known(fact, one["value"], one["source"], entry) for fact, one in plain.items()]


def _common(cards: list[list[Known]]) -> list[Known]:
    """What all cards have with the same value."""
    if not cards:
        return []
    kept = cards[0]
    for other in cards[1:]:
        values = {one.fact: one.value for one in other}
        kept = [one for one in kept if values.get(one.fact) == one.value]
    return kept
