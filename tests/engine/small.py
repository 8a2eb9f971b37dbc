"""Small knowledge bases and facts, written in one line each."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from gpuwhy.engine.view import World
from gpuwhy.kb import outlines
from gpuwhy.kb.conditions import Comparison, Condition, FactRef, Operator, Over
from gpuwhy.kb.expressions import parse
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, Value
from gpuwhy.kb.model import ConclusionSpec, Derivation, FactSpec, KnowledgeBase, Signature

SPECS = {
    spec.id: spec
    for spec in (
        FactSpec("host.cores", "host", "integer", "cores", "count"),
        FactSpec("host.word", "host", "text", "a word"),
        FactSpec("gpu.watts", "gpu", "number", "power", "watts"),
        FactSpec("gpu.limit", "gpu", "number", "power limit", "watts"),
        FactSpec("gpu.hot", "gpu", "boolean", "throttles"),
        FactSpec("gpu.spare", "gpu", "number", "power left", "watts"),
        FactSpec("job.total", "job", "number", "power of all", "watts"),
        FactSpec("job.mode", "job", "choice", "mode", choices=("train", "serve")),
        FactSpec("job.share", "job", "number", "a share", "share"),
        FactSpec("job.flag", "job", "boolean", "a flag"),
        FactSpec("job.whole", "job", "integer", "a whole number", "count"),
        FactSpec("failure.size", "failure", "number", "what was asked for", "bytes"),
    )
}
_digests = count()
EVIDENCE = ConclusionSpec("evidence.insufficient", "evidence", "not enough")


def fact(name: str, value: Value, entity: Entity | None = None, kind: OriginKind = OriginKind.MEASURED) -> Fact:
    """A fact; about the host or the job if nothing else is said."""
    spec = SPECS[name]
    about = entity or (HOST if spec.entity == "host" else JOB)
    return Fact(name, value, spec.unit, about, Origin(kind, "test"))


def base(*facts: Fact) -> FactBase:
    return FactBase.of(facts)


def world(*facts: Fact) -> World:
    return World(SPECS, base(*facts))


def ref(name: str) -> FactRef:
    """`gpu.watts`, or an aggregate such as `max(gpu.watts)`."""
    if "(" not in name:
        return FactRef(name)
    over, _, rest = name.partition("(")
    return FactRef(rest.removesuffix(")"), Over(over))


def is_(
    name: str, op: str, value: Value | tuple[Value, ...] | None = None, than: str | None = None, times: float = 1.0
) -> Comparison:
    return Comparison(ref(name), Operator(op), value, ref(than) if than else None, times)


def derivation(
    gives: str,
    scope: str,
    formula: str | None = None,
    *,
    name: str | None = None,
    when: Condition | None = None,
    value: Value | None = None,
    otherwise: Value | None = None,
    status: str = "stable",
) -> Derivation:
    return Derivation(
        id=name or f"derive.{gives}",
        version="1.0.0",
        status=status,
        title=gives,
        file="",
        gives=gives,
        scope=scope,
        formula=parse(formula) if formula else None,
        value=value,
        otherwise=otherwise,
        when=when,
    )


def signature(name: str, scope: str, requires: Condition, concludes: str = "slow.one", **more: object) -> Signature:
    plain: dict[str, object] = {"id": name, "version": "1.0.0", "status": "stable", "title": name, "file": ""}
    return Signature(**(plain | {"concludes": concludes, "scope": scope, "requires": requires} | more))  # type: ignore[arg-type]


def knowledge(
    derivations: Iterable[Derivation] = (),
    signatures: Iterable[Signature] = (),
    conclusions: Iterable[ConclusionSpec] = (),
    specs: dict[str, FactSpec] | None = None,
) -> KnowledgeBase:
    """A knowledge base of these rules; conclusions that are not given are plain causes."""
    made = tuple(signatures)
    words = {one.concludes: ConclusionSpec(one.concludes, "cause", one.concludes) for one in made}
    words |= {one.id: one for one in conclusions} | {EVIDENCE.id: EVIDENCE}
    return KnowledgeBase(
        version="1.0.0",
        digest=f"small {next(_digests)}",
        facts=specs or SPECS,
        conclusions=words,
        derivations=outlines.of_derivations(derivations),
        signatures=outlines.of_signatures(made),
    )
