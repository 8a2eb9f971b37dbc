"""From checked data of knowledge files to the knowledge base; finds words that do not exist on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gpuwhy.kb import conditions, expressions, outlines
from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.conditions import Condition
from gpuwhy.kb.entities import infer_scope
from gpuwhy.kb.errors import Location, Problem
from gpuwhy.kb.expressions import Expression, ExpressionError, refs_of
from gpuwhy.kb.facts import Value
from gpuwhy.kb.model import (
    Answer,
    ConclusionSpec,
    Derivation,
    Exclusion,
    FactSpec,
    Fix,
    KnowledgeBase,
    Obtain,
    Reference,
    Selection,
    Signature,
    Stage,
    Step,
    Support,
    Verify,
)
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.units import parse_quantity

Locate = Callable[..., Location]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Source:
    """The data of one knowledge file, its kind (the folder or file name), and how to find a place in it."""

    kind: str
    file: str
    data: Any
    at: Locate


class Words(Mapping[str, _T]):
    """Words of a vocabulary by id, each made when it is first looked up: a diagnosis touches a small part of them."""

    def __init__(self, make: Callable[[dict[str, Any]], _T]) -> None:
        self._make = make
        self._plain: dict[str, dict[str, Any] | int] = {}
        self._bounds: Sequence[int] = ()
        self._texts = memoryview(b"")
        self._made: dict[str, _T] = {}

    def put(self, plain: dict[str, Any]) -> None:
        """Note the data of a word."""
        self._plain[plain["id"]] = plain

    def put_all(self, names: Iterable[str], bounds: Sequence[int], texts: memoryview) -> None:
        """Note words by id; the JSON data of each starts in `texts` at its bound and ends at the next one."""
        self._plain.update(zip(names, range(len(bounds)), strict=False))
        self._bounds, self._texts = bounds, texts

    def __getitem__(self, word: str) -> _T:
        made = self._made.get(word)
        if made is None:
            plain = self._plain[word]
            if isinstance(plain, int):
                plain = json.loads(str(self._text(plain), "utf-8"))
            made = self._made[word] = self._make(plain)
        return made

    def holding(self, key: str) -> list[str]:
        """The words whose data may have this key, told from their texts: none is made."""
        mark = json.dumps(key).encode()
        return [
            word
            for word, plain in self._plain.items()
            if (key in plain if isinstance(plain, dict) else mark in bytes(self._text(plain)))
        ]

    def _text(self, number: int) -> memoryview:
        return self._texts[self._bounds[number] : self._bounds[number + 1]]

    def __contains__(self, word: object) -> bool:
        return word in self._plain

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)


class Builder:
    """Builds the knowledge base from sources; `problems` holds everything that does not fit together."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = list(sources)
        self.problems: list[Problem] = []
        self.facts = Words(_fact)
        self.conclusions = Words(_conclusion)
        self.references = Words(_reference)
        self._at = {one.data["id"]: one.at("id") for one in self._of("derivations")}

    def build(self, version: str, digest: str) -> KnowledgeBase:
        """The knowledge base. Look at `problems` before using it."""
        self._words("facts", self.facts)
        self._words("conclusions", self.conclusions)
        self._words("references", self.references)
        return KnowledgeBase(
            version=version,
            digest=digest,
            facts=self.facts,
            conclusions=self.conclusions,
            references=self.references,
            derivations=outlines.of_derivations(
                self._in_order([self.derivation(source) for source in self._of("derivations")])
            ),
            signatures=outlines.of_signatures(self.signature(source) for source in self._of("signatures")),
            fixes=outlines.of_fixes(self.fix(source) for source in self._of("fixes")),
            selections=outlines.of_selections(self.selection(source) for source in self._of("selections")),
            pipeline=pipeline(stage for source in self._of("pipeline") for stage in source.data["stages"]),
            catalogue=Catalogue.of(source.data for source in self._of("catalogue")),
        )

    def _of(self, kind: str) -> list[Source]:
        return [source for source in self.sources if source.kind == kind]

    def _words(self, kind: str, into: Words[_T]) -> None:
        for source in self._of(kind):
            for index, plain in enumerate(source.data[kind]):
                if plain["id"] in into:
                    where = source.at(kind, index, "id")
                    self._problem("duplicate-id", where, f"`{plain['id']}` is defined twice", "remove one of them")
                into.put(plain)

    def _problem(self, code: str, where: Location, message: str, hint: str = "") -> None:
        self.problems.append(Problem(where, message, hint, code))

    def _common(self, source: Source) -> dict[str, Any]:
        plain = source.data
        for index, reference in enumerate(plain.get("references", ())):
            if reference not in self.references:
                self._problem(
                    "unknown-reference",
                    source.at("references", index),
                    f"no reference `{reference}`",
                    "add it to rules/references",
                )
        return {
            "id": plain["id"],
            "version": plain["version"],
            "status": plain["status"],
            "title": plain["title"],
            "file": source.file,
            "references": tuple(plain.get("references", ())),
        }

    def _condition(self, source: Source, *path: str | int) -> Condition | None:
        plain: Any = source.data
        for step in path:
            plain = plain.get(step) if isinstance(plain, dict) else plain[step]
            if plain is None:
                return None
        return conditions.from_plain(plain, self._quantity)

    def _quantity(self, fact: str, value: Any) -> Any:
        """A quantity as written (`2 GiB`, `20 %`) as a number in the unit of its fact; anything else unchanged."""
        spec = self.facts.get(fact)
        if isinstance(value, str) and spec is not None and spec.is_number:
            number = parse_quantity(value, spec.unit)
            return value if number is None else number
        return value

    def _scope(self, source: Source, gives: str | None, *found: Condition | Expression | None) -> str:
        given = source.data.get("scope")
        if given:
            return str(given)
        refs = [ref for one in found if one is not None for ref in refs_of(one)]
        kinds = [self.facts[ref.fact].entity for ref in refs if ref.over is None and ref.fact in self.facts]
        if gives is not None and gives in self.facts and not kinds:
            kinds = [self.facts[gives].entity]
        return infer_scope(kinds)

    def derivation(self, source: Source) -> Derivation:
        """The derivation of a file."""
        plain, formula = source.data, None
        if "formula" in plain:
            try:
                formula = expressions.parse(plain["formula"])
            except ExpressionError as error:
                where = source.at("formula")
                place = Location(where.path, where.line, where.column + error.column - 1)
                self._problem("bad-formula", place, str(error), "see docs/rules.md for what a formula may hold")
        when = self._condition(source, "when")
        return Derivation(
            **self._common(source),
            gives=plain["gives"],
            scope=self._scope(source, plain["gives"], formula, when),
            formula=formula,
            value=self._value(plain, "value", plain["gives"]),
            otherwise=self._value(plain, "otherwise", plain["gives"]),
            when=when,
        )

    def _value(self, plain: dict[str, Any], key: str, fact: str) -> Value | None:
        value: Value | None = plain.get(key)
        spec = self.facts.get(fact)
        if isinstance(value, str) and spec is not None and spec.is_number:
            return parse_quantity(value, spec.unit)
        return value

    def signature(self, source: Source) -> Signature:
        """The signature of a file."""
        plain = source.data
        requires = self._condition(source, "requires")
        assert requires is not None, "the schema asks for `requires`"
        given, confirms = self._condition(source, "given"), self._condition(source, "confirms")
        return Signature(
            **self._common(source),
            concludes=plain["concludes"],
            scope=self._scope(source, None, given, requires, confirms),
            requires=requires,
            priority=plain.get("priority", 50),
            given=given,
            confirms=confirms,
            supports=tuple(self._supports(source)),
            excludes=tuple(self._exclusions(source, "excludes")),
            because=tuple(plain["because"]),
            refuted=tuple(plain.get("refuted", ())),
        )

    def _supports(self, source: Source) -> Iterable[Support]:
        for index, plain in enumerate(source.data.get("supports", ())):
            when = self._condition(source, "supports", index, "when")
            if when is not None:
                yield Support(when, plain.get("because", ""))

    def _exclusions(self, source: Source, key: str) -> Iterable[Exclusion]:
        for index, plain in enumerate(source.data.get(key, ())):
            when = self._condition(source, key, index, "when")
            if when is not None:
                yield Exclusion(when, plain["because"], plain.get("unknown", "demote") == "demote")

    def fix(self, source: Source) -> Fix:
        """The fix of a file."""
        plain = source.data
        when, verify = self._condition(source, "when"), plain["verify"]
        unless = tuple(self._exclusions(source, "unless"))
        scope = self._scope(source, None, when, *(one.when for one in unless))
        return Fix(
            **self._common(source),
            conclusions=tuple(plain["conclusions"]),
            scope=scope,
            when=when,
            unless=unless,
            steps=tuple(Step(step["says"], step.get("command", "")) for step in plain["steps"]),
            effect=plain["effect"],
            risk=plain["risk"],
            undo=plain["undo"],
            restart=plain.get("restart", False),
            order=plain.get("order", 50),
            verify=Verify(verify["says"], verify.get("command", ""), self._condition(source, "verify", "when")),
        )

    def selection(self, source: Source) -> Selection:
        """The selection rule of a file."""
        plain, when = source.data, self._condition(source, "when")
        assert when is not None, "the schema asks for `when`"
        return Selection(
            **self._common(source),
            scope="job",
            then=plain["then"],
            when=when,
            because=plain["because"],
            claim=plain.get("claim"),
        )

    def _in_order(self, derivations: list[Derivation]) -> tuple[Derivation, ...]:
        """Derivations so that each stands after all that give what it reads; a cycle is a problem."""
        givers: dict[str, list[Derivation]] = {}
        for one in derivations:
            givers.setdefault(one.gives, []).append(one)
        ordered: dict[str, Derivation] = {}
        for one in derivations:
            self._place(one, givers, ordered, ())
        return tuple(ordered.values())

    def _place(
        self,
        one: Derivation,
        givers: Mapping[str, list[Derivation]],
        ordered: dict[str, Derivation],
        above: tuple[str, ...],
    ) -> None:
        if one.id in ordered:
            return
        if one.id in above:
            cycle = " -> ".join([*above[above.index(one.id) :], one.id])
            self._problem(
                "cycle",
                self._at[one.id],
                f"derivations form a cycle: {cycle}",
                "one of them must not read the other's fact",
            )
            return
        for ref in (*refs_of(one.formula), *refs_of(one.when)):
            for giver in givers.get(ref.fact, ()):
                if giver.gives != one.gives:  # one that reads what it gives itself is told where the words are checked
                    self._place(giver, givers, ordered, (*above, one.id))
        ordered.setdefault(one.id, one)


def pipeline(stages: Iterable[dict[str, Any]]) -> tuple[Stage, ...]:
    """The stages of a step, in order."""
    return tuple(Stage(**stage) for stage in stages)


def _fact(plain: dict[str, Any]) -> FactSpec:
    lists: dict[str, Any] = {
        "choices": tuple(plain.get("choices", ())),
        "areas": tuple(plain.get("areas", ())),
        "answers": tuple(Answer(**one) for one in plain.get("answers", ())),
        "obtain": tuple(Obtain(**one) for one in plain.get("obtain", ())),
    }
    return FactSpec(**(plain | lists))


def _reference(plain: dict[str, Any]) -> Reference:
    return Reference(**plain)


def _conclusion(plain: dict[str, Any]) -> ConclusionSpec:
    return ConclusionSpec(**(plain | {"explains": tuple(plain.get("explains", ()))}))
