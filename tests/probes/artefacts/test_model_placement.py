"""Where a model server placed a model: rows of `ollama ps`, its API, its log, and what people quote of them."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.model_placement import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

SHARE = ("model.gpu_share", "job:this")
NEEDED = ("model.needed_bytes", "job:this")
HEADER = "NAME               ID              SIZE      PROCESSOR          CONTEXT    UNTIL\n"


def _row(name: str, size: str, processor: str) -> str:
    return f"{name}    be39eb53a197    {size}    {processor}    4096    4 minutes from now\n"


@pytest.mark.parametrize(
    ("processor", "share"),
    [("42%/58% CPU/GPU", 0.58), ("100% GPU", 1.0), ("100% CPU", 0.0), ("1%/99% CPU/GPU", 0.99)],
)
def test_row(processor: str, share: float) -> None:
    found = scan(FORMAT, HEADER + _row("llama3:70b", "41 GB", processor))
    assert values(found)[SHARE] == pytest.approx(share)
    assert values(found)[NEEDED] == 41e9
    assert claimed(found) == {2}


def test_rows_without_header_or_identifier() -> None:
    assert values(scan(FORMAT, "qwen3:32b  25 GB   27%/73% CPU/GPU  32768"))[SHARE] == pytest.approx(0.73)
    assert values(scan(FORMAT, "| qwen3:32b | 25 GB | 27%/73% CPU/GPU | 32768 |"))[SHARE] == pytest.approx(0.73)


def test_largest_of_several_models() -> None:
    text = HEADER + _row("nomic-embed-text:latest", "849 MB", "100% CPU") + _row("llama3:70b", "41 GB", "100% GPU")
    assert values(scan(FORMAT, text))[SHARE] == 1.0


def test_one_model_shown_twice_counts_where_least_was_on_the_gpu() -> None:
    text = HEADER + _row("llama3:70b", "41 GB", "100% GPU") + _row("llama3:70b", "52 GB", "25%/75% CPU/GPU")
    assert values(scan(FORMAT, text))[SHARE] == pytest.approx(0.75)
    assert values(scan(FORMAT, text))[NEEDED] == 52e9


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("After raising num_ctx `ollama ps` says 27%/73% CPU/GPU and it is slow", 0.73),
        ("ollama ps 显示 38%/62% CPU/GPU", 0.62),
        ("It was 100% GPU before, now it is 20%/80% CPU/GPU", 0.80),
        ("ollama ps shows 100% CPU although there is an A10", 0.0),
        ("PROCESSOR is 100% CPU", 0.0),
    ],
)
def test_quoted_in_a_sentence(text: str, share: float) -> None:
    extracts = scan(FORMAT, text)
    assert values(extracts)[SHARE] == pytest.approx(share)
    assert all(one.said for extract in extracts for one in extract.readings)


@pytest.mark.parametrize(
    "text",
    [
        "Before the upgrade it said 40%/60% CPU/GPU",
        "It used to show 40%/60% CPU/GPU",
        "If ollama ps says 40%/60% CPU/GPU the model does not fit",
        "ollama ps does not show 100% CPU",
        "the process takes 100% CPU and 100% GPU",
        "saves ~50% CPU/GPU time",
        "70%/70% CPU/GPU",
        "load average: 100% CPU/GPU",
    ],
)
def test_other_sentences_are_none(text: str) -> None:
    assert scan(FORMAT, text) == []


def test_api() -> None:
    text = '{"models": [{"name": "gemma4",\n "size": 6591830464,\n "size_vram": 5333539264}]}'
    found = values(scan(FORMAT, text))
    assert found[SHARE] == pytest.approx(0.8091, abs=1e-4)  # 5333539264 / 6591830464
    assert found[NEEDED] == 6591830464


def test_plan_of_the_log_and_gpus() -> None:
    gpu = (
        'msg="inference compute" id=GPU-{0} library=cuda variant=v12 compute=8.6 driver=12.4 '
        'name="NVIDIA GeForce RTX 3060" total="11.8 GiB" available="10.9 GiB"\n'
    )
    plan = (
        "level=INFO source=server.go:175 msg=offload library=cuda layers.requested=-1 layers.model=65 "
        'layers.offload=31 layers.split="" memory.available="[10.9 GiB]" memory.required.full="21.9 GiB"\n'
    )
    found = values(scan(FORMAT, gpu.format("aa") + gpu.format("bb") + gpu.format("aa") + plan))
    assert found["model.layer_count", "job:this"] == 65
    assert found["model.offloaded_layers", "job:this"] == 31
    assert found[NEEDED] == pytest.approx(21.9 * 2**30)
    assert found["model.gpu_memory_bytes", "job:this"] == pytest.approx(2 * 11.8 * 2**30)  # each GPU once
    assert found["gpu.name", "gpu:1"] == "NVIDIA GeForce RTX 3060"
    assert ("gpu.name", "gpu:2") not in found


def test_older_and_newer_words_of_the_log() -> None:
    older = (
        'source=memory.go:326 msg="offload to cuda" layers.requested=-1 layers.model=29 layers.offload=12 '
        'layers.split="" memory.available="[4.6 GiB]" memory.required.full="7.3 GiB"'
    )
    newer = (
        'msg="inference compute" id=GPU-1 filter_id="" library=CUDA compute=8.9 name=CUDA0 '
        'description="NVIDIA GeForce RTX 4070" libdirs=ollama,cuda_v12 driver=12.8 pci_id=0000:01:00.0 type=discrete '
        'total="12.0 GiB" available="10.7 GiB"'
    )
    found = values(scan(FORMAT, f"{older}\n{newer}"))
    assert found["model.offloaded_layers", "job:this"] == 12
    assert found["gpu.name", "gpu:0"] == "NVIDIA GeForce RTX 4070"


def test_a_server_without_gpu_names_none() -> None:
    text = 'msg="inference compute" id=0 library=cpu variant=avx2 driver=0.0 name="" total="62.7 GiB"'
    assert scan(FORMAT, text) == []
