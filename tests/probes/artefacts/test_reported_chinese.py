"""Symptoms as people describe them in Chinese, and what is no description of one."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.reported import FORMAT
from tests.probes.artefacts.helpers import scan, values

REPORTED = [
    ("said.work_slow", "升级之后训练速度很慢"),
    ("said.work_slow", "微调时速度变得很慢"),
    ("said.latency_bad", "线上服务推理延迟抖动严重"),
    ("said.latency_bad", "高峰时p99很高，推理请求堆积"),
    ("said.first_request_slow", "模型首次推理特别慢，后面正常"),
    ("said.first_request_slow", "第一次请求要20秒，之后只要50ms"),
    ("said.first_request_slow", "用ollama第一次问个问题要等30多秒，之后再问就很快"),
    ("said.first_request_slow", "gpu放5分钟以上，再问就要等20秒"),
    ("said.model_reloaded", "每次请求都要重新加载模型"),
    ("said.waits_for_data", "训练时瓶颈在数据加载"),
    ("said.waits_for_data", "数据加载太慢，训练时GPU空闲"),
    ("said.utilization_swings", "训练时GPU利用率波动很大，从0%到90%之间跳动"),
    ("said.utilization_low", "训练时GPU利用率上不去"),
    ("said.utilization_low", "模型跑起来显卡吃不满"),
    ("said.gpu_not_used", "程序没有用到GPU"),
    ("said.gpu_not_seen", "torch检测不到GPU"),
    ("said.memory_grows", "训练过程中显存一直在增长"),
    ("said.host_memory_grows", "训练几个epoch，内存一直上涨"),
    ("said.memory_kept", "程序退出后显存没有释放"),
    ("said.spills_to_host", "显存满了以后占用了共享GPU内存"),
    ("said.exchange_dominates", "多机训练时通信开销很大"),
    ("said.slower_with_more_gpus", "双卡训练比单卡还慢"),
    ("said.hang_at_full_use", "多卡训练卡住，GPU利用率一直100%"),
    ("said.hangs", "NCCL INFO Channel 00 之后程序卡死了"),
    ("said.peer_access_avoided", "设置NCCL_P2P_DISABLE=1后正常"),
    ("said.throttled_by_heat", "显卡温度过高，出现降频"),
    ("said.driver_insufficient", "报错说显卡驱动版本过低，CUDA用不了"),
    ("said.version_mismatch", "nvidia-smi 报驱动和内核模块版本不一致"),
    ("said.spans_machines", "多机多卡训练，NCCL用的网卡是eth0"),
    ("said.fell_off_bus", "这台机器的GPU经常掉卡"),
]


def found(content: str) -> dict[str, object]:
    """Facts about the job."""
    return {fact: value for (fact, _), value in values(scan(FORMAT, content + "\n")).items()}


@pytest.mark.parametrize(("fact", "sentence"), REPORTED)
def test_what_is_reported(fact: str, sentence: str) -> None:
    assert found(sentence)[fact] == sentence


def test_a_failure_that_comes_late() -> None:
    assert found("训练了3个epoch之后显存不足") == {"job.memory_failure": True, "job.fails_at_start": False}


def test_figures_of_a_swing_and_of_a_comparison() -> None:
    swing = found("训练时GPU利用率从0%到85%之间波动")
    assert (swing["said.utilization_one_share"], swing["said.utilization_other_share"]) == (0, 0.85)
    assert found("换成随机数据训练快了3倍")["said.synthetic_speedup_ratio"] == 3


@pytest.mark.parametrize(
    "sentence",
    [
        "训练速度没有变慢",
        "怎么避免训练慢",
        "如果显存不足可以减小batch size",
        "可能是数据加载太慢",
        "没有出现掉卡",
        "nvidia-smi 正常，驱动和CUDA版本不匹配",
        "多卡训练比单卡快",
        "显存占用不会一直增长",
    ],
)
def test_what_is_no_report(sentence: str) -> None:
    assert found(sentence) == {}
