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


FIRST_SCREEN = """
import asyncio, sys
from gpuwhy.tui import cli
from gpuwhy.tui.app.run import read_rules
from gpuwhy.tui.app.app import GpuwhyApp

def read():
    assert app.query_one("#menu").region.height > 0
    print(*(name for name in sys.modules if name.startswith("gpuwhy.")))
    return read_rules()

async def run():
    async with app.run_test(size=(80, 24)) as pilot:
        while not app.ready:
            await pilot.pause(0.02)

GpuwhyApp._glance = lambda _: None  # it works beside the rules
app = GpuwhyApp(read, "gpuwhy")
asyncio.run(run())
"""


def test_the_first_screen_stands_before_rules_and_probes_are_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_SCREEN], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    assert "gpuwhy.tui.app.screens.start" in names
    later = ("gpuwhy.engine", "gpuwhy.probes", "gpuwhy.rules", "gpuwhy.kb.load", "gpuwhy.kb.model", "gpuwhy.tui.report")
    assert [name for name in names if name.startswith(later)] == []
    assert [name for name in names if ".screens." in name] == ["gpuwhy.tui.app.screens.start"]
