"""The knowledge, as the rest of the product sees it: vocabulary, rules, fixes, references; frozen and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.conditions import Condition
from gpuwhy.kb.expressions import Expression
from gpuwhy.kb.facts import Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.kb.ruleset import Rules

Text = str | Mapping[str, str]
"""A text for a person: plain English, or one text per language (`{en: …, zh: …}`). Shown through `texts.say`."""

EFFORTS = ("reading", "probe", "question", "restart")
"""What it costs to learn a fact, cheapest first: a free reading, a ten-second probe, asking a person, a restart."""

STRENGTHS = ("vendor", "peer", "measured", "definition", "heuristic")
"""What a threshold rests on, strongest first; `definition` is arithmetic or logic, where nothing is judged."""


@dataclass(frozen=True)
class Obtain:
    """One way to learn a fact: its effort, and the read-only command or the words that tell how."""

    effort: str
    says: Text = ""
    command: str = ""


@dataclass(frozen=True)
class Answer:
    """One answer a person may choose, and the value it stands for."""

    value: Value
    says: Text


@dataclass(frozen=True)
class FactSpec:
    """A word of the fact vocabulary. `areas`: what a person who says it is troubled by, as areas of conclusions."""

    id: str
    entity: str
    type: str
    says: Text
    unit: str | None = None
    choices: tuple[str, ...] = ()
    ask: Text = ""
    answers: tuple[Answer, ...] = ()
    obtain: tuple[Obtain, ...] = ()
    areas: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """True for facts that can be ordered and computed with."""
        return self.type in ("number", "integer")


@dataclass(frozen=True)
class ConclusionSpec:
    """A word of the conclusion vocabulary. `explains`: consequences that fold beneath it; `collect`: what decides."""

    id: str
    kind: str
    says: Text
    explains: tuple[str, ...] = ()
    collect: Text = ""


@dataclass(frozen=True)
class Reference:
    """What a threshold or a statement rests on."""

    id: str
    title: str
    address: str
    accessed: str
    strength: str
    says: str = ""
    review_by: str = ""


@dataclass(frozen=True)
class Exclusion:
    """A condition that rules a conclusion out. `demotes`: while it is unknown, the conclusion is likely at best."""

    when: Condition
    because: Text
    demotes: bool = True


@dataclass(frozen=True)
class Support:
    """A condition that raises the rank of a conclusion among others of its status."""

    when: Condition
    because: Text = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What derivations, signatures and fixes have in common. `scope`: the kind of entity it is judged for."""

    id: str
    version: str
    status: str
    title: Text
    file: str
    scope: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Derivation(Rule):
    """A fact computed from facts: a formula, or a value where a condition holds (`otherwise` where it fails)."""

    gives: str
    formula: Expression | None = None
    value: Value | None = None
    otherwise: Value | None = None
    when: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Signature(Rule):
    """One independent way to see a conclusion.

    `given` says when the signature is in play at all; `requires` must hold; `confirms` makes it confirmed rather than
    likely; any exclusion rules it out. `priority` (0 to 100) orders conclusions of one status.
    """

    concludes: str
    requires: Condition
    priority: int = 50
    given: Condition | None = None
    confirms: Condition | None = None
    supports: tuple[Support, ...] = ()
    excludes: tuple[Exclusion, ...] = ()
    because: tuple[Text, ...] = ()
    refuted: tuple[Text, ...] = ()

    def parts(self) -> Iterator[tuple[str, Condition]]:
        """Its conditions by name: `given`, `requires`, `confirms`, `excludes.0`, `supports.0`, …"""
        named = (("given", self.given), ("requires", self.requires), ("confirms", self.confirms))
        yield from ((name, condition) for name, condition in named if condition is not None)
        yield from ((f"excludes.{number}", one.when) for number, one in enumerate(self.excludes))
        yield from ((f"supports.{number}", one.when) for number, one in enumerate(self.supports))


@dataclass(frozen=True)
class Step:
    """One step of a fix: what to do, and the exact command where there is one. Commands are shown, never run."""

    says: Text
    command: str = ""


@dataclass(frozen=True)
class Verify:
    """How to see that a fix worked: words, a read-only command, and the condition that should hold afterwards."""

    says: Text
    command: str = ""
    when: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Fix(Rule):
    """What to do about conclusions: steps, effect, risk, undo, verification. `when`/`unless` say where it applies."""

    conclusions: tuple[str, ...]
    when: Condition | None = None
    unless: tuple[Exclusion, ...] = ()
    steps: tuple[Step, ...] = ()
    effect: Text = ""
    risk: Text = ""
    undo: Text = ""
    restart: bool = False
    order: int = 50
    verify: Verify | None = None


@dataclass(frozen=True, kw_only=True)
class Selection(Rule):
    """A rule that chooses machines: where `when` holds, a type is rejected, kept with a warning, or the work noted.

    `then` is reject, open (kept, but whether it does is not sure), lower (kept with a warning, below the others), warn,
    know (kept, with what to know of it) or note; `claim` is what one would otherwise rely on, by its id among claims.
    """

    then: str
    when: Condition
    because: Text
    claim: str | None = None


@dataclass(frozen=True)
class Stage:
    """A stage of the step pipeline: the share of the step it takes, and the wall it is when it is the limit."""

    id: str
    share: str
    conclusion: str
    says: Text


@dataclass(frozen=True)
class SetAside:
    """A rule of another pack that a pack takes out of use, and why; `by` is the rule that stands in its place."""

    id: str
    reason: str
    by: str = ""


@dataclass(frozen=True)
class PackInfo:
    """A pack that knowledge is from. `digest` covers its content; the first pack of all has no namespace."""

    name: str
    version: str
    digest: str
    namespace: str = ""
    set_aside: tuple[SetAside, ...] = ()


def pack_of(rule: str) -> str:
    """The namespace in the id of a rule or reference: `acme` of `acme:sig.oom.ours`; empty for the first pack's."""
    return rule.partition(":")[0] if ":" in rule else ""


@dataclass(frozen=True)
class KnowledgeBase:
    """All knowledge of a pack, or of several side by side.

    `version` is that of the first pack; `digest` covers the content of every file of all; derivations are in the order
    to compute.
    """

    version: str
    digest: str
    facts: Mapping[str, FactSpec] = field(default_factory=dict)
    conclusions: Mapping[str, ConclusionSpec] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)
    derivations: Rules[Derivation] = field(default_factory=Rules)
    signatures: Rules[Signature] = field(default_factory=Rules)
    fixes: Rules[Fix] = field(default_factory=Rules)
    selections: Rules[Selection] = field(default_factory=Rules)
    pipeline: tuple[Stage, ...] = ()
    catalogue: Catalogue = field(default_factory=Catalogue)
    packs: tuple[PackInfo, ...] = ()
