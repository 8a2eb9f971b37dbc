"""Two moments of one GPU in one paste: one of them is used as a whole, and the other is told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.gauges import used_moment
from gpuwhy.probes.artefacts.read import Gathered, gather

MIB = 1024**2
BEFORE, DURING = (0, 610, 61), (97, 21500, 148)
"""Utilisation in percent, memory in MiB, watts: an idle card with a desktop on it, and one at work."""

ROW = """\
|   0  NVIDIA A10                     On  | 00000000:00:07.0 Off |                    0 |
|  0%   41C    P0           {2:>4}W / 150W | {1:>6}MiB / 23028MiB |    {0:>3}%      Default |
|                                         |                      |                  N/A |
"""
RULER = "+-----------------------------------------+----------------------+----------------------+\n"
BANNER = "| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |\n"


def table(moment: tuple[int, int, int]) -> str:
    return RULER + BANNER + RULER + ROW.format(*moment) + RULER


def gpustat(moment: tuple[int, int, int]) -> str:
    share, used, _ = moment
    return f"[0] NVIDIA A10       | 41'C, {share:>3} % | {used:>5} / 23028 MB | ana({used - 10}M)\n"


def read(text: str) -> Gathered:
    return gather([("paste", text.encode())], load().facts)


def reading(gathered: Gathered) -> tuple[object, ...]:
    """Utilisation, memory, watts if they are told, and how many samples they stand for."""
    found = {fact.id: fact.value for fact in gathered.facts if fact.entity.kind == "gpu"}
    names = ("gpu.utilization_share", "gpu.memory_used_bytes", "gpu.power_watts", "gpu.sample_count")
    return tuple(found.get(name) for name in names)


@pytest.mark.parametrize("order", [(BEFORE, DURING), (DURING, BEFORE)], ids=["before first", "during first"])
@pytest.mark.parametrize("tool", [table, gpustat])
def test_the_moment_at_work_is_used_as_a_whole(tool: object, order: Sequence[tuple[int, int, int]]) -> None:
    assert callable(tool)
    gathered = read("before and after:\n" + "\n".join(tool(moment) for moment in order))
    watts = 148 if tool is table else None
    assert reading(gathered) == (0.97, 21500 * MIB, watts, 1)
    assert not any("_min_" in fact.id or "_max_share" in fact.id for fact in gathered.facts)
    assert FactBase.of(gathered.facts).contradictions == ()


def test_what_was_set_aside_is_told_with_both_places() -> None:
    gathered = read(table(BEFORE) + table(DURING))
    (aside,) = [one for one in gathered.not_understood if "set aside" in one.reason]
    # a table has seven lines, and the load of the card stands on the fifth: 7 + 5 = 12
    assert (aside.first, aside.reason) == (
        5,
        "this moment of gpu:0 (utilisation 0 %) is set aside for the one at line 12 (utilisation 97 %)",
    )


def test_processes_of_the_other_moment_are_not_those_of_the_used_one() -> None:
    rows = "| Processes:\n|=====|\n|    0   N/A  N/A   {pid:>6}      C   {name:34}  {used:>5}MiB |\n" + RULER
    before = table(BEFORE) + rows.format(pid=11, name="[Not Found]", used=600)
    gathered = read(before + table(DURING) + rows.format(pid=4711, name="python", used=21400))
    found = {(fact.entity.name, fact.id): fact.value for fact in gathered.facts}
    assert found["0", "gpu.processes_memory_bytes"] == 21400 * MIB
    assert found["4711", "process.name"] == "python"
    assert ("11", "process.gpu_memory_bytes") not in found
    assert ("0", "gpu.nameless_processes_memory_bytes") not in found


def test_of_two_moments_at_work_the_later_is_used() -> None:
    assert reading(read(table((97, 12000, 140)) + table((60, 21500, 120)))) == (0.60, 21500 * MIB, 120, 1)


def test_of_two_idle_moments_the_later_is_used() -> None:
    assert reading(read(table((0, 12000, 40)) + table((0, 300, 20)))) == (0.0, 300 * MIB, 20, 1)


def test_one_table_and_three_are_as_before() -> None:
    assert reading(read(table(DURING))) == (0.97, 21500 * MIB, 148, 1)
    three = read(table(BEFORE) + table(DURING) + table((90, 21000, 140)))
    assert reading(three) == (0.90, 21000 * MIB, 140, 3)
    assert [one for one in three.not_understood if "set aside" in one.reason] == []


@pytest.mark.parametrize(
    ("work", "used"),
    [
        ({1: 0.0, 2: 0.97}, 2),
        ({1: 0.97, 2: 0.02}, 1),
        ({1: 0.9, 2: 0.45}, 2),  # exactly half of the higher
        ({1: 0.9, 2: 0.44}, 1),
        ({1: 0.0, 2: 0.0}, 2),
        ({1: 0.9}, 2),  # of one it is not known
        ({}, 2),
    ],
)
def test_at_work_is_half_of_the_higher_utilisation(work: dict[int, float], used: int) -> None:
    assert used_moment([1, 2], work) == used


def files(*moments: tuple[str, str]) -> Gathered:
    return gather([(name, text.encode()) for name, text in moments], load().facts)


@pytest.mark.parametrize("order", [(BEFORE, DURING), (DURING, BEFORE)], ids=["before first", "during first"])
def test_of_two_files_the_moment_at_work_is_used_as_a_whole(order: Sequence[tuple[int, int, int]]) -> None:
    gathered = files(*((f"{place}.txt", table(moment)) for place, moment in enumerate(order)))
    assert reading(gathered)[:3] == (0.97, 21500 * MIB, 148)
    assert FactBase.of(gathered.facts).contradictions == ()
    used, aside = (str(order.index(one)) for one in (DURING, BEFORE))
    (told,) = [one for one in gathered.not_understood if "set aside" in one.reason]
    assert (told.artefact, told.first) == (f"{aside}.txt", 5)
    assert (
        told.reason == f"this moment of gpu:0 (utilisation 0 %) is set aside for that of {used}.txt (utilisation 97 %)"
    )


def test_what_only_the_other_file_shows_is_kept() -> None:
    gathered = files(("stat.txt", gpustat(DURING)), ("table.txt", table(BEFORE)))
    assert reading(gathered)[:3] == (0.97, 21500 * MIB, 61)  # gpustat shows no power: the table's is all there is


def test_processes_are_those_of_the_used_file() -> None:
    rows = "| Processes:\n|=====|\n|    0   N/A  N/A   {pid:>6}      C   {name:34}  {used:>5}MiB |\n" + RULER
    before = table(BEFORE) + rows.format(pid=11, name="idle", used=600)
    during = table(DURING) + rows.format(pid=4711, name="python", used=21400)
    gathered = files(("before.txt", before), ("during.txt", during))
    assert {fact.entity.name for fact in gathered.facts if fact.entity.kind == "process"} == {"4711"}
    assert {fact.value for fact in gathered.facts if fact.id == "gpu.processes_memory_bytes"} == {21400 * MIB}


def test_the_printed_time_says_which_is_later() -> None:
    late, early = (
        f"Mon Nov 30 12:00:05 2026\n{table((60, 21500, 120))}",
        f"Mon Nov 30 11:00:05 2026\n{table((97, 9, 9))}",
    )
    gathered = files(("b.txt", late), ("a.txt", early))
    assert reading(gathered)[:3] == (0.60, 21500 * MIB, 120)


def test_extremes_of_a_monitor_go_with_its_median() -> None:
    dmon = "# gpu   pwr     sm\n# Idx     W      %\n    0   140     10\n    0   150     20\n    0   160     30\n"
    gathered = files(("dmon.txt", dmon), ("table.txt", table((98, 21500, 148))))
    assert {fact.value for fact in gathered.facts if fact.id == "gpu.utilization_share"} == {0.98}
    assert not [fact for fact in gathered.facts if fact.id in ("gpu.utilization_max_share", "gpu.power_min_watts")]


def test_files_that_agree_or_tell_of_different_gpus_are_both_used() -> None:
    other = table(DURING).replace("|   0  NVIDIA", "|   1  NVIDIA")
    for second in (table(DURING), other):
        gathered = files(("a.txt", table(DURING)), ("b.txt", second))
        assert not [one for one in gathered.not_understood if "set aside" in one.reason]
