"""The column reading: null is unknown, types are strict, and what is derived shows wherever it is seen."""

from __future__ import annotations

from typing import Any

import pytest

from gpuwhy.engine.columns import add_derived, frame_of, key_of, statuses, truths
from gpuwhy.kb.conditions import All, Any_, Condition, Not
from gpuwhy.kb.facts import HOST, JOB, Entity, FactBase, gpu
from gpuwhy.kb.model import Exclusion, KnowledgeBase
from tests.engine.small import SPECS, base, derivation, fact, is_, knowledge, signature

polars = pytest.importorskip("polars")
pytest.importorskip("narwhals")

NINE = [(left, right) for left in (True, False, None) for right in (True, False, None)]


def frame(**columns: list[Any]) -> Any:
    """Columns by fact id, with `__` for the dot."""
    return polars.DataFrame({name.replace("__", "."): values for name, values in columns.items()})


def truth_of(tree: Condition, made: Any) -> list[bool | None]:
    found: list[bool | None] = truths(SPECS, made, {"it": tree})["it"].to_list()
    return found


def one_row(kb: KnowledgeBase, hosts: dict[str, FactBase], entity: Entity, host: str = "a") -> dict[str, Any]:
    rows = statuses(kb, add_derived(kb, frame_of(kb, hosts))).to_dicts()
    (row,) = [one for one in rows if (one["host"], one["entity"]) == (host, key_of(entity))]
    found: dict[str, Any] = row
    return found


def test_all_nine_pairs_of_and_or_and_not() -> None:
    made = frame(gpu__hot=[left for left, _ in NINE], job__flag=[right for _, right in NINE])
    left, right = is_("gpu.hot", "eq", True), is_("job.flag", "eq", True)
    assert truth_of(All((left, right)), made) == [True, False, None, False, False, False, None, False, None]
    assert truth_of(Any_((left, right)), made) == [True, True, True, True, False, None, True, None, None]
    assert truth_of(Not(left), made) == [False] * 3 + [True] * 3 + [None] * 3


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        ("lt", [True, False, False, None]),
        ("le", [True, True, False, None]),
        ("eq", [False, True, False, None]),
        ("ne", [True, False, True, None]),
        ("ge", [False, True, True, None]),
        ("gt", [False, False, True, None]),
    ],
)
def test_operators_on_numbers(op: str, wanted: list[bool | None]) -> None:
    assert truth_of(is_("gpu.watts", op, 2.0), frame(gpu__watts=[1.0, 2.0, 3.0, None])) == wanted
    against = frame(gpu__watts=[1.0, 2.0, 3.0, None], gpu__limit=[4.0] * 4)
    assert truth_of(is_("gpu.watts", op, than="gpu.limit", times=0.5), against) == wanted
    assert truth_of(is_("gpu.watts", op, than="gpu.limit"), against.drop("gpu.limit")) == [None] * 4


def test_words() -> None:
    made = frame(job__mode=["train", "serve", None])
    assert truth_of(is_("job.mode", "in", ("train", "other")), made) == [True, False, None]
    assert truth_of(is_("job.mode", "ne", "train"), made) == [False, True, None]
    assert truth_of(is_("job.mode", "known"), made) == [True, True, None]
    assert truth_of(
        is_("job.mode", "eq", than="host.word"), made.with_columns(**{"host.word": polars.lit("serve")})
    ) == [
        False,
        True,
        None,
    ]


def test_a_number_never_equals_a_word_or_a_boolean() -> None:
    made = frame(job__share=[1.0, None], job__flag=[True, True])
    assert truth_of(is_("job.share", "eq", True), made) == [False, None]
    assert truth_of(is_("job.share", "in", ("1", True)), made) == [False, None]
    assert truth_of(is_("job.share", "ne", than="job.flag"), made) == [True, None]


def test_a_fact_without_a_column_is_unknown() -> None:
    assert truth_of(is_("gpu.watts", "gt", 1.0), frame(host__cores=[1])) == [None]


def test_two_facts_without_columns_are_unknown_in_every_row() -> None:
    made = polars.DataFrame({"host": ["a", "a", "b"]})
    assert truth_of(is_("job.share", "eq", than="max(job.total)"), made) == [None] * 3


def test_a_reading_that_is_no_number_is_unknown() -> None:
    made = frame(gpu__watts=[float("nan"), float("inf"), 5.0])
    assert truth_of(is_("gpu.watts", "gt", 1.0), made) == [None, None, True]


@pytest.mark.parametrize("column", [{"job__flag": [1, 0]}, {"job__share": ["0.5", "1"]}, {"job__mode": [1.0, 2.0]}])
def test_a_column_of_a_wrong_type_is_refused(column: dict[str, list[Any]]) -> None:
    with pytest.raises(TypeError, match="column job"):
        truths(SPECS, frame(**column), {})


def test_only_numbers_have_an_order() -> None:
    for tree in (is_("job.mode", "gt", "a"), is_("job.flag", "lt", than="job.share")):
        with pytest.raises(TypeError, match="order"):
            truth_of(tree, frame(job__flag=[True]))


def test_whole_numbers_and_a_column_of_nothing_count_as_numbers() -> None:
    made = polars.DataFrame({"host.cores": [4, None], "job.share": [None, None]})
    assert truth_of(is_("host.cores", "ge", 4), made) == [True, None]
    assert truth_of(is_("job.share", "ge", 4), made) == [None, None]


def test_aggregates_are_over_the_rows_of_a_host_and_only_over_readings() -> None:
    made = frame(host=["a", "a", "a", "b"], gpu__watts=[1.0, 5.0, None, None])
    found = truths(
        SPECS,
        made,
        {
            "max": is_("max(gpu.watts)", "eq", 5.0),
            "min": is_("min(gpu.watts)", "eq", 1.0),
            "mean": is_("mean(gpu.watts)", "eq", 3.0),
            "median": is_("median(gpu.watts)", "eq", 3.0),
            "sum": is_("sum(gpu.watts)", "eq", 6.0),
            "count": is_("count(gpu.watts)", "eq", 2.0),
            "words": is_("count(job.mode)", "ge", 0.0),
        },
    )
    for name in ("max", "min", "mean", "median", "sum", "count"):
        assert found[name].to_list() == [True, True, True, None]
    assert found["words"].to_list() == [None] * 4


def test_an_aggregate_may_come_as_a_column() -> None:
    made = polars.DataFrame({"host": ["a"], "gpu.watts": [1.0], "max(gpu.watts)": [9.0]})
    assert truth_of(is_("max(gpu.watts)", "eq", 9.0), made) == [True]


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("gpu.watts + gpu.limit * 2 - 1", [204.0, None]),  # 5 + 100 * 2 - 1
        ("gpu.watts / (gpu.limit - 100)", [None, None]),
        ("0 * (gpu.watts / 0)", [None, None]),
        ("1000000 * gpu.limit / gpu.watts", [2e7, None]),
        ("max(0, gpu.limit)", [100.0, None]),
        ("min(gpu.watts, 7, gpu.limit)", [5.0, None]),
        ("abs(-gpu.limit)", [100.0, None]),
        ("ceil(gpu.limit / 3) + floor(gpu.limit / 3)", [67.0, None]),  # 34 + 33
        ("3 * 4", [12.0, 12.0]),
    ],
)
def test_formulas(formula: str, wanted: list[float | None]) -> None:
    kb = knowledge([derivation("gpu.spare", "gpu", formula)])
    made = add_derived(kb, frame(gpu__watts=[5.0, 5.0], gpu__limit=[100.0, None]))
    assert made["gpu.spare"].to_list() == wanted


def test_a_result_that_is_not_finite_is_unknown() -> None:
    kb = knowledge([derivation("gpu.spare", "gpu", "1 / (gpu.watts * gpu.watts)")])
    assert add_derived(kb, frame(gpu__watts=[1e200, 1e-200, 2.0]))["gpu.spare"].to_list() == [None, None, 0.25]


def test_whole_numbers_are_rounded_to_the_even_one() -> None:
    kb = knowledge([derivation("job.whole", "job", "job.total")])
    made = add_derived(kb, frame(job__total=[0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, 2.6]))
    assert made["job.whole"].to_list() == [0.0, 2.0, 2.0, 0.0, -2.0, 2.0, 3.0]


def test_a_value_follows_its_condition_and_a_reading_stays() -> None:
    kb = knowledge([derivation("job.mode", "job", when=is_("job.flag", "eq", True), value="train", otherwise="serve")])
    made = add_derived(kb, frame(job__flag=[True, False, None, True], job__mode=[None, None, None, "serve"]))
    assert made["job.mode"].to_list() == ["train", "serve", None, "serve"]


def test_what_a_gpu_derives_for_the_job_shows_in_every_row_that_sees_the_job() -> None:
    kb = knowledge(
        [derivation("job.total", "gpu", "gpu.watts * 2")],
        [signature("sig.total", "gpu", is_("job.total", "eq", 10.0))],
    )
    hosts = {
        "a": base(fact("gpu.watts", 5.0, gpu(0)), fact("gpu.watts", 7.0, gpu(1))),
        "b": base(fact("host.cores", 1)),
    }
    assert one_row(kb, hosts, JOB)["job.total"] == 10.0  # of the first GPU
    assert one_row(kb, hosts, gpu(1))["sig.total"] == "likely"
    assert one_row(kb, hosts, JOB)["sig.total"] is None  # a rule about GPUs
    assert one_row(kb, hosts, JOB, "b")["job.total"] is None


def test_a_job_derives_nothing_about_its_only_gpu() -> None:
    hosts = {"a": base(fact("gpu.watts", 5.0, gpu(0)))}
    assert one_row(knowledge([derivation("gpu.spare", "job", "gpu.watts")]), hosts, gpu(0))["gpu.spare"] is None


def test_the_only_gpu_is_seen_from_the_job_and_two_are_not() -> None:
    kb = knowledge(
        [derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts")],
        [signature("sig.spare", "job", is_("gpu.spare", "gt", 1.0))],
    )
    facts = [fact("gpu.limit", 7.0, gpu(0)), fact("gpu.watts", 5.0, gpu(0))]
    assert one_row(kb, {"a": base(*facts)}, JOB)["sig.spare"] == "likely"
    assert one_row(kb, {"a": base(*facts, fact("gpu.hot", True, gpu(1)))}, JOB)["sig.spare"] == "possible"
    assert one_row(kb, {"a": base(*facts)}, HOST)["gpu.spare"] == 2.0


@pytest.mark.parametrize(
    ("share", "flag", "mode", "wanted"),
    [
        (0.9, True, "train", "confirmed"),
        (0.9, None, "train", "likely"),  # what would rule it out is unknown
        (0.9, False, "train", "ruled out"),
        (0.9, True, None, "likely"),  # what confirms it is unknown
        (0.1, True, "train", "ruled out"),
        (None, True, "train", "possible"),
        (None, False, "train", "ruled out"),
    ],
)
def test_statuses(share: float | None, flag: bool | None, mode: str | None, wanted: str) -> None:
    kb = knowledge(
        signatures=[
            signature(
                "sig.one",
                "job",
                is_("job.share", "gt", 0.5),
                given=is_("job.whole", "known"),
                confirms=is_("job.mode", "eq", "train"),
                excludes=(Exclusion(is_("job.flag", "eq", False), "no"),),
            ),
            signature("sig.old", "job", is_("job.share", "gt", 0.5), status="deprecated"),
        ]
    )
    schema = {
        "job.share": polars.Float64,
        "job.flag": polars.Boolean,
        "job.mode": polars.String,
        "job.whole": polars.Int64,
    }
    row = {"job.share": [share] * 2, "job.flag": [flag] * 2, "job.mode": [mode] * 2, "job.whole": [1, None]}
    made = statuses(kb, polars.DataFrame(row, schema=schema))
    assert made["sig.one"].to_list() == [wanted, None]
    assert "sig.old" not in made.columns


def test_lazy_frames_stay_lazy_and_say_the_same() -> None:
    kb = knowledge(
        [derivation("gpu.spare", "gpu", "max_over(gpu.limit) - gpu.watts")],
        [signature("sig.spare", "gpu", is_("gpu.spare", "gt", than="mean(gpu.watts)", times=0.1))],
    )
    hosts = {"a": base(*(fact("gpu.watts", 5.0 * n, gpu(n)) for n in range(3)), fact("gpu.limit", 9.0, gpu(1)))}
    eager = frame_of(kb, hosts)
    lazy = statuses(kb, add_derived(kb, eager.lazy()))
    assert isinstance(lazy, polars.LazyFrame)
    assert lazy.collect().sort("kind", "entity").equals(statuses(kb, add_derived(kb, eager)).sort("kind", "entity"))
