"""The knowledge base from a folder of YAML files, through a cache of checked data keyed by their content.

The cache is JSON and holds data that passed every check. It is used only if it belongs to this user, nobody else may
write it, and its own checksum holds; otherwise the files are read and checked again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuwhy import __version__
from gpuwhy.kb import cache
from gpuwhy.kb.build import Builder, Source
from gpuwhy.kb.compiled import pack, unpack
from gpuwhy.kb.errors import KnowledgeError, Location, Problem
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, replace

CACHE_FORMAT = 4
SETTLED_NANOSECONDS = 2_000_000_000
MAX_FILE_BYTES = 1 << 20

_FOLDERS = ("facts", "conclusions", "references", "catalogue", "derivations", "signatures", "fixes", "selections")
_SCHEMA_OF = {"derivations": "derivation", "signatures": "signature", "fixes": "fix", "selections": "selection"}


def rules_folder() -> Path:
    """The folder of the rules that come with the product."""
    import gpuwhy.rules

    return Path(gpuwhy.rules.__file__).parent


def load(folder: Path | None = None, cache_folder: Path | None = None) -> KnowledgeBase:
    """The knowledge of a folder (the shipped rules by default). `cache_folder` is where checked data is kept.

    Raises `KnowledgeError` with every problem of every file.
    """
    where, cached_in = folder or rules_folder(), cache_folder or cache.default_folder()
    known = _remembered_digest(where, cached_in)
    kb = _from_cache(cached_in, known) if known else None
    if kb is not None:
        return kb
    listing = _listing(where)
    contents = _contents(where)
    digest = _digest(contents)
    kb = _from_cache(cached_in, digest)
    if kb is None:
        kb, sources = _compile(where, contents, digest)
        cache.write(_rules_file(cached_in, digest), *pack(kb, sources))
    _remember(where, cached_in, digest, listing)
    return kb


def _rules_file(cache_folder: Path, digest: str) -> Path:
    return cache_folder / f"rules-{digest[:32]}.json"


def _from_cache(cache_folder: Path, digest: str) -> KnowledgeBase | None:
    kept = cache.read(_rules_file(cache_folder, digest))
    return None if kept is None else unpack(*kept, digest)


def check_all(folder: Path) -> list[Problem]:
    """Every problem of every file of a folder; empty if it can be used."""
    contents = _contents(folder)
    try:
        _compile(folder, contents, _digest(contents))
    except KnowledgeError as error:
        return list(error.problems)
    return []


def rule_files(folder: Path) -> dict[str, str]:
    """All knowledge files of a folder, by path relative to it, with their kind; rule tests are not among them."""
    found: dict[str, str] = {}
    for base, folders, names in os.walk(folder):
        folders.sort()
        below = base[len(str(folder)) :].strip(os.sep).replace(os.sep, "/")
        for name in sorted(names):
            relative = f"{below}/{name}" if below else name
            kind = _kind(relative)
            if kind:
                found[relative] = kind
    return found


def _kind(relative: str) -> str | None:
    if not relative.endswith(".yaml") or relative.endswith(".test.yaml"):
        return None
    first = relative.split("/")[0]
    if first in ("pack.yaml", "pipeline.yaml"):
        return first.removesuffix(".yaml")
    return first if first in _FOLDERS and "/" in relative else None


def _contents(folder: Path) -> dict[str, bytes]:
    if not (folder / "pack.yaml").is_file():
        hint = "a pack is a folder with pack.yaml, facts/, conclusions/, signatures/, …"
        raise KnowledgeError([Problem(Location(str(folder)), "no rules here: pack.yaml is missing", hint)])
    found = {}
    for relative in rule_files(folder):
        with open(os.path.join(folder, relative), "rb") as file:
            found[relative] = file.read(MAX_FILE_BYTES + 1)
    return found


def _digest(contents: dict[str, bytes]) -> str:
    digest = hashlib.sha256(f"{CACHE_FORMAT} {__version__}\n".encode())
    for relative, content in contents.items():
        digest.update(f"{relative} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _compile(folder: Path, contents: dict[str, bytes], digest: str) -> tuple[KnowledgeBase, list[Source]]:
    sources, problems = _read(folder, contents)
    if problems:
        raise KnowledgeError(problems)
    kb, problems = _build(sources, digest)
    if problems:
        raise KnowledgeError(problems)
    return kb, sources


def _read(folder: Path, contents: dict[str, bytes]) -> tuple[list[Source], list[Problem]]:
    """The data of all files that can be read and hold to their schema, and what is wrong with the others."""
    from gpuwhy.kb import strict_yaml
    from gpuwhy.kb.schema import violations

    schemas = folder / "schema" / "v1"
    if not schemas.is_dir():
        schemas = rules_folder() / "schema" / "v1"
    problems: list[Problem] = []
    sources: list[Source] = []
    for relative, content in contents.items():
        kind = _kind(relative) or ""
        try:
            document = strict_yaml.loads(content, f"{folder.name}/{relative}")
        except KnowledgeError as error:
            problems.extend(replace(one, code="yaml") for one in error.problems)
            continue
        broken = violations(document, _SCHEMA_OF.get(kind, kind), schemas)
        problems.extend(replace(one, code="schema") for one in broken)
        if not broken:
            sources.append(Source(kind, relative, document.data, document.at))
    return sources, problems


def _build(sources: list[Source], digest: str) -> tuple[KnowledgeBase, list[Problem]]:
    from gpuwhy.kb.checks import check

    builder = Builder(sources)
    kb = builder.build(_version(sources), digest)
    return kb, [*builder.problems, *check(kb, sources)]


@dataclass(frozen=True)
class Inspection:
    """A pack as far as it can be read: `kb` is None where its vocabulary cannot be used."""

    kb: KnowledgeBase | None
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...]
    contents: Mapping[str, bytes]


def inspect(folder: Path) -> Inspection:
    """What can be read of a pack and what is wrong with it, for tools that look at rules; not cached."""
    contents = _contents(folder)
    sources, problems = _read(folder, contents)
    usable = {source.file for source in sources}
    if any(_kind(file) not in _SCHEMA_OF for file in contents if file not in usable):
        return Inspection(None, tuple(sources), tuple(sorted(set(problems))), contents)
    kb, more = _build(sources, _digest(contents))
    return Inspection(kb, tuple(sources), tuple(sorted({*problems, *more})), contents)


def _version(sources: Iterable[Source]) -> str:
    return next((str(source.data["version"]) for source in sources if source.kind == "pack"), "0.0.0")


def _remembered_digest(folder: Path, cache_folder: Path) -> str | None:
    """The content digest of a folder whose files have not been touched since it was computed; else None.

    Looking at sizes and times of files is ten times cheaper than reading them.
    """
    entry, _ = cache.read(_listing_file(folder, cache_folder)) or (None, b"")
    if not isinstance(entry, dict) or entry.get("version") != __version__ or entry.get("format") != CACHE_FORMAT:
        return None
    return str(entry["digest"]) if entry.get("files") == _listing(folder) else None


def _remember(folder: Path, cache_folder: Path, digest: str, listing: list[list[Any]]) -> None:
    """Note the digest of a folder, unless a file is so new that a later edit could carry the same time."""
    newest = max((modified for _, _, modified, _ in listing), default=0)
    if time.time_ns() - newest > SETTLED_NANOSECONDS and listing == _listing(folder):
        entry = {"version": __version__, "format": CACHE_FORMAT, "digest": digest, "files": listing}
        cache.write(_listing_file(folder, cache_folder), entry)


def _listing_file(folder: Path, cache_folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:32]
    return cache_folder / f"folder-{name}.json"


def _listing(folder: Path) -> list[list[Any]]:
    found = []
    for relative in rule_files(folder):
        status = os.stat(os.path.join(folder, relative))
        found.append([relative, status.st_size, status.st_mtime_ns, status.st_ino])
    return found
