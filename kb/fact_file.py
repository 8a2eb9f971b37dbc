"""Facts as a file: JSON of one published version, one fact on a line, so that a fact can be pointed at and compared.

What is written reads back the same: entities, origins, units, times. Fact ids are not checked here: a file may come
from a newer version whose vocabulary has more words, and whoever uses the facts says which ones it does not know.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from gpuwhy.kb.entities import PARENTS
from gpuwhy.kb.facts import HOST, Absent, Entity, Fact, Origin, OriginKind, Value, is_number
from gpuwhy.kb.records import dataclass, field

_T = TypeVar("_T")

FORMAT = "gpuwhy-facts"
VERSION = 1
SCHEMA_ADDRESS = "https://gpuwhy.dev/schema/facts-1.schema.json"

MAX_TEXT = 4000
_MAX_NAME = 400
_MAX_PROBLEMS = 50
_MAX_DIGITS = 400
_COMMON = 64  # names of cards and machines, which thousands of hosts share, are not longer
_FILE_KEYS = frozenset({"format", "schema", "$schema", "entities", "facts", "absent"})
_ENTITY_KEYS = frozenset({"kind", "name", "parent"})
_FACT_KEYS = frozenset({"id", "value", "unit", "entity", "origin", "observed_at", "window_seconds"})
_ABSENT_KEYS = frozenset({"id", "reason", "entity", "origin"})
_ORIGIN_KEYS = frozenset({"kind", "source", "line", "text"})
_KINDS = {one.value: one for one in OriginKind}


class FactFileError(ValueError):
    """A facts file that cannot be used; the message says why, and what to do."""


@dataclass(frozen=True)
class FactFile:
    """The facts and absent readings of a file, and what in it could not be read, each with its place."""

    facts: tuple[Fact, ...]
    absent: tuple[Absent, ...]
    problems: tuple[str, ...] = ()


def dump(facts: Iterable[Fact], absent: Iterable[Absent] = (), ascii_only: bool = False) -> str:
    """The text of a facts file. `ascii_only`: other characters are written as escapes."""
    known, lacking = list(facts), list(absent)
    names = _Names()
    for entity in [*(one.entity for one in known), *(one.entity for one in lacking)]:
        names.of(entity)
    parts = [
        f'"format": {json.dumps(FORMAT)},\n"schema": {VERSION},\n"$schema": {json.dumps(SCHEMA_ADDRESS)}',
        '"entities": ' + _lines(names.documents(ascii_only), "{}"),
        '"facts": ' + _lines((_dumps(_fact_document(one, names), ascii_only) for one in known), "[]"),
        '"absent": ' + _lines((_dumps(_absent_document(one, names), ascii_only) for one in lacking), "[]"),
    ]
    return "{" + ",\n".join(parts) + "}\n"


def load(text: str) -> tuple[list[Fact], list[Absent]]:
    """The facts and absent readings of a file that is sound in every part. Raises `FactFileError`."""
    found = parse(text)
    if found.problems:
        raise FactFileError("; ".join(found.problems))
    return list(found.facts), list(found.absent)


def parse(text: str) -> FactFile:
    """What can be read of a file. Raises `FactFileError` if it is no facts file, or one of a version not known here."""
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_whole)
    except RecursionError:
        raise FactFileError("not a facts file: it is nested too deeply") from None
    except ValueError as error:
        raise FactFileError(f"not a facts file: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FactFileError(f'not a facts file: `"format": "{FORMAT}"` is missing')
    version = document.get("schema")
    if version != VERSION or isinstance(version, bool):
        raise FactFileError(f"a facts file of schema {version!r}, and this version reads {VERSION}: use a newer gpuwhy")
    return _Reader(document).read()


# writing


@dataclass
class _Names:
    """A name for each entity in the file: its path, made unique where names hold path separators."""

    _by_entity: dict[Entity, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def of(self, entity: Entity) -> str:
        """The name of an entity, after those of what it belongs to."""
        if entity not in self._by_entity:
            if entity.parent is not None:
                self.of(entity.parent)
            name, count = entity.path, 1
            while name in self._taken:
                count += 1
                name = f"{entity.path}#{count}"
            self._taken.add(name)
            self._by_entity[entity] = name
        return self._by_entity[entity]

    def documents(self, ascii_only: bool) -> Iterator[str]:
        """One line for each entity, parents first."""
        for entity, name in self._by_entity.items():
            parent = None if entity.parent is None else self._by_entity[entity.parent]
            document = {"kind": entity.kind, "name": entity.name, "parent": parent}
            yield f"{json.dumps(name, ensure_ascii=ascii_only)}: {_dumps(document, ascii_only)}"


def _fact_document(one: Fact, names: _Names) -> dict[str, Any]:
    return {
        "id": one.id,
        "value": one.value,
        "unit": one.unit,
        "entity": names.of(one.entity),
        "origin": _origin_document(one.origin),
        "observed_at": one.observed_at,
        "window_seconds": one.window_seconds,
    }


def _absent_document(one: Absent, names: _Names) -> dict[str, Any]:
    return {
        "id": one.id,
        "reason": one.reason,
        "entity": names.of(one.entity),
        "origin": _origin_document(one.origin),
    }


def _origin_document(origin: Origin) -> dict[str, Any]:
    return {"kind": origin.kind.value, "source": origin.source, "line": origin.line, "text": origin.text}


def _dumps(document: Mapping[str, Any], ascii_only: bool) -> str:
    return json.dumps(document, ensure_ascii=ascii_only, allow_nan=False)


def _lines(items: Iterable[str], brackets: str) -> str:
    body = ",\n".join(items)
    return f"{brackets[0]}\n{body}\n{brackets[1]}" if body else brackets


# reading


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _whole(digits: str) -> int | float:
    """A whole number; one of more digits than any number has is read as what it exceeds, and refused as a value."""
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


class _Bad(ValueError):
    """One entry that is not as the schema has it."""


class _Reader:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._problems: list[str] = []
        self._entities: dict[str, Entity] = {}
        self._origins: dict[tuple[Any, ...], Origin] = {}

    def read(self) -> FactFile:
        for key in self._document:
            if key not in _FILE_KEYS:
                self._problem(f"`{key[:80]}` is no key of a facts file")
        self._read_entities()
        facts, absent = tuple(self._all("facts", self._fact)), tuple(self._all("absent", self._absent))
        return FactFile(facts, absent, tuple(self._problems))

    def _problem(self, text: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(text)
        elif len(self._problems) == _MAX_PROBLEMS:
            self._problems.append("and more")

    def _all(self, key: str, read: Callable[[Any], _T]) -> Iterator[_T]:
        found = self._document.get(key, [])
        if not isinstance(found, list):
            self._problem(f"`{key}` is no list")
            return
        for index, item in enumerate(found):
            try:
                yield read(item)
            except _Bad as error:
                self._problem(f"{key}[{index}]: {error}")

    def _read_entities(self) -> None:
        found = self._document.get("entities", {})
        if not isinstance(found, dict):
            self._problem("`entities` is no object")
            return
        for name, item in found.items():
            try:
                self._entity(name, item)
            except _Bad as error:
                self._problem(f"entities[{name[:80]!r}]: {error}")

    def _entity(self, name: str, item: Any) -> None:
        """Entities stand after what they belong to, so that none can belong to itself."""
        entry = _object(item, _ENTITY_KEYS)
        kind, own = _text(entry, "kind", _MAX_NAME), _text(entry, "name", _MAX_NAME)
        if kind not in PARENTS:
            raise _Bad(f"`{kind}` is no kind of entity")
        parent = entry.get("parent")
        if parent is None and kind == "host":
            self._entities[name] = Entity(kind, own)
            return
        above = self._entities.get(parent) if isinstance(parent, str) else None
        if above is None or above.kind not in PARENTS[kind]:
            raise _Bad(f"a {kind} belongs to {' or '.join(PARENTS[kind]) or 'nothing'}, named before it")
        self._entities[name] = Entity(kind, own, above)

    def _of(self, entry: Mapping[str, Any]) -> Entity:
        name = entry.get("entity")
        if name == HOST.path and name not in self._entities:
            return HOST
        if not isinstance(name, str) or name not in self._entities:
            raise _Bad(f"its entity {str(name)[:80]!r} is not among `entities`, or is not sound there")
        return self._entities[name]

    def _fact(self, item: Any) -> Fact:
        entry = _object(item, _FACT_KEYS)
        window = entry.get("window_seconds")
        if window is not None and (not is_number(window) or window < 0):
            raise _Bad("`window_seconds` is no length of time")
        return Fact(
            sys.intern(_text(entry, "id", _MAX_NAME)),
            _value(entry.get("value")),
            _optional(entry, "unit", _MAX_NAME),
            self._of(entry),
            self._origin(entry.get("origin")),
            _optional(entry, "observed_at", _MAX_NAME),
            None if window is None else float(window),
        )

    def _absent(self, item: Any) -> Absent:
        entry = _object(item, _ABSENT_KEYS)
        identity, why = _text(entry, "id", _MAX_NAME), _text(entry, "reason", MAX_TEXT)
        return Absent(identity, self._of(entry), why, self._origin(entry.get("origin")))

    def _origin(self, item: Any) -> Origin:
        """Facts of one probe have one origin; a line is of a type too, since `true` equals 1."""
        try:
            key = (*item.items(), type(item.get("line")))
            known = self._origins.get(key)
        except (AttributeError, TypeError):
            return _origin(item)
        if known is None:
            known = self._origins[key] = _origin(item)
        return known


def _object(item: Any, keys: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise _Bad("it is no object")
    if not item.keys() <= keys:
        raise _Bad(f"`{next(key for key in item if key not in keys)[:80]}` is no key of it")
    return item


def _text(entry: Mapping[str, Any], key: str, limit: int) -> str:
    found = entry.get(key)
    if not isinstance(found, str) or not found or len(found) > limit:
        raise _Bad(f"`{key}` is missing, or no text of up to {limit} characters")
    return found


def _optional(entry: Mapping[str, Any], key: str, limit: int) -> str | None:
    return found if (found := entry.get(key)) is None or found == "" else _text(entry, key, limit)


def _value(value: Any) -> Value:
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        return sys.intern(value) if len(value) <= _COMMON else value
    if isinstance(value, bool) or is_number(value):
        found: Value = value
        return found
    raise _Bad("`value` is missing, or no finite number, text, true or false")


def _origin(item: Any) -> Origin:
    entry = _object(item, _ORIGIN_KEYS)
    line = entry.get("line")
    if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
        raise _Bad("`line` of its origin is no line number")
    told = entry.get("kind")
    kind = _KINDS.get(told) if isinstance(told, str) else None
    if kind is None:
        raise _Bad(f"{str(told)[:80]!r} is no kind of origin")
    return Origin(kind, _text(entry, "source", MAX_TEXT), line, _optional(entry, "text", MAX_TEXT))
