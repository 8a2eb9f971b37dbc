"""Versions of driver, CUDA and framework, as the usual tools list them."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.env_versions import FORMAT
from tests.probes.artefacts.helpers import scan, values

JOB, HOST = "job:this", "host:this"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "PyTorch version: 2.5.1+cu124\nCUDA used to build PyTorch: 12.4\nNvidia driver version: 535.104.05",
            {
                ("job.framework", JOB): "pytorch",
                ("job.framework_version", JOB): "2.5.1+cu124",
                ("job.cuda_build_version", JOB): "12.4",
                ("host.driver_version", HOST): "535.104.05",
            },
        ),
        (
            "torch==1.8.1+cu102",
            {("job.cuda_build_version", JOB): "10.2", ("job.framework_version", JOB): "1.8.1+cu102"},
        ),
        ("torch                     2.4.0+cpu", {("job.framework_version", JOB): "2.4.0+cpu"}),
        (
            "torch              2.6.0\nnvidia-cuda-runtime-cu12 12.4.127\nnvidia-cudnn-cu12  9.1.0.70",
            {("job.cuda_build_version", JOB): "12.4.127", ("job.cudnn_version", JOB): "9.1.0.70"},
        ),
        ("Cuda compilation tools, release 11.8, V11.8.89", {("host.toolkit_version", HOST): "11.8"}),
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19",
            {("host.kernel_module_version", HOST): "535.129.03", ("host.driver_version", HOST): "535.129.03"},
        ),
    ],
    ids=["collect-env", "pip-freeze", "cpu-build", "pip-list", "nvcc", "proc"],
)
def test_a_version_is_read(text: str, expected: dict[tuple[str, str], Value]) -> None:
    found = values(scan(FORMAT, text))
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    "text", ["torch is slow", "CUDA out of memory", "driver version unknown", "torchvision 0.19.0"]
)
def test_what_is_no_version_is_left_alone(text: str) -> None:
    assert scan(FORMAT, text) == []


def test_the_gpus_of_collect_env_are_named() -> None:
    text = "GPU models and configuration: GPU 0: NVIDIA A10\nGPU 1: Tesla T4\n\nGPU 2: is not part of the list"
    found = {key: value for key, value in values(scan(FORMAT, text)).items() if key[0] == "gpu.name"}
    assert found == {("gpu.name", "gpu:0"): "NVIDIA A10", ("gpu.name", "gpu:1"): "Tesla T4"}
