"""Choosing a machine: the scenarios that articles tell, with what is so; reasons, ranking, the least change."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from gpuwhy.engine.costs import (
    break_even_discount,
)
from gpuwhy.engine.selection import Choice, choose, proof
from gpuwhy.engine.shapes import of_parameters
from gpuwhy.engine.workload import Work, memory
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.offers import machines
from gpuwhy.kb.overlay import merged
from gpuwhy.kb.records import replace


@cache
def knowledge() -> KnowledgeBase:
    return load()


def work(task: str, parameters: float, method: str | None = None, **more: Any) -> Work:
    serves = task in ("serve", "batch", "gateway")
    given: dict[str, Any] = {
        "method": method or ("inference" if serves else "full"),
        "dtype": "bf16",
        "sequence": 2048,
    } | more
    return Work(task=task, shape=of_parameters(parameters), **given)


def machine(name: str) -> Any:
    return next(one for one in machines(knowledge().catalogue) if one.name == name)


@cache
def chosen(task: str, parameters: float, method: str | None = None, **more: Any) -> Choice:
    return choose(knowledge(), work(task, parameters, method, **more))


def gpus(choice: Choice, most: int = 1) -> set[str]:
    return {one.machine.gpu for one in choice.kept if one.machine.gpus <= most}


def reasons(choice: Choice, machine: str) -> set[str]:
    return {said.rule for one in choice.rejected if one.machine.name == machine for said in one.rejected}


A10, A100_40, A100_80 = "NVIDIA A10", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"
TOO_SMALL = "select.memory.too-small-to-train"


@pytest.mark.parametrize("sequence", [256, 1024])
def test_lora_of_7b_fits_an_a10_to_about_a_thousand_tokens(sequence: int) -> None:
    assert A10 in gpus(chosen("finetune", 7.7e9, "lora", sequence=sequence))


def test_lora_of_7b_with_2048_tokens_does_not_fit_an_a10() -> None:
    assert TOO_SMALL in reasons(chosen("finetune", 7.7e9, "lora", sequence=2048), "ecs.gn7i-c8g1.2xlarge")


@pytest.mark.parametrize("parameters", [7.7e9, 14e9], ids=["7B", "14B"])
def test_qlora_of_7b_and_14b_fits_an_a10(parameters: float) -> None:
    assert A10 in gpus(chosen("finetune", parameters, "qlora"))


@pytest.mark.parametrize("parameters", [7e9, 13e9], ids=["7B", "13B"])
def test_full_training_of_7b_and_13b_fits_no_single_card(parameters: float) -> None:
    assert gpus(chosen("finetune", parameters)).isdisjoint({A10, A100_40, A100_80})


def test_full_training_of_7b_fits_two_cards_of_80_gb() -> None:
    assert "ecs.gn7e-c16g1.8xlarge" in {one.machine.name for one in chosen("finetune", 7e9).kept}


def test_pretraining_is_not_sent_over_pcie() -> None:
    choice = chosen("pretrain", 7e9)
    assert choice.kept
    assert all(one.machine.gpus == 1 or one.machine.nvlink_bytes_per_second for one in choice.kept)


def test_qwen_72b_in_bf16_takes_two_cards_and_in_int4_one() -> None:
    assert A100_80 not in gpus(chosen("serve", 72.3e9))
    assert A100_80 in gpus(chosen("serve", 72.3e9), most=2)
    assert A100_80 in gpus(chosen("serve", 72.3e9, dtype="int4"))


def test_llama_70b_runs_on_four_a10_with_4_bit_weights_and_not_on_one_or_two() -> None:
    choice = chosen("serve", 70.6e9, dtype="int4", sequence=8192, concurrency=4)
    assert {one.machine.gpus for one in choice.kept if one.machine.gpu == A10} == {4, 8}


def test_qwq_32b_in_bf16_does_not_fit_an_a10_and_is_slower_there_than_on_an_a100() -> None:
    choice = chosen("serve", 32.5e9)
    assert A10 not in gpus(choice)
    speed = {one.machine.name: one.token_seconds for one in (*choice.kept, *choice.rejected)}
    slow, fast = speed["ecs.gn7i-c8g1.2xlarge"], speed["ecs.gn7e-c16g1.4xlarge"]
    assert slow is not None
    assert fast is not None
    assert fast / slow == pytest.approx(600 / 2039)  # the ratio of their bandwidths, 0.29


def opened(choice: Choice, machine: str) -> set[str]:
    return {said.rule for one in choice.kept if one.machine.name == machine for said in one.open}


def test_latency_rejects_cards_that_are_too_slow() -> None:
    choice = chosen("serve", 7.7e9, token_seconds=0.025)
    assert "select.cost.latency" in reasons(choice, "ecs.gn7i-c8g1.2xlarge")  # 15.4 GB / 600 GB/s = 25.7 ms


def test_between_the_full_bandwidth_and_half_of_it_a_load_test_decides() -> None:
    choice = chosen("serve", 7.7e9, token_seconds=0.03)
    assert opened(choice, "ecs.gn7i-c8g1.2xlarge") == {"select.cost.latency-open"}
    sure = [one.machine.name for one in choice.kept if not one.open]
    assert [one.machine.name for one in choice.kept][: len(sure)] == sure  # what surely does comes first
    assert choice.kept[0].machine.gpu in (A100_40, A100_80)


def test_what_small_steps_settle_comes_before_what_nothing_settles() -> None:
    # 32B in 16 bit over 2 A100: 82 GB / 2 / 2,039 GB/s / 0.5 and 128 x 0.11 ms are 54 ms of the 100; over 4 A10 on PCIe
    # 82 GB / 4 / 600 GB/s / 0.5 and 128 x 0.25 ms are all of it
    choice = chosen("serve", 32e9, sequence=8192, concurrency=8, token_seconds=0.1)
    assert choice.kept[0].machine.name == "ecs.gn7e-c16g1.8xlarge"
    assert choice.kept[0].small_steps is not None
    assert 64 <= choice.kept[0].small_steps < 2048
    four = next(one for one in choice.kept if one.machine.name == "ecs.gn7i-4x.8xlarge")
    assert (four.doubt, four.small_steps) == (2, None)
    assert choice.change is not None
    assert (choice.change.says, choice.change.machine.doubt) == ("int8 weights instead of bf16", 1)


def test_certainty_is_not_bought_at_any_price() -> None:
    # one A100 may do: 16 x 4,096 tokens take 25 to 31 ms there; eight do with small steps, for eight times as much
    choice = chosen(
        "serve", 7e9, sequence=4096, concurrency=16, token_seconds=0.03, answer_tokens=500, requests_per_second=2.0
    )
    assert choice.kept[0].machine.name == "ecs.gn7e-c16g1.4xlarge"
    assert any(one.doubt == 1 for one in choice.kept)


def test_a_change_for_a_known_price_comes_before_one_for_an_unknown() -> None:
    change = chosen("serve", 32e9).change
    assert change is not None
    assert change.machine.price is not None


def test_requests_that_come_too_fast_reject_and_those_that_may_are_open() -> None:
    slow = chosen("serve", 7.7e9, concurrency=4, answer_tokens=500, requests_per_second=10.0)
    assert "select.cost.overload" in reasons(slow, "ecs.gn7i-c8g1.2xlarge")
    near = chosen("serve", 7.7e9, concurrency=4, answer_tokens=500, requests_per_second=0.25)
    assert "select.cost.overload-open" in opened(near, "ecs.gn7i-c8g1.2xlarge")


def test_a_wait_that_depends_on_an_unknown_rate_is_open() -> None:
    choice = chosen("serve", 1.5e9, first_token_seconds=5.0)
    assert "select.cost.first-token-untold" in opened(choice, "ecs.gn7i-c8g1.2xlarge")


def test_a_proof_names_each_rule_and_where_needs_come_from() -> None:
    found = proof(knowledge(), work("serve", 7.7e9, dtype="fp8"), machine("ecs.gn7e-c16g1.4xlarge"))
    truths = {rule.id: verdict.truth.value for rule, verdict in found.verdicts}
    assert truths["select.format.fp8"] == "true"
    assert truths["select.memory.too-small-to-serve"] == "false"
    assert truths["select.cost.budget"] == "unknown"
    derived = {name: made.derivation.id for (name, _), made in found.derived.items()}
    assert derived["need.fp8"] == "derive.select.fp8"
    assert derived["need.gpu_memory_bytes"] == "derive.select.memory"


@pytest.mark.parametrize("job", [work("serve", 7.7e9, token_seconds=0.03, concurrency=4), work("finetune", 7e9)])
def test_every_machine_is_judged_as_its_proof_says(job: Work) -> None:
    choice = choose(knowledge(), job)
    for one in (*choice.kept, *choice.rejected)[::17]:
        found = proof(knowledge(), job, one.machine)
        said = {each.rule for each in (*one.rejected, *one.open, *one.warned, *one.told) if each.rule}
        assert said == {rule.id for rule, verdict in found.verdicts if verdict.truth.value == "true"}
        assert found.candidate == one


def test_small_models_fit_small_cards() -> None:
    for parameters in (25e6, 86e6, 340e6):  # ResNet-50, ViT-Base, BERT-large
        assert A10 in gpus(chosen("train", parameters, activation_bytes=8e9))


def test_fine_tuning_stable_diffusion_fits_an_a10() -> None:
    # UNet 860M, text encoder 123M and VAE 84M frozen in 16 bit: 2.1 GB, and measured activations of one 512 px sample
    assert A10 in gpus(chosen("finetune", 1.07e9, "lora", dtype="fp16", activation_bytes=8e9))
    # the whole UNet by mixed-precision AdamW: 16 x 0.86e9 = 13.8 GB of states, and 5 GB with checkpointing
    assert A10 in gpus(chosen("finetune", 0.86e9, dtype="fp16", activation_bytes=5e9))
    assert "Tesla T4" not in gpus(chosen("finetune", 0.86e9, dtype="fp16", activation_bytes=5e9))


def test_bert_large_needs_5_4_gb_of_states_and_fits_an_a10() -> None:
    job = work("finetune", 0.34e9, sequence=512, batch=8)
    states = [
        one.size_bytes for one in memory(job, 1).parts if one.name in ("weights", "gradients", "optimizer states")
    ]
    assert sum(states) == pytest.approx(5.44e9)  # 16 bytes a parameter
    assert A10 in gpus(chosen("finetune", 0.34e9, sequence=512, batch=8))


def test_vit_and_resnet_train_on_one_card_and_a_diagnosed_wait_for_data_is_told() -> None:
    for parameters in (25.6e6, 86e6):
        choice = chosen("train", parameters, activation_bytes=12e9, bound_by="input", data_bytes_per_second=1.2e9)
        assert A10 in gpus(choice)
        assert any(one.claim == "s2-51-pipeline-first" for one in choice.notes)


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
@pytest.mark.parametrize("parameters", [7e9, 13e9], ids=["7B", "13B"])
def test_what_7b_and_13b_need_by_method(parameters: float, method: str) -> None:
    # full needs 16 bytes a parameter (112, 208 GB) and no single card; LoRA of 7B and QLoRA of both fit an A10
    on_one = gpus(chosen("finetune", parameters, method, sequence=1024))
    fits_a10 = (parameters, method) in {(7e9, "lora"), (7e9, "qlora"), (13e9, "qlora")}
    assert (A10 in on_one) is fits_a10
    assert (A100_80 in on_one) is (method != "full")


def test_offline_inference_is_not_held_to_a_time_and_online_inference_is() -> None:
    offline = chosen("batch", 7.7e9, concurrency=16, dtype="bf16")
    online = chosen("serve", 7.7e9, concurrency=16, token_seconds=0.02)
    assert "ecs.gn7i-2x.8xlarge" in {one.machine.name for one in offline.kept if not one.open}
    assert "select.cost.latency" in reasons(online, "ecs.gn7i-c48g1.12xlarge")


def test_pretraining_over_several_hosts_wants_rdma() -> None:
    choice = chosen("pretrain", 70e9, hosts=16)
    assert choice.kept
    assert all(one.machine.rdma for one in choice.kept)
    assert "select.link.no-rdma" in reasons(choice, "ecs.ebmgn7e.32xlarge")


def test_spot_training_of_two_weeks_is_cheaper_than_a_month_only_below_its_break_even() -> None:
    claims = {one.claim for one in chosen("finetune", 13e9, "qlora", hours=336.0, interruptible=True).notes}
    assert {"s1-2week-monthly", "spot-discount"} <= claims
    assert break_even_discount(336) == pytest.approx(0.533, abs=1e-3)  # the claim's half price is not enough


def test_an_api_gateway_may_run_on_a_slice_and_training_may_not() -> None:
    assert any(one.machine.is_slice for one in chosen("gateway", 110e6).kept)
    assert not any(one.machine.is_slice for one in chosen("train", 110e6).kept)


def test_partitions_reject_the_a10_with_the_claim_that_says_otherwise() -> None:
    choice = chosen("gateway", 110e6, partitions=True)
    assert A10 not in gpus(choice)
    a10 = next(one for one in choice.rejected if one.machine.name == "ecs.gn7i-c8g1.2xlarge")
    assert [said.claim for said in a10.rejected] == ["s2-a10-mig"]


def test_fp8_rejects_the_a100() -> None:
    assert "select.format.fp8" in reasons(chosen("serve", 7e9, dtype="fp8"), "ecs.gn7e-c16g1.4xlarge")


def test_bf16_rejects_volta_and_turing_and_fp16_does_not() -> None:
    assert "select.format.bfloat16" in reasons(chosen("serve", 1.5e9), "ecs.gn6i-c4g1.xlarge")
    assert "Tesla T4" in gpus(chosen("serve", 1.5e9, dtype="fp16"))


def test_retired_types_are_never_kept() -> None:
    assert {one.machine.status for one in chosen("serve", 110e6).kept} <= {"listed", "by-sales", "discouraged"}


def test_a_budget_rejects_what_costs_more() -> None:
    assert all(one.price is None or one.price.per_hour <= 10 for one in chosen("serve", 1e9, budget_per_hour=10.0).kept)


def test_the_first_has_the_lowest_price() -> None:
    kept = chosen("finetune", 7.7e9, "qlora").kept
    plain = [one for one in kept if one.machine.status == "listed" and not one.lowered]
    prices = [one.price.per_hour for one in plain if one.price is not None]
    assert prices == sorted(prices)
    assert kept[0].price is not None


def priced(currency: str, amount: float, name: str = "ecs.gn7i-c8g1.2xlarge") -> KnowledgeBase:
    """The knowledge with a newer price of one machine type, in another currency."""
    sheet = {"provider": "alicloud", "mode": "payg", "currency": currency, "date": "2030-01-01", "source": "aliyun-api"}
    overlay = {"prices": [sheet | {"per_hour": {name: {"cn-beijing": amount}}}]}
    return replace(knowledge(), catalogue=merged(knowledge().catalogue, [overlay]))


def test_a_price_in_another_currency_is_not_compared_without_a_rate() -> None:
    choice = choose(priced("USD", 1.0), work("finetune", 7.7e9, "qlora"))
    assert choice.currency == "CNY"
    assert choice.uncompared == {"USD": 1}
    assert choice.kept[0].machine.name == "ecs.gn7i-c16g1.4xlarge"  # 10.09 CNY: the cheapest that is compared


@pytest.mark.parametrize(("rate", "first"), [(7.0, True), (20.0, False)], ids=["cheaper", "dearer"])
def test_a_price_in_another_currency_is_converted_by_the_rate_that_is_told(rate: float, first: bool) -> None:
    job = work("finetune", 7.7e9, "qlora", exchange=(("USD", rate),), budget_per_hour=100.0)
    choice = choose(priced("USD", 1.0), job)
    one = next(one for one in choice.kept if one.machine.name == "ecs.gn7i-c8g1.2xlarge")
    assert one.price is not None
    assert (one.price.per_hour, one.price.currency, one.price.converted) == (rate, "CNY", f"1.00 USD at {rate:g}")
    assert (choice.kept[0] is one) is first
    assert choice.uncompared == {}


def test_prices_are_compared_in_the_currency_that_is_asked_for() -> None:
    choice = choose(knowledge(), work("finetune", 7.7e9, "qlora", currency="USD", exchange=(("CNY", 0.14),)))
    first = choice.kept[0].price
    assert first is not None
    assert first.per_hour == pytest.approx(9.5326 * 0.14)
    assert choose(knowledge(), work("finetune", 7e9, "qlora", currency="USD")).uncompared["CNY"] > 20


def test_several_machines_cost_several_times_as_much_and_so_for_the_budget() -> None:
    one, four = (chosen("pretrain", 7e9, tokens=1e9, hosts=hosts).kept for hosts in (1, 4))
    for kept, number in ((one, 1), (four, 4)):
        ex = next(each for each in kept if each.machine.name == "ecs.ebmgn7ex.32xlarge")
        assert ex.price is not None
        assert ex.hours is not None
        assert ex.cost == pytest.approx(number * ex.price.per_hour * ex.hours)
    dear = chosen("pretrain", 7e9, hosts=4, budget_per_hour=300.0)
    assert "select.cost.budget" in reasons(dear, "ecs.ebmgn7ex.32xlarge")  # 4 x 270.83


def test_where_machines_take_different_times_the_cost_of_the_whole_work_ranks() -> None:
    kept = [one for one in chosen("pretrain", 7e9, tokens=1e11).kept if one.cost is not None and not one.lowered]
    assert [one.cost for one in kept] == sorted(one.cost for one in kept if one.cost is not None)


def test_a_slow_card_does_not_lead_because_its_hour_is_cheap() -> None:
    kept = chosen("train", 86e6, activation_bytes=8e9).kept
    slow = next(one for one in kept if one.machine.gpu == "NVIDIA A16")
    assert kept[0].machine.gpu == A10
    assert [one.rule for one in slow.warned] == ["select.cost.dear-for-its-rate"]  # 4.87 over 34.74, 17.9 over 312


def test_in_a_region_without_prices_the_ratio_of_prices_elsewhere_ranks() -> None:
    kept = chosen("serve", 7.7e9, region="nowhere").kept
    assert all(one.price is None for one in kept)
    cards = [one for one in kept if one.machine.status == "listed" and not one.machine.is_slice]
    whole = [one.elsewhere.per_hour for one in cards if one.elsewhere]
    assert whole == sorted(whole)
    assert kept[0].machine.name == "ecs.gn7i-c8g1.2xlarge"


def test_without_any_price_the_closest_fit_is_first() -> None:
    kept = chosen("serve", 7.7e9, provider="tencent").kept
    assert all(one.price is None and one.elsewhere is None for one in kept)
    whole = [one for one in kept if not one.machine.is_slice]
    assert [one.machine.gpus for one in whole] == sorted(one.machine.gpus for one in whole)


def test_every_machine_is_kept_or_rejected_with_a_reason() -> None:
    choice = chosen("finetune", 7e9, "lora")
    assert len(choice.kept) + len(choice.rejected) == 153
    assert all(one.rejected for one in choice.rejected)


def test_the_least_change_that_admits_a_smaller_card_is_told() -> None:
    change = chosen("finetune", 7.7e9, "lora", sequence=4096, dtype="fp16").change
    assert change is not None
    assert (change.says, change.machine.machine.gpu) == ("QLoRA instead of LoRA", A10)


def test_two_weeks_and_spot_are_noted_with_their_claims() -> None:
    claims = {one.claim for one in chosen("finetune", 7e9, "qlora", hours=336.0, interruptible=True).notes}
    assert {"s1-2week-monthly", "spot-discount"} <= claims


def test_work_that_waits_for_data_is_told_that_a_bigger_gpu_does_not_help() -> None:
    assert any("bigger GPU waits" in one.because for one in chosen("train", 25e6, bound_by="input").notes)
