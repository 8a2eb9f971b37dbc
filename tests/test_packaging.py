"""What is installed is what is in the tree, and it works beside whatever a training repository calls its modules."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOMS, ROOT

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB "
    "of which 411.06 MiB is free. Of the allocated memory 17.94 GiB is allocated by PyTorch, and 4.87 GiB is reserved "
    "by PyTorch but unallocated."
)


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_is_linked_into_the_package(room: str) -> None:
    link = ROOT / "gpuwhy" / room
    assert link.is_symlink()
    assert os.readlink(link) == f"../{room}"
    assert (ROOT / room / "__init__.py").is_file()


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment, capture_output=True, text=True, timeout=600
    )


def build_wheel(folder: Path) -> Path:
    """The wheel, built through the source distribution from a copy of what git knows or would add."""
    source, out = folder / "source", folder / "dist"
    listing = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    built = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=source)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    (wheel,) = out.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment that holds the wheel and what it depends on."""
    python = folder / "venv" / "bin" / "python"
    assert run(sys.executable, "-m", "venv", folder / "venv", cwd=folder).returncode == 0
    installed = run(python, "-m", "pip", "install", "--disable-pip-version-check", wheel, cwd=folder)
    assert installed.returncode == 0, installed.stderr[-2000:]
    return python


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout: nothing says what belongs to the product")
def test_the_wheel_is_complete_and_runs_without_development_tools_beside_modules_of_the_same_names(
    tmp_path: Path,
) -> None:
    wheel = build_wheel(tmp_path)
    checked = run(sys.executable, ROOT / ".ci" / "check-wheel", wheel, cwd=ROOT)
    assert checked.returncode == 0, checked.stdout

    python = install(wheel, tmp_path)
    listed = run(python, "-m", "pip", "list", "--disable-pip-version-check", cwd=tmp_path).stdout.lower()
    assert not {"torch", "polars", "pyspark", "durable_rules", "pytest"} & set(listed.split())

    training = tmp_path / "training"
    training.mkdir()
    for room in ROOMS:
        (training / f"{room}.py").write_text("raise SystemExit('a module of the training repository')\n")
    (training / "oom.txt").write_text(OOM)
    command = python.with_name("gpuwhy")
    done = run(command, "diagnose", "--format", "json", "oom.txt", cwd=training, PYTHONPATH=".")
    assert done.stderr == ""
    read = {fact["id"]: fact["value"] for fact in json.loads(done.stdout)["facts"]}
    assert read["oom.request_bytes"] == 1.5 * 2**30
    assert run(python, "-m", "gpuwhy", "--version", cwd=tmp_path).stdout.startswith("gpuwhy, version ")
