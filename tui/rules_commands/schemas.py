"""`gpuwhy rules schemas`: JSON Schemas for editors, which know the words of the packs in use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import fail, loaded, rules_option, stack

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase


@click.command("schemas")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@rules_option
def schemas_command(folder: Path, rules: Path | None) -> None:
    """Write JSON Schemas into FOLDER: an editor with a YAML language server completes keys, facts and conclusions.

    A file names its schema in its first line: `# yaml-language-server: $schema=../../.schema/signature.schema.json`.
    """
    from gpuwhy.kb.load import rules_folder
    from gpuwhy.kb.schema import WORDS

    kb = loaded(stack(rules))
    source = rules_folder() / "schema" / "v1"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(source.glob("*.schema.json")):
            if path.name != WORDS and not (folder / path.name).exists():
                (folder / path.name).write_bytes(path.read_bytes())
        (folder / WORDS).write_text(json.dumps(words_schema(kb), indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        fail(f"the schemas cannot be written: {error}")
    out(f"schemas in {folder}: {len(kb.facts)} facts, {len(kb.conclusions)} conclusions\n")


def words_schema(kb: KnowledgeBase) -> dict[str, Any]:
    """The schema of known words, as lists to choose from; a pack names its own references without its namespace."""
    groups = {
        "facts": sorted(kb.facts),
        "conclusions": sorted(kb.conclusions),
        "references": sorted({one.rpartition(":")[2] for one in kb.references}),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://gpuwhy.dev/schema/v1/words.schema.json",
        "title": "Known words",
        "description": "Written by `gpuwhy rules schemas`, for editors to complete by.",
        "$defs": {name: {"enum": words} for name, words in groups.items()},
    }
