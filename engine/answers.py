"""A person's `FACT=VALUE` becomes a fact, typed by the vocabulary; what does not fit is told with what would."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from gpuwhy.kb.facts import HOST, JOB, Absent, Entity, Fact, FactBase, Origin, OriginKind, Value, gpu, is_number
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.units import UNITS, parse_quantity

_LONGEST_SHOWN = 40
_YES = {"true": True, "yes": True, "y": True, "on": True, "false": False, "no": False, "n": False, "off": False}


class AnswerError(ValueError):
    """An answer that cannot be used; the text says what to write instead."""


def parse_answer(
    specs: Mapping[str, FactSpec], text: str, kind: OriginKind, source: str, known: FactBase | None = None
) -> Fact:
    """The fact in `loader.workers=4`, `oom.free_bytes=2 GiB` or `gpu:1/gpu.power_watts=30`. Raises `AnswerError`.

    It is about the entity of its kind (and name, if one is written) that something is `known` about, if there is one.
    The fact's name is taken in any spelling that only one fact can mean: `loader_workers` and `job.loader_workers` too.
    """
    left, equals, right = text.partition("=")
    if not equals or not right.strip():
        raise AnswerError(f"`{text}`: write FACT=VALUE, for example loader.workers=4")
    owner, _, name = left.strip().rpartition("/")
    spec = specs.get(name) or _respelt(specs, name)
    if spec is None:
        close = difflib.get_close_matches(name, list(specs), 3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`gpuwhy facts` lists them"
        raise AnswerError(f"no fact `{name}`; {hint}")
    value = _value(spec, right.strip())
    return Fact(spec.id, value, spec.unit, _entity(spec, owner, known or FactBase()), Origin(kind, source))


def unknown_to_person(specs: Mapping[str, FactSpec], name: str) -> Absent:
    """The answer "don't know": the fact (`gpu:1/gpu.power_watts`, or its id alone) is absent, and that is why."""
    owner, _, fact_id = name.rpartition("/")
    entity = _entity(specs[fact_id], owner, FactBase())
    return Absent(fact_id, entity, "whoever was asked does not know", Origin(OriginKind.PERSON, "answer"))


def _respelt(specs: Mapping[str, FactSpec], name: str) -> FactSpec | None:
    """The one fact whose id is `name` but for case and `.`, `_`, `-`, or but for whom it is of, written before it."""
    wanted = _letters(name)
    meant = [one for one in specs.values() if wanted in (_letters(one.id), _letters(f"{one.entity}.{one.id}"))]
    return meant[0] if len(meant) == 1 else None


def _letters(name: str) -> str:
    return name.lower().replace(".", "_").replace("-", "_")


def _value(spec: FactSpec, text: str) -> Value:
    if spec.type == "boolean":
        if text.lower() not in _YES:
            raise AnswerError(f"{spec.id} is yes or no, not `{text}`")
        return _YES[text.lower()]
    if spec.type == "choice":
        if text not in spec.choices:
            raise AnswerError(f"{spec.id} is one of {', '.join(spec.choices)}; not `{text}`")
        return text
    return text if spec.type == "text" else _number(spec, text)


def _number(spec: FactSpec, text: str) -> Value:
    number: float | None
    try:
        number = float(text)
    except ValueError:
        number = parse_quantity(text, spec.unit)
    if number is None or not is_number(number):
        kind = "whole number" if spec.type == "integer" else "number"
        bare = spec.unit is None or spec.unit in ("count", "ratio")
        unit = "" if bare else f" in {spec.unit} (or with one of: {', '.join(UNITS[str(spec.unit)].spellings)})"
        raise AnswerError(f"{spec.id} is a {kind}{unit}, not `{_short(text)}`")
    if spec.type == "integer":
        if number != int(number):
            raise AnswerError(f"{spec.id} is a whole number, not `{_short(text)}`")
        return int(number)
    return number


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _entity(spec: FactSpec, owner: str, known: FactBase) -> Entity:
    kind, _, name = owner.partition(":")
    if owner and (kind != spec.entity or not name):
        raise AnswerError(f"`{owner}`: {spec.id} belongs to a {spec.entity}; write {spec.entity}:NAME/{spec.id}=…")
    if spec.entity in ("host", "job"):
        return HOST if spec.entity == "host" else JOB
    meant = [one for one in known.entities(spec.entity) if name in ("", one.name)]
    if len(meant) == 1:
        return meant[0]
    if spec.entity == "gpu":
        return gpu(name or "0")
    return Entity(spec.entity, name or "1", JOB)
