"""Rules that were kept, so that an old report can be made again: one folder for each content, named by its digest."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass

ENTRY = "kept.json"
FORMAT = "gpuwhy-kept-rules"


@dataclass(frozen=True)
class Kept:
    """Rules in the store: the digest of all packs, the packs with their versions, and their folders in order."""

    digest: str
    packs: tuple[tuple[str, str], ...]
    folders: tuple[Path, ...]

    def named(self, word: str) -> bool:
        """True if a word is the version of one of the packs, or the start of the digest."""
        return word in {version for _, version in self.packs} or is_digest_of(word, self.digest)

    def __str__(self) -> str:
        return f"{', '.join(f'{name} {version}' for name, version in self.packs)} ({self.digest[:12]})"


def is_digest_of(word: str, digest: str) -> bool:
    """True if a word is a digest or its start, of six signs or more."""
    return len(word) >= 6 and digest.startswith(word.lower())


def store_folder() -> Path:
    """`$XDG_DATA_HOME/gpuwhy/rules`, or `~/.local/share/gpuwhy/rules`."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(base) / "gpuwhy" / "rules"


def keep(kb: KnowledgeBase, stack: Sequence[Path]) -> Path:
    """Copy the files of packs into the store; what is there already stays. Raises `OSError`."""
    target = store_folder() / kb.digest
    if (target / ENTRY).is_file():
        return target
    shutil.rmtree(target, ignore_errors=True)
    for number, folder in enumerate(stack):
        shutil.copytree(folder, target / str(number), ignore=shutil.ignore_patterns(".git", "__pycache__", "*.py"))
    packs = [[one.name, one.version] for one in kb.packs]
    entry = {"format": FORMAT, "digest": kb.digest, "packs": packs}
    (target / ENTRY).write_text(json.dumps(entry, indent=1) + "\n", "utf-8")  # last: with it the entry is whole
    return target


def kept() -> Iterator[Kept]:
    """Everything in the store that is whole."""
    for path in sorted(store_folder().glob(f"*/{ENTRY}")):
        try:
            plain = json.loads(path.read_text("utf-8"))
            packs = tuple((str(name), str(version)) for name, version in plain["packs"])
            folders = tuple(path.parent / str(number) for number in range(len(packs)))
            yield Kept(str(plain["digest"]), packs, folders)
        except (OSError, ValueError, KeyError, TypeError):
            continue
