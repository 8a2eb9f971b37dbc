"""No value and no text of the pack says what a claim says that is called wrong; every wrong claim is looked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import yaml

from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.denials import contradictions, spoken
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.overlay import merged

VERDICTS_DIGEST = "b8a83f49fba228b4de700abf1e42f6bacc5fdc0d64f414cac29b4f44fd220538"
"""SHA-256 of the lines `id verdict` in order of the id, as the fact check of the articles gave them."""


@cache
def catalogue() -> Catalogue:
    return load().catalogue


def wrong() -> list[str]:
    return [one["id"] for one in catalogue().sections["claims"] if one["verdict"] == "wrong"]


def test_the_verdicts_are_those_of_the_fact_check() -> None:
    lines = sorted(f"{one['id']} {one['verdict']}" for one in catalogue().sections["claims"])
    assert len(lines) == 226
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == VERDICTS_DIGEST


def test_each_of_the_75_wrong_claims_is_looked_for_and_no_other() -> None:
    assert len(wrong()) == 75
    assert {one["claim"] for one in catalogue().sections["denials"]} == set(wrong())


def test_no_value_of_the_catalogue_is_one_that_is_called_wrong() -> None:
    assert contradictions(catalogue()) == []


def texts() -> Iterator[tuple[str, str]]:
    folder = rules_folder()
    for path in sorted(folder.rglob("*.yaml")):
        name = path.relative_to(folder).as_posix()
        if name not in ("catalogue/claims.yaml", "catalogue/denials.yaml"):
            yield from ((name, text) for text in strings(yaml.safe_load(path.read_text(encoding="utf-8"))))


def strings(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    for one in node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ():
        yield from strings(one)


def test_no_text_of_the_rules_says_what_is_called_wrong() -> None:
    found = list(texts())
    assert len(found) > 5000
    assert spoken(catalogue(), found) == []


def denials() -> list[Any]:
    return [
        pytest.param(one, id=f"{index}-{one['claim']}")
        for index, one in enumerate(load().catalogue.sections["denials"])
    ]


def wronged(denial: Mapping[str, Any]) -> Catalogue:
    """The catalogue with the one value that a denial denies."""
    sections = {name: catalogue().sections[name] for name in catalogue().sections}
    sections["denials"] = (denial,)
    return Catalogue(_changed(denial, sections))


def _changed(denial: Mapping[str, Any], sections: dict[str, Any]) -> dict[str, Any]:
    if "cheaper" in denial or "ratio" in denial:
        first, second = denial.get("cheaper") or denial["ratio"]
        share = denial.get("value", 0.5)
        sheet = {"provider": "alicloud", "mode": "payg", "currency": "CNY", "date": "2030-01-01", "source": "x"}
        sections["prices"] = (sheet | {"per_hour": {first: {"r": 10 * share}, second: {"r": 10}}},)
    elif "of" in denial:
        values = {denial["fact"]: {"value": denial["value"], "source": "x"}} if "value" in denial else {}
        row = {"of": denial["of"], "from": denial["version"], "below": "99", "values": values}
        sections["versions"] = (row,)
    elif "fact" in denial:
        number = denial.get("value", "1000 TFLOPS" if "flops" in denial["fact"] else "100000 GB/s")
        others = [denial[key] for key in ("above", "of_gpu") if key in denial]
        if "times" in denial:
            number = f"{denial['times'] * 10} TFLOPS"
        unit = "TFLOPS" if "flops" in denial["fact"] else "GB/s"
        cards = [(denial["gpu"], number), *((other, f"10 {unit}") for other in others)]
        sections["chips"] = ({"id": "x", "values": {}},)
        sections["gpus"] = tuple(
            {"names": [name], "chip": "x", "values": {denial["fact"]: {"value": value, "source": "x"}}}
            for name, value in cards
        )
    elif "machine" in denial:
        sections["machines"] = ({"name": denial["machine"]} | denial.get("has", {}),)
    else:
        gpu = denial.get("gpu", "x").replace("\\b", "").replace("\\S*", "-SXM4-")
        family = {"name": denial.get("family", "x"), "provider": "alicloud", "gpu": gpu, **denial.get("has", {})}
        sections["families"] = (family | ({denial["holds"]: 1} if "holds" in denial else {}),)
    return sections


@pytest.mark.parametrize("denial", [one for one in denials() if "says" not in one.values[0]])
def test_a_value_that_is_denied_is_found(denial: Mapping[str, Any]) -> None:
    assert [one.claim for one in contradictions(wronged(denial))] == [denial["claim"]]


SAID = {
    "s1-a100-tf32-312": "TF32 reaches 312 TFLOPS",
    "s1-nvlink-aggregates": "NVLink pools memory",
    "s1-2week-monthly": "a subscription is cheaper",
    "s1-qwen72-140": "in full precision it needs 144.69 GB",
    "s1-amp-halves": "mixed precision halves the memory",
    "s1-qwq32": "an A10 is nearly as fast as an A100",
    "s2-memory-bound-p100": "memory-bound work is better on a P100",
    "s2-a10-2nd-gen-tc": "the A10 has second-generation tensor cores",
    "s2-hw-merges-kernels": "the scheduler merges small kernels",
    "s2-dmon-u": "nvidia-smi dmon -s u -d 1 shows PCIe traffic",
    "s2-sparsity-any": "the card skips zeros",
    "s2-virtual-vram": "switch on virtual VRAM",
    "s2-4to2-name": "4:2 sparsity",
    "s2-newer-driver-breaks": "a newer driver surely breaks it",
    "s2-rollback-only": "Roll back to the image",
    "s2-pt1121-wheels": "1.12.1 comes for two CUDA versions only",
    "s2-build-from-source": "with 11.4 you build PyTorch yourself",
    "s2-bandwidthtest": "bandwidthTest | grep Bandwidth",
    "s2-300000": "300000 MB/s is healthy",
    "s2-mm-cudnn": "a torch.mm proves that cuDNN works",
    "s2-graphs-ampere": "CUDA Graphs came with Ampere",
    "s2-graphs-code": "g = torch.cuda.CUDAGraph(); replay",
    "s2-mig-commands": "on an A10: nvidia-smi -mig 1",
    "s2-mig-device-id": "gpu:0/gpu:0/1",
    "s2-used-memory": "nvidia-smi --query-gpu=used.memory",
    "s2-52-frag-driver": "newer drivers always fragment memory",
    "s2-52-remedies": "fragmentation is cured by checkpointing",
    "s2-52-ckpt-code": "x = checkpoint(self.layer2, x)",
    "empty-cache": "empty_cache() in each epoch",
    "s2-53-idle-unload": "Triton unloads idle models",
    "s2-53-explicit": "model_control_mode explicit cures it",
    "s2-53-strict": "strict_model_config: false",
    "s2-53-min-cc": "min_compute_capability makes optimal kernels",
    "s3-dl-ami": "take the Deep Learning AMI",
}


@pytest.mark.parametrize("claim", sorted(SAID))
def test_a_text_that_says_it_is_found(claim: str) -> None:
    assert [one.claim for one in spoken(catalogue(), [("x", SAID[claim])])] == [claim]


def test_every_phrase_is_tried() -> None:
    assert {one["claim"] for one in catalogue().sections["denials"] if "says" in one} == set(SAID)


def test_an_overlay_that_says_it_is_found() -> None:
    family = {"name": "gn7i", "provider": "alicloud", "gpu": "NVIDIA A100-SXM4-80GB", "status": "listed", "rdma": False}
    found = contradictions(merged(catalogue(), [{"families": [family | {"source": "x"}]}]))
    assert {one.claim for one in found} == {"s3-sum-gn7i"}
