"""Choosing a machine type: each is judged by the selection rules, kept or rejected, and those kept are ranked.

A rule whose facts are not known decides nothing; a machine whose memory is not known is not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gpuwhy.engine import costs
from gpuwhy.engine.derive import Derived, derive
from gpuwhy.engine.latency import small_steps
from gpuwhy.engine.model import Truth, Verdict
from gpuwhy.engine.pricing import DEFAULT_CURRENCY, NOT_COMPARED, Prices
from gpuwhy.engine.proof import judge
from gpuwhy.engine.sizing import Estimate
from gpuwhy.engine.view import World
from gpuwhy.engine.workload import Work, memory, needs, offered, parts
from gpuwhy.kb.conditions import FactRef, references
from gpuwhy.kb.facts import HOST, JOB, Fact, FactBase, Origin, OriginKind, Value
from gpuwhy.kb.model import KnowledgeBase, Selection
from gpuwhy.kb.offers import Machine, Price, machines, prices
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.kb.texts import fill, say
from gpuwhy.kb.units import show

DERIVATIONS = "derive.select."
"""Rules that derive what a piece of work needs."""

A100_MACHINE = "ecs.gn7e-c16g1.4xlarge"
"""The smallest machine with an A100 of 80 GB: what others are compared with."""

UNSETTLED = 2
"""How many times its price a machine type counts on which nothing settles whether it does."""

TOKENS_OPEN = "select.cost.latency-open"
"""The rule that leaves open whether tokens come in time."""

LESS_MEMORY = 0.75
"""Where prices are not known, a machine with at most this share of the memory counts as a smaller one."""


@dataclass(frozen=True)
class Said:
    """What a rule says of a machine type or of the work, and the claim that one would otherwise rely on."""

    rule: str
    because: str
    claim: str | None = None


@dataclass(frozen=True)
class Candidate:
    """A machine type with what the work needs of it, what it costs, and what rules say. Sizes are of one GPU.

    `open`: why it is not sure that it does, and what would decide; `told`: what to know of it.
    `price` is paid as one goes, `subscription` that of a month by the hour; `elsewhere`: a price of another region. All
    are of one machine, and `hosts` are rented. `lowered`: it stands below the others that would do. `standing`: how its
    price is known, and the money by which it is ranked. `small_steps`: tokens of prefill in a step that settle what is
    open. `regions`: where a price is known of.
    """

    machine: Machine
    needed_bytes: float
    price: Price | None
    hours: float | None
    token_seconds: float | None
    rejected: tuple[Said, ...] = ()
    warned: tuple[Said, ...] = ()
    open: tuple[Said, ...] = ()
    told: tuple[Said, ...] = ()
    subscription: Price | None = None
    spot: Price | None = None
    elsewhere: Price | None = None
    hosts: int = 1
    lowered: bool = False
    standing: tuple[int, float] = (NOT_COMPARED, 0.0)
    small_steps: int | None = None
    regions: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """What the whole work costs on all machines, where hours and price are known."""
        if self.price is None or self.hours is None:
            return None
        return self.price.per_hour * self.hours * self.hosts

    @property
    def doubt(self) -> int:
        """0: it does, 1: it does with small steps, 2: whether it does is open."""
        return 0 if not self.open else 1 if self.small_steps is not None else 2

    @property
    def spare(self) -> float:
        """How many times the memory that is needed all its GPUs have: near 1 is a close fit."""
        return self.machine.gpus * self.machine.gpu_memory_bytes / self.needed_bytes


@dataclass(frozen=True)
class Proof:
    """How one machine type was judged: each rule with its verdict, what it says where it holds, and its facts."""

    candidate: Candidate
    verdicts: tuple[tuple[Selection, Verdict], ...]
    said: Mapping[str, Said]
    derived: Derived
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Change:
    """A change of the work that would let a cheaper or smaller machine do it."""

    says: str
    machine: Candidate


@dataclass(frozen=True)
class Choice:
    """What was chosen for a piece of work. `kept` is ranked; `notes` are about the work alone.

    Prices are compared in `currency`; those in another one, and no rate for it, are not.
    """

    work: Work
    kept: tuple[Candidate, ...]
    rejected: tuple[Candidate, ...]
    notes: tuple[Said, ...]
    change: Change | None
    currency: str = DEFAULT_CURRENCY

    @property
    def uncompared(self) -> Mapping[str, int]:
        """How many of the kept have a price in a currency that is not compared, by currency."""
        priced = [one.price or one.elsewhere for one in self.kept]
        return Counter(one.currency for one in priced if one is not None and one.currency != self.currency)


class OtherWords(ValueError):
    """Rules of another version, whose words are others: judged by them, everything would fit."""


def choose(kb: KnowledgeBase, work: Work) -> Choice:
    """Every machine type of the catalogue, or of the provider that is wanted, judged for this work.

    Raises `OtherWords` for rules that do not know the words in which work and machines are told.
    """
    known = Prices.of(prices(kb.catalogue), work)
    judged = _Judge(kb, work, known)
    wanted = (one for one in machines(kb.catalogue) if work.provider in (None, one.provider))
    all_of_them = [judged.candidate(machine) for machine in wanted]
    kept = tuple(sorted((one for one in all_of_them if not one.rejected), key=rank))
    rejected = tuple(one for one in all_of_them if one.rejected)
    change = _change(judged, kept, rejected)
    return Choice(work, kept, rejected, judged.notes(), change, known.currency)


def rank(one: Candidate) -> tuple[int, int, float, int, float, str]:
    """First what surely does; whole cards that can simply be had; what has a price, cheapest first.

    Of two that may do, one on which small steps settle it may cost up to twice as much as one on which nothing does.
    Without prices the closest fit is first. What a rule lowers stands behind the others of these. Where a region has no
    price of a type, its price elsewhere stands in: the ratio of two types is much the same.
    """
    tier = 0 if one.machine.status == "listed" and not one.machine.is_slice else 2
    tier += (1 if one.lowered else 0) + (4 if one.open else 0)
    known, money = one.standing
    return tier, known, money * (UNSETTLED if one.doubt == 2 else 1), one.machine.gpus, one.spare, one.machine.name


class _Judge:
    """Judges machine types for a piece of work. What depends on the number of GPUs alone is derived once for each."""

    def __init__(
        self,
        kb: KnowledgeBase,
        work: Work,
        known: Prices,
        heard: dict[tuple[Value | None, ...], Said | None] | None = None,
    ) -> None:
        self.kb, self.work, self.known = kb, work, known
        self.common = needs(work)
        outlines = enumerate(kb.derivations.outlines)
        self.rules = [kb.derivations[index] for index, one in outlines if one.id.startswith(DERIVATIONS)]
        self.by_gpus: dict[int, _Needs] = {}
        self.in_play: dict[frozenset[str], list[tuple[Selection, tuple[str, ...]]]] = {}
        self.heard: dict[tuple[Value | None, ...], Said | None] = {} if heard is None else heard

    def candidate(self, machine: Machine) -> Candidate:
        needed, price = self.needs_of(machine.gpus), self.price_of(machine)
        said = self.said(self.facts(machine, needed, price))
        by_effect: dict[str, tuple[Said, ...]] = {
            effect: tuple(one for rule, one in said if rule.then == effect)
            for effect in ("reject", "open", "lower", "warn", "know")
        }
        hours = costs.training_hours(self.work, machine) or self.work.hours
        elsewhere = self.known.elsewhere.get(machine.name)
        rejected = by_effect["reject"]
        if not machine.gpu_memory_bytes:
            rejected = (*rejected, Said("", "nobody says how much memory its GPU has"))
        return Candidate(
            machine,
            needed.estimate.per_gpu_bytes,
            price,
            hours,
            costs.token_seconds(self.work.shape, self.work, machine) if self.work.serves else None,
            rejected,
            (*by_effect["lower"], *by_effect["warn"]),
            by_effect["open"],
            by_effect["know"],
            self.known.here.get((machine.name, "subscription")),
            self.known.here.get((machine.name, "spot")),
            elsewhere,
            self.work.hosts,
            bool(by_effect["lower"]),
            self.known.standing(price, elsewhere, hours),
            self.small_steps(machine, by_effect["open"]),
            self.known.regions.get(machine.name, ()),
        )

    def small_steps(self, machine: Machine, left: tuple[Said, ...]) -> int | None:
        """The size of steps that settles what is open; None where it is more than the time of a token, or does not."""
        if [one.rule for one in left] != [TOKENS_OPEN] or self.work.first_token_seconds is not None:
            return None
        return small_steps(self.work, machine)

    def price_of(self, machine: Machine) -> Price | None:
        return self.known.here.get((machine.name, "payg"))

    def facts(self, machine: Machine, needed: _Needs, price: Price | None) -> list[Fact]:
        """All facts of the work on a machine type, each of them of the work or of the machine."""
        yardstick = self.known.here.get((A100_MACHINE, "payg"))
        share = None
        if price is not None and yardstick is not None and price.currency == yardstick.currency:
            share = price.per_hour / yardstick.per_hour
        compared = self.known.compared(price)
        hour = compared.per_hour * self.work.hosts if compared is not None else None
        facts = [*needed.facts, *offered(self.work, machine, hour, share)]
        if missing := sorted({fact.id for fact in facts if fact.id not in self.kb.facts}):
            raise OtherWords(f"the rules do not know {', '.join(missing[:3])}, in which work and machines are told")
        return facts

    def needs_of(self, gpus: int) -> _Needs:
        """What the work needs of a machine with so many GPUs: the parts of the memory, and what rules derive."""
        if gpus not in self.by_gpus:
            estimate = memory(self.work, gpus)
            count = Fact("offer.gpus", gpus, "count", HOST, Origin(OriginKind.CATALOGUE, "machine types"))
            given = [*self.common, *parts(self.work, gpus, estimate)]
            world = World(self.kb.facts, FactBase.of([*given, count]))
            derived = derive(self.rules, world)
            facts = [fact for fact in world.base.facts() if fact.id != "offer.gpus"]
            self.by_gpus[gpus] = _Needs(estimate, facts, derived)
        return self.by_gpus[gpus]

    def notes(self) -> tuple[Said, ...]:
        return tuple(one for rule, one in self.said(self.common) if rule.then == "note")

    def said(self, facts: list[Fact]) -> list[tuple[Selection, Said]]:
        """What rules say of these facts. A rule says the same of the same values: types of a family share most."""
        values = {fact.id: fact.value for fact in facts}
        known = frozenset(values)
        if known not in self.in_play:
            rules = [one for one in self.kb.selections.in_play(known) if one.status != "deprecated"]
            self.in_play[known] = [(rule, _names(rule)) for rule in rules]
        world: World | None = None
        found = []
        for rule, names in self.in_play[known]:
            key = (rule.id, *[values.get(name) for name in names])
            if key not in self.heard:
                world = world or World(self.kb.facts, FactBase.of(facts))
                holds = judge(rule.when, world, JOB).truth is Truth.TRUE
                self.heard[key] = _said(rule, world) if holds else None
            said = self.heard[key]
            if said is not None:
                found.append((rule, said))
        return found


@dataclass(frozen=True)
class _Needs:
    """The memory of one GPU, all facts of the work on a machine with so many GPUs, and how rules came to them."""

    estimate: Estimate
    facts: list[Fact]
    derived: Derived


def proof(kb: KnowledgeBase, work: Work, machine: Machine) -> Proof:
    """How a machine type is judged for a piece of work: every rule with its verdict, every need with its derivation.

    Raises as `choose` does.
    """
    judged = _Judge(kb, work, Prices.of(prices(kb.catalogue), work))
    needed = judged.needs_of(machine.gpus)
    world = World(kb.facts, FactBase.of(judged.facts(machine, needed, judged.price_of(machine))))
    rules = [rule for rule in kb.selections if rule.status != "deprecated" and rule.then != "note"]
    verdicts = tuple((rule, judge(rule.when, world, JOB)) for rule in rules)
    said = {rule.id: _said(rule, world) for rule, verdict in verdicts if verdict.truth is Truth.TRUE}
    return Proof(judged.candidate(machine), verdicts, said, needed.derived, tuple(world.base.facts()))


def _names(rule: Selection) -> tuple[str, ...]:
    """The facts that decide what a rule says: those of its condition and those that its text shows."""
    shown: set[str] = set()

    def show(fact: str, _over: str | None) -> str:
        shown.add(fact)
        return ""

    fill(rule.because, show)
    return (*sorted({one.fact for one in references(rule.when)} | shown),)


def _said(rule: Selection, world: World) -> Said:
    def shown(fact: str, _over: str | None) -> str | None:
        found = world.get(FactRef(fact), JOB)
        return None if found is None else show(found.value, found.unit)

    return Said(rule.id, fill(rule.because, shown) or say(rule.title), rule.claim)


def _change(done: _Judge, kept: tuple[Candidate, ...], rejected: tuple[Candidate, ...]) -> Change | None:
    """The least change that lets a machine do the work that costs less, or has less memory, than the first one kept.

    With no more doubt than that one; a machine whose price is not known comes behind any change for one whose price is.
    """
    first = kept[0] if kept else None
    most_doubt = first.doubt if first is not None else 2
    open_to_change = [one for one in rejected if all(_can_change(said.rule) for said in one.rejected)]
    open_to_change += [one for one in kept if one.doubt > most_doubt]
    smaller = sorted((one for one in open_to_change if _is_less(one, first)), key=rank)
    unpriced: Change | None = None
    for says, other in variants(done.work):
        judged = _Judge(done.kb, other, done.known, done.heard)
        for one in smaller:
            if unpriced is not None and one.standing[0] == NOT_COMPARED:
                continue
            found = judged.candidate(one.machine)
            if found.rejected or found.doubt > most_doubt or not _is_less(found, first):
                continue
            if found.standing[0] != NOT_COMPARED:
                return Change(says, found)
            unpriced = unpriced or Change(says, found)
    return unpriced


def _can_change(rule: str) -> bool:
    return rule.startswith(("select.memory.", "select.format.", "select.cost.latency"))


def _is_less(one: Candidate, first: Candidate | None) -> bool:
    if first is None:
        return True
    if one.standing[0] == first.standing[0] != NOT_COMPARED:
        return one.standing[1] < first.standing[1]
    mine, its = (each.machine.gpus * each.machine.gpu_memory_bytes for each in (one, first))
    return mine <= LESS_MEMORY * its


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
