"""What the catalogue says of the Xid codes of a GPU: the class of each, the first and the gravest of them.

One fault gives several codes: the first may be its cause, the gravest says what to do, clean-up follows from either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpuwhy.kb.catalogue import XID_CLASSES, Xid
from gpuwhy.kb.facts import Entity, Fact, FactBase, Origin, OriginKind, Value
from gpuwhy.kb.model import KnowledgeBase

UNLISTED = "unlisted"
_NUMBER = re.compile(r"\d{1,5}")


def of_xids(kb: KnowledgeBase, base: FactBase) -> Iterator[Fact]:
    """Facts about every Xid of this base, and about every GPU that has some."""
    counts = _codes(base)
    for device, codes in counts.items():
        known = {code: kb.catalogue.xid(code) for code in codes}
        for code in codes:
            yield from _of_code(Entity("xid", str(code), device), known[code])
        yield from _of_device(device, codes, known, base)


def _codes(base: FactBase) -> dict[Entity, dict[int, int]]:
    """How often each GPU had each code, in the order in which the codes first came, from logs and from live events."""
    found: dict[Entity, dict[int, int]] = {}
    for (fact_id, entity), fact in base.by_key.items():
        if fact_id == "xid.code" and entity.parent is not None and isinstance(fact.value, int):
            count = base.get("xid.count", entity)
            times = int(count.value) if count is not None and not isinstance(count.value, str) else 1
            found.setdefault(entity.parent, {})[fact.value] = times
        elif fact_id == "gpu.xid_event_codes" and isinstance(fact.value, str):
            for printed in _NUMBER.findall(fact.value):
                codes = found.setdefault(entity, {})
                codes[int(printed)] = codes.get(int(printed), 0) + 1
    return found


def _of_code(entity: Entity, known: Xid | None) -> Iterator[Fact]:
    if known is not None:
        for fact_id, value in (("xid.class", known.group), ("xid.says", known.says), ("xid.action", known.action)):
            yield _fact(fact_id, value, entity, known)


def _of_device(
    device: Entity, codes: Mapping[int, int], known: Mapping[int, Xid | None], base: FactBase
) -> Iterator[Fact]:
    groups = {code: one.group if one is not None else UNLISTED for code, one in known.items()}
    worst = min(codes, key=lambda code: _weight(groups[code]))
    first = base.get("gpu.xid_first", device)
    first_code = first.value if first is not None and isinstance(first.value, int) else next(iter(codes))
    if first is None:
        yield _fact("gpu.xid_first", first_code, device, None)
    yield _fact("gpu.xid_first_class", groups.get(first_code, UNLISTED), device, known.get(first_code))
    yield _fact("gpu.xid_worst", worst, device, known[worst])
    yield _fact("gpu.xid_worst_class", groups[worst], device, known[worst])
    one = known[worst]
    if one is not None:
        yield _fact("gpu.xid_worst_says", one.says, device, one)
        yield _fact("gpu.xid_worst_action", one.action, device, one)
    for group in (*XID_CLASSES, UNLISTED):
        yield _fact(
            f"gpu.xid_{group}_count", sum(times for code, times in codes.items() if groups[code] == group), device, None
        )


def _weight(group: str) -> int:
    """How grave a class is, 0 the gravest; an unlisted code weighs more than clean-up and notices."""
    order = (*XID_CLASSES[:-2], UNLISTED, *XID_CLASSES[-2:])
    return order.index(group)


def _fact(fact_id: str, value: Value, entity: Entity, known: Xid | None) -> Fact:
    source = known.source if known is not None else "xids"
    unit = "count" if fact_id.endswith("_count") else None
    return Fact(
        fact_id, value, unit, entity, Origin(OriginKind.CATALOGUE, source, None, f"Xid {known.code}" if known else None)
    )
