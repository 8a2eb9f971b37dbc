"""Walks over the data of a knowledge file: its comparisons and its texts, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def conditions_in(plain: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every comparison below a piece of data, with its path."""
    if isinstance(plain, dict):
        if "fact" in plain and "op" in plain:
            yield path, plain
            return
        for key, value in plain.items():
            yield from conditions_in(value, (*path, key))
    elif isinstance(plain, list):
        for index, value in enumerate(plain):
            yield from conditions_in(value, (*path, index))


def texts_in(plain: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text for a person below a piece of data, with its path; notes, commands and formulas are none."""
    if isinstance(plain, str):
        yield path, plain
    elif isinstance(plain, dict):
        for key, value in plain.items():
            if key not in ("notes", "command", "formula"):
                yield from texts_in(value, (*path, key))
    elif isinstance(plain, list):
        for index, value in enumerate(plain):
            yield from texts_in(value, (*path, index))
