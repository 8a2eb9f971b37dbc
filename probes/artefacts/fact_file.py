"""Facts files: what `gpuwhy probe --json` wrote, here or on another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from gpuwhy.kb.fact_file import FORMAT as FILE_FORMAT
from gpuwhy.kb.fact_file import FactFileError, parse
from gpuwhy.kb.facts import Entity, Fact, Origin
from gpuwhy.kb.load import load
from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Missing, Reading, Trouble
from gpuwhy.probes.artefacts.kineto_stream import open_bytes
from gpuwhy.probes.gathering import plain

_A = TypeVar("_A")
_B = TypeVar("_B")
NAME = "gpuwhy-facts"
_SIZE_LIMIT = 64 << 20
_MARK = f'"{FILE_FORMAT}"'.encode()
_START = 1024


def accepts(head: bytes, name: str) -> bool:
    """True for JSON that calls itself a facts file near its start."""
    del name
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:_START]
    return start[:1] == b"{" and b'"format"' in start and _MARK in start


def read(source: Path | bytes, name: str) -> Extract:
    """The facts of a file, each with the line it stands on; what is not sound in it becomes a trouble."""
    del name
    try:
        with open_bytes(source) as file:
            content = file.read(_SIZE_LIMIT + 1)
        if len(content) > _SIZE_LIMIT:
            raise FactFileError(f"larger than {_SIZE_LIMIT >> 20} MiB")
        text = content.decode("utf-8-sig")
        found = parse(text)
    except (OSError, EOFError, ValueError) as error:
        return Extract(NAME, troubles=(Trouble(None, f"the facts were not read: {error}"),))
    lines = text.splitlines()
    places = _places([*(one.id for one in found.facts), *(one.id for one in found.absent)], lines)
    specs, shown, told = _vocabulary(), _Once(_shown), _Once(_told)
    readings, troubles = [], [Trouble(None, problem) for problem in found.problems]
    for fact, line in zip(found.facts, places, strict=False):
        wrong = _other_unit(fact, specs)
        if wrong is None:
            readings.append(_reading(fact, line, shown.of(fact.entity), told.of(fact.origin)))
        else:
            troubles.append(Trouble(line, wrong))
    missing = []
    for absent, line in zip(found.absent, places[len(found.facts) :], strict=True):
        missing.append(Missing(absent.id, plain(absent.reason), line, shown.of(absent.entity)))
        if absent.id not in specs:
            troubles.append(Trouble(line, f"`{absent.id}` is no word of the vocabulary"))
    return Extract(NAME, tuple(readings), tuple(missing), troubles=tuple(troubles))


@cache
def _vocabulary() -> Mapping[str, FactSpec]:
    """The facts of the shipped rules, read once: a fleet has thousands of files."""
    return load().facts


def _other_unit(fact: Fact, specs: Mapping[str, FactSpec]) -> str | None:
    """What is wrong with the unit: a number in another unit than the vocabulary's would be read as one of that."""
    spec = specs.get(fact.id)
    if spec is None or fact.unit == spec.unit:
        return None
    return f"`{fact.id}` is in {fact.unit or 'no unit'}, and the vocabulary has it in {spec.unit or 'no unit'}"


class _Once(Generic[_A, _B]):
    """Makes one thing of another, once for each: the facts of a file share few entities and origins."""

    def __init__(self, make: Callable[[_A], _B]) -> None:
        self._make = make
        self._made: dict[int, _B] = {}

    def of(self, one: _A) -> _B:
        """What is made of this one, which lives as long as what is made."""
        made = self._made.get(id(one))
        if made is None:
            made = self._made[id(one)] = self._make(one)
        return made


def _reading(fact: Fact, line: int | None, entity: Entity, told: str) -> Reading:
    value = plain(fact.value) if isinstance(fact.value, str) else fact.value
    at = None if fact.observed_at is None else plain(fact.observed_at)
    return Reading(fact.id, value, line, told, entity, at, fact.window_seconds)


def _shown(entity: Entity) -> Entity:
    """The entity by a name without control characters."""
    return _entity(entity.kind, plain(entity.name), None if entity.parent is None else _shown(entity.parent))


@lru_cache(maxsize=4096)
def _entity(kind: str, name: str, parent: Entity | None) -> Entity:
    """One for all files: hosts of a fleet have the same GPUs."""
    return Entity(kind, name, parent)


def _told(origin: Origin) -> str:
    """Where the fact came from when the file was written."""
    return plain(origin.where() if origin.text is None else f"{origin.where()}: {origin.text}")


def _places(ids: Sequence[str], lines: Sequence[str]) -> list[int | None]:
    """The line of each entry, in file order; None from where another tool joined or moved the lines."""
    candidates = iter([(number, line) for number, line in enumerate(lines, 1) if '"id"' in line])
    return [next((number for number, line in candidates if f'"{one}"' in line), None) for one in ids]


FORMAT = FileFormat(NAME, "facts file of gpuwhy probe --json", accepts, read)
