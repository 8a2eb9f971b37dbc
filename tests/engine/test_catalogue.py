"""The catalogue in a diagnosis: it adds what is expected of things known by name and never replaces a reading."""

from __future__ import annotations

import pytest

from gpuwhy.engine.catalogue import described, with_catalogue
from gpuwhy.engine.run import diagnose_with
from gpuwhy.kb.facts import HOST, Entity, Fact, FactBase, Origin, OriginKind, Value, gpu
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return load()


def read(name: str, value: Value, entity: Entity = HOST) -> Fact:
    return Fact(name, value, None, entity, Origin(OriginKind.ARTEFACT, "paste", 1))


def test_a_named_gpu_brings_what_is_known_of_it_with_its_reference(kb: KnowledgeBase) -> None:
    known = {one.id: one for one in described(kb, FactBase.of([read("gpu.name", "NVIDIA A10", gpu(0))]))}
    assert known["gpu.expected_memory_bytes"].value == 23028 * 1024**2
    assert known["gpu.expected_memory_bytes"].origin == Origin(
        OriginKind.CATALOGUE, "sparecores-inspector", None, "NVIDIA A10"
    )
    assert known["gpu.compute_capability"].entity == gpu(0)


def test_a_reading_is_kept(kb: KnowledgeBase) -> None:
    base = FactBase.of([read("gpu.name", "NVIDIA A10", gpu(0)), read("gpu.architecture", "Other", gpu(0))])
    after = with_catalogue(kb, base)
    found = after.get("gpu.architecture", gpu(0))
    assert found is not None
    assert found.value == "Other"
    assert not after.contradictions


def test_a_machine_type_tells_of_every_gpu(kb: KnowledgeBase) -> None:
    named = [read("gpu.name", "NVIDIA L40S", gpu(0)), read("gpu.name", "NVIDIA L40S", gpu(1))]
    base = with_catalogue(kb, FactBase.of([*named, read("host.instance_type", "g6e.12xlarge")]))
    widths = {
        entity.name: fact.value for (name, entity), fact in base.by_key.items() if name == "gpu.expected_link_width"
    }
    assert widths == {"0": 8, "1": 8}


def test_nothing_is_added_where_nothing_is_named(kb: KnowledgeBase) -> None:
    base = FactBase.of([read("gpu.utilization_share", 0.5, gpu(0))])
    assert with_catalogue(kb, base) is base


@pytest.mark.parametrize("engine", ["proof", "auto"])
def test_a_diagnosis_has_the_catalogue_among_its_facts(kb: KnowledgeBase, engine: str) -> None:
    found = diagnose_with(kb, FactBase.of([read("gpu.name", "NVIDIA T4", gpu(0))]), engine)
    assert ("gpu.compute_capability", "7.5") in [(one.id, one.value) for one in found.facts]
