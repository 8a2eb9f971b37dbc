"""What the catalogue and the texts of rules must not say: values that claims called wrong would put there.

Each denial has the form of the thing it denies: a value of a card, a card of a family, a machine type that does not
exist, a relation of two prices, a phrase.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.offers import Price, prices
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.units import parse_quantity

TOLERANCE = 0.05
"""Of a ratio: how near a value is that counts as the one denied."""

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Contradiction:
    """Where the catalogue or a text says what a claim, called wrong, says."""

    claim: str
    where: str


def contradictions(catalogue: Catalogue) -> list[Contradiction]:
    """Every place of the catalogue that equals what a wrong claim says; empty for a catalogue that can be relied on."""
    reader = _Reader(catalogue)
    return [
        Contradiction(one["claim"], where)
        for one in catalogue.sections.get("denials", ())
        if "says" not in one
        for where in reader.found(one)
    ]


def spoken(catalogue: Catalogue, texts: Iterable[tuple[str, str]]) -> list[Contradiction]:
    """Every text, given with a name, that says what a wrong claim says."""
    phrases = [
        (one["claim"], re.compile(one["says"])) for one in catalogue.sections.get("denials", ()) if "says" in one
    ]
    return [Contradiction(claim, name) for name, text in texts for claim, phrase in phrases if phrase.search(text)]


class _Reader:
    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.families = {str(one["name"]): one for one in catalogue.sections.get("families", ())}
        self.machines = {str(one["name"]): one for one in catalogue.sections.get("machines", ())}

    def found(self, denial: Entry) -> Iterator[str]:
        kinds: tuple[tuple[str, Callable[[Entry], Iterator[str]]], ...] = (
            ("fact", self._value),
            ("family", self._family),
            ("machine", self._machine),
            ("cheaper", self._cheaper),
            ("ratio", self._ratio),
            ("gpu", self._named),
        )
        yield from next(read for key, read in kinds if key in denial)(denial)

    def _value(self, denial: Entry) -> Iterator[str]:
        fact = denial["fact"]
        if "of" in denial:
            known = {one.fact: one.value for one in self.catalogue.of_version(denial["of"], denial["version"])}
            if known.get(fact) == denial.get("value"):
                yield f"{fact} of {denial['of']} {denial['version']}"
            return
        mine = self._of_card(denial["gpu"], fact)
        if mine is not None and _holds(denial, mine, lambda other: self._of_card(other, fact)):
            yield f"{fact} of {denial['gpu']}"

    def _of_card(self, gpu: str, fact: str) -> object:
        known = {one.fact: one.value for one in self.catalogue.of_gpu(gpu)}
        return _plain(known.get(fact))

    def _family(self, denial: Entry) -> Iterator[str]:
        name = denial["family"]
        family = self.families.get(name)
        if family is None:
            return
        for key, told in (("gpu", "its GPU"), ("lacks", ""), ("holds", ""), ("has", "")):
            if key in denial:
                if _of_entry(family, key, denial[key]):
                    yield f"family {name}{': ' + told if told else ''}"
                return
        yield f"family {name}: there is none"

    def _machine(self, denial: Entry) -> Iterator[str]:
        machine = self.machines.get(denial["machine"])
        if machine is not None and ("has" not in denial or _of_entry(machine, "has", denial["has"])):
            yield f"machine type {denial['machine']}"

    def _named(self, denial: Entry) -> Iterator[str]:
        wanted = re.compile(denial["gpu"])
        for name, family in self.families.items():
            if denial.get("provider") in (None, family["provider"]) and wanted.search(family["gpu"]):
                yield f"family {name}: its GPU"

    def _pairs(self, names: Iterable[str]) -> Iterator[tuple[Price, Price]]:
        known = {(one.machine, one.region): one for one in prices(self.catalogue) if one.mode == "payg"}
        first, second = names
        for (machine, region), one in known.items():
            other = known.get((second, region))
            if machine == first and other is not None and one.currency == other.currency:
                yield one, other

    def _cheaper(self, denial: Entry) -> Iterator[str]:
        for one, other in self._pairs(denial["cheaper"]):
            if one.per_hour < other.per_hour:
                yield f"price of {one.machine} in {one.region}"

    def _ratio(self, denial: Entry) -> Iterator[str]:
        for one, other in self._pairs(denial["ratio"]):
            if abs(one.per_hour / other.per_hour - denial["value"]) < TOLERANCE:
                yield f"price of {one.machine} in {one.region}"


def _plain(value: object) -> object:
    """A catalogue value as a number where it is a quantity, in whatever unit it is written."""
    if not isinstance(value, str):
        return value
    for unit in ("bytes_per_second", "flops", "bytes", "watts"):
        number = parse_quantity(value, unit)
        if number is not None:
            return number
    return value


def _holds(denial: Entry, mine: object, of_card: Callable[[str], object]) -> bool:
    if "value" in denial:
        return mine == _plain(denial["value"])
    other = of_card(str(denial.get("above") or denial["of_gpu"]))
    if not isinstance(mine, (int, float)) or not isinstance(other, (int, float)) or not other:
        return False
    if "above" in denial:
        return mine > other
    return abs(mine / other - float(denial["times"])) < TOLERANCE


def _of_entry(entry: Entry, key: str, wanted: Any) -> bool:
    if key == "gpu":
        return re.search(wanted, entry["gpu"]) is not None
    if key in ("lacks", "holds"):
        return (wanted in entry) is (key == "holds")
    return all(entry.get(name) == value for name, value in wanted.items())
