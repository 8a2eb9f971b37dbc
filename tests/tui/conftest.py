"""The small rule pack, written once per run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.pack import build


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pack."""
    return build(tmp_path_factory.mktemp("rules") / "pack")
