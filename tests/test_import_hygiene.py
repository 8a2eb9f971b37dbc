"""What gets imported: the reasoning without a screen, and one diagnosis without anything heavy.

The import contracts see the import statements; these tests see what a process really loads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_packaging import OOM

SCREENS = ("click", "textual", "rich")
HEAVY = ("torch", "textual", "rich", "polars", "narwhals", "jsonschema", "durable", "pyspark", "numpy", "pynvml")


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Top-level names of all modules in `sys.modules` after this code ran in a fresh interpreter."""
    tail = (
        "\nimport sys, json; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + tail, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    names: list[str] = json.loads(done.stderr.splitlines()[-1])
    return set(names)


def modules(room: str) -> list[str]:
    folder = ROOT / room
    return sorted(
        "gpuwhy." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in folder.rglob("*.py")
    )


@pytest.mark.parametrize("room", ["kb", "engine", "probes"])
def test_no_module_below_the_command_line_loads_a_screen(room: str) -> None:
    names = [name for name in modules(room) if name != "gpuwhy.engine.chaining"]
    loaded = loaded_by("\n".join(f"import {name}" for name in names))
    assert loaded & set(SCREENS) == set()


def test_a_diagnosis_of_a_pasted_message_loads_nothing_heavy(tmp_path: Path) -> None:
    artefact = tmp_path / "oom.txt"
    artefact.write_text(OOM)
    code = "import sys\nfrom gpuwhy.tui.cli import main\nmain(['diagnose', sys.argv[1]], standalone_mode=False)"
    loaded_by(code, str(artefact))  # fills the cache of the rules
    assert loaded_by(code, str(artefact)) & set(HEAVY) == set()
