"""One piece of work on several GPU models."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.gpu_comparisons import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


@pytest.mark.parametrize(
    ("text", "lower", "higher", "gain"),
    [
        ("A100: 71 tokens/second\nH100: 66 tokens/second", "A100", "H100", 66 / 71),
        ("| GPU | time per request |\n|---|---|\n| RTX 3090 | 2.75 s |\n| A100-PCIE 40G | 2.67 s |", "RTX-3090", "A100",
         2.75 / 2.67),
        ("V100 box\n  epoch time: 212 s\n\nA100 box\n  epoch time: 240 s", "V100", "A100", 212 / 240),
        ("T4   12.5 ms\nA10   10.0 ms", "T4", "A10", 1.25),
        ("GPU      img/s\nT4       100\nV100     400\nA100     800", "T4", "V100", 4.0),
    ],
    ids=["rates", "Markdown", "headings", "times", "columns"],
)  # fmt: skip
def test_the_gain_of_the_larger_card(text: str, lower: str, higher: str, gain: float) -> None:
    found = facts(text)
    if "A100     800" in text:
        # of few models the pair with the smallest gain counts: V100 to A100 is 2, T4 to V100 is 4
        lower, higher, gain = "V100", "A100", 2.0
    assert (found["bench.lower_gpu"], found["bench.higher_gpu"]) == (lower, higher)
    assert found["bench.gpu_class_gain_ratio"] == pytest.approx(gain)
    assert claimed(scan(FORMAT, text)) == set()


def test_single_requests_are_known_by_their_words() -> None:
    assert facts("A100: 71 tokens/s\nH100: 66 tokens/s")["bench.single_requests"] is True
    assert facts("A100: 71 it/s\nH100: 66 it/s")["bench.single_requests"] is False
    assert facts("batch size 1\nA100: 71 it/s\nH100: 66 it/s")["bench.single_requests"] is True


def test_decode_and_prefill_that_disagree() -> None:
    found = facts(
        "instance        GPU     pp512    tg128\n"
        "aws g6.xlarge   L4      2500.0    50.0\n"
        "aws g6e.xlarge  L40S    9600.0   130.0\n"
        "gcp a2          A100    4800.0   150.0\n"
    )
    # the L40S decodes more slowly than the A100 (130 < 150) and is 9600 / 4800 = 2 times faster in prefill
    assert found["bench.prefill_ahead_ratio"] == 2.0
    assert (found["bench.prefill_ahead_gpu"], found["bench.decode_ahead_gpu"]) == ("L40S", "A100")
    assert found["bench.decode_model_count"] == 3


def test_decode_and_prefill_that_agree() -> None:
    # the T4 is slower in both: 1000 / 5000
    assert facts("GPU   pp512  tg128\nT4    1000   40\nA100  5000  150\n")["bench.prefill_ahead_ratio"] == 0.2


BLOCK = "Torch Version:  {}\nCUDNN Version:  {}\nGPU Device:  GeForce RTX {}\nBatch Size:  {}\nTime: 47.0\n"


@pytest.mark.parametrize(
    ("first", "second", "software", "settings"),
    [
        (("1.4.0", 7603, 2080, 64), ("1.8.0", 8005, 3090, 64), True, False),
        (("1.8.0", 8005, 2080, 64), ("1.8.0", 8005, 3090, 64), False, False),
        (("1.8.0", 8005, 2080, 32), ("1.8.0", 8005, 3090, 64), False, True),
    ],
    ids=["other software", "alike", "other batch"],
)
def test_what_differs_besides_the_card(
    first: tuple[str, int, int, int], second: tuple[str, int, int, int], software: bool, settings: bool
) -> None:
    found = facts(f"{BLOCK.format(*first)}---\n{BLOCK.format(*second)}")
    assert (found["bench.software_differs"], found["bench.settings_differ"]) == (software, settings)
    assert ("bench.compared_gpus" in found) is (software or settings)


def test_one_model_is_no_comparison() -> None:
    assert scan(FORMAT, "A100: 71 tokens/s\nA100: 66 tokens/s\ntorch 1.4.0 torch 2.1.0") == []


@pytest.mark.parametrize(
    ("text", "gain"),
    [
        ("Both A100 and H100 take 19 seconds for one prompt", 1.0),
        ("On the A6000, the response time was 24 seconds, while on the RTX 4090, it was 16 seconds.", 1.5),
        ("A V100 is far slower than the H100 (30 seconds per image on V100 vs 1 second on H100).", 30.0),
        ("+ The inference speed of A100 is `2.60`\n+ The inference speed of RTX 3090 is `2.73`", 2.73 / 2.60),
    ],
    ids=["both", "in one sentence", "the model behind the figure", "without a unit, nearly the same"],
)
def test_sentences(text: str, gain: float) -> None:
    assert facts(text)["bench.gpu_class_gain_ratio"] == pytest.approx(gain)


def test_figures_without_a_unit_that_differ_are_not_judged() -> None:
    assert "bench.gpu_class_gain_ratio" not in facts("the speed of A100 is 2.60\nthe speed of RTX 3090 is 4.00")


def test_figures_of_sentences_are_kept_as_printed() -> None:
    found = values(scan(FORMAT, "On the A6000 it was 24 seconds, while on the RTX 4090 it was 16 seconds"))
    assert [value for (fact, _), value in found.items() if fact == "reading.value"] == [24.0, 16.0]
