"""The checked knowledge as data for the cache, and back: words and rules stay text until they are needed.

An index `{version, packs, facts, conclusions, references, derivations, signatures, fixes, selections, catalogue,
pipeline}` comes with the JSON texts of all words, rules and catalogue files, one after another; the index says where
each starts and ends. Words are `[ids, bounds]`, the ids in one string and the text of each between two bounds; rules
`[id, about, reads, gate, file, start, end]`, catalogue files `[sections, start, end]`. A scope that was inferred is in
the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from gpuwhy.kb.build import Builder, Source, Words, pipeline
from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.errors import Location
from gpuwhy.kb.model import KnowledgeBase, PackInfo, Rule, SetAside
from gpuwhy.kb.ruleset import Outline, Rules

_R = TypeVar("_R", bound=Rule)
_WORDS = ("facts", "conclusions", "references")
RULE_KINDS = ("derivations", "signatures", "fixes", "selections")


def pack(kb: KnowledgeBase, sources: Iterable[Source]) -> tuple[dict[str, Any], bytes]:
    """The index and the texts of a knowledge base and the files it was built from."""
    found = list(sources)
    rules = {source.data["id"]: source for source in found if source.kind in RULE_KINDS}
    texts = bytearray()
    index: dict[str, Any] = {"version": kb.version, "packs": [_plain_pack(one) for one in kb.packs]}
    for kind in _WORDS:
        words = [word for source in found if source.kind == kind for word in source.data[kind]]
        by_id = {word["id"]: word for word in words}
        bounds = [len(texts), *(_put(texts, word)[1] for word in by_id.values())]
        index[kind] = [" ".join(by_id), bounds]
    index["derivations"] = _entries(kb.derivations, rules, texts)
    index["signatures"] = _entries(kb.signatures, rules, texts)
    index["fixes"] = _entries(kb.fixes, rules, texts)
    index["selections"] = _entries(kb.selections, rules, texts)
    index["catalogue"] = [
        [list(source.data), *_put(texts, source.data)] for source in found if source.kind == "catalogue"
    ]
    stages = [source.data["stages"] for source in found if source.kind == "pipeline"]
    index["pipeline"] = [stage for one in stages for stage in one]
    return index, bytes(texts)


def _plain_pack(pack: PackInfo) -> dict[str, Any]:
    aside = [[one.id, one.reason, one.by] for one in pack.set_aside]
    return {"name": pack.name, "version": pack.version, "digest": pack.digest, "namespace": pack.namespace,
            "set_aside": aside}  # fmt: skip


def _pack(plain: dict[str, Any]) -> PackInfo:
    return PackInfo(**(plain | {"set_aside": tuple(SetAside(*one) for one in plain["set_aside"])}))


def _entries(rules: Rules[_R], sources: Mapping[str, Source], texts: bytearray) -> list[list[Any]]:
    return [
        [*outline, rule.file, *_put(texts, sources[rule.id].data | {"scope": rule.scope})]
        for outline, rule in zip(rules.outlines, rules, strict=True)
    ]


def _put(texts: bytearray, plain: Any) -> tuple[int, int]:
    start = len(texts)
    texts.extend(json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode())
    return start, len(texts)


def unpack(index: dict[str, Any], texts: memoryview, digest: str) -> KnowledgeBase:
    """The knowledge base of an index and its texts. Rules and words are made when they are looked up."""
    builder = Builder(())
    words: tuple[tuple[str, Words[Any]], ...]
    words = (("facts", builder.facts), ("conclusions", builder.conclusions), ("references", builder.references))
    for kind, into in words:
        ids, bounds = index[kind]
        into.put_all(ids.split(), bounds, texts)
    return KnowledgeBase(
        version=index["version"],
        digest=digest,
        facts=builder.facts,
        conclusions=builder.conclusions,
        references=builder.references,
        derivations=_rules("derivations", index, texts, builder.derivation),
        signatures=_rules("signatures", index, texts, builder.signature),
        fixes=_rules("fixes", index, texts, builder.fix),
        selections=_rules("selections", index, texts, builder.selection),
        pipeline=pipeline(index["pipeline"]),
        packs=tuple(_pack(one) for one in index["packs"]),
        catalogue=Catalogue.later(
            (sections, partial(_json, texts, start, end)) for sections, start, end in index["catalogue"]
        ),
    )


def _rules(kind: str, index: dict[str, Any], texts: memoryview, make: Callable[[Source], _R]) -> Rules[_R]:
    entries = index[kind]

    def made(number: int) -> _R:
        *_, file, start, end = entries[number]
        return make(Source(kind, file, _json(texts, start, end), _nowhere))

    outlines = [Outline(name, tuple(about), tuple(reads), gate) for name, about, reads, gate, *_ in entries]
    return Rules(outlines, made)


def _json(texts: memoryview, start: int, end: int) -> Any:
    return json.loads(str(texts[start:end], "utf-8"))


def _nowhere(*_path: str | int) -> Location:
    """A place in a file whose positions were not kept."""
    return Location("")
