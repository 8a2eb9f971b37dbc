"""A table of GPUs with the facts of their hosts in each row is judged as each host would be diagnosed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.fleet import SEPARATOR
from gpuwhy.engine.fleet_table import KINDS, base_of_rows, judge_table, read_columns
from gpuwhy.kb.facts import Value
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.model import FactSpec, KnowledgeBase
from tests.engine.test_three_readings import drawn, thresholds

polars = pytest.importorskip("polars")

NAMES = ("NVIDIA H100 80GB HBM3", "NVIDIA L40S", "a card that nobody knows")
MACHINES = ("p5.48xlarge", "g6e.xlarge", "a machine that nobody knows")
VERSIONS = ("535.104.05", "550.54.14", "12.4", "none")


def some_value(spec: FactSpec, bounds: dict[str, set[float]], chance: random.Random) -> Value:
    if spec.id == "gpu.name":
        return chance.choice(NAMES)
    if spec.id == "host.instance_type":
        return chance.choice(MACHINES)
    if spec.id.endswith("version"):
        return chance.choice(VERSIONS)
    return drawn(spec, sorted(bounds.get(spec.id, {1.0})), chance)


def hosts(kb: KnowledgeBase, seed: int) -> list[dict[str, Any]]:
    """Rows of twenty hosts with one to three GPUs; each host knows some of the facts, each GPU some of those."""
    chance, bounds = random.Random(seed), thresholds(kb)
    specs = [one for one in kb.facts.values() if one.entity in KINDS]
    rows = []
    for number in range(20):
        known = chance.sample(specs, chance.randint(10, 120))
        above = {one.id: some_value(one, bounds, chance) for one in known if one.entity != "gpu"}
        for device in range(chance.choice((1, 1, 2, 3))):
            own = [one for one in known if one.entity == "gpu" and chance.random() < 0.8]
            read = {one.id: some_value(one, bounds, chance) for one in own}
            rows.append({"host": f"h{number}", "gpu": device, **above, **read, "gpu.name": chance.choice(NAMES)})
    return rows


def alike(kb: KnowledgeBase, seed: int) -> list[dict[str, Any]]:
    """Rows of thirty hosts with four GPUs, which all know the same facts; few differ from the first in any of them."""
    chance, bounds = random.Random(seed), thresholds(kb)
    known = chance.sample([one for one in kb.facts.values() if one.entity in KINDS], 120)
    usual = {one.id: some_value(one, bounds, chance) for one in known}
    rows = []
    for number in range(30):
        above = {one.id: odd_value(one, usual, bounds, chance) for one in known if one.entity != "gpu"}
        for device in range(4):
            own = {one.id: odd_value(one, usual, bounds, chance) for one in known if one.entity == "gpu"}
            event = "79" if number == 3 and device == 2 else None
            named = {"gpu.name": NAMES[number == 4], "gpu.xid_event_codes": event}
            rows.append({"host": f"h{number}", "gpu": device, **above, **own, **named})
    return rows


def odd_value(spec: FactSpec, usual: dict[str, Value], bounds: dict[str, set[float]], chance: random.Random) -> Value:
    return some_value(spec, bounds, chance) if chance.random() < 0.05 else usual[spec.id]


def table(kb: KnowledgeBase, rows: list[dict[str, Any]]) -> Any:
    types = {"boolean": polars.Boolean, "number": polars.Float64, "integer": polars.Float64}
    names = dict.fromkeys(name for row in rows for name in row if name not in ("host", "gpu"))
    schema = {"host": polars.String, "gpu": polars.Int64}
    schema |= {name: types.get(kb.facts[name].type, polars.String) for name in names}
    values = [[cell(kb, name, row.get(name)) for name in schema] for row in rows]
    return polars.DataFrame(values, schema=schema, orient="row")


def cell(kb: KnowledgeBase, name: str, value: Any) -> Any:
    return float(value) if name in kb.facts and kb.facts[name].is_number and value is not None else value


@pytest.mark.parametrize("seed", range(8))
def test_a_table_is_judged_as_its_hosts_are_diagnosed(seed: int) -> None:
    kb = load(rules_folder())
    judged_as_diagnosed(kb, hosts(kb, seed))


@pytest.mark.parametrize("seed", range(4))
def test_a_fleet_whose_hosts_hardly_differ_is_judged_as_they_are_diagnosed(seed: int) -> None:
    kb = load(rules_folder())
    judged_as_diagnosed(kb, alike(kb, seed))


def judged_as_diagnosed(kb: KnowledgeBase, rows: list[dict[str, Any]]) -> None:
    frame = table(kb, rows)
    wanted = ["host", "gpu", *read_columns(kb, frame.columns)]
    judged, names = judge_table(kb, frame.select(wanted).with_row_index("order"))
    found: dict[str, dict[str, int]] = {row["host"]: {} for row in rows}
    for row in judged.select("host", *names).iter_rows(named=True):
        for name in names:
            if row[name] is not None:
                best = found[row["host"]]
                conclusion = name.partition(SEPARATOR)[0]
                best[conclusion] = min(row[name], best.get(conclusion, row[name]))
    held = 0
    for host, ranks in found.items():
        base = base_of_rows(kb, [row for row in frame.to_dicts() if row["host"] == host], "table")
        made = diagnose(kb, base, ask=False)
        expected = {one.id: one.status.rank for one in (*made.conclusions, *made.ruled_out) if one.lead is not None}
        assert (host, ranks) == (host, expected)
        held += len(made.asserted)
    assert held > 20  # the facts do decide something
