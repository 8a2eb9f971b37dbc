"""How many questions a person answers until the right conclusion stands: our choice of the next one, and a fixed order.

    python bench/questions.py FOLDER [-v]

FOLDER holds reports as YAML: `area`, `artefact` (what was pasted), `primary` and `accept` (conclusions that are right).
The artefact is withheld. Of what it tells, every fact that a person can be asked for is an answer; to all other
questions the answer is "don't know", which counts as a question. Reports whose right conclusion such answers cannot
reach, or that needs none, are left out and counted. The fixed order is that of the vocabulary, over the facts that the
rules of the same areas read. Prints mean and worst of both.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from gpuwhy.engine.answers import unknown_to_person
from gpuwhy.engine.questions import needs_of
from gpuwhy.engine.run import diagnose_with
from gpuwhy.kb.conditions import Comparison, Operator
from gpuwhy.kb.facts import JOB, Fact, FactBase, Origin, OriginKind
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.read import gather
from gpuwhy.tui.incident.events import AREAS, IMPLIED

MOST_QUESTIONS = 60
Choose = Callable[[FactBase, set[str]], str | None]


class Report:
    """One report: what was right, which symptom it began with, and what a person could answer."""

    def __init__(self, kb: KnowledgeBase, plain: Mapping[str, Any], blank: bool) -> None:
        self.name = str(plain["id"])
        self.right = [*plain["primary"], *plain.get("accept", ())]
        self.symptom = next((one for one, areas in AREAS.items() if plain["area"] in areas), "look")
        self.areas = AREAS.get(self.symptom, ())
        found = gather([("paste", plain["artefact"].encode())], kb.facts)
        known = diagnose_with(kb, FactBase.of(found.facts, found.absent), ask=False).facts
        self.answers: dict[str, Fact] = {}
        for fact in known:
            if kb.facts[fact.id].ask:
                self.answers.setdefault(fact.id, replace(fact, origin=Origin(OriginKind.PERSON, "answer")))
        for fact in known:
            self.answers.update((one.id, one) for one in _seen(kb, fact))
        self.start = FactBase() if blank else FactBase.of(one for one in found.facts if not kb.facts[one.id].ask)
        if self.symptom in IMPLIED:
            name, value = IMPLIED[self.symptom]
            told = Fact(name, value, kb.facts[name].unit, JOB, Origin(OriginKind.PERSON, "symptom"))
            self.start = self.start.with_facts((self.answers.pop(name, told),))

    def stands(self, kb: KnowledgeBase, base: FactBase) -> bool:
        """True if a right conclusion is asserted."""
        found = diagnose_with(kb, base, ask=False).conclusions
        asserted = [one.id for one in found if one.status.asserted]
        return any(one == right or one.startswith(f"{right}.") for one in asserted for right in self.right)

    def asked(self, kb: KnowledgeBase, choose: Choose) -> int | None:
        """How many questions were asked until it stood; None if it never did."""
        base, asked = self.start, set[str]()
        while len(asked) < MOST_QUESTIONS:
            fact = choose(base, asked)
            if fact is None:
                return None
            asked.add(fact)
            if fact in self.answers:
                base = base.with_facts((self.answers[fact],))
                if self.stands(kb, base):
                    return len(asked)
        return None


def _seen(kb: KnowledgeBase, fact: Fact) -> Iterable[Fact]:
    """What whoever knows this fact would answer to questions that it is derived from: what they see in plain words."""
    for derivation in kb.derivations.about(fact.id):
        when = derivation.when
        if isinstance(when, Comparison) and when.op is Operator.EQ and kb.facts[when.ref.fact].ask:
            alike = derivation.value == fact.value or kb.facts[fact.id].type == "text"
            if alike and isinstance(when.value, str):
                yield Fact(when.ref.fact, when.value, None, JOB, Origin(OriginKind.PERSON, "answer"))


def ours(kb: KnowledgeBase, areas: Iterable[str]) -> Choose:
    """The next best question."""
    wanted = tuple(areas)

    def choose(base: FactBase, asked: set[str]) -> str | None:
        refused = [unknown_to_person(kb.facts, name) for name in asked - {one.id for one in base.facts()}]
        base = FactBase(base.by_key, (*base.absent, *refused))
        found = diagnose_with(kb, base, areas=wanted).questions
        return next((one.fact for one in found if one.fact not in asked), None)

    return choose


def fixed(kb: KnowledgeBase, areas: Iterable[str]) -> Choose:
    """Every fact that matters in these areas, in the order of the vocabulary."""
    wanted, read = set(areas), needs_of(kb)
    rules = [one for one in kb.signatures.outlines if any(name.partition(".")[0] in wanted for name in one.about)]
    matter = set().union(*(read[one.id] for one in rules))
    order = [spec.id for spec in kb.facts.values() if spec.ask and spec.id in matter]

    def choose(base: FactBase, asked: set[str]) -> str | None:
        known = {one.id for one in base.facts()}
        return next((one for one in order if one not in asked and one not in known), None)

    return choose


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path, nargs="?")
    arguments.add_argument("-v", action="store_true", help="a line for each report")
    given = arguments.parse_args()
    if given.folder is None or not given.folder.is_dir():
        print("skipped: no folder of reports was given, and none comes with the product")
        return
    kb = load()
    plain = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(given.folder.glob("*.yaml"))]
    pasted = [one for one in plain if isinstance(one, dict) and "artefact" in one]
    for blank, what in ((True, "nothing is pasted"), (False, "all is pasted but what a person can be asked")):
        measure(kb, [one for one in (Report(kb, one, blank) for one in pasted) if one.areas], what, given.v)


def measure(kb: KnowledgeBase, reports: list[Report], what: str, verbose: bool) -> None:
    """Both ways over the reports that need answers; prints what came of it."""
    usable = [
        one
        for one in reports
        if one.stands(kb, one.start.with_facts(one.answers.values())) and not one.stands(kb, one.start)
    ]
    print(f"{what}: {len(usable)} of {len(reports)} reports; in the others no answers, or not answers alone, decide")
    taken: dict[str, list[int]] = {"ours": [], "fixed order": []}
    for one in usable:
        counts = {"ours": one.asked(kb, ours(kb, one.areas)), "fixed order": one.asked(kb, fixed(kb, one.areas))}
        for name, count in counts.items():
            taken[name].append(MOST_QUESTIONS if count is None else count)
        if verbose:
            print(one.name, one.symptom, one.right[0], counts)
    for name, found in taken.items():
        never = sum(count == MOST_QUESTIONS for count in found)
        print(f"{name}: mean {statistics.mean(found):.1f}, worst {max(found)}, never {never} of {len(found)}")


if __name__ == "__main__":
    main()
