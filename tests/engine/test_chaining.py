"""The chaining reading: what follows from facts told one by one, whatever their order, and what changes its mind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

import pytest

from gpuwhy.engine import chaining_rules, durable_adapter
from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.durable_adapter import available
from gpuwhy.engine.model import Truth
from gpuwhy.engine.run import LiveDiagnosis, diagnose_with
from gpuwhy.kb.conditions import All, Any_, Condition, Not
from gpuwhy.kb.facts import JOB, Absent, Fact, FactBase, Origin, OriginKind, Value, gpu
from gpuwhy.kb.model import Exclusion, KnowledgeBase
from tests.engine.small import SPECS, base, derivation, fact, is_, knowledge, signature

pytestmark = pytest.mark.skipif(available() is not None, reason=str(available()))
if available() is None:
    from gpuwhy.engine.chaining import Session, chain
    from gpuwhy.engine.chaining_rules import RuleBook


@contextmanager
def session(kb: KnowledgeBase) -> Iterator[Session]:
    book = RuleBook(kb)
    yield Session(book)
    book.close()


def values(made: Session) -> dict[str, Value]:
    return {f"{name} {entity.path}": one.fact.value for (name, entity), one in made.derived.items()}


def test_a_fact_makes_a_condition_true_or_false_and_unknown_until_then() -> None:
    kb = knowledge(signatures=[signature("sig.share", "job", is_("job.share", "gt", 0.2))])
    with session(kb) as made:
        assert made.truth("sig.share", "requires", JOB) is Truth.UNKNOWN
        made.tell([fact("job.share", 0.2)])
        assert made.truth("sig.share", "requires", JOB) is Truth.FALSE
        made.tell([fact("job.share", 0.21)])
        assert made.truth("sig.share", "requires", JOB) is Truth.TRUE


def test_an_unknown_part_decides_only_what_it_must() -> None:
    yes, no, unknown = is_("job.share", "gt", 0.0), is_("job.share", "lt", 0.0), is_("job.flag", "eq", True)
    wanted: dict[str, tuple[Condition, Truth]] = {
        "all.tu": (All((yes, unknown)), Truth.UNKNOWN),
        "all.fu": (All((no, unknown)), Truth.FALSE),
        "all.tt": (All((yes, Not(no))), Truth.TRUE),
        "any.tu": (Any_((yes, unknown)), Truth.TRUE),
        "any.fu": (Any_((no, unknown)), Truth.UNKNOWN),
        "any.ff": (Any_((no, Not(yes))), Truth.FALSE),
        "not.u": (Not(unknown), Truth.UNKNOWN),
        "not.all": (Not(All((yes, Any_((no, yes))))), Truth.FALSE),
        "known.u": (Not(is_("job.flag", "known")), Truth.UNKNOWN),
    }
    kb = knowledge(signatures=[signature(name, "job", tree) for name, (tree, _) in wanted.items()])
    with session(kb) as made:
        made.tell([fact("job.share", 0.5)])
        assert {name: made.truth(name, "requires", JOB) for name in wanted} == {
            name: truth for name, (_, truth) in wanted.items()
        }


def test_derived_facts_chain_to_any_depth() -> None:
    steps = [
        derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts"),
        derivation("job.total", "job", "sum_over(gpu.spare)"),
        derivation("job.share", "job", "job.total / 1000"),
        derivation("job.flag", "job", when=is_("job.share", "ge", 0.5), value=True, otherwise=False),
        derivation("job.mode", "job", when=Not(is_("job.flag", "eq", True)), value="serve", otherwise="train"),
    ]
    with session(knowledge(steps)) as made:
        for number in (0, 1):
            made.tell([fact("gpu.watts", 400.0 - 100 * number, gpu(number)), fact("gpu.limit", 700.0, gpu(number))])
        # 700 - 400 = 300 and 700 - 300 = 400; together 700, of 1000 that is 0.7
        assert values(made) == {
            "gpu.spare gpu:0": 300.0,
            "gpu.spare gpu:1": 400.0,
            "job.total job:this": 700.0,
            "job.share job:this": 0.7,
            "job.flag job:this": True,
            "job.mode job:this": "train",
        }


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_order_in_which_facts_come_does_not_matter(order: tuple[int, ...]) -> None:
    facts = [
        fact("gpu.watts", 10.0, gpu(0)),
        fact("gpu.watts", 30.0, gpu(1)),
        fact("gpu.spare", 7.0, gpu(0)),
        fact("gpu.limit", 50.0, gpu(1)),
    ]
    kb = knowledge(
        [
            derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts"),
            derivation("job.total", "job", "mean_over(gpu.watts) + max_over(gpu.spare)"),
        ]
    )
    with session(kb) as made:
        for at in order:
            made.tell([facts[at]])
        # the mean of 10 and 30 is 20; the spare readings are 7 (read) and 50 - 30 = 20
        assert values(made) == {"gpu.spare gpu:1": 20.0, "job.total job:this": 40.0}


def test_a_corrected_answer_takes_back_what_followed_from_the_first() -> None:
    steps = [derivation("job.flag", "job", when=is_("job.share", "gt", 0.5), value=True)]
    with session(knowledge(steps)) as made:
        made.tell([fact("job.share", 0.9)])
        assert values(made) == {"job.flag job:this": True}
        made.tell([fact("job.share", 0.1)])
        assert values(made) == {}


def test_a_reading_replaces_a_computed_value() -> None:
    steps = [derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts"), derivation("job.total", "job", "gpu.spare * 2")]
    with session(knowledge(steps)) as made:
        made.tell([fact("gpu.limit", 700.0, gpu(0)), fact("gpu.watts", 600.0, gpu(0))])
        assert values(made) == {"gpu.spare gpu:0": 100.0, "job.total job:this": 200.0}
        made.tell([fact("gpu.spare", 80.0, gpu(0), OriginKind.CATALOGUE)])
        assert values(made) == {"job.total job:this": 160.0}


def test_a_second_gpu_makes_the_gpu_of_the_job_ambiguous() -> None:
    kb = knowledge(signatures=[signature("sig.hot", "job", is_("gpu.hot", "eq", True))])
    with session(kb) as made:
        made.tell([fact("gpu.hot", True, gpu(0))])
        assert made.truth("sig.hot", "requires", JOB) is Truth.TRUE
        made.tell([fact("gpu.watts", 50.0, gpu(1))])
        assert made.truth("sig.hot", "requires", JOB) is Truth.UNKNOWN


def test_of_two_derivations_of_one_fact_the_first_wins_even_if_it_is_ready_last() -> None:
    steps = [
        derivation("job.share", "job", "job.total / 100", name="derive.first"),
        derivation("job.share", "job", "job.whole / 10", name="derive.second"),
    ]
    with session(knowledge(steps)) as made:
        made.tell([fact("job.whole", 5)])
        assert values(made) == {"job.share job:this": 0.5}
        made.tell([fact("job.total", 20.0)])
        assert values(made) == {"job.share job:this": 0.2}


def test_a_division_by_zero_gives_nothing_and_the_next_derivation_its_chance() -> None:
    steps = [
        derivation("job.share", "job", "1 / job.total", name="derive.first"),
        derivation("job.share", "job", "job.total", name="derive.second"),
    ]
    with session(knowledge(steps)) as made:
        made.tell([fact("job.total", 0.0)])
        assert values(made) == {"job.share job:this": 0.0}


def test_whole_numbers_are_rounded_to_the_even_one() -> None:
    with session(knowledge([derivation("job.whole", "job", "job.total / 2")])) as made:
        made.tell([fact("job.total", 5.0)])  # 2.5
        assert values(made) == {"job.whole job:this": 2}


def test_a_formula_without_facts_is_always_known() -> None:
    with session(knowledge([derivation("job.total", "job", "3 * 4"), derivation("gpu.limit", "gpu", "7")])) as made:
        assert values(made) == {"job.total job:this": 12.0}
        made.tell([fact("gpu.watts", 1.0, gpu(3))])
        assert values(made)["gpu.limit gpu:3"] == 7.0


def test_a_fact_compared_with_itself_and_a_factor() -> None:
    kb = knowledge(
        signatures=[
            signature("sig.more", "job", is_("job.share", "lt", than="job.share", times=2.0)),
            signature("sig.same", "job", is_("job.share", "eq", than="job.share")),
        ]
    )
    with session(kb) as made:
        made.tell([fact("job.share", 0.3)])
        assert made.truth("sig.more", "requires", JOB) is Truth.TRUE
        assert made.truth("sig.same", "requires", JOB) is Truth.TRUE


def test_nothing_of_a_wrong_type_gets_in() -> None:
    with session(knowledge()) as made:
        for name, value in (("job.share", "0.5"), ("job.share", True), ("job.flag", 1), ("job.mode", 3.0)):
            with pytest.raises(TypeError, match=name):
                made.tell([fact("job.whole", 1), fact(name, value)])
        assert made.world.base.facts() == []


def test_only_numbers_have_an_order() -> None:
    for tree in (is_("job.mode", "gt", "serve"), is_("job.flag", "lt", than="job.share"), is_("job.share", "lt", True)):
        with pytest.raises(TypeError, match="order"):
            RuleBook(knowledge(signatures=[signature("sig.x", "job", tree)]))


def test_a_deprecated_rule_is_not_read() -> None:
    kb = knowledge([derivation("job.total", "job", "1", status="deprecated")])
    assert chain(kb, base(fact("job.share", 0.5))) == ((), {})


def test_chain_names_each_condition_of_each_signature() -> None:
    high = is_("gpu.watts", "gt", 300.0)
    kb = knowledge(
        [derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts")],
        [
            signature(
                "sig.a",
                "gpu",
                high,
                given=is_("gpu.watts", "known"),
                confirms=is_("gpu.spare", "lt", 10.0),
                excludes=(Exclusion(is_("gpu.hot", "eq", False), "cool"),),
            )
        ],
    )
    facts, truths = chain(kb, base(fact("gpu.watts", 695.0, gpu(1)), fact("gpu.limit", 700.0, gpu(1))))
    assert facts == (Fact("gpu.spare", 5.0, "watts", gpu(1), Origin(OriginKind.DERIVED, "derive.gpu.spare")),)
    assert truths == {
        ("sig.a", gpu(1), "given"): Truth.TRUE,
        ("sig.a", gpu(1), "requires"): Truth.TRUE,
        ("sig.a", gpu(1), "confirms"): Truth.TRUE,
        ("sig.a", gpu(1), "excludes.0"): Truth.UNKNOWN,
    }


def test_more_rules_than_one_rule_set_holds_and_wider_ones_than_it_joins() -> None:
    names = [f"job.n{number}" for number in range(40)]
    specs = SPECS | {name: type(SPECS["job.share"])(name, "job", "number", name) for name in names}
    wide = All(tuple(is_(name, "gt", 0.0) for name in names))
    bounds = [signature(f"sig.b{n}", "job", is_("job.n0", "gt", float(n))) for n in range(700)]
    kb = knowledge(signatures=[signature("sig.wide", "job", wide), *bounds], specs=specs)
    facts = [Fact(name, 649.5, None, JOB, Origin(OriginKind.MEASURED, "test")) for name in names]
    with session(kb) as made:
        made.tell(facts[:-1])
        assert made.truth("sig.wide", "requires", JOB) is Truth.UNKNOWN
        made.tell(facts[-1:])
        assert made.truth("sig.wide", "requires", JOB) is Truth.TRUE
        assert made.truth("sig.b649", "requires", JOB) is Truth.TRUE
        assert made.truth("sig.b650", "requires", JOB) is Truth.FALSE
        assert len(made.book.shards) > 1


def test_sessions_of_one_book_do_not_see_each_other() -> None:
    book = RuleBook(knowledge(signatures=[signature("sig.share", "job", is_("job.share", "gt", 0.5))]))
    one, other = Session(book), Session(book)
    one.tell([fact("job.share", 0.9)])
    other.tell([fact("job.share", 0.1)])
    assert one.truth("sig.share", "requires", JOB) is Truth.TRUE
    assert other.truth("sig.share", "requires", JOB) is Truth.FALSE
    one.close()
    assert other.truth("sig.share", "requires", JOB) is Truth.FALSE
    book.close()


# Which engine runs ---------------------------------------------------------------------------------------------------


def two_gpus() -> tuple[KnowledgeBase, FactBase]:
    kb = knowledge(
        [derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts")],
        [
            signature("sig.tight", "gpu", is_("gpu.spare", "lt", 10.0), because=("{gpu.spare} left",)),
            signature("sig.mode", "job", is_("job.mode", "eq", "serve"), concludes="slow.two"),
        ],
    )
    facts = [fact("gpu.watts", 695.0 - 100 * number, gpu(number)) for number in (0, 1)]
    facts += [fact("gpu.limit", 700.0, gpu(number)) for number in (0, 1)]
    missing = Absent("job.mode", JOB, "no log", Origin(OriginKind.ARTEFACT, "test"))
    return kb, FactBase.of(facts, [missing])


def test_the_diagnosis_is_the_same_and_says_which_engine_ran() -> None:
    kb, facts = two_gpus()
    proof, chained = (diagnose_with(kb, facts, engine) for engine in ("proof", "chaining"))
    assert (proof.engine, chained.engine) == ("proof", "chaining")
    assert proof == diagnose(kb, facts)
    assert {**vars(chained), "engine": "proof"} == vars(proof)
    assert [one.id for one in chained.asserted] == ["slow.one"]


def test_a_single_diagnosis_is_made_by_proof_and_a_live_one_by_chaining() -> None:
    kb, facts = two_gpus()
    assert diagnose_with(kb, facts).engine == "proof"
    live = LiveDiagnosis(kb)
    live.tell(facts.facts()[:2], facts.absent)
    assert live.diagnosis().asserted == ()
    live.tell(facts.facts()[2:])
    assert live.diagnosis().engine == "chaining"
    assert live.diagnosis().conclusions == diagnose(kb, facts).conclusions
    live.close()


def test_an_unknown_engine_is_an_error() -> None:
    kb, facts = two_gpus()
    with pytest.raises(ValueError, match="auto, chaining, proof"):
        diagnose_with(kb, facts, "magic")


def test_without_the_library_the_proof_reading_runs_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, facts = two_gpus()
    monkeypatch.setattr(durable_adapter, "_missing", "durable_rules cannot be loaded: no such module")
    found = diagnose_with(kb, facts, "chaining")
    assert found.engine == "proof (durable_rules cannot be loaded: no such module)"
    assert found.conclusions == diagnose(kb, facts).conclusions


def test_where_there_is_no_room_the_proof_reading_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, facts = two_gpus()
    monkeypatch.setattr(durable_adapter, "MAX_STATES", 1)
    found = diagnose_with(kb, facts, "chaining")
    assert found.engine.startswith("proof (chaining has no room: ")
    assert found.conclusions == diagnose(kb, facts).conclusions


def test_a_crowded_fact_opens_another_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chaining_rules, "CROWDED", 4)
    many = [signature(f"sig.{n}", "job", is_("job.share", "gt", float(n))) for n in range(10)]
    assert len(RuleBook(knowledge(signatures=many)).shards) == 5
