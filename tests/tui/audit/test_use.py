"""The use of GPUs in an audit: idle and hardly used ones by type, and what they cost by list price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Fact, Origin, OriginKind, gpu
from tests.tui.audit.test_audit import audit

polars = pytest.importorskip("polars")

# eight GPUs for 80.7469 CNY an hour in Hangzhou and 99.32 in Jakarta, the cheapest and the dearest of all regions:
# rules/catalogue/prices.yaml
MACHINE = "ecs.gn7i-8x.32xlarge"
MEASURED = Origin(OriginKind.MEASURED, "nvml")
HIGHEST, MEDIAN = (0.0, 0.5, 0.5, 0.9), (0.0, 0.1, 0.8, 0.1)
"""Of four GPUs the first is idle and the second has little to do, but for its memory so has the fourth."""


def of_table(folder: Path, region: str | None, machine: str, samples: int) -> Path:
    rows = polars.DataFrame(
        {
            "host": ["a", "a", "b", "b"],
            "gpu": [0, 1, 0, 1],
            "host.instance_type": [machine] * 4,
            "host.region": [region] * 4,
            "gpu.sample_count": [samples] * 4,
            "gpu.utilization_max_share": HIGHEST,
            "gpu.utilization_share": MEDIAN,
            "gpu.memory_used_max_bytes": [1e9, 1e9, 1e9, 2e10],
        },
        schema_overrides={"host.region": polars.String},
    )
    rows.write_parquet(folder / "fleet.parquet")
    return folder / "fleet.parquet"


def of_files(folder: Path, region: str | None, machine: str, samples: int) -> Path:
    for host in range(2):
        facts = [Fact("host.instance_type", machine, None, HOST, MEASURED)]
        facts += [Fact("host.region", region, None, HOST, MEASURED)] if region else []
        for number in range(2):
            at, one = 2 * host + number, gpu(number)
            facts += [
                Fact("gpu.sample_count", samples, "count", one, MEASURED),
                Fact("gpu.utilization_max_share", HIGHEST[at], "share", one, MEASURED),
                Fact("gpu.utilization_share", MEDIAN[at], "share", one, MEASURED),
                Fact("gpu.memory_used_max_bytes", 2e10 if at == 3 else 1e9, "bytes", one, MEASURED),
            ]
        (folder / f"{'ab'[host]}.facts.json").write_text(dump(facts), "utf-8")
    return folder


@pytest.mark.parametrize("made", [of_table, of_files], ids=["table", "files"])
@pytest.mark.parametrize(
    ("region", "machine", "cost"),
    [
        ("cn-hangzhou", MACHINE, (80.7469 / 8, 80.7469 / 8)),
        (None, MACHINE, (80.7469 / 8, 99.32 / 8)),
        ("mars-1", MACHINE, None),
        (None, "p4d.24xlarge", None),
    ],
    ids=["region", "any-region", "no-such-region", "no-price"],
)
def test_idle_and_hardly_used_gpus_are_counted_with_their_price(
    made: Any, region: str | None, machine: str, cost: tuple[float, float] | None, tmp_path: Path
) -> None:
    (use,) = json.loads(audit(made(tmp_path, region, machine, 100), "--format", "json").output)["use"]
    assert (use["gpus"], use["judged"], use["idle"], use["small_load"]) == (4, 4, 1, 1)
    assert (use["instance_type"], use["region"]) == (machine, region)
    if cost is None:
        assert use["idle_cost_per_hour"] is None
    else:
        found = use["idle_cost_per_hour"]
        assert (found["low"], found["high"]) == pytest.approx(cost)
        assert (found["currency"], found["date"]) == ("CNY", "2024-12-31")


@pytest.mark.parametrize("made", [of_table, of_files], ids=["table", "files"])
def test_one_look_says_nothing_about_use(made: Any, tmp_path: Path) -> None:
    path = made(tmp_path, None, MACHINE, 1)
    (use,) = json.loads(audit(path, "--format", "json").output)["use"]
    assert (use["gpus"], use["judged"], use["idle"], use["small_load"]) == (4, 0, 0, 0)
    assert "USE" not in audit(path).output


def test_the_table_and_the_page_tell_use_and_cost(tmp_path: Path) -> None:
    path = of_table(tmp_path, "cn-hangzhou", MACHINE, 100)
    lines = audit(path).output.splitlines()
    told = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 80
    assert "1 of 4 GPUs idle all the time, 1 with little to do" in told
    assert f"{MACHINE} in cn-hangzhou: 1 of 4 idle (10.09 CNY an hour)" in told
    assert "list prices of alicloud as of 2024-12-31" in told
    page = audit(path, "--format", "html").output
    assert "1 idle, 1 with little to do, of 4" in page


@pytest.mark.parametrize("made", [of_table, of_files], ids=["table", "files"])
@pytest.mark.parametrize(
    ("region", "smaller", "ratio", "lacks", "says"),
    [
        # one T4 for 8.3 CNY an hour in place of an eighth of eight A10 for 99.32
        ("ap-southeast-5", "ecs.gn6i-c4g1.xlarge", 8.3 / (99.32 / 8), ["BF16", "TF32"], "0.67 times the price"),
        # there a T4 costs 11.63 and an A10 10.09; an A16 has 16 GB, a third of the bandwidth and no known price
        ("cn-hangzhou", "ecs.gn7r-c16g1.4xlarge", None, [], "its price is not known"),
    ],
    ids=["cheaper", "no-price"],
)
def test_a_smaller_type_that_would_hold_what_is_used_is_named(
    made: Any, region: str, smaller: str, ratio: float | None, lacks: list[str], says: str, tmp_path: Path
) -> None:
    path = made(tmp_path, region, MACHINE, 100)
    (use,) = json.loads(audit(path, "--format", "json").output)["use"]
    # the second of the four GPUs has little to do: 1 GB, 10 % of the time
    assert (use["small_load_memory_bytes"], use["small_load_busy_share"]) == (1e9, 0.1)
    assert (use["smaller"]["instance_type"], use["smaller"]["lacks"]) == (smaller, lacks)
    assert use["smaller"]["price_ratio"] == (ratio and {"low": pytest.approx(ratio), "high": pytest.approx(ratio)})
    assert says in " ".join(audit(path).output.split())


def test_no_smaller_type_is_named_where_none_is_known(tmp_path: Path) -> None:
    (use,) = json.loads(audit(of_files(tmp_path, None, "p4d.24xlarge", 100), "--format", "json").output)["use"]
    assert (use["small_load"], use["smaller"]) == (1, None)
