"""Time and cost of work on a machine, and what to start on it: by the formulas that the functions name."""

from __future__ import annotations

from datetime import date

import pytest

from gpuwhy.engine.costs import (
    age_days,
    break_even_discount,
    checkpoint_seconds,
    scaling,
    spot,
    subscription_hours,
    token_seconds,
    training_hours,
)
from gpuwhy.engine.deployment import advise, bandwidth_of_disk, disk_for
from gpuwhy.engine.selection import Candidate
from gpuwhy.kb.offers import Price
from gpuwhy.kb.records import replace
from tests.engine.test_selection import knowledge, machine, work


def test_a_subscription_for_two_weeks_needs_more_than_half_off() -> None:
    assert break_even_discount(336) == pytest.approx(0.5333, abs=1e-4)  # 1 - 336/720
    assert break_even_discount(720) is None


def test_checkpoints_follow_young_as_daly_refined_him() -> None:
    # Young: sqrt(2 x 120 s x 86,400 s) = 4,553.7 s; r = sqrt(120 / 2 / 86,400) = 0.02635;
    # Daly: 4,553.7 x (1 + r/3 + r^2/9) - 120 = 4,474.0 s; 120/4474 + (4474/2 + 600)/86,400 = 5.97 %
    plan = spot()
    assert plan.checkpoint_every_seconds == pytest.approx(4474.0, abs=0.1)
    assert plan.overhead_share == pytest.approx(0.0597, abs=1e-4)
    assert plan.pays_below_share == pytest.approx(1 / 1.0597, abs=1e-4)


def test_a_checkpoint_that_takes_longer_than_machines_live_is_written_once_in_their_life() -> None:
    assert spot(write_seconds=10_000, between_hours=1).checkpoint_every_seconds == 3600


def test_a_checkpoint_of_full_training_has_14_bytes_a_parameter_and_one_of_lora_few() -> None:
    card = machine("ecs.gn7e-c16g1.4xlarge")
    assert checkpoint_seconds(work("finetune", 7e9), card) == pytest.approx(7e9 * 14 / 350e6)  # 280 s at PL1's 350 MB/s
    assert checkpoint_seconds(work("finetune", 7e9, "lora"), card) < 30


def test_a_subscription_pays_from_the_hours_that_cost_as_much() -> None:
    month = Price("x", "r", 5.0, "CNY", "subscription", "2026-11-01", "aliyun-api")
    hour = Price("x", "r", 10.0, "CNY", "payg", "2026-11-01", "aliyun-api")
    assert subscription_hours(month, hour) == 360  # 5 x 720 / 10
    assert subscription_hours(replace(month, currency="USD"), hour) is None
    assert age_days(month, date(2026, 11, 30)) == 29
    assert age_days(replace(month, date="last year"), date(2026, 11, 30)) is None


def test_training_time_is_operations_over_the_rate_that_is_reached() -> None:
    # 8 x 7e9 x 1e9 / (312e12 x 0.45) / 3600 = 110.8 h on one
    assert training_hours(work("pretrain", 7e9, tokens=1e9), machine("ecs.gn7e-c16g1.4xlarge")) == pytest.approx(
        110.8, abs=0.1
    )
    # a step of 2,048 tokens computes 8 x 7e9 x 2048 / (312e12 x 0.45) = 0.817 s and exchanges 3 x 2 x 7e9 byte at a
    # third of 600 GB/s in 0.21 s: 110.8 / 8 x 1.027 / 0.817 = 17.4 h
    job = work("pretrain", 7e9, tokens=1e9)
    assert training_hours(job, machine("ecs.ebmgn7e.32xlarge")) == pytest.approx(17.4, abs=0.1)


def test_what_gpus_exchange_limits_how_they_scale() -> None:
    nvlink, pcie = machine("ecs.ebmgn7e.32xlarge"), machine("ecs.gn7i-8x.16xlarge")
    full = work("finetune", 7e9)
    # on A10: 8 x 7e9 x 2048 / (125e12 x 0.45) = 2.04 s of computing, 42 GB / 20 GB/s = 2.1 s of exchange
    assert scaling(full, pcie) == pytest.approx(2.04 / 4.14, abs=0.01)
    assert scaling(full, nvlink) == pytest.approx(0.817 / 1.027, abs=0.01)
    assert scaling(replace(full, batch=8), pcie) == pytest.approx(16.31 / 18.41, abs=0.01)
    assert scaling(work("finetune", 7e9, "lora"), pcie) > 0.9  # adapters alone are exchanged
    # 16 machines with 160 Gbit/s: 42 GB / 20 GB/s = 2.1 s more
    ex = machine("ecs.ebmgn7ex.32xlarge")
    assert scaling(work("pretrain", 7e9, hosts=16), ex) == pytest.approx(0.817 / 3.127, abs=0.01)
    assert scaling(full, machine("ecs.gn7e-c16g1.4xlarge")) == 1.0


def test_an_unknown_bandwidth_gives_no_token_time() -> None:
    job = work("serve", 7e9)
    assert token_seconds(job.shape, job, machine("ecs.sgn8ia-m48.24xlarge")) is None


@pytest.mark.parametrize(
    ("rate", "disk", "gib"), [(300e6, "PL1", 360), (600e6, "PL2", 960), (2e9, "PL3", 3760)], ids=["PL1", "PL2", "PL3"]
)  # (rate - 120) / 0.5
def test_a_disk_is_as_large_as_its_rate_needs(rate: float, disk: str, gib: int) -> None:
    found = disk_for(rate, machine("ecs.gn7i-c8g1.2xlarge"))
    assert found is not None
    assert (found.disk_class, found.size_gib) == (disk, gib)
    assert bandwidth_of_disk(gib, disk) == pytest.approx(rate)


def test_no_single_disk_reads_five_gigabytes_a_second() -> None:
    assert disk_for(5e9, machine("ecs.gn7i-c8g1.2xlarge")) is None


def candidate(name: str) -> Candidate:
    return Candidate(machine(name), 1e9, None, None, None)


@pytest.mark.parametrize(
    ("name", "cuda"),
    [("ecs.gn6v-c8g1.2xlarge", "12.6"), ("ecs.gn6i-c4g1.xlarge", "12.8"), ("ecs.gn7i-c8g1.2xlarge", "12.8")],
    ids=["V100", "T4", "A10"],
)
def test_volta_gets_a_build_that_still_has_code_for_it(name: str, cuda: str) -> None:
    assert advise(knowledge().catalogue, work("serve", 1e9), candidate(name)).cuda == cuda


def test_an_unnamed_gpu_gets_no_build() -> None:
    assert advise(knowledge().catalogue, work("serve", 1e9), candidate("ecs.gn9gc.4xlarge")).cuda is None


def test_the_snippet_asks_for_a_partition_where_one_is_wanted() -> None:
    advice = advise(knowledge().catalogue, work("gateway", 1e8, partitions=True), candidate("ecs.gn7e-c16g1.4xlarge"))
    assert "nvidia.com/mig-1g.10gb: 1" in advice.snippet
