"""Unit tests for promtool, made of the cases that stand beside the rules: recorded facts in, alerts out.

What an alert must say is what the engine says of the same facts, with the same derivations. Cases with facts that are
not recorded are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuwhy.engine.derive import derive
from gpuwhy.engine.rule_cases import cases_beside
from gpuwhy.engine.signatures import evaluate_one
from gpuwhy.engine.view import World
from gpuwhy.engine.xids import of_xids
from gpuwhy.kb.expressions import refs_of
from gpuwhy.kb.facts import Entity, Fact, FactBase, Value
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, field, replace
from gpuwhy.tui.alerts.alerts import Alert, Exported, alert_texts
from gpuwhy.tui.alerts.promql import VALUE, entity_series, number
from gpuwhy.tui.alerts.recordings import GPU, NODE, TRITON, Recordings

STEP_SECONDS, STEPS = 300, 2
"""Rules are worked so many seconds apart and facts stay as they are; alerts are looked at after so many steps."""
_PORTS = {GPU: 9400, NODE: 9100, TRITON: 8002}


@dataclass
class UnitTests:
    """The test, how many cases it holds, and how many were left out by what stood in the way."""

    series: list[dict[str, str]] = field(default_factory=list)
    expected: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    used: int = 0
    left: dict[str, int] = field(default_factory=dict)

    def leave(self, why: str) -> None:
        """Counts a case that is left out."""
        self.left[why] = self.left.get(why, 0) + 1


def unit_tests(kb: KnowledgeBase, made: Recordings, exported: Exported, folder: Path) -> UnitTests:
    """The tests of all alerts from the cases of their rules, each case a host of its own; `folder`: of the pack."""
    found = UnitTests(expected={one.name: [] for one in exported.alerts})
    alerts: dict[str, list[Alert]] = {}
    for one in exported.alerts:
        alerts.setdefault(one.signature.id, []).append(one)
    judged = _judged(made, exported)
    for group in alerts.values():
        for place, case in enumerate(cases_beside(kb, group[0].signature, folder)):
            facts = [one for one in case.facts if one.id in made.facts or one.id in judged]
            _Maker(kb, made, facts, f"{group[0].signature.id}-{place}").add(list(alerts.values()), found)
    return found


def _judged(made: Recordings, exported: Exported) -> set[str]:
    """The facts that conditions and formulas read; others only stand in sentences."""
    conditions = [part for one in exported.alerts for _, part in one.signature.parts()]
    found = {ref.fact for part in conditions for ref in refs_of(part)}
    return found | {ref.fact for one in made.derivations for ref in (*refs_of(one.when), *refs_of(one.formula))}


def document(found: UnitTests, rules_file: str) -> dict[str, Any]:
    """The file for `promtool test rules`."""
    at = f"{STEPS * STEP_SECONDS}s"
    tests = [
        {"eval_time": at, "alertname": name, "exp_alerts": alerts} for name, alerts in sorted(found.expected.items())
    ]
    group = {"interval": f"{STEP_SECONDS}s", "input_series": found.series, "alert_rule_test": tests}
    return {"rule_files": [rules_file], "evaluation_interval": f"{STEP_SECONDS}s", "tests": [group]}


class _Maker:
    """Makes series and expected alerts of the facts of a case, about a host of this name."""

    def __init__(self, kb: KnowledgeBase, made: Recordings, facts: Sequence[Fact], host: str) -> None:
        self.kb, self.made, self.facts, self.host = kb, made, facts, host

    def add(self, alerts: Sequence[Sequence[Alert]], told: UnitTests) -> None:
        """Adds the case to the test; `alerts`: all of them, by rule."""
        if any(one.id not in self.made.facts for one in self.facts):
            told.leave("facts that are not recorded")
        elif not all(one.entity.kind == self.made.facts[one.id].entity for one in self.facts):
            told.leave("entities that are not recorded")
        elif (injected := self._injected()) is None:
            told.leave("facts that are given and derived otherwise")
        else:
            told.used += 1
            told.series += [*self._entities(), *map(self._series, injected)]
            for alert, expected in self._expected(alerts):
                told.expected[alert.name].append(expected)

    def _injected(self) -> list[Fact] | None:
        """The facts that are not derived of the others anyway; None where one is derived otherwise."""
        kept = []
        for one in self.facts:
            world = self._world([other for other in self.facts if other is not one])
            derived = world.base.get(one.id, one.entity)
            if derived is None:
                kept.append(one)
            elif not _same(derived.value, one.value):
                return None
        return kept

    def _world(self, facts: Sequence[Fact]) -> World:
        """These facts, with all that is recorded of them: derivations, and the classes of Xid codes."""
        base = FactBase.of(facts)
        codes = [
            replace(one, id="xid.code", entity=Entity("xid", str(one.value), one.entity))
            for one in facts
            if one.id == "gpu.xid_first"
        ]
        known = (one for one in of_xids(self.kb, base.with_facts(codes)) if one.id in self.made.facts)
        world = World(self.kb.facts, base.with_facts(one for one in known if not base.get(one.id, one.entity)))
        derive(self.made.derivations, world)
        return world

    def _expected(self, alerts: Sequence[Sequence[Alert]]) -> Iterator[tuple[Alert, dict[str, Any]]]:
        world = self._world(self.facts)
        for group in alerts:
            signature = group[0].signature
            for entity in world.entities(signature.scope):
                status = evaluate_one(signature, world, entity).status
                for alert in group:
                    if status is not None and status.value == alert.status:
                        yield alert, self._alert(alert, entity)

    def _alert(self, alert: Alert, entity: Entity) -> dict[str, Any]:
        labels = self._labels(entity, alert.family)
        place = labels["instance"]
        place += "".join(f" {key} {labels[key]}" for key in ("gpu", "model") if key in labels)
        return {"exp_labels": {**labels, **alert.labels}, "exp_annotations": alert_texts(self.kb, alert, place)}

    def _labels(self, entity: Entity, family: str) -> dict[str, str]:
        labels = {"job": family, "instance": f"{self.host}:{_PORTS[family]}"}
        names = {"gpu": "gpu", "disk": "device", "filesystem": "mountpoint"}
        for one in entity.lineage():
            if one.kind in names:
                labels[names[one.kind]] = one.name
            elif one.kind == "model":
                labels |= {"model": one.name, "version": "1"}
        return labels

    def _entities(self) -> Iterator[dict[str, str]]:
        """The series that have a 1 for every entity; those of hosts with GPUs are recorded from the GPUs."""
        seen: dict[str, None] = {}
        for one in self.facts:
            family = self.made.facts[one.id].family
            for entity in one.entity.lineage():
                if entity.kind in ("gpu", "load") or (entity.kind == "host" and family == NODE):
                    seen[_selector(entity_series(entity.kind, family), self._labels(entity, family))] = None
        yield from ({"series": series, "values": f"1x{STEPS}"} for series in seen)

    def _series(self, one: Fact) -> dict[str, str]:
        recorded = self.made.facts[one.id]
        labels = self._labels(one.entity, recorded.family)
        if recorded.text:
            return {"series": _selector(recorded.name, {**labels, VALUE: str(one.value)}), "values": f"1x{STEPS}"}
        return {"series": _selector(recorded.name, labels), "values": f"{number(one.value)}x{STEPS}"}


def _selector(name: str, labels: Mapping[str, str]) -> str:
    from gpuwhy.probes.prometheus_names import quoted

    return name + "{" + ", ".join(f"{key}={quoted(value)}" for key, value in labels.items()) + "}"


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, (bool, str)) or isinstance(other, (bool, str)):
        return one == other
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
