"""Findings about the text of rule files, which `--fix` can mend: schema line, spaces, ids that follow the path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuwhy.engine.lint_codes import Finding, finding
from gpuwhy.kb.errors import Location

FIXABLE = ("schema-line", "whitespace", "id-path")

_SCHEMAS = {
    "signatures": "signature", "derivations": "derivation", "fixes": "fix", "selections": "selection", "facts": "facts",
    "references": "references",
    "conclusions": "conclusions", "catalogue": "catalogue", "pack.yaml": "pack", "pipeline.yaml": "pipeline",
}  # fmt: skip
_PREFIX = {"signatures": "sig", "fixes": "fix", "derivations": "derive", "selections": "select"}
_LINE = "# yaml-language-server: $schema="


def check(folder: Path, contents: Mapping[str, bytes]) -> Iterator[Finding]:
    """All findings about the text of files. A pack without schemas of its own needs no line that names them."""
    with_schemas = (folder / "schema" / "v1").is_dir()
    for relative, content in contents.items():
        text = content.decode("utf-8", "replace")
        where = f"{folder.name}/{relative}"
        if with_schemas and not text.startswith(_LINE):
            yield finding(Location(where), "schema-line", "the first line does not name the schema")
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                column = len(line.rstrip()) + 1
                yield finding(Location(where, number, column), "whitespace", "spaces at the end of the line")
        if text and not text.endswith("\n"):
            yield finding(Location(where, text.count("\n") + 1), "whitespace", "no newline at the end")


def mended(folder: Path, relative: str, content: bytes) -> bytes:
    """A file with what is mechanical mended; unchanged where nothing is."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    text = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"
    first = relative.split("/")[0]
    if (folder / "schema" / "v1").is_dir() and not text.startswith(_LINE) and first in _SCHEMAS:
        up = "../" * relative.count("/")
        text = f"{_LINE}{up}schema/v1/{_SCHEMAS[first]}.schema.json\n{text}"
    if first in _PREFIX:
        wanted = ".".join([_PREFIX[first], *relative.removesuffix(".yaml").split("/")[1:]])
        text = re.sub(r"\Aid:[^\n]*|(?<=\n)id:[^\n]*", f"id: {wanted}", text, count=1)
    return text.encode()
