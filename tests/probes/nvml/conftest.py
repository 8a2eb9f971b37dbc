"""A driver's library of our own, compiled once per run: real bindings and structures, answers from a scenario file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def compiled(folder: Path, *options: str) -> Path:
    """The folder that holds the library, for LD_LIBRARY_PATH."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: the fake NVML library cannot be built")
    soname = "libnvidia-ml.so.1"
    subprocess.run(
        [
            *(compiler, "-O1", "-fPIC", "-shared", f"-Wl,-soname,{soname}", *options),
            *("-o", str(folder / soname), str(HERE / "fakenvml.c"), "-lpthread"),
        ],
        check=True,
        timeout=120,
    )
    return folder


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a recent driver."""
    return compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a driver that lacks what came with 510."""
    return compiled(tmp_path_factory.mktemp("nvml-old"), "-DOLD_LIBRARY")
