"""Reads the small files in which Linux tells about itself, below a root folder that need not be `/`."""

from __future__ import annotations

import os
from pathlib import Path

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.gathering import plain

_READ_LIMIT = 4 << 20


class Unread(Exception):
    """A file could not be read; the text says which and why."""


@dataclass(frozen=True)
class Tree:
    """The file systems `/proc`, `/sys` and what is mounted, below `root`; `process` is whose view of them is asked."""

    root: Path = Path("/")
    process: str = "self"

    def path(self, name: str) -> Path:
        """The place of an absolute path below the root."""
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str:
        """A file's text. Raises `Unread`."""
        try:
            with open(self.path(name), "rb") as file:
                return file.read(_READ_LIMIT).decode("utf-8", "replace")
        except FileNotFoundError:
            raise Unread(f"{name} does not exist here") from None
        except (OSError, ValueError) as error:
            raise Unread(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def line(self, name: str) -> str:
        """The only line of a file, bare. Raises `Unread`."""
        return plain(self.text(name).strip())

    def number(self, name: str) -> int:
        """The number that a file holds. Raises `Unread`."""
        return whole(self.line(name), name)

    def table(self, name: str) -> dict[str, str]:
        """Lines of the form `key value` or `key: value`. Raises `Unread`."""
        pairs = (line.partition(" ") for line in self.text(name).replace(":\t", " ").replace(":", " ").splitlines())
        return {key.strip(): rest.strip() for key, _, rest in pairs if key}

    def own(self, name: str) -> str:
        """The path of a file of the process."""
        return f"/proc/{self.process}/{name}"

    def names(self, folder: str) -> list[str]:
        """The entries of a folder, sorted; none where it cannot be listed."""
        try:
            return sorted(os.listdir(self.path(folder)))
        except OSError:
            return []

    def exists(self, name: str) -> bool:
        """True if there is such a file or folder."""
        return self.path(name).exists()


def whole(text: str, name: str) -> int:
    """A text as a whole number. Raises `Unread`."""
    try:
        return int(text)
    except ValueError:
        raise Unread(f"{name} holds no number: {plain(text)[:40]!r}") from None


def cpu_list(text: str) -> frozenset[int]:
    """The CPUs of a list as the kernel writes it: 0-3,8. Raises `Unread`."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, dash, last = part.partition("-")
        low, high = whole(first, "a list of CPUs"), whole(last if dash else first, "a list of CPUs")
        if not 0 <= low <= high < 1 << 16:
            raise Unread(f"{plain(text)[:40]!r} is no list of CPUs")
        found.update(range(low, high + 1))
    return frozenset(found)
