"""What happens in an incident, one frozen event each, as it is written to the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuwhy.kb.records import dataclass

SYMPTOMS: Mapping[str, str] = {
    "slow": "Training is slow",
    "oom": "Out of memory",
    "serve": "Inference latency jitters",
    "broken": "Something looks broken",
    "look": "Just look",
}
"""What a person came with, and how it is called."""

AREAS: Mapping[str, tuple[str, ...]] = {
    "slow": ("slow", "comm"),
    "oom": ("oom",),
    "serve": ("serve",),
    "broken": ("hardware", "env"),
}
"""The areas of conclusions that a symptom belongs to: questions are asked about them where nothing is known yet."""

IMPLIED: Mapping[str, tuple[str, str]] = {"slow": ("job.kind", "training"), "serve": ("job.kind", "serving")}
"""What goes with a symptom as if it had been answered: nobody is asked what they have just said."""


@dataclass(frozen=True)
class Started:
    """An incident begins: what is wrong, in which version of the product."""

    symptom: str
    version: str


@dataclass(frozen=True)
class Added:
    """An artefact was pasted or opened; `text` is all of it, so that the incident can be read again anywhere."""

    name: str
    text: str


@dataclass(frozen=True)
class Looked:
    """This machine was watched; `facts` is a facts file, `vitals` the curves of its GPUs (see `vitals`)."""

    facts: str
    seconds: float
    vitals: str = ""


@dataclass(frozen=True)
class Answered:
    """A question was answered; `value` as on the command line (`12 GiB`, `true`), None for "don't know".

    `fact` may name its entity: `gpu:0/gpu.power_watts`.
    """

    fact: str
    value: str | None


@dataclass(frozen=True)
class Supposed:
    """What if a fact were this: it counts before everything that was read or answered, until it is taken back."""

    fact: str
    value: str


@dataclass(frozen=True)
class Withdrawn:
    """An answer or a supposition was taken back."""

    fact: str


@dataclass(frozen=True)
class Applied:
    """A fix was carried out by the person, after the events so far."""

    fix: str
    conclusion: str


@dataclass(frozen=True)
class Verified:
    """What a look after a fix showed: recovered, partly, not, cannot tell yet."""

    fix: str
    outcome: str


Event = Started | Added | Looked | Answered | Supposed | Withdrawn | Applied | Verified

_KINDS: Mapping[str, type[Any]] = {
    one.__name__.lower(): one for one in (Started, Added, Looked, Answered, Supposed, Withdrawn, Applied, Verified)
}


def to_plain(event: Event) -> dict[str, Any]:
    """An event as JSON data."""
    return {"event": type(event).__name__.lower(), **vars(event)}


def from_plain(plain: Mapping[str, Any]) -> Event | None:
    """The event of JSON data; None for one that this version does not know."""
    kind = _KINDS.get(str(plain.get("event")))
    try:
        made: Event | None = (
            kind(**{key: value for key, value in plain.items() if key not in ("event", "at")}) if kind else None
        )
    except TypeError:
        return None
    return made
