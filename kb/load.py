"""The knowledge base from folders of YAML files, through a cache of checked data keyed by the content of all.

The cache is JSON and holds data that passed every check. It is used only if it belongs to this user, nobody else may
write it, and its own checksum holds; otherwise the files are read and checked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuwhy import __version__
from gpuwhy.kb import cache, listing
from gpuwhy.kb.build import Builder, Source
from gpuwhy.kb.compiled import pack, unpack
from gpuwhy.kb.errors import KnowledgeError, Location, Problem
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, replace

CACHE_FORMAT = 6
SETTLED_NANOSECONDS = 2_000_000_000
MAX_FILE_BYTES = 1 << 20

_FOLDERS = ("facts", "conclusions", "references", "catalogue", "derivations", "signatures", "fixes", "selections")
_SCHEMA_OF = {"derivations": "derivation", "signatures": "signature", "fixes": "fix", "selections": "selection"}


def rules_folder() -> Path:
    """The folder of the rules that come with the product."""
    import gpuwhy.rules

    return Path(gpuwhy.rules.__file__).parent


def user_folder() -> Path:
    """Where a person's own packs are looked for: `$XDG_CONFIG_HOME/gpuwhy/rules`, or `~/.config/gpuwhy/rules`.

    It is a pack, or holds packs.
    """
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(base) / "gpuwhy" / "rules"


def stack_of(folder: Path | None) -> tuple[Path, ...]:
    """The packs that a folder stands for, the one that the others extend first; the shipped one by default.

    A pack that extends another, and packs in a folder, stand beside the shipped one.
    """
    if folder is None:
        return (rules_folder(),)
    from gpuwhy.kb.packs import extends, within

    packs = within(folder) or (folder,)
    alone = packs == (folder,) and not extends(folder)
    return packs if alone else (rules_folder(), *packs)


def users_stack() -> tuple[Path, ...]:
    """The shipped pack, and beside it those of the person's own folder."""
    folder = user_folder()
    if not folder.is_dir():
        return (rules_folder(),)
    from gpuwhy.kb.packs import within

    return (rules_folder(), *within(folder))


def load(folder: Path | None = None, cache_folder: Path | None = None) -> KnowledgeBase:
    """The knowledge of a folder (the shipped rules by default). `cache_folder` is where checked data is kept.

    Raises `KnowledgeError` with every problem of every file.
    """
    return load_stack(stack_of(folder), cache_folder)


def load_stack(stack: tuple[Path, ...], cache_folder: Path | None = None) -> KnowledgeBase:
    """The knowledge of packs side by side; all but the first extend it. Raises `KnowledgeError`, as `load` does."""
    cached_in = cache_folder or cache.default_folder()
    known = _remembered_digest(stack, cached_in)
    kb = _from_cache(cached_in, known) if known else None
    if kb is not None:
        return kb
    for folder in stack:
        _is_pack(folder)
    seen = listing.take(stack, rule_files, _FOLDERS)
    contents = tuple(_contents(folder) for folder in stack)
    digest = _digest(contents)
    kb = _from_cache(cached_in, digest)
    if kb is None:
        kb, sources = _compile(stack, contents, digest)
        cache.write(_rules_file(cached_in, digest), *pack(kb, sources))
    _remember(stack, cached_in, digest, seen)
    return kb


@dataclass(frozen=True)
class Carried:
    """The knowledge of packs as it goes to other machines: an index (JSON) and texts, for `compiled.unpack`."""

    index: str
    texts: bytes
    digest: str


def carried(stack: tuple[Path, ...]) -> Carried:
    """The knowledge of packs, to be made again on other machines. Raises `KnowledgeError`, as `load` does."""
    contents = tuple(_contents(folder) for folder in stack)
    digest = _digest(contents)
    kept = cache.read(_rules_file(cache.default_folder(), digest))
    index, texts = kept or pack(*_compile(stack, contents, digest))
    return Carried(json.dumps(index), bytes(texts), digest)


def _rules_file(cache_folder: Path, digest: str) -> Path:
    """The cache file of a content; another version of the product makes another one of it."""
    made = hashlib.sha256(f"{CACHE_FORMAT} {__version__} {digest}".encode()).hexdigest()
    return cache_folder / f"rules-{made[:32]}.json"


def _from_cache(cache_folder: Path, digest: str) -> KnowledgeBase | None:
    kept = cache.read(_rules_file(cache_folder, digest))
    return None if kept is None else unpack(*kept, digest)


def check_all(folder: Path) -> list[Problem]:
    """Every problem of every file of a folder; empty if it can be used."""
    stack = stack_of(folder)
    contents = tuple(_contents(one) for one in stack)
    try:
        _compile(stack, contents, _digest(contents))
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


def _is_pack(folder: Path) -> None:
    if not (folder / "pack.yaml").is_file():
        hint = "pack.yaml holds `name:`, `version:` and, for a pack beside the shipped one, `extends: gpuwhy`"
        raise KnowledgeError([Problem(Location(str(folder)), "no rules here: pack.yaml is missing", hint)])


def _contents(folder: Path) -> dict[str, bytes]:
    _is_pack(folder)
    found = {}
    for relative in rule_files(folder):
        with open(os.path.join(folder, relative), "rb") as file:
            found[relative] = file.read(MAX_FILE_BYTES + 1)
    return found


def digest_of(contents: Mapping[str, bytes]) -> str:
    """The digest of a pack: of the name and the content of every file."""
    digest = hashlib.sha256()
    for relative, content in contents.items():
        digest.update(f"{relative} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _digest(contents: Sequence[Mapping[str, bytes]]) -> str:
    """The digest of packs side by side; of one pack alone its own."""
    each = [digest_of(one) for one in contents]
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest()


def _compile(
    stack: tuple[Path, ...], contents: Sequence[Mapping[str, bytes]], digest: str
) -> tuple[KnowledgeBase, list[Source]]:
    sources: list[list[Source]] = []
    problems: list[Problem] = []
    for number, (folder, content) in enumerate(zip(stack, contents, strict=True)):
        found, wrong = _read(folder, content, str(folder) if number else folder.name)
        sources.append(found)
        problems += wrong
    if problems:
        raise KnowledgeError(problems)
    kb, together, problems = _build(sources, contents, digest)
    if problems:
        raise KnowledgeError(problems)
    return kb, together


def _read(folder: Path, contents: Mapping[str, bytes], shown: str) -> tuple[list[Source], list[Problem]]:
    """The data of all files that can be read and hold to their schema, and what is wrong with the others.

    `shown` stands before the names of files in what is told.
    """
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
            document = strict_yaml.loads(content, f"{shown}/{relative}")
        except KnowledgeError as error:
            problems.extend(replace(one, code="yaml") for one in error.problems)
            continue
        broken = violations(document, _SCHEMA_OF.get(kind, kind), schemas)
        problems.extend(replace(one, code="schema") for one in broken)
        if not broken:
            sources.append(Source(kind, relative, document.data, document.at))
    return sources, problems


def _build(
    read: Sequence[Sequence[Source]], contents: Sequence[Mapping[str, bytes]], digest: str
) -> tuple[KnowledgeBase, list[Source], list[Problem]]:
    from gpuwhy.kb.checks import check
    from gpuwhy.kb.packs import PackFiles, joined

    files = [PackFiles(digest_of(content), tuple(one)) for one, content in zip(read, contents, strict=True)]
    together = joined(files, __version__)
    sources = list(together.sources)
    builder = Builder(sources)
    kb = replace(builder.build(_version(sources), digest), packs=together.packs)
    return kb, sources, [*together.problems, *builder.problems, *check(kb, sources)]


@dataclass(frozen=True)
class Inspection:
    """A pack as far as it can be read: `kb` is None where its vocabulary cannot be used.

    `beside` holds the files of the pack that it extends; `kb` is of both.
    """

    kb: KnowledgeBase | None
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...]
    contents: Mapping[str, bytes]
    beside: tuple[Source, ...] = ()

    @property
    def whole(self) -> bool:
        """True if every file can be read; else what is missing elsewhere may stand in one of the others."""
        return {source.file for source in self.sources} == set(self.contents)


def inspect(folder: Path) -> Inspection:
    """What can be read of a pack and what is wrong with it, for tools that look at rules; not cached."""
    *before, own = stack_of(folder)
    contents = _contents(own)
    sources, problems = _read(own, contents, own.name)
    usable = {source.file for source in sources}
    if any(_kind(file) not in _SCHEMA_OF for file in contents if file not in usable):
        return Inspection(None, tuple(sources), tuple(sorted(set(problems))), contents)
    under = [_contents(one) for one in before]
    read = [_read(one, content, str(one))[0] for one, content in zip(before, under, strict=True)]
    everything = (*under, contents)
    kb, together, more = _build([*read, sources], everything, _digest(everything))
    beside = {id(source) for one in read for source in one}
    return Inspection(
        kb,
        tuple(one for one in together if id(one) not in beside) if before else tuple(sources),
        tuple(sorted({*problems, *more})),
        contents,
        tuple(one for one in together if id(one) in beside),
    )


def _version(sources: Iterable[Source]) -> str:
    return next((str(source.data["version"]) for source in sources if source.kind == "pack"), "0.0.0")


def _remembered_digest(stack: tuple[Path, ...], cache_folder: Path) -> str | None:
    """The content digest of packs whose files have not been touched since it was computed; else None."""
    entry, _ = cache.read(_listing_file(stack, cache_folder)) or (None, b"")
    if not isinstance(entry, dict) or entry.get("version") != __version__ or entry.get("format") != CACHE_FORMAT:
        return None
    return str(entry["digest"]) if listing.unchanged(stack, entry["files"]) else None


def _remember(stack: tuple[Path, ...], cache_folder: Path, digest: str, seen: listing.Seen) -> None:
    """Note the digest of packs, unless a file is so new that a later edit could carry the same time."""
    if time.time_ns() - listing.newest(seen) > SETTLED_NANOSECONDS and listing.unchanged(stack, seen):
        entry = {"version": __version__, "format": CACHE_FORMAT, "digest": digest, "files": seen}
        cache.write(_listing_file(stack, cache_folder), entry)


def _listing_file(stack: tuple[Path, ...], cache_folder: Path) -> Path:
    name = hashlib.sha256("\0".join(str(folder.resolve()) for folder in stack).encode()).hexdigest()[:32]
    return cache_folder / f"folder-{name}.json"
