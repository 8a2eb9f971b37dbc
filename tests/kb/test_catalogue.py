"""The catalogue: a product name finds its card however it is written, and never more than the name tells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuwhy.kb.catalogue import Catalogue, Known, normal, typed
from gpuwhy.kb.load import check_all, load
from tests.kb.pack import write

MIB = 1024**2


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load().catalogue


def values(known: Sequence[Known]) -> dict[str, object]:
    return {one.fact: one.value for one in known}


@pytest.mark.parametrize(
    ("name", "capability", "memory"),
    [
        ("NVIDIA A100-SXM4-80GB", "8.0", "81920 MiB"),
        ("A100-SXM4-80GB", "8.0", "81920 MiB"),
        ("NVIDIA A100-SXM4-80G...", "8.0", "81920 MiB"),
        ("Tesla V100-SXM2-16GB", "7.0", "16384 MiB"),
        ("NVIDIA Tesla T4", "7.5", "15360 MiB"),
        ("NVIDIA A10", "8.6", "23028 MiB"),
        ("NVIDIA H100 80GB HBM3", "9.0", "81559 MiB"),
        ("GeForce RTX 3090", "8.6", "24576 MiB"),
        ("RTX 3090", "8.6", "24576 MiB"),
    ],
)
def test_a_name_finds_its_card(catalogue: Catalogue, name: str, capability: str, memory: str) -> None:
    found = values(catalogue.of_gpu(name))
    assert found["gpu.compute_capability"] == capability
    assert found["gpu.expected_memory_bytes"] == memory


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM...", "NVIDIA A100", "A100-SXM4…"])
def test_a_name_that_leaves_the_variant_open_gives_only_what_all_have(catalogue: Catalogue, name: str) -> None:
    found = values(catalogue.of_gpu(name))
    assert found["gpu.compute_capability"] == "8.0"
    assert "gpu.expected_memory_bytes" not in found
    assert "gpu.expected_memory_bandwidth_bytes_per_second" not in found


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA A10-8Q",
        "GRID T4-8Q",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "GRID A100-10C",
        "NVIDIA GeForce RTX 3080 Laptop GPU",
    ],
)
def test_a_slice_of_a_card_is_known_by_its_chip_only(catalogue: Catalogue, name: str) -> None:
    found = values(catalogue.of_gpu(name))
    assert "gpu.compute_capability" in found
    assert not [fact for fact in found if fact.startswith("gpu.expected_")]


@pytest.mark.parametrize("name", ["Graphics Device", "NVIDIA", "...", "", "NVIDIA A1", "AMD Instinct MI300X"])
def test_an_unknown_name_gives_nothing(catalogue: Catalogue, name: str) -> None:
    assert catalogue.of_gpu(name) == []


def test_a10_is_not_the_beginning_of_a100(catalogue: Catalogue) -> None:
    assert {one.entry for one in catalogue.of_gpu("NVIDIA A10")} == {"NVIDIA A10"}


def test_machine_types_of_one_family_share_their_link(catalogue: Catalogue) -> None:
    assert values(catalogue.of_instance("g6e.12xlarge"))["gpu.expected_link_width"] == 8
    assert values(catalogue.of_instance("ecs.gn7i-c8g1.2xlarge"))["gpu.expected_link_width"] == 16
    assert values(catalogue.of_instance("standard_nc24ads_a100_v4"))["gpu.expected_link_generation"] == 4
    assert catalogue.of_instance("m5.large") == []


def test_brand_words_and_separators_do_not_matter() -> None:
    assert normal("NVIDIA GeForce RTX 3090") == normal("rtx_3090") == "rtx 3090"
    assert normal("NVIDIA") == "nvidia"


def test_a_value_comes_in_the_unit_of_its_fact() -> None:
    assert typed("80 MiB", "bytes", "number") == 80 * MIB
    assert typed(16, None, "integer") == 16
    assert typed("8.0", None, "text") == "8.0"
    with pytest.raises(ValueError, match="no quantity in bytes"):
        typed("80 apples", "bytes", "number")


SPOILED = """\
chips:
  - {id: one, values: {gpu.power_watts: {value: 300, source: guide}}}
gpus:
  - names: [NVIDIA X1, X1]
    chip: two
    values:
      gpu.nothing: {value: 1, source: guide}
      gpu.power_watts: {value: warm, source: elsewhere}
"""


def test_everything_wrong_in_a_catalogue_file_is_told_at_once(tmp_path: Path) -> None:
    pack = write(tmp_path / "pack")
    (pack / "catalogue").mkdir()
    (pack / "catalogue" / "gpus.yaml").write_text(SPOILED)
    told = {problem.message for problem in check_all(pack)}
    assert told == {
        "no chip `two`",
        "`x1` stands in the catalogue twice",
        "no fact `gpu.nothing`",
        "'warm' is no quantity in watts",
        "no reference `elsewhere`",
    }
