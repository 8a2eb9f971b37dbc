"""Schemas: every violation at its line, in words, with what would do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuwhy.kb.load import rules_folder
from gpuwhy.kb.schema import violations
from gpuwhy.kb.strict_yaml import loads
from tests.kb.pack import FILES

SCHEMAS = rules_folder() / "schema" / "v1"


def told(kind: str, content: str) -> list[str]:
    return [str(problem) for problem in violations(loads(content.encode(), "f.yaml"), kind, SCHEMAS)]


def signature(old: str, new: str) -> list[str]:
    content = FILES["signatures/oom/pieces.yaml"]
    assert old in content
    return told("signature", content.replace(old, new, 1))


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_every_schema_is_one_and_is_closed(path: Path) -> None:
    schema = json.loads(path.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    todo = [schema]
    while todo:
        node = todo.pop()
        todo += [one for one in (node.values() if isinstance(node, dict) else node) if isinstance(one, (dict, list))]
        if isinstance(node, dict) and "properties" in node:
            assert node.get("additionalProperties") is False, node.get("properties")


def test_a_file_that_holds_has_no_violation() -> None:
    assert told("signature", FILES["signatures/oom/pieces.yaml"]) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("title: In pieces", "titel: In pieces", "f.yaml:4:8: unknown key `titel` (did you mean `title`?)"),
        ("title: In pieces\n", "", "f.yaml:1:1: `title` is a required property"),
        ("status: stable", "status: good", 'f.yaml:3:9: "good" is not one of experimental, stable, deprecated'),
        ("version: 1.0.0", "version: 1.0", "f.yaml:2:10: "),
        (
            "version: 1.0.0",
            "version: v1",
            'f.yaml:2:10: "v1" is not written as wanted here (three numbers, such as 1.0.0)',
        ),
        ("op: ge", "op: gte", 'f.yaml:8:34: "gte" is not one of eq, ne, lt, le, gt, ge, in, known'),
        ("source: guide", "sources: guide", "f.yaml:9:63: unknown key `sources` (did you mean `source`?)"),
        ("because: [", "because: []\n# [", "f.yaml:14:10: "),
    ],
)
def test_a_violation_is_told_at_its_place(old: str, new: str, expected: str) -> None:
    found = signature(old, new)
    assert any(problem.startswith(expected) for problem in found), found


def test_a_condition_of_no_shape_says_which_shapes_there_are() -> None:
    found = signature("{fact: job.on, op: eq, value: true}", "[job.on]")
    assert found == [
        'f.yaml:10:7: ["job.on"] has not the shape that is wanted here '
        "(write {all: [...]}, {any: [...]}, {not: ...} or {fact: ..., op: ..., value: ...})"
    ]


def test_a_text_is_a_sentence_or_one_per_language() -> None:
    assert signature("title: In pieces", "title: {en: In pieces, zh: 碎片}") == []
    assert signature("title: In pieces", "title: {zh: 碎片}") != []
    assert signature("title: In pieces", "title: 5") != []


def test_all_violations_of_a_file_come_at_once() -> None:
    found = told(
        "references", "references:\n  - {id: X Y, title: 1, address: ftp://x, accessed: soon, strength: firm}\n"
    )
    assert len(found) == 5
