"""What all tests share: a cache of their own, and the guard that every module is imported under its one name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
settings.register_profile("steady", deadline=None, database=None)  # a busy machine is no failure of the code
settings.load_profile("steady")
ROOMS = ("kb", "engine", "probes", "tui", "rules")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that must share a worker come first: begun last, they would keep one worker busy while the others idle."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the rules for this test run alone, shared by its workers; the user's cache and packs stay apart."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("XDG_CONFIG_HOME", str(base / "config"))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def one_name_per_module() -> Iterator[None]:
    """Fails the run if a room was imported as a top-level module: two copies of a class are never equal."""
    yield
    assert {name for name in sys.modules if name.split(".")[0] in ROOMS} == set()


def real_reports() -> Path | None:
    """The folder of recorded reports with known answers, where one is at hand; tests on them skip without it."""
    named = os.environ.get("GPUWHY_REAL_CASES")
    folder = Path(named) if named else ROOT.parent / "shared" / "cases"
    return folder if folder.is_dir() else None
