"""Choosing a machine type: each is judged by the selection rules, kept or rejected, and those kept are ranked.

A rule whose facts are not known decides nothing; a machine whose memory is not known is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpuwhy.engine import costs
from gpuwhy.engine.model import Truth
from gpuwhy.engine.proof import judge
from gpuwhy.engine.view import World
from gpuwhy.engine.workload import Work, memory, needs, offered
from gpuwhy.kb.conditions import FactRef
from gpuwhy.kb.facts import JOB, Fact, FactBase
from gpuwhy.kb.model import KnowledgeBase, Selection
from gpuwhy.kb.offers import Machine, Price, machines, prices
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.kb.texts import fill, say
from gpuwhy.kb.units import show

DEFAULT_REGION = "cn-beijing"
"""Where most types have a known price."""


@dataclass(frozen=True)
class Said:
    """What a rule says of a machine type or of the work, and the claim that one would otherwise rely on."""

    rule: str
    because: str
    claim: str | None = None


@dataclass(frozen=True)
class Candidate:
    """A machine type with what the work needs of it, what it costs, and what rules say. Sizes are of one GPU."""

    machine: Machine
    needed_bytes: float
    price: Price | None
    hours: float | None
    token_seconds: float | None
    rejected: tuple[Said, ...] = ()
    warned: tuple[Said, ...] = ()

    @property
    def cost(self) -> float | None:
        """What the whole work costs, where hours and price are known."""
        return self.price.per_hour * self.hours if self.price is not None and self.hours is not None else None

    @property
    def spare(self) -> float:
        """How many times the memory that is needed all its GPUs have: near 1 is a close fit."""
        return self.machine.gpus * self.machine.gpu_memory_bytes / self.needed_bytes


@dataclass(frozen=True)
class Change:
    """A change of the work that would let a cheaper or smaller machine do it."""

    says: str
    machine: Candidate


@dataclass(frozen=True)
class Choice:
    """What was chosen for a piece of work. `kept` is ranked; `notes` are about the work alone."""

    work: Work
    kept: tuple[Candidate, ...]
    rejected: tuple[Candidate, ...]
    notes: tuple[Said, ...]
    change: Change | None


def choose(kb: KnowledgeBase, work: Work) -> Choice:
    """Every machine type of the catalogue, or of the provider that is wanted, judged for this work."""
    known = {(one.machine, one.region): one for one in prices(kb.catalogue) if one.mode == "payg"}
    judged = _Judge(kb, work, known)
    wanted = (one for one in machines(kb.catalogue) if work.provider in (None, one.provider))
    all_of_them = [judged.candidate(machine) for machine in wanted]
    kept = tuple(sorted((one for one in all_of_them if not one.rejected), key=rank))
    rejected = tuple(one for one in all_of_them if one.rejected)
    return Choice(work, kept, rejected, judged.notes(), _change(kb, work, known, kept, rejected))


def rank(one: Candidate) -> tuple[int, int, float, int, float, str]:
    """First whole cards that can simply be had; then what has a price, cheapest first; then the closest fit."""
    tier = 0 if one.machine.status == "listed" and not one.machine.is_slice else 1
    money = one.cost if one.cost is not None else one.price.per_hour if one.price is not None else 0.0
    return tier, 0 if one.price is not None else 1, money, one.machine.gpus, one.spare, one.machine.name


class _Judge:
    def __init__(self, kb: KnowledgeBase, work: Work, known: Mapping[tuple[str, str], Price]) -> None:
        self.kb, self.work, self.known = kb, work, known
        self.common = needs(work)
        self.needed: dict[int, float] = {}

    def candidate(self, machine: Machine) -> Candidate:
        needed = self.memory_of(machine)
        price = self.known.get((machine.name, self.work.region or DEFAULT_REGION))
        facts = [*self.common, *offered(self.work, machine, needed, price.per_hour if price else None)]
        said = [(rule, one) for rule, one in self.said(facts) if rule.then != "note"]
        tokens = next((float(one.value) for one in facts if one.id == "offer.token_seconds"), None)
        hours = costs.training_hours(self.work, machine) or self.work.hours
        rejected = tuple(one for rule, one in said if rule.then == "reject")
        if not machine.gpu_memory_bytes:
            rejected = (*rejected, Said("", "nobody says how much memory its GPU has"))
        warned = tuple(one for rule, one in said if rule.then == "warn")
        return Candidate(machine, needed, price, hours, tokens, rejected, warned)

    def memory_of(self, machine: Machine) -> float:
        if machine.gpus not in self.needed:
            self.needed[machine.gpus] = memory(self.work, machine.gpus).per_gpu_bytes
        return self.needed[machine.gpus]

    def notes(self) -> tuple[Said, ...]:
        return tuple(one for rule, one in self.said(self.common) if rule.then == "note")

    def said(self, facts: list[Fact]) -> list[tuple[Selection, Said]]:
        world = World(self.kb.facts, FactBase.of(facts))
        return [
            (rule, _said(rule, world))
            for rule in self.kb.selections.in_play(world.known)
            if rule.status != "deprecated" and judge(rule.when, world, JOB).truth is Truth.TRUE
        ]


def _said(rule: Selection, world: World) -> Said:
    def shown(fact: str, _over: str | None) -> str | None:
        found = world.get(FactRef(fact), JOB)
        return None if found is None else show(found.value, found.unit)

    return Said(rule.id, fill(rule.because, shown) or say(rule.title), rule.claim)


def _change(
    kb: KnowledgeBase,
    work: Work,
    known: Mapping[tuple[str, str], Price],
    kept: tuple[Candidate, ...],
    rejected: tuple[Candidate, ...],
) -> Change | None:
    """The least change that lets a machine do the work that costs less, or has less memory, than the first one kept."""
    first = kept[0] if kept else None
    open_to_change = [one for one in rejected if all(_can_change(said.rule) for said in one.rejected)]
    smaller = sorted((one for one in open_to_change if _is_less(one, first)), key=rank)
    for says, other in variants(work):
        judged = _Judge(kb, other, known)
        for one in smaller:
            found = judged.candidate(one.machine)
            if not found.rejected:
                return Change(says, found)
    return None


def _can_change(rule: str) -> bool:
    return rule.startswith(("select.memory.", "select.format.", "select.cost.latency"))


def _is_less(one: Candidate, first: Candidate | None) -> bool:
    if first is None:
        return True
    if one.price is not None and first.price is not None:
        return one.price.per_hour < first.price.per_hour
    return one.machine.gpus * one.machine.gpu_memory_bytes < first.machine.gpus * first.machine.gpu_memory_bytes


def variants(work: Work) -> list[tuple[str, Work]]:
    """Changes of a piece of work that take less memory, those that alter least first."""
    found: list[tuple[str, Work]] = []
    if work.dtype == "bf16":
        found.append(("fp16 instead of bf16", replace(work, dtype="fp16")))
    if work.serves:
        if work.dtype in ("bf16", "fp16", "fp32"):
            found += [(f"{one} weights instead of {work.dtype}", replace(work, dtype=one)) for one in ("int8", "int4")]
        if work.concurrency > 1:
            half = max(1, work.concurrency // 2)
            found.append((f"{half} requests at once instead of {work.concurrency}", replace(work, concurrency=half)))
        return found
    if not work.checkpointing:
        found.append(("recomputing activations (checkpointing)", replace(work, checkpointing=True)))
    if work.optimizer == "adamw" and work.method in ("full", "half"):
        found.append(("8-bit optimizer states", replace(work, optimizer="adamw8bit")))
    if work.method == "lora":
        found.append(("QLoRA instead of LoRA", replace(work, method="qlora")))
    if work.method in ("full", "half"):
        found += [
            (f"{name} instead of full training", replace(work, method=name.lower())) for name in ("LoRA", "QLoRA")
        ]
    return found
