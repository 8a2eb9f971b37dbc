"""Versions as reports give them."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.framework_versions import FORMAT
from tests.probes.artefacts.helpers import scan, values


def facts(content: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, content)).items()}


@pytest.mark.parametrize(
    ("content", "version"),
    [
        ("TensorFlow version: 2.3.1\n", "2.3.1"),
        ("### Tensorflow Version\n\n2.8.0\n", "2.8.0"),
        ("- TensorFlow version (use command below): v2.4.0-49-g85c8b2a817f 2.4.1\n", "2.4.1"),
        ("tensorflow-gpu==1.15.0\n", "1.15.0"),
        ("tensorflow                   2.10.0\n", "2.10.0"),
        ("I use tensorflow 2.11 on my laptop.\n", "2.11"),
        ("print(tf.__version__): 2.9.1\n", "2.9.1"),
    ],
)
def test_tensorflow(content: str, version: str) -> None:
    assert facts(content)["job.tensorflow_version"] == version


@pytest.mark.parametrize(
    ("content", "toolkit", "cudnn"),
    [
        ("- CUDA/cuDNN version: 10.2, 8.0.2\n", "10.2", "8.0.2"),
        ("### CUDA/cuDNN version\n\n11.2/8 in conda\n", "11.2", "8"),
        ("CUDA/cuDNN version: CUDA 11.8 cuDNN 8.6\n", "11.8", "8.6"),
        ("CUDA: 10.1.243\ncuDNN: 8.0.4\n", "10.1.243", "8.0.4"),
    ],
)
def test_cuda_and_cudnn(content: str, toolkit: str, cudnn: str) -> None:
    assert facts(content) == {"host.toolkit_version": toolkit, "job.cudnn_version": cudnn}


def test_jaxlib_and_its_tag() -> None:
    assert facts("jax v0.4.11, jaxlib v0.4.11.dev20230517+cuda11.cudnn86\n")["job.jaxlib_version"] == "0.4.11"


@pytest.mark.parametrize(
    ("content", "platform"),
    [
        ("### OS Platform and Distribution\n\nWindows 11\n", "windows"),
        ("OS: Windows 10\nTensorFlow version: 2.11.0\n", "windows"),
        ("OS Platform and Distribution: WSL2 Ubuntu 22.04\ncuDNN: 8.9\n", "wsl"),
        ("OS: Windows 11 WSL2\ncuDNN: 8.9\n", "wsl"),
    ],
)
def test_the_system(content: str, platform: str) -> None:
    assert facts(content)["job.platform"] == platform


@pytest.mark.parametrize(
    "content",
    [
        "TensorFlow is slow.\n",
        "NVIDIA-SMI 530.46   Driver Version: 531.61   CUDA Version: 12.1 with cudnn\n",
        "cuDNN failed to initialise\n",
        "tensorflow.python.framework.errors_impl\n",
        "tensorflow/core/common_runtime/gpu/gpu_device.cc:1716\n",
        "time windows 10 s long, cudnn\n",
    ],
)
def test_other_text_names_no_version(content: str) -> None:
    assert facts(content) == {}
