"""A strict, bounded reader of YAML: what it gives is what a reviewer reads in the file.

It refuses what YAML lets slip: duplicate keys, YAML 1.1 booleans (`yes`, `off`) and octals (`012`), anchors and aliases
(bombs), tags, non-finite numbers, several documents. Every value keeps its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpuwhy.kb.errors import KnowledgeError, Location, Problem
from gpuwhy.kb.records import dataclass

MAX_BYTES = 1 << 20
MAX_DEPTH = 40

PathKey = tuple[str | int, ...]

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?\Z")
_OLD_NUMBER = re.compile(r"[-+]?(?:0[0-9_]+|0[xob][0-9a-fA-F_]+|[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?)\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|nan)\Z", re.IGNORECASE)
_OLD_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}


@dataclass(frozen=True)
class Document:
    """One YAML file: plain data, and the position of every value and key in it."""

    path: str
    data: Any
    marks: Mapping[PathKey, tuple[int, int]]

    def at(self, *path: str | int) -> Location:
        """Where the value at this path stands, or the nearest value around it."""
        key: PathKey = tuple(path)
        while key and key not in self.marks:
            key = key[:-1]
        line, column = self.marks.get(key, (1, 1))
        return Location(self.path, line, column)


def load(path: Path, display: str | None = None) -> Document:
    """Read one file. Raises `KnowledgeError` with every problem of the file."""
    name = display or str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise KnowledgeError([Problem(Location(name), f"cannot be read: {error.strerror}")]) from error
    return loads(raw, name)


def loads(raw: bytes, name: str) -> Document:
    """Read YAML from bytes; `name` stands in error messages. Raises `KnowledgeError` with every problem found."""
    if len(raw) > MAX_BYTES:
        raise KnowledgeError([Problem(Location(name), f"larger than {MAX_BYTES} bytes", "split the file")])
    try:
        text = raw.decode("utf-8")
        node = yaml.compose(text, Loader=_Loader)
        tagged = _tags(text, name) if "!" in text else []
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise KnowledgeError([Problem(Location(name, line), "not UTF-8", "save the file as UTF-8")]) from error
    except yaml.YAMLError as error:
        raise KnowledgeError([_syntax_problem(error, name)]) from error
    reader = _Reader(name)
    data = reader.read(node, ()) if node is not None else None
    if tagged or reader.problems:
        raise KnowledgeError([*tagged, *reader.problems])
    return Document(name, data, reader.marks)


def _tags(text: str, name: str) -> list[Problem]:
    """Explicit tags; composed nodes no longer tell `!!str 5` from `5`."""
    found = []
    events: Iterable[Any] = yaml.parse(text, Loader=_Loader)
    for event in events:
        tag = getattr(event, "tag", None)
        if tag is not None:
            where = Location(name, event.start_mark.line + 1, event.start_mark.column + 1)
            found.append(Problem(where, f"tags are not allowed ({tag})", "remove the tag"))
    return found


def _syntax_problem(error: yaml.YAMLError, name: str) -> Problem:
    mark = getattr(error, "problem_mark", None)
    where = Location(name, mark.line + 1, mark.column + 1) if mark else Location(name)
    words = [getattr(error, "context", None), getattr(error, "problem", None)]
    message = ", ".join(word for word in words if word) or str(error)
    return Problem(where, f"not YAML: {message}", "check indentation, colons and quotes near this place")


class _Reader:
    """Turns composed nodes into plain data, noting positions and problems."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.marks: dict[PathKey, tuple[int, int]] = {}
        self.problems: list[Problem] = []
        self._seen: set[int] = set()

    def read(self, node: Any, path: PathKey) -> Any:
        self.marks[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        if id(node) in self._seen:
            return self._refuse(node, "aliases are not allowed", "write the value out again")
        self._seen.add(id(node))
        if len(path) > MAX_DEPTH:
            return self._refuse(node, f"nested deeper than {MAX_DEPTH} levels", "flatten it")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: Any, path: PathKey) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, "a key must be a plain word", "")
                continue
            key = key_node.value
            if key in found:
                self._refuse(key_node, f"duplicate key `{key}`", "keep one of them")
                continue
            found[key] = self.read(value_node, (*path, key))
        return found

    def _scalar(self, node: Any) -> Any:
        text: str = node.value
        if node.style not in (None, ""):
            return text
        if text in ("", "null", "~"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.match(text):
            return int(text) if len(text) <= 20 else self._refuse(node, f"number too long: {text[:20]}…", "")
        if _FLOAT.match(text):
            return self._float(node, text)
        return self._word(node, text)

    def _float(self, node: Any, text: str) -> Any:
        number = float(text)
        if number in (float("inf"), float("-inf")):
            return self._refuse(node, f"`{text}` is too large for a number", "")
        return number

    def _word(self, node: Any, text: str) -> Any:
        if text.lower() in _OLD_BOOLEANS or text.lower() in ("true", "false"):
            return self._refuse(
                node, f"`{text}` is a boolean in YAML 1.1 and a word in 1.2", "write true or false, or quote it"
            )
        if _OLD_NUMBER.match(text):
            return self._refuse(
                node, f"`{text}` is read differently by YAML 1.1 and 1.2", "write a plain decimal, or quote it"
            )
        if _NOT_FINITE.match(text):
            return self._refuse(node, f"`{text}` is no usable number", "leave the key out")
        return text

    def _refuse(self, node: Any, message: str, hint: str) -> None:
        where = Location(self.name, node.start_mark.line + 1, node.start_mark.column + 1)
        self.problems.append(Problem(where, message, hint))
