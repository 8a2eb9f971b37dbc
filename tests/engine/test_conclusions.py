"""From signatures to conclusions: status, veto, causes before consequences, and what would follow if it were so."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gpuwhy.engine.diagnose import diagnose, not_in_play, what_if
from gpuwhy.engine.model import Diagnosis, Status, Truth
from gpuwhy.kb.conditions import Not
from gpuwhy.kb.facts import Fact, OriginKind, gpu
from gpuwhy.kb.model import ConclusionSpec, Exclusion, Signature, Support
from tests.engine.small import EVIDENCE, base, derivation, fact, is_, knowledge, signature

HIGH = is_("job.share", "gt", 0.5)
FLAG = is_("job.flag", "eq", True)


def diagnosis(signatures: Iterable[Signature], *facts: Fact, words: Iterable[ConclusionSpec] = ()) -> Diagnosis:
    return diagnose(knowledge(signatures=signatures, conclusions=words), base(*facts), ask=False)


def statuses(found: Diagnosis) -> dict[str, Status]:
    return {one.id: one.status for one in (*found.conclusions, *found.ruled_out)}


def cause(name: str, *explains: str) -> ConclusionSpec:
    return ConclusionSpec(name, "cause", name, explains)


@pytest.mark.parametrize(
    ("share", "flag", "status"),
    [
        (0.9, True, Status.CONFIRMED),
        (0.9, None, Status.LIKELY),
        (0.9, False, Status.LIKELY),
        (None, True, Status.POSSIBLE),
        (0.1, True, Status.RULED_OUT),
    ],
)
def test_status_of_what_is_required_and_what_confirms(share: float | None, flag: bool | None, status: Status) -> None:
    facts = [fact("job.whole", 1)]
    facts += [] if share is None else [fact("job.share", share)]
    facts += [] if flag is None else [fact("job.flag", flag)]
    found = diagnosis([signature("sig.a", "job", HIGH, confirms=FLAG)], *facts)
    assert statuses(found)["slow.one"] is status


@pytest.mark.parametrize(
    ("mode", "demotes", "status"),
    [
        ("train", True, Status.RULED_OUT),
        ("train", False, Status.RULED_OUT),
        ("serve", True, Status.CONFIRMED),
        (None, True, Status.LIKELY),
        (None, False, Status.CONFIRMED),
    ],
)
def test_an_exclusion_rules_out_and_while_unknown_keeps_from_confirmed_unless_told_not_to(
    mode: str | None, demotes: bool, status: Status
) -> None:
    veto = Exclusion(is_("job.mode", "eq", "train"), "it trains", demotes)
    facts = [fact("job.share", 0.9)] + ([fact("job.mode", mode)] if mode else [])
    found = diagnosis([signature("sig.a", "job", HIGH, confirms=HIGH, excludes=(veto,))], *facts)
    assert statuses(found)["slow.one"] is status
    if status is Status.RULED_OUT:
        assert found.ruled_out[0].because == "it trains"


def test_an_exclusion_holds_even_where_what_is_required_is_unknown() -> None:
    found = diagnosis([signature("sig.a", "job", HIGH, excludes=(Exclusion(FLAG, "flagged"),))], fact("job.flag", True))
    assert statuses(found)["slow.one"] is Status.RULED_OUT


@pytest.mark.parametrize(
    ("other", "status"),
    [
        ({"requires": HIGH, "confirms": HIGH}, Status.LIKELY),
        ({"requires": HIGH}, Status.POSSIBLE),
        ({"requires": is_("job.mode", "eq", "train")}, Status.RULED_OUT),
    ],
)
def test_a_veto_of_one_signature_speaks_against_what_another_saw(other: dict[str, object], status: Status) -> None:
    vetoed = signature("sig.a", "job", HIGH, excludes=(Exclusion(FLAG, "flagged"),))
    seen = signature("sig.b", "job", **({"concludes": "slow.one"} | other))  # type: ignore[arg-type]
    found = diagnosis([vetoed, seen], fact("job.share", 0.9), fact("job.flag", True))
    assert statuses(found)["slow.one"] is status
    (one,) = (one for one in (*found.conclusions, *found.ruled_out) if one.id == "slow.one")
    assert one.contradicted == "flagged"


def test_a_veto_on_one_gpu_leaves_the_other_alone() -> None:
    hot = signature(
        "sig.a", "gpu", is_("gpu.watts", "gt", 1.0), excludes=(Exclusion(is_("gpu.hot", "eq", True), "hot"),)
    )
    facts = [fact("gpu.watts", 5.0, gpu(n)) for n in range(2)] + [fact("gpu.hot", n == 0, gpu(n)) for n in range(2)]
    found = diagnosis([hot], *facts)
    assert statuses(found) == {"slow.one": Status.LIKELY}
    lead = found.conclusions[0].lead
    assert lead is not None
    assert lead.entity == gpu(1)


def test_a_signature_that_is_not_in_play_is_silent_and_no_conclusion() -> None:
    rules = [
        signature("sig.a", "job", HIGH, given=FLAG),
        signature("sig.b", "job", HIGH, given=Not(FLAG), concludes="slow.two"),
    ]
    found = diagnosis(rules, fact("job.share", 0.9), fact("job.flag", False))
    assert statuses(found) == {"slow.two": Status.LIKELY}
    (silent,) = not_in_play(knowledge(signatures=rules), found, "slow.one")
    assert silent.signature.id == "sig.a"
    assert silent.given is not None
    assert silent.given.truth is Truth.FALSE
    assert not_in_play(knowledge(signatures=rules), found, "slow.two") == []


def test_causes_stand_before_their_consequences_whatever_their_priority() -> None:
    found = diagnosis(
        [
            signature("sig.effect", "job", HIGH, "slow.effect", priority=90),
            signature("sig.cause", "job", HIGH, "slow.cause", priority=10),
            signature("sig.other", "job", HIGH, "slow.other", priority=50),
        ],
        fact("job.share", 0.9),
        words=[cause("slow.cause", "slow.effect"), cause("slow.effect"), cause("slow.other")],
    )
    assert [one.id for one in found.conclusions] == ["slow.other", "slow.cause", "slow.effect"]
    assert found.conclusions[1].explains == ("slow.effect",)
    assert found.conclusions[2].explained_by == "slow.cause"


def test_a_cause_that_is_only_possible_explains_nothing() -> None:
    found = diagnosis(
        [signature("sig.effect", "job", HIGH, "slow.effect"), signature("sig.cause", "job", FLAG, "slow.cause")],
        fact("job.share", 0.9),
        words=[cause("slow.cause", "slow.effect"), cause("slow.effect")],
    )
    assert [(one.id, one.explained_by) for one in found.conclusions] == [("slow.effect", None), ("slow.cause", None)]


def test_causes_that_explain_each_other_do_not_vanish() -> None:
    found = diagnosis(
        [signature("sig.a", "job", HIGH, "slow.a"), signature("sig.b", "job", HIGH, "slow.b")],
        fact("job.share", 0.9),
        words=[cause("slow.a", "slow.b"), cause("slow.b", "slow.a")],
    )
    assert [(one.id, one.explained_by) for one in found.conclusions] == [("slow.a", None), ("slow.b", "slow.a")]


def test_support_raises_a_conclusion_among_others_of_its_status() -> None:
    found = diagnosis(
        [
            signature("sig.a", "job", HIGH, "slow.a"),
            signature(
                "sig.b", "job", HIGH, "slow.b", supports=(Support(FLAG, "and the flag is set"),), because=("high",)
            ),
        ],
        fact("job.share", 0.9),
        fact("job.flag", True),
    )
    assert [one.id for one in found.conclusions] == ["slow.b", "slow.a"]
    assert found.conclusions[0].because == "high; and the flag is set"


def test_the_sentence_leaves_out_what_is_not_known() -> None:
    texts = ("a share of {job.share}", "with {host.cores} cores")
    found = diagnosis([signature("sig.a", "job", HIGH, because=texts)], fact("job.share", 0.9))
    assert found.conclusions[0].because == "a share of 90 %"


def test_nothing_seen_is_no_good_news() -> None:
    for facts in ((), (fact("job.share", 0.1),)):
        found = diagnosis([signature("sig.a", "job", HIGH, given=is_("job.share", "known"))], *facts)
        assert [one.id for one in found.conclusions] == [EVIDENCE.id]


def test_what_if_replaces_what_was_read_and_what_was_derived_from_it() -> None:
    kb = knowledge(
        [derivation("job.flag", "job", when=HIGH, value=True, otherwise=False)], [signature("sig.a", "job", FLAG)]
    )
    facts = base(fact("job.share", 0.9))
    assert diagnose(kb, facts).asserted[0].id == "slow.one"
    supposed = what_if(kb, facts, [fact("job.share", 0.2, kind=OriginKind.ASSUMED)])
    assert supposed.asserted == (supposed.conclusions[0],)
    assert supposed.conclusions[0].id == EVIDENCE.id
    assert [one.id for one in supposed.ruled_out] == ["slow.one"]
    assert diagnose(kb, facts).asserted[0].id == "slow.one"  # nothing was changed
