"""Xid codes of a GPU: what the catalogue makes of several at once."""

from __future__ import annotations

import pytest

from gpuwhy.engine.run import diagnose_with
from gpuwhy.engine.xids import of_xids
from gpuwhy.kb.facts import Entity, Fact, FactBase, Origin, OriginKind, Value, gpu
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return load()


def read(name: str, value: Value, entity: Entity) -> Fact:
    return Fact(name, value, None, entity, Origin(OriginKind.ARTEFACT, "dmesg", 1))


def log(*codes: tuple[int, int], device: Entity | None = None) -> FactBase:
    """A log with these codes and how often each came, in this order."""
    owner = device or gpu(0)
    facts = [read("gpu.xid_first", codes[0][0], owner)]
    for code, count in codes:
        entity = Entity("xid", str(code), owner)
        facts += [read("xid.code", code, entity), read("xid.count", count, entity)]
    return FactBase.of(facts)


def known(kb: KnowledgeBase, base: FactBase, entity: Entity | None = None) -> dict[str, Value]:
    return {one.id: one.value for one in of_xids(kb, base) if one.entity == (entity or gpu(0))}


def test_first_and_gravest_are_told_apart(kb: KnowledgeBase) -> None:
    found = known(kb, log((31, 1), (62, 1), (45, 4)))
    assert (found["gpu.xid_first_class"], found["gpu.xid_worst"], found["gpu.xid_worst_class"]) == (
        "application",
        62,
        "internal",
    )
    assert found["gpu.xid_cleanup_count"] == 4
    assert found["gpu.xid_memory_count"] == 0


def test_a_code_tells_what_it_means(kb: KnowledgeBase) -> None:
    found = known(kb, log((79, 1)), Entity("xid", "79", gpu(0)))
    assert found["xid.class"] == "lost"
    assert "fallen off the bus" in str(found["xid.says"])
    assert found["xid.action"]


def test_an_unknown_code_is_kept_and_weighs_more_than_clean_up(kb: KnowledgeBase) -> None:
    found = known(kb, log((45, 1), (9999, 2)))
    assert found["gpu.xid_worst"] == 9999
    assert found["gpu.xid_worst_class"] == "unlisted"
    assert found["gpu.xid_unlisted_count"] == 2
    assert "gpu.xid_worst_says" not in found


def test_live_events_are_read_like_a_log(kb: KnowledgeBase) -> None:
    found = known(kb, FactBase.of([read("gpu.xid_event_codes", "31, 79, 79", gpu(0))]))
    assert found["gpu.xid_first"] == 31
    assert found["gpu.xid_lost_count"] == 2


@pytest.mark.parametrize(
    ("codes", "leads"),
    [
        ([(79, 1), (45, 3)], "hardware.gpu-lost"),
        ([(48, 1), (63, 1), (45, 2)], "hardware.memory-errors"),
        ([(94, 1), (43, 1)], "hardware.memory-errors"),
        ([(63, 1)], "hardware.reset-pending"),
        ([(119, 5)], "hardware.internal-fault"),
        ([(74, 1), (45, 1)], "hardware.nvlink-fault"),
        ([(13, 3), (45, 1)], "hardware.application-fault"),
        ([(109, 1)], "hardware.hung-context"),
        ([(45, 2)], "hardware.cleanup-xid"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(str(code) for code, _ in value),
)
def test_what_a_log_comes_to(kb: KnowledgeBase, codes: list[tuple[int, int]], leads: str) -> None:
    diagnosis = diagnose_with(kb, log(*codes))
    assert diagnosis.conclusions[0].id == leads
    assert diagnosis.conclusions[0].status.asserted
