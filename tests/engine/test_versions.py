"""What follows from versions: which driver a build needs, which CUDA knows a GPU."""

from __future__ import annotations

import pytest

from gpuwhy.engine.run import diagnose_with
from gpuwhy.kb.catalogue import version_number
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, Value, gpu
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return load()


def read(name: str, value: Value, entity: Entity) -> Fact:
    return Fact(name, value, None, entity, Origin(OriginKind.ARTEFACT, "paste", 1))


def asserted(kb: KnowledgeBase, *facts: Fact) -> list[str]:
    return [one.id for one in diagnose_with(kb, FactBase.of(facts)).asserted]


def missed(kb: KnowledgeBase, *facts: Fact) -> list[str]:
    """What is asserted where the framework does not see its GPU; where that is not known, nothing is."""
    assert set(asserted(kb, *facts)) <= {"evidence.insufficient"}
    return asserted(kb, *facts, read("job.cuda_available", False, JOB))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("535.104.05", 535_104_005),
        ("12.4", 12_004_000),
        ("525", 525_000_000),
        ("12.4.127.9", 12_004_127),
        ("N/A", None),
    ],
)
def test_a_version_is_a_number_that_can_be_compared(text: str, number: int | None) -> None:
    assert version_number(text) == number


@pytest.mark.parametrize(
    ("driver", "build", "too_old"),
    [
        ("450.51.06", "12.1", True),  # 12.x needs 525
        ("525.60.13", "12.8", False),  # any 12.x runs from 525 on
        ("575.57", "13.0", True),  # 13.x needs 580
        ("580.95.05", "13.0", False),
        ("418.87", "10.1", False),  # 10.1 needs 418.39
        ("410.104", "10.1", True),
    ],
)
def test_a_build_needs_a_driver_of_its_time(kb: KnowledgeBase, driver: str, build: str, too_old: bool) -> None:
    found = asserted(kb, read("host.driver_version", driver, HOST), read("job.cuda_build_version", build, JOB))
    assert ("env.driver-too-old" in found) == too_old


@pytest.mark.parametrize(
    ("name", "build", "missing"),
    [
        ("NVIDIA GeForce RTX 5090", "12.4", True),  # Blackwell came with 12.8
        ("NVIDIA GeForce RTX 5090", "12.8", False),
        ("Tesla V100-SXM2-16GB", "13.0", True),  # 13.0 dropped Volta
        ("Tesla V100-SXM2-16GB", "12.6", False),
        ("Tesla P100-PCIE-16GB", "12.8", True),  # the wheels for 12.8 begin at 7.0
        ("NVIDIA A100-SXM4-80GB", "13.0", False),
    ],
)
def test_a_gpu_is_in_the_builds_of_its_time(kb: KnowledgeBase, name: str, build: str, missing: bool) -> None:
    facts = [read("gpu.name", name, gpu(0)), read("job.cuda_build_version", build, JOB)]
    found = asserted(kb, *facts, read("job.framework", "pytorch", JOB))
    assert ("env.no-kernel-image" in found) == missing


@pytest.mark.parametrize(
    ("tensorflow", "cudnn", "toolkit", "missing"),
    [
        ("2.3.1", "8.0.4", "10.1.243", True),  # built for cuDNN 7.6 and CUDA 10.1
        ("2.3.1", "7.6.5", "10.1", False),
        ("2.10.0", "8.6", "12.1", True),  # built for CUDA 11.2
        ("2.15.0", "9.1", "12.4", False),  # brings its own libraries
    ],
)
def test_tensorflow_loads_the_libraries_it_was_built_for(
    kb: KnowledgeBase, tensorflow: str, cudnn: str, toolkit: str, missing: bool
) -> None:
    facts = [read("job.tensorflow_version", tensorflow, JOB), read("job.cudnn_version", cudnn, JOB)]
    found = missed(kb, *facts, read("host.toolkit_version", toolkit, HOST))
    assert ("env.cuda-unavailable" in found) == missing


@pytest.mark.parametrize(
    ("name", "tensorflow", "missing"),
    [("NVIDIA GeForce RTX 3090", "1.15.0", True), ("Tesla V100-SXM2-16GB", "1.15.0", False)],  # CUDA 10.0 knows Volta
)
def test_a_gpu_newer_than_the_cuda_of_tensorflow(kb: KnowledgeBase, name: str, tensorflow: str, missing: bool) -> None:
    found = missed(kb, read("gpu.name", name, gpu(0)), read("job.tensorflow_version", tensorflow, JOB))
    assert ("env.no-kernel-image" in found) == missing


@pytest.mark.parametrize(
    ("name", "cudnn", "missing"),
    [
        ("Tesla P100-PCIE-16GB", "9.17.0", True),  # its code begins at 7.5
        ("Tesla P100-PCIE-16GB", "9.10.2", False),
        ("Tesla T4", "9.17.0", False),
    ],
)
def test_cudnn_left_old_gpus(kb: KnowledgeBase, name: str, cudnn: str, missing: bool) -> None:
    found = asserted(kb, read("gpu.name", name, gpu(0)), read("job.cudnn_version", cudnn, JOB))
    assert ("env.no-kernel-image" in found) == missing
