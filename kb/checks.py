"""Cross-rule checks at load: every word exists, every comparison fits its fact, every judged number has a source."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gpuwhy.kb.build import Source
from gpuwhy.kb.catalogue import SECTIONS, normal
from gpuwhy.kb.conditions import FactRef
from gpuwhy.kb.entities import PARENTS, reachable
from gpuwhy.kb.errors import Problem
from gpuwhy.kb.expressions import ExpressionError
from gpuwhy.kb.expressions import dimension as expression_dimension
from gpuwhy.kb.expressions import references as expression_references
from gpuwhy.kb.model import Derivation, FactSpec, KnowledgeBase
from gpuwhy.kb.plain_trees import conditions_in, texts_in
from gpuwhy.kb.records import replace
from gpuwhy.kb.texts import PLACEHOLDER
from gpuwhy.kb.units import UNITS, Dimension, dimension, parse_quantity

_PREFIX = {"signatures": "sig", "fixes": "fix", "derivations": "derive", "selections": "select"}
LISTS = ("families", "machines", "works", "claims")
"""Sections of the catalogue whose entries have one name each."""

_ORDERING = ("lt", "le", "gt", "ge")


def check(kb: KnowledgeBase, sources: list[Source]) -> list[Problem]:
    """Every problem of the files against the knowledge base that was built from them."""
    checker = _Checker(kb)
    for source in sources:
        checker.source(source)
    return checker.problems


class _Checker:
    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.problems: list[Problem] = []
        self.ids: set[str] = set()
        self.derivations = {one.id: one for one in kb.derivations}
        self.areas = {name.partition(".")[0] for name in kb.conclusions}

    def add(self, code: str, source: Source, path: tuple[str | int, ...], message: str, hint: str = "") -> None:
        self.problems.append(Problem(source.at(*path), message, hint, code))

    def source(self, source: Source) -> None:
        if source.kind == "facts":
            self.fact_words(source)
        elif source.kind == "conclusions":
            self.conclusion_words(source)
        elif source.kind == "pipeline":
            self.pipeline(source)
        elif source.kind == "catalogue":
            self.catalogue(source)
        elif source.kind in _PREFIX:
            self.rule(source)

    def catalogue(self, source: Source) -> None:
        chips = {one["id"] for one in self.kb.catalogue.sections["chips"]}
        for section in SECTIONS:
            for index, entry in enumerate(source.data.get(section, ())):
                here: tuple[str | int, ...] = (section, index)
                if "chip" in entry and entry["chip"] not in chips:
                    self.add(
                        "unknown-chip",
                        source,
                        (*here, "chip"),
                        f"no chip `{entry['chip']}`",
                        _close(entry["chip"], chips),
                    )
                for name in (*entry.get("names", ()), *entry.get("codes", ())):
                    self.named_once(source, here, section, normal(name) if isinstance(name, str) else name)
                for word, plain in entry.get("values", {}).items():
                    self.catalogue_value(source, (*here, "values", word), word, plain)
                for key in ("of", "gives"):
                    if key in entry:
                        self.fact(source, (*here, key), entry[key])
                if "source" in entry:
                    self.judged(source, here, entry)
                if section in LISTS:
                    self.listed(source, here, section, entry)
                self.claimed(source, here, entry)

    def listed(self, source: Source, path: tuple[str | int, ...], section: str, entry: dict[str, Any]) -> None:
        """An entry of a list has a name of its own; families and works that it names are in the catalogue."""
        self.named_once(source, path, section, str(entry.get("id") or entry.get("name")))
        families = [entry["family"]] if "family" in entry else []
        for key, wanted, listed in (("family", families, "families"), ("works", entry.get("works", ()), "works")):
            for one in wanted:
                if one not in self.listed_names[listed]:
                    self.add(
                        "unknown-chip",
                        source,
                        (*path, key),
                        f"no `{one}` among the {listed}",
                        _close(one, self.listed_names[listed]),
                    )

    @cached_property
    def listed_names(self) -> dict[str, set[str]]:
        sections = self.kb.catalogue.sections
        return {name: {str(one.get("id") or one.get("name")) for one in sections.get(name, ())} for name in LISTS}

    def named_once(self, source: Source, path: tuple[str | int, ...], section: str, name: str | int) -> None:
        if f"{section} {name}" in self.ids:
            self.add("duplicate-id", source, path, f"`{name}` stands in the catalogue twice", "remove one of them")
        self.ids.add(f"{section} {name}")

    def catalogue_value(self, source: Source, path: tuple[str | int, ...], word: str, plain: dict[str, Any]) -> None:
        spec = self.fact(source, path, word)
        if spec is not None:
            self.one_value(source, path, spec, plain["value"])
        self.judged(source, path, plain)

    def fact_words(self, source: Source) -> None:
        for index, plain in enumerate(source.data["facts"]):
            here = ("facts", index)
            if plain["entity"] not in PARENTS:
                self.add(
                    "bad-fact",
                    source,
                    (*here, "entity"),
                    f"no entity kind `{plain['entity']}`",
                    f"one of {', '.join(PARENTS)}",
                )
            if (plain["type"] == "choice") != ("choices" in plain):
                self.add("bad-fact", source, here, f"`{plain['id']}`: `choices` belongs to type choice, and only there")
            for place, area in enumerate(plain.get("areas", ())):
                if area not in self.areas:
                    hint = f"one of {', '.join(sorted(self.areas))}"
                    self.add("bad-fact", source, (*here, "areas", place), f"no area `{area}`", hint)
            if "unit" in plain and plain["type"] not in ("number", "integer"):
                self.add("bad-fact", source, (*here, "unit"), "only numbers have a unit")

    def conclusion_words(self, source: Source) -> None:
        for index, plain in enumerate(source.data["conclusions"]):
            for place, word in enumerate(plain.get("explains", ())):
                self.conclusion(source, ("conclusions", index, "explains", place), word)

    def pipeline(self, source: Source) -> None:
        for index, plain in enumerate(source.data["stages"]):
            self.conclusion(source, ("stages", index, "conclusion"), plain["conclusion"])
            self.fact(source, ("stages", index, "share"), plain["share"])

    def conclusion(self, source: Source, path: tuple[str | int, ...], word: str) -> None:
        if word not in self.kb.conclusions:
            self.add("unknown-conclusion", source, path, f"no conclusion `{word}`", _close(word, self.kb.conclusions))

    def fact(self, source: Source, path: tuple[str | int, ...], word: str) -> FactSpec | None:
        if word not in self.kb.facts:
            self.add("unknown-fact", source, path, f"no fact `{word}`", _close(word, self.kb.facts))
        return self.kb.facts.get(word)

    def rule(self, source: Source) -> None:
        plain = source.data
        expected = f"{_PREFIX[source.kind]}.{'.'.join(source.file.removesuffix('.yaml').split('/')[1:])}"
        own = plain["id"].rpartition(":")[2]
        if own != expected:
            self.add("id-path", source, ("id",), f"id `{own}` does not follow the path", f"write {expected}")
        if plain["id"] in self.ids:
            self.add("duplicate-id", source, ("id",), f"id `{plain['id']}` is used twice")
        self.ids.add(plain["id"])
        for path, condition in conditions_in(plain, ()):
            self.comparison(source, path, condition)
        for path, text in texts_in(plain, ()):
            self.placeholders(source, path, text)
        if source.kind == "signatures":
            self.conclusion(source, ("concludes",), plain["concludes"])
        for index, word in enumerate(plain.get("conclusions", ())):
            self.conclusion(source, ("conclusions", index), word)
        if source.kind == "derivations":
            self.derivation(source)
        self.claimed(source, (), plain)

    def claimed(self, source: Source, path: tuple[str | int, ...], entry: dict[str, Any]) -> None:
        """The claim that an entry or a rule names is in the catalogue."""
        known = self.listed_names["claims"]
        if "claim" in entry and entry["claim"] not in known and "verdict" not in entry:
            self.add(
                "unknown-chip", source, (*path, "claim"), f"no claim `{entry['claim']}`", _close(entry["claim"], known)
            )

    def placeholders(self, source: Source, path: tuple[str | int, ...], text: str) -> None:
        for match in PLACEHOLDER.finditer(text):
            self.fact(source, path, match.group(1))

    def comparison(self, source: Source, path: tuple[str | int, ...], plain: dict[str, Any]) -> None:
        spec = self.fact(source, (*path, "fact"), plain["fact"])
        if spec is None:
            return
        spec = self.aggregated(source, path, spec, plain.get("over"))
        op, has_value, than = plain["op"], "value" in plain, plain.get("than")
        wants = 0 if op == "known" else 1
        if has_value + (than is not None) != wants:
            self.add(
                "bad-comparison",
                source,
                path,
                "compare with `value` or with `than`, one of them" if wants else "`known` takes no value",
            )
            return
        if op in _ORDERING and not spec.is_number:
            self.add(
                "bad-comparison", source, path, f"`{spec.id}` is {spec.type}: `{op}` orders numbers", "use eq, ne or in"
            )
        if than is not None:
            self.against_fact(source, path, spec, plain)
        elif has_value:
            self.against_value(source, path, spec, plain)

    def aggregated(self, source: Source, path: tuple[str | int, ...], spec: FactSpec, over: str | None) -> FactSpec:
        """What a comparison sees of a fact: itself, or an aggregate over entities; of any fact, how many there are."""
        if over == "count":
            return replace(spec, type="integer", unit="count", choices=())
        if over is not None and not spec.is_number:
            self.add(
                "bad-comparison",
                source,
                (*path, "over"),
                f"`{spec.id}` is {spec.type}: `{over}` is of numbers",
                "use count",
            )
        return spec

    def against_fact(self, source: Source, path: tuple[str | int, ...], spec: FactSpec, plain: dict[str, Any]) -> None:
        other = self.fact(source, (*path, "than", "fact"), plain["than"]["fact"])
        if plain["op"] == "in":
            self.add("bad-comparison", source, (*path, "op"), "`in` takes a list, not another fact", "use eq")
        if other is not None:
            other = self.aggregated(source, (*path, "than"), other, plain["than"].get("over"))
            self.alike(source, path, spec, other, plain)
        if plain.get("times", 1) != 1:
            if not spec.is_number:
                message = f"`{spec.id}` is {spec.type}: only numbers are multiplied"
                self.add("bad-comparison", source, (*path, "times"), message, "leave `times` out")
            self.judged(source, path, plain)

    def alike(
        self, source: Source, path: tuple[str | int, ...], spec: FactSpec, other: FactSpec, plain: dict[str, Any]
    ) -> None:
        """Two facts that are compared hold values of one kind and, if numbers, of one unit."""
        if _kind(spec) != _kind(other):
            left = _named(spec, plain.get("over"))
            right = _named(other, plain["than"].get("over"))
            why = "they have no order" if plain["op"] in _ORDERING else "they are never equal"
            hint = "compare numbers with numbers, words with words, and what is true or false with what is"
            where = (*path, "than", "fact")
            self.add(
                "bad-comparison", source, where, f"{right} is {_kind(other)}, and {left} is {_kind(spec)}: {why}", hint
            )
        elif dimension(other.unit) != dimension(spec.unit):
            self.add(
                "unit-mismatch",
                source,
                path,
                f"`{spec.id}` ({spec.unit}) and `{other.id}` ({other.unit}) are of different units",
            )

    def against_value(self, source: Source, path: tuple[str | int, ...], spec: FactSpec, plain: dict[str, Any]) -> None:
        value, op = plain["value"], plain["op"]
        if isinstance(value, list) != (op == "in"):
            self.add("bad-comparison", source, (*path, "value"), "a list belongs to `in`, and `in` needs a list")
            return
        for one in value if isinstance(value, list) else [value]:
            self.one_value(source, (*path, "value"), spec, one)
        if spec.is_number:
            self.judged(source, path, plain)

    def one_value(self, source: Source, path: tuple[str | int, ...], spec: FactSpec, value: Any) -> None:
        if spec.type == "boolean" and not isinstance(value, bool):
            self.add("bad-value", source, path, f"`{spec.id}` is true or false, not {value!r}")
        elif spec.type == "choice" and value not in spec.choices:
            self.add(
                "bad-value", source, path, f"`{value}` is no choice of `{spec.id}`", f"one of {', '.join(spec.choices)}"
            )
        elif spec.type == "text" and not isinstance(value, str):
            self.add("bad-value", source, path, f"`{spec.id}` is text, not {value!r}", "quote it")
        elif spec.is_number and (
            isinstance(value, bool) or (isinstance(value, str) and parse_quantity(value, spec.unit) is None)
        ):
            spellings = ", ".join(UNITS[spec.unit].spellings) if spec.unit else "no unit"
            self.add(
                "bad-value",
                source,
                path,
                f"{value!r} is no quantity in {spec.unit or 'plain numbers'}",
                f"a number, with one of: {spellings}",
            )

    def judged(self, source: Source, path: tuple[str | int, ...], plain: dict[str, Any]) -> None:
        if "source" not in plain:
            self.add(
                "no-source",
                source,
                path,
                "a number is judged here without a source",
                "add `source: <reference id>`, or `source: definition`",
            )
        elif plain["source"] not in self.kb.references:
            self.add(
                "unknown-reference",
                source,
                (*path, "source"),
                f"no reference `{plain['source']}`",
                _close(plain["source"], [one.rpartition(":")[2] for one in self.kb.references]),
            )

    def derivation(self, source: Source) -> None:
        plain = source.data
        spec = self.fact(source, ("gives",), plain["gives"])
        derivation = self.derivations.get(plain["id"])
        for key in ("value", "otherwise"):
            if spec is not None and key in plain:
                self.one_value(source, (key,), spec, plain[key])
        if spec is None or derivation is None:
            return
        self.reaches(source, spec, derivation)
        self.reads_others(source, derivation)
        if derivation.formula is not None:
            self.formula(source, spec, derivation)

    def reaches(self, source: Source, spec: FactSpec, derivation: Derivation) -> None:
        """What is derived for an entity is about that or what that belongs to; there is one host and job."""
        scope = derivation.scope
        if scope in PARENTS and spec.entity not in {*reachable(scope), "job", "host"}:
            message = f"a {scope} has no {spec.entity} above it, so nothing is ever given to `{spec.id}`"
            self.add(
                "unreachable-target",
                source,
                ("gives",),
                message,
                f"write `scope: {spec.entity}`, or give a fact of the host or the job",
            )

    def reads_others(self, source: Source, derivation: Derivation) -> None:
        """A derivation that reads what it gives would hang on which other derivation of that fact comes first."""
        message = f"it reads `{derivation.gives}`, the fact that it gives"
        hint = "let it read what that fact is computed from"
        formula = derivation.formula
        if formula is not None and any(ref.fact == derivation.gives for ref in expression_references(formula)):
            self.add("reads-itself", source, ("formula",), message, hint)
        for path, plain in conditions_in(source.data.get("when"), ("when",)):
            if derivation.gives in (plain["fact"], plain.get("than", {}).get("fact")):
                self.add("reads-itself", source, path, message, hint)

    def formula(self, source: Source, spec: FactSpec, derivation: Derivation) -> None:
        assert derivation.formula is not None
        known = True
        for ref in expression_references(derivation.formula):
            found = self.fact(source, ("formula",), ref.fact)
            known = known and found is not None
            if found is not None and not found.is_number and ref.over is None:
                self.add("bad-formula", source, ("formula",), f"`{found.id}` is no number")
        if not known:
            return
        try:
            got = expression_dimension(derivation.formula, self.dimension_of)
        except ExpressionError as error:
            self.add("unit-mismatch", source, ("formula",), str(error))
            return
        if got != dimension(spec.unit):
            self.add(
                "unit-mismatch",
                source,
                ("formula",),
                f"gives {_dimension_name(got)}, but `{spec.id}` is in {spec.unit or 'plain numbers'}",
            )

    def dimension_of(self, ref: FactRef) -> Dimension:
        return dimension(self.kb.facts[ref.fact].unit) if ref.over is None or ref.over.value != "count" else ()


def _kind(spec: FactSpec) -> str:
    """What values of a fact can be compared with: those of the same kind."""
    return "a number" if spec.is_number else "true or false" if spec.type == "boolean" else "a word"


def _named(spec: FactSpec, over: str | None) -> str:
    return f"`{spec.id}`" if over is None else f"{over}({spec.id})"


def _dimension_name(found: Dimension) -> str:
    return " ".join(base if power == 1 else f"{base}^{power}" for base, power in found) or "a plain number"


def _close(word: str, known: Any) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(known), 1)
    return f"did you mean `{close[0]}`?" if close else ""
