"""Knowledge files against their JSON Schemas: every violation, at its line, with what to do about it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from gpuwhy.kb.errors import Problem
from gpuwhy.kb.strict_yaml import Document

WORDS = "words.schema.json"
"""The words of packs, for editors. What a word must be is checked against the packs themselves, not against this."""


@cache
def _validator(folder: Path, kind: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_Linker(folder).file(f"{kind}.schema.json"))


class _Linker:
    """Puts what a `$ref` means in its place: looking references up, again for every value, takes most of the time.

    A schema that refers to itself becomes a structure that holds itself.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: json.loads(path.read_text("utf-8")) for path in folder.glob("*.schema.json")}
        self._meant: dict[tuple[str, str], dict[str, Any]] = {}

    def file(self, name: str) -> Any:
        """The schema of a file, with all references replaced."""
        return self._linked(self._files[name], name)

    def _linked(self, node: Any, file: str) -> Any:
        if isinstance(node, list):
            return [self._linked(one, file) for one in node]
        if not isinstance(node, dict):
            return node
        if _completes(node):
            node = {key: value for key, value in node.items() if key != "anyOf"}
        found = {key: self._linked(value, file) for key, value in node.items() if key not in ("$ref", "$id", "$defs")}
        if "$ref" not in node:
            return found
        meant = self._of(*self._place(node["$ref"], file))
        return found | {"allOf": [meant, *found.get("allOf", ())]} if found else meant

    def _place(self, reference: str, file: str) -> tuple[str, str]:
        name, _, pointer = reference.partition("#")
        return name or file, pointer

    def _of(self, file: str, pointer: str) -> dict[str, Any]:
        if (file, pointer) not in self._meant:
            meant = self._meant[file, pointer] = {}  # known before it is filled: it may refer to itself
            node = self._files[file]
            for step in pointer.split("/")[1:]:
                node = node[step]
            meant.update(self._linked(node, file))
        return self._meant[file, pointer]


def _completes(node: dict[str, Any]) -> bool:
    """True for alternatives that are there for editors: known words, to complete what is typed, and anything else."""
    first: Any = next(iter(node.get("anyOf", ())), None)
    return isinstance(first, dict) and str(first.get("$ref", "")).startswith(WORDS)


def violations(document: Document, kind: str, folder: Path) -> list[Problem]:
    """All violations of one file against the schema `kind` in `folder`; empty if it holds."""
    found: list[Problem] = []
    for error in _validator(folder, kind).iter_errors(document.data):
        found.extend(_problems(error, document))
    return found


def _problems(error: Any, document: Document) -> list[Problem]:
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = sorted(error.schema.get("properties", {}))
        extra = [key for key in error.instance if key not in known]
        where = error.absolute_path
        return [Problem(document.at(*where, key), f"unknown key `{key}`", _nearest(key, known)) for key in extra]
    if error.validator in ("oneOf", "anyOf"):
        branch = _closest_branch(error)
        if branch:
            return [problem for one in branch for problem in _problems(one, document)]
    return [Problem(document.at(*error.absolute_path), _message(error), _help(error))]


def _closest_branch(error: Any) -> list[Any]:
    """The errors of the alternative that the value was most likely meant to be, if one stands out."""
    branches: dict[int, list[Any]] = {}
    for one in error.context:
        branches.setdefault(one.schema_path[0], []).append(one)
    meant = []
    for errors in branches.values():
        wrong_shape = any(one.validator in ("type", "required") and not one.relative_path for one in errors)
        if not wrong_shape:
            meant.append(errors)
    return meant[0] if len(meant) == 1 else []


def _message(error: Any) -> str:
    shown = json.dumps(error.instance, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= 60 else shown[:57] + "…"
    if error.validator == "required":
        return str(error.message).replace("'", "`")
    if error.validator == "enum":
        return f"{shown} is not one of {', '.join(map(str, error.validator_value))}"
    if error.validator in ("oneOf", "anyOf"):
        return f"{shown} has not the shape that is wanted here"
    if error.validator == "pattern":
        return f"{shown} is not written as wanted here"
    return str(error.message) if len(error.message) <= 120 else f"{shown}: {error.validator} {error.validator_value}"


def _help(error: Any) -> str:
    schema = error.schema if isinstance(error.schema, dict) else {}
    return str(schema.get("x-help") or schema.get("description") or "")


def _nearest(word: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(known)}"
