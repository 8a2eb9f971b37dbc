"""Whether files of packs were touched since they were read: their sizes, times and numbers, and those of their folders.

Looking at them is ten times cheaper than reading the files. A folder's own time tells of files that came, went or were
renamed, so that a folder is not walked again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

_SEPARATOR = "/"  # in no name

Seen = list[list[Any]]
"""JSON data of each folder: pack, path below it, names of files, and numbers of the folder and of each file in turn."""


def take(packs: Sequence[Path], files: Callable[[Path], Iterable[str]], kinds: Iterable[str]) -> Seen:
    """What packs look like now. `files` gives the relative paths that matter; all lie at the top or below `kinds`."""
    seen: Seen = []
    for number, pack in enumerate(packs):
        names: dict[str, list[str]] = {folder: [] for folder in ("", *_folders(pack, kinds))}
        for relative in files(pack):
            folder, _, name = relative.rpartition("/")
            names[folder].append(name)
        seen.extend(
            [number, folder, _SEPARATOR.join(inside), _look(pack, folder, inside)] for folder, inside in names.items()
        )
    return seen


def unchanged(packs: Sequence[Path], seen: Seen) -> bool:
    """True if nothing was touched since `seen` was taken. A file that is gone is a change."""
    try:
        return all(
            _look(packs[number], folder, names.split(_SEPARATOR) if names else ()) == numbers
            for number, folder, names, numbers in seen
        )
    except OSError:
        return False


def newest(seen: Seen) -> int:
    """The latest time of a file or folder, in nanoseconds."""
    return max(chain.from_iterable(numbers[:1] + numbers[3::3] for *_, numbers in seen), default=0)


def _folders(pack: Path, kinds: Iterable[str]) -> Iterable[str]:
    base = len(str(pack)) + 1
    for kind in kinds:
        for folder, _, _ in os.walk(pack / kind):
            yield folder[base:].replace(os.sep, "/")


def _look(pack: Path, folder: str, names: Iterable[str]) -> list[int]:
    """Time and number of a folder; size, time and number of each file in it."""
    path = f"{pack}/{folder}" if folder else str(pack)
    status = os.stat(path)
    found = [status.st_mtime_ns, status.st_ino]
    for name in names:
        status = os.stat(f"{path}/{name}")
        found += (status.st_size, status.st_mtime_ns, status.st_ino)
    return found
