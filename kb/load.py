"""The knowledge base from a folder of YAML files, through a cache of checked data keyed by their content.

The cache is JSON and holds data that passed every check. It is used only if it belongs to this user, nobody else may
write it, and its own checksum holds; otherwise the files are read and checked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from gpuwhy.kb import strict_yaml
from gpuwhy.kb.build import Builder, Source
from gpuwhy.kb.errors import KnowledgeError, Location, Problem
from gpuwhy.kb.model import KnowledgeBase

CACHE_FORMAT = 1

_FOLDERS = ("facts", "conclusions", "references", "derivations", "signatures", "fixes")
_SCHEMA_OF = {"derivations": "derivation", "signatures": "signature", "fixes": "fix"}


def rules_folder() -> Path:
    """The folder of the rules that come with the product."""
    return Path(str(resources.files("gpuwhy.rules")))


def load(folder: Path | None = None, cache: Path | None = None) -> KnowledgeBase:
    """The knowledge of a folder (the shipped rules by default). `cache` is the folder of cached data.

    Raises `KnowledgeError` with every problem of every file.
    """
    where = folder or rules_folder()
    contents = _contents(where)
    digest = _digest(contents)
    cached = (cache or default_cache()) / f"rules-{digest[:32]}.json"
    sources = _from_cache(cached)
    if sources is None:
        kb, sources = _compile(where, contents, digest)
        _to_cache(cached, sources)
        return kb
    return Builder(sources).build(_version(sources), digest)


def check_all(folder: Path) -> list[Problem]:
    """Every problem of every file of a folder; empty if it can be used."""
    contents = _contents(folder)
    try:
        _compile(folder, contents, _digest(contents))
    except KnowledgeError as error:
        return list(error.problems)
    return []


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/gpuwhy`, or `~/.cache/gpuwhy`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "gpuwhy"


def rule_files(folder: Path) -> dict[str, str]:
    """All knowledge files of a folder, by path relative to it, with their kind; rule tests are not among them."""
    found: dict[str, str] = {}
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            relative = os.path.relpath(os.path.join(base, name), folder).replace(os.sep, "/")
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
            found[relative] = file.read(strict_yaml.MAX_BYTES + 1)
    return found


def _digest(contents: dict[str, bytes]) -> str:
    from gpuwhy import __version__

    digest = hashlib.sha256(f"{CACHE_FORMAT} {__version__}\n".encode())
    for relative, content in contents.items():
        digest.update(f"{relative} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _compile(folder: Path, contents: dict[str, bytes], digest: str) -> tuple[KnowledgeBase, list[Source]]:
    from gpuwhy.kb.checks import check
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
            problems.extend(error.problems)
            continue
        broken = violations(document, _SCHEMA_OF.get(kind, kind), schemas)
        problems.extend(broken)
        if not broken:
            sources.append(Source(kind, relative, document.data, document.at))
    if problems:
        raise KnowledgeError(problems)
    builder = Builder(sources)
    kb = builder.build(_version(sources), digest)
    problems = [*builder.problems, *check(kb, sources)]
    if problems:
        raise KnowledgeError(problems)
    return kb, sources


def _version(sources: Iterable[Source]) -> str:
    return next((str(source.data["version"]) for source in sources if source.kind == "pack"), "0.0.0")


def _from_cache(path: Path) -> list[Source] | None:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return None
            checksum, _, body = file.read().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        return None
    entries: list[list[Any]] = json.loads(body)
    return [Source(kind, file, data, _Nowhere(file)) for kind, file, data in entries]


class _Nowhere:
    """Places in a file whose positions were not kept."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __call__(self, *_path: str | int) -> Location:
        return Location(self.file)


def _to_cache(path: Path, sources: list[Source]) -> None:
    """Best effort: a read-only home or a full disk only costs the next start some time."""
    body = json.dumps(
        [[one.kind, one.file, one.data] for one in sources], separators=(",", ":"), ensure_ascii=False
    ).encode()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
