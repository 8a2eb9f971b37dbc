"""Rule tests: what stands in a case, series over time, recorded facts, coverage, and the self-test."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwhy.engine.rule_cases import Case, cases_beside, rules_of, usual
from gpuwhy.engine.rule_coverage import coverage
from gpuwhy.engine.rule_selftest import selftest
from gpuwhy.engine.rule_tests import run
from gpuwhy.engine.series import SeriesError, expand
from gpuwhy.kb import fact_file
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.facts import HOST, Absent, Fact, Origin, OriginKind, gpu
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.schema import violations
from gpuwhy.kb.strict_yaml import loads
from tests.engine.rule_pack import write


def pack(folder: Path) -> KnowledgeBase:
    return load(folder, folder.parent / "cache")


def cases_of(kb: KnowledgeBase, folder: Path, rule_id: str) -> list[Case]:
    return cases_beside(kb, next(one for one in rules_of(kb) if one.id == rule_id), folder)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1+2x3", [1, 3, 5, 7]),
        ("10-2x2", [10, 8, 6]),
        ("5x2", [5, 5, 5]),
        ("7", [7]),
        ("1 _ 0.5", [1, None, 0.5]),
        ("_x3 -4", [None, None, None, -4]),
    ],
)
def test_series_are_read_as_prometheus_does(text: str, values: list[float | None]) -> None:
    assert expand(text) == values


@pytest.mark.parametrize("text", ["a", "1+2", "x3", "1x99999", "1x9999", "1,2", "__"])
def test_what_is_no_series_is_refused(text: str) -> None:
    with pytest.raises(SeriesError):
        expand(text)


def test_a_series_is_one_case_for_each_moment(tmp_path: Path) -> None:
    folder = write(tmp_path / "pack")
    (folder / "derivations/oom/slack.test.yaml").write_text(
        "cases:\n"
        "  - name: filling\n"
        "    facts: {oom.request_bytes: 100}\n"
        '    series: {oom.free_bytes: "50-25x1 _"}\n'
        '    expect: ["50 %", "25 %", underived]\n'
    )
    kb = pack(folder)
    found = cases_of(kb, folder, "derive.oom.slack")
    assert [(case.name, case.expect) for case in found] == [
        ("filling, 0", 0.5),
        ("filling, 1", 0.25),
        ("filling, 2", "underived"),
    ]
    assert [run(kb, case) for case in found] == [[], [], []]


def test_recorded_facts_are_the_ground_and_facts_come_on_top(tmp_path: Path) -> None:
    folder = write(tmp_path / "pack")
    origin = Origin(OriginKind.MEASURED, "nvml")
    recorded = [Fact("gpu.power_watts", 400.0, "watts", gpu(0), origin), Fact("not.known", 1.0, None, HOST, origin)]
    (folder / "snapshots").mkdir()
    text = fact_file.dump(recorded, [Absent("oom.free_bytes", HOST, "no permission", origin)])
    (folder / "snapshots/hot.json").write_text(text)
    (folder / "signatures/oom/pieces.test.yaml").write_text(
        "cases:\n"
        "  - name: hot\n"
        "    snapshot: snapshots/hot.json\n"
        "    facts: {oom.request_bytes: 100, oom.free_bytes: 200, job.on: true, job.kind: train, job.name: x}\n"
        "    expect: ruled-out\n"
    )
    kb = pack(folder)
    (case,) = cases_of(kb, folder, "sig.oom.pieces")
    assert run(kb, case) == []


@pytest.mark.parametrize(
    ("case", "place", "message"),
    [
        ("{name: a, facts: {no.fact: 1}, expect: silent}", (2, 32), "no fact `no.fact`"),
        ("{name: a, snapshot: nowhere.json, expect: silent}", (2, 25), "`nowhere.json` cannot be used"),
        ('{name: a, series: {oom.free_bytes: "1 2"}, expect: silent}', (2, 56), "a series of 2 needs a list of 2"),
        ('{name: a, series: {oom.free_bytes: "1 ?"}, expect: [silent]}', (2, 23), "`?` is no value"),
        ("{name: a, facts: {}, expect: [silent]}", (2, 34), "a list in `expect` belongs to `series`"),
    ],
)
def test_what_is_wrong_in_a_case_is_told_at_its_place(
    case: str, place: tuple[int, int], message: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "pack")
    (folder / "signatures/oom/pieces.test.yaml").write_text(f"cases:\n  - {case}\n")
    kb = pack(folder)
    with pytest.raises(KnowledgeError) as caught:
        cases_of(kb, folder, "sig.oom.pieces")
    (problem,) = caught.value.problems
    assert problem.message.startswith(message)
    assert (problem.location.line, problem.location.column) == place


def test_coverage_names_what_no_case_reaches(tmp_path: Path) -> None:
    folder = write(tmp_path / "pack")
    kb = pack(folder)
    rule = next(one for one in kb.signatures)
    found = coverage(kb, rule, cases_of(kb, folder, rule.id))
    # Six comparisons true and false, but a count above zero is never false; only free < request is seen false.
    assert (found.reached("condition"), found.total["condition"]) == (7, 11)
    # Ordering: free and request, slack, power, count. Nothing in the cases is near any of them.
    assert (found.reached("edge"), found.total["edge"]) == (0, 4)
    assert (found.reached("unknown"), found.total["unknown"]) == (1, 6)
    assert "job.on eq True: no case where it is false" in [gap.says for gap in found.gaps]


def test_a_reading_on_the_threshold_or_close_on_both_sides_tests_the_edge(tmp_path: Path) -> None:
    folder = write(tmp_path / "pack")
    case = "  - {{name: n{power}, facts: {{gpu.power_watts: {power}}}, expect: {expect}}}\n"
    path = folder / "signatures/oom/pieces.test.yaml"
    for readings, reached in (([300], True), ([299, 301], True), ([299], False), ([200, 400], False)):
        path.write_text("cases:\n" + "".join(case.format(power=power, expect="unknown") for power in readings))
        kb = pack(folder)
        found = coverage(kb, kb.signatures[0], cases_of(kb, folder, "sig.oom.pieces"))
        assert found.reached("edge") == int(reached)


def test_every_rule_does_what_it_is_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "pack")
    kb = pack(folder)
    assert selftest(kb, rules_of(kb), folder) == ([], 3)


def test_a_rule_that_no_case_shows_at_work_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "pack")
    path = folder / "signatures/oom/pieces.test.yaml"
    path.write_text(path.read_text().replace("expect: likely", "expect: silent"))
    kb = pack(folder)
    assert selftest(kb, rules_of(kb), folder) == (["sig.oom.pieces: none of its cases shows it at work"], 2)


@pytest.mark.parametrize(
    ("case", "fine"),
    [
        ("{name: a, expect: likely}", True),
        ("{name: a, expect: 3.5, facts: {'gpu:1 gpu.power_watts': 3}, missing: [gpu.power_watts], because: b}", True),
        ("{name: a, expect: [likely]}", False),
        ("{name: a}", False),
        ("{expect: likely}", False),
        ("{name: 1, expect: likely}", False),
        ("{name: a, expect: null}", False),
        ("{name: a, expect: likely, fact: {}}", False),
        ("{name: a, expect: likely, facts: {Gpu.power: 3}}", False),
        ("{name: a, expect: likely, facts: {gpu.power: [3]}}", False),
        ("{name: a, expect: likely, facts: []}", False),
        ("{name: a, expect: likely, missing: [power]}", False),
        ("{name: a, expect: likely, because: 3}", False),
        ("[a]", False),
    ],
)
def test_what_is_taken_at_a_glance_holds_to_the_schema(case: str, fine: bool) -> None:
    document = loads(f"cases:\n  - {case}\n".encode(), "x.test.yaml")
    assert usual(document.data) is fine
    assert not fine or violations(document, "test", rules_folder() / "schema" / "v1") == []


@pytest.mark.parametrize("text", ["cases: []", "cases: 3", "{}", "3", "cases: [{name: a, expect: likely}]\nmore: 1"])
def test_what_is_no_list_of_cases_is_left_to_the_schema(text: str) -> None:
    assert not usual(loads(text.encode(), "x.test.yaml").data)
