"""Runs the command on a scenario, and looks up what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gpuwhy.kb.fact_file import load
from gpuwhy.kb.facts import HOST, Absent, Entity, Fact, OriginKind, Value, gpu

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
GPU = gpu(0)


def environment(library: Path | None, scenario: str | Path, **more: str) -> dict[str, str]:
    """The environment in which the driver's library is ours; `library` None: there is none."""
    path = scenario if isinstance(scenario, Path) else SCENARIOS / f"{scenario}.scn"
    where = "/no/such/folder" if library is None else str(library)
    return os.environ | {"LD_LIBRARY_PATH": where, "FAKE_NVML_SCENARIO": str(path)} | more


@dataclass(frozen=True)
class Seen:
    """What one run of `gpuwhy probe --json -` gave."""

    facts: list[Fact]
    absent: list[Absent]
    status: int
    text: str

    def fact(self, fact_id: str, entity: Entity = GPU) -> Fact:
        """The one fact of this id and entity."""
        (found,) = [one for one in self.facts if one.id == fact_id and one.entity == entity]
        return found

    def value(self, fact_id: str, entity: Entity = GPU) -> Value:
        return self.fact(fact_id, entity).value

    def number(self, fact_id: str, entity: Entity = GPU) -> float:
        value = self.value(fact_id, entity)
        assert not isinstance(value, (str, bool))
        return float(value)

    def knows(self, fact_id: str, entity: Entity = GPU) -> bool:
        return any(one.id == fact_id and one.entity == entity for one in self.facts)

    def reason(self, fact_id: str, entity: Entity = GPU) -> str:
        """Why a fact is absent; it must not be there as well."""
        assert not self.knows(fact_id, entity)
        (found,) = [one.reason for one in self.absent if one.id == fact_id and one.entity == entity]
        return found

    def host(self, fact_id: str) -> Value:
        return self.value(fact_id, HOST)


def probe(
    library: Path | None, scenario: str | Path, seconds: float = 0.5, python: tuple[str, ...] = (), **more: str
) -> Seen:
    """The command as a process of its own: the loader finds the library as it does on a user's machine."""
    done = subprocess.run(
        [sys.executable, *python, "-m", "gpuwhy", "probe", "--for", f"{seconds}s", "--json", "-"],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(library, scenario, **more),
    )
    assert done.stderr == ""
    facts, absent = load(done.stdout)
    assert {one.origin.kind for one in facts} == {OriginKind.MEASURED}
    return Seen(facts, absent, done.returncode, done.stdout)


def process(pid: int, owner: Entity = GPU) -> Entity:
    return Entity("process", str(pid), owner)
