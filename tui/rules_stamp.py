"""What a report says of the rules that judged: which packs, which content, and what packs took out of use."""

from __future__ import annotations

from typing import Any

from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.texts import say

DIGEST_SIGNS = 12
"""How much of the digest of rules is shown: enough to name them with --kb."""


def packs(kb: KnowledgeBase) -> str:
    """The packs with their versions: `gpuwhy 0.1.0, acme 1.2.0`."""
    return ", ".join(f"{one.name} {one.version}" for one in kb.packs) or kb.version


def digest(kb: KnowledgeBase) -> str:
    """The start of the digest over all packs."""
    return kb.digest[:DIGEST_SIGNS]


def set_aside(kb: KnowledgeBase) -> list[str]:
    """What packs took out of use, and why: `acme: without sig.oom.leak: …`, `acme: acme:sig.a.b for sig.a.b: …`."""
    return [
        f"{pack.name}: {f'{one.by} for {one.id}' if one.by else f'without {one.id}'}: {say(one.reason)}"
        for pack in kb.packs
        for one in pack.set_aside
    ]


def document(kb: KnowledgeBase) -> dict[str, Any]:
    """What judged as JSON data: version of the first pack, digest of all, and each pack with what it set aside."""
    found = [
        {
            "name": one.name,
            "version": one.version,
            "digest": one.digest,
            "set_aside": [{"id": rule.id, "by": rule.by or None, "reason": rule.reason} for rule in one.set_aside],
        }
        for one in kb.packs
    ]
    return {"version": kb.version, "digest": kb.digest, "packs": found}
