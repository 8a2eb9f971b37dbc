"""Packs beside one another: a team's rules next to the shipped ones.

A pack that `extends: gpuwhy` uses the words of the shipped pack and adds its own. Its rules and references carry its
namespace (`acme:sig.oom.ours`), its facts and conclusions begin with it (`acme.queue_seconds`), so that nothing of two
packs is mistaken for one another. It may take rules of others out of use, or put its own in their place, by id and with
the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuwhy.kb.build import Source
from gpuwhy.kb.compiled import RULE_KINDS
from gpuwhy.kb.errors import Problem
from gpuwhy.kb.model import PackInfo, SetAside, pack_of
from gpuwhy.kb.ranges import satisfies
from gpuwhy.kb.records import dataclass

MANIFEST = "pack.yaml"

_EXTENDS = re.compile(rb"^extends *:", re.M)
_NAMESPACE = re.compile(r"[a-z]{2,20}\Z")
_KIND_OF = {"sig": "signature", "derive": "derivation", "fix": "fix", "select": "selection rule"}
_MANIFEST_BYTES = 1 << 20


@dataclass(frozen=True)
class PackFiles:
    """What was read of one pack: the digest of its content, and the data of its files."""

    digest: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Joined:
    """Packs put together: the data of all files that are in use, what each pack is, and what is wrong."""

    sources: tuple[Source, ...]
    packs: tuple[PackInfo, ...]
    problems: tuple[Problem, ...]


def extends(folder: Path) -> bool:
    """True if the pack in a folder stands beside the shipped one rather than alone."""
    try:
        with open(folder / MANIFEST, "rb") as file:
            return _EXTENDS.search(file.read(_MANIFEST_BYTES)) is not None
    except OSError:
        return False


def within(folder: Path) -> tuple[Path, ...]:
    """The packs that a folder names: itself, or those right below it, in the order of their names."""
    if (folder / MANIFEST).is_file():
        return (folder,)
    try:
        below = sorted(one for one in folder.iterdir() if (one / MANIFEST).is_file())
    except OSError:
        return ()
    return tuple(below)


def joined(packs: Sequence[PackFiles], engine: str) -> Joined:
    """Packs put together, the first one as it is and the others under their namespaces.

    `engine`: the version of this product, which every pack's range must hold. The data of files is changed in place.
    """
    made = _Joiner(engine)
    for number, pack in enumerate(packs):
        made.add(pack, alone=number == 0)
    made.set_aside()
    return Joined(tuple(made.sources), tuple(made.packs), tuple(made.problems))


class _Joiner:
    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.sources: list[Source] = []
        self.packs: list[PackInfo] = []
        self.problems: list[Problem] = []
        self._manifests: list[tuple[str, Source]] = []

    def problem(self, code: str, source: Source, path: tuple[str | int, ...], message: str, hint: str = "") -> None:
        self.problems.append(Problem(source.at(*path), message, hint, code))

    def add(self, pack: PackFiles, alone: bool) -> None:
        manifest = next((one for one in pack.sources if one.kind == "pack"), None)
        if manifest is None:
            return
        plain = manifest.data
        wanted = plain.get("engine")
        if wanted is not None and not satisfies(self.engine, wanted):
            self.problem(
                "engine-range", manifest, ("engine",), f"it is for gpuwhy {wanted}, and this is {self.engine}",
                "use a version of the pack for this one, or widen the range once its rules were tested",
            )  # fmt: skip
        name, sources = ("", pack.sources) if alone else self._beside(manifest, pack.sources)
        if alone:
            self._stands_alone(manifest)
        self._manifests.append((name, manifest))
        self.sources += sources
        self.packs.append(PackInfo(str(plain["name"]), str(plain["version"]), pack.digest, name))

    def _stands_alone(self, manifest: Source) -> None:
        for key, hint in (("namespace", "add `extends: gpuwhy`"), ("extends", "write it on a line of its own")):
            if key in manifest.data:
                self.problem("namespace", manifest, (key,), f"a pack that stands alone has no `{key}`", hint)

    def _beside(self, manifest: Source, sources: tuple[Source, ...]) -> tuple[str, tuple[Source, ...]]:
        """The namespace of a pack and its files under it; no file where it has no namespace that could be used."""
        name = self._namespace(manifest)
        if not name:
            return "", ()
        for one in sources:
            if one.kind == "pipeline":
                self.problem("namespace", one, (), "the stages of a step are those of gpuwhy", "remove the file")
        kept = tuple(one for one in sources if one.kind != "pipeline")
        self._own_words(name, kept)
        _under(name, kept)
        return name, kept

    def _namespace(self, manifest: Source) -> str:
        """The namespace of a pack; empty where it has none that could be used."""
        plain = manifest.data
        key = "namespace" if "namespace" in plain else "name"
        name = str(plain[key])
        if "extends" not in plain:
            message = "it would stand in the place of the shipped rules"
            self.problem("namespace", manifest, ("name",), message, "write `extends: gpuwhy` on a line of its own")
            return ""
        if not _NAMESPACE.match(name):
            message = f"`{name}` cannot be a namespace"
            self.problem("namespace", manifest, (key,), message, "add `namespace:`, 2 to 20 small letters")
            return ""
        if name in {one.namespace for one in self.packs} or self._taken(name):
            message = f"another pack has words of `{name}`"
            self.problem("namespace", manifest, (key,), message, "add another `namespace:`")
            return ""
        return name

    def _taken(self, name: str) -> bool:
        return any(word.startswith(f"{name}.") for one in self.sources for _, word in _words(one))

    def _own_words(self, name: str, sources: Iterable[Source]) -> None:
        for source in sources:
            for path, word in _words(source):
                if not word.startswith(f"{name}."):
                    message = f"`{word}` is not in the namespace of the pack"
                    joint = "_" if source.kind == "facts" else "-"
                    self.problem("namespace", source, path, message, f"write {name}.{word.replace('.', joint)}")

    def set_aside(self) -> None:
        """Take out of use what packs disable or override; each pack is told what it set aside."""
        rules = {str(one.data["id"]): one for one in self.sources if one.kind in RULE_KINDS}
        gone: dict[str, str] = {}
        told: dict[str, list[SetAside]] = {}
        for name, manifest in self._manifests:
            for key in ("disable", "override"):
                for index, plain in enumerate(manifest.data.get(key, ())):
                    made = self._one(name, manifest, (key, index), plain, rules, gone)
                    if made is not None:
                        told.setdefault(name, []).append(made)
                        gone[made.id] = name
        self.sources = [one for one in self.sources if one.kind not in RULE_KINDS or one.data["id"] not in gone]
        self.packs = [
            PackInfo(one.name, one.version, one.digest, one.namespace, tuple(told.get(one.namespace, ())))
            if one.namespace
            else one
            for one in self.packs
        ]

    def _one(
        self,
        name: str,
        manifest: Source,
        path: tuple[str | int, ...],
        plain: Mapping[str, Any],
        rules: Mapping[str, Source],
        gone: Mapping[str, str],
    ) -> SetAside | None:
        wanted = str(plain["id"])
        if wanted not in rules or pack_of(wanted) == name:
            message = f"no rule `{wanted}` of another pack"
            self.problem("unknown-rule", manifest, (*path, "id"), message, _close(wanted, rules))
            return None
        if wanted in gone:
            message = f"`{wanted}` is set aside twice"
            self.problem("bad-override", manifest, (*path, "id"), message, f"also by {gone[wanted]}; keep one of them")
            return None
        own = plain.get("with")
        if own is None:
            return SetAside(wanted, str(plain["reason"]))
        instead = f"{name}:{own}"
        if instead not in rules:
            own_rules = [one.partition(":")[2] for one in rules if pack_of(one) == name]
            message = f"no rule `{own}` in this pack"
            self.problem("unknown-rule", manifest, (*path, "with"), message, _close(str(own), own_rules))
            return None
        if rules[instead].kind != rules[wanted].kind:
            kinds = [_KIND_OF[one.rpartition(":")[2].partition(".")[0]] for one in (instead, wanted)]
            message = f"a {kinds[0]} cannot stand for a {kinds[1]}"
            self.problem("bad-override", manifest, (*path, "with"), message, "name a rule of the same kind")
            return None
        return SetAside(wanted, str(plain["reason"]), instead)


def _words(source: Source) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The facts or conclusions that a file adds to the vocabulary."""
    if source.kind in ("facts", "conclusions"):
        for index, plain in enumerate(source.data[source.kind]):
            yield (source.kind, index, "id"), str(plain["id"])


def _under(name: str, sources: Iterable[Source]) -> None:
    """Put the namespace before the ids of a pack's rules and references, and where it names its own references."""
    found = list(sources)
    references = [plain for one in found if one.kind == "references" for plain in one.data["references"]]
    own = {str(plain["id"]) for plain in references}
    for plain in references:
        plain["id"] = f"{name}:{plain['id']}"
    for one in found:
        if one.kind in RULE_KINDS:
            one.data["id"] = f"{name}:{one.data['id']}"
        if one.kind != "references":
            _rename(one.data, own, name)


def _rename(node: Any, own: set[str], name: str) -> None:
    if isinstance(node, dict):
        if node.get("source") in own:
            node["source"] = f"{name}:{node['source']}"
        if isinstance(node.get("references"), list):
            node["references"] = [f"{name}:{one}" if one in own else one for one in node["references"]]
        for value in node.values():
            _rename(value, own, name)
    elif isinstance(node, list):
        for value in node:
            _rename(value, own, name)


def _close(word: str, known: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(known), 1)
    return f"did you mean `{close[0]}`?" if close else "`gpuwhy rules list` names them"
