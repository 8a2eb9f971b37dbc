"""Dumps of the flight recorder: one of each rank, compared."""

from __future__ import annotations

import gzip
import json
import pickle

import pytest

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase, Value
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import Gathered, gather

WORLD = ("0", "default_pg")


def call(
    number: int, state: str = "completed", name: str = "all_reduce", size: int = 1000, group: tuple[str, str] = WORLD
) -> dict[str, object]:
    """An entry as PyTorch 2.10 writes it, without the fields nobody reads."""
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": group,
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": f"nccl:{name}",
        "time_created_ns": 1786844121207040384 + number,
        "input_sizes": [[size, 2]],
        "input_dtypes": ["Float"],
        "output_sizes": [[size, 2]],
        "state": state,
        "retired": state == "completed",
        "timeout_ms": 600000,
        "is_p2p": False,
        "frames": [
            {"name": "all_reduce", "filename": "/usr/lib/python3/site-packages/torch/distributed/x.py", "line": 9},
            {"name": "step", "filename": "/home/me/train.py", "line": 40},
        ],
    }


def dump(*entries: dict[str, object], ranks: str = "[0, 1, 2, 3]", **groups: str) -> dict[str, object]:
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}
    config |= {name: {"name": name, "desc": "undefined", "ranks": own} for name, own in groups.items()}
    return {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": list(entries)}


def read(*dumps: dict[str, object], form: str = "pickle", log: str = "") -> Gathered:
    inputs: list[tuple[str, bytes]] = []
    for rank, one in enumerate(dumps):
        if one:
            raw = pickle.dumps(one, protocol=2) if form == "pickle" else json.dumps(one).encode()
            ending = {"pickle": "", "json": ".json", "gzip": ".gz"}[form]
            inputs.append((f"tmp/nccl_trace_rank_{rank}{ending}", gzip.compress(raw) if form == "gzip" else raw))
    if log:
        inputs.append(("job.log", log.encode()))
    return gather(inputs, load().facts)


def values(found: Gathered) -> dict[str, Value]:
    return {one.id: one.value for one in found.facts}


def statuses(found: Gathered) -> dict[str, str]:
    result = diagnose(load(), FactBase.of(found.facts, found.absent), ask=False)
    return {one.id: one.status.value for one in result.conclusions}


WAITING = dump(call(1), call(2), call(3, "started"))
BEHIND = dump(call(1), call(2))
TIMEOUT = (
    "[rank0]:[E1130 02:15:06.1 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=2000, NumelOut=2000, Timeout(ms)=600000) ran for 600060 "
    "milliseconds before timing out.\n"
)


@pytest.mark.parametrize("form", ["pickle", "json", "gzip"])
def test_a_rank_that_never_called_it_is_named(form: str) -> None:
    gathered = read(WAITING, WAITING, BEHIND, WAITING, form=form)
    found = values(gathered)
    assert found["comm.dump_rank_count"] == 4
    assert found["comm.dump_stuck_ranks"] == "0, 1, 3"
    assert (found["comm.dump_absent_rank_count"], found["comm.dump_absent_ranks"]) == (1, "2")
    assert (found["comm.sequence"], found["comm.operation"], found["comm.element_count"]) == (3, "all_reduce", 2000)
    assert found["comm.timeout_seconds"] == 600
    assert found["comm.dump_place"] == "/home/me/train.py:40 in step"
    assert statuses(gathered)["comm.missing-rank"] == "likely"


def test_with_the_time_out_in_a_log_it_is_confirmed() -> None:
    assert statuses(read(WAITING, WAITING, BEHIND, WAITING, log=TIMEOUT))["comm.missing-rank"] == "confirmed"


def test_a_dump_of_gloo_keeps_no_states_and_names_no_group() -> None:
    """As PyTorch 2.13 writes it: what has ended is retired and still called scheduled; the only group has no name."""
    done = [{**call(n, "scheduled"), "profiling_name": "gloo:all_reduce", "retired": True} for n in (1, 2)]
    waits = {**call(3, "scheduled"), "profiling_name": "gloo:all_reduce", "retired": False}
    config = {"": {"name": "", "desc": "", "ranks": "[0, 1]"}}
    status = {"0": {"last_enqueued_collective": "2"}}
    own, other = {**dump(*done, waits), "pg_config": config}, {**dump(*done), "pg_config": config, "pg_status": status}
    found = values(read(own, other, form="json"))
    assert (found["comm.sequence"], found["comm.dump_absent_ranks"]) == (3, "1")


def test_a_rank_without_a_dump_is_not_called_absent() -> None:
    gathered = read(WAITING, WAITING, {}, WAITING)
    found = values(gathered)
    assert "comm.dump_absent_rank_count" not in found
    assert (found["comm.dump_undumped_rank_count"], found["comm.dump_undumped_ranks"]) == (1, "2")
    assert statuses(gathered)["comm.missing-rank"] == "possible"


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        (call(3, "started", name="broadcast"), "broadcast of 2000 elements (Float)"),
        (call(3, "scheduled", size=500), "all_reduce of 1000 elements (Float)"),
        ({**call(3, "started"), "input_dtypes": ["BFloat16"]}, "all_reduce of 2000 elements (BFloat16)"),
    ],
    ids=["operation", "size", "type"],
)
def test_a_different_call_under_the_same_number_is_a_desync(other: dict[str, object], shown: str) -> None:
    gathered = read(WAITING, dump(call(1), call(2), other), WAITING, WAITING)
    found = values(gathered)
    assert found["comm.dump_differing_ranks"] == "1"
    assert found["comm.operation"] == "all_reduce of 2000 elements (Float)"
    assert found["comm.operation_other"] == shown
    concluded = statuses(gathered)
    assert concluded["comm.rank-desync"] == "confirmed"
    assert concluded.get("comm.missing-rank") in (None, "ruled out")


def test_sizes_may_differ_where_the_collective_allows_it() -> None:
    own = dump(call(1, "started", name="all_gather", size=7))
    other = dump(call(1, "started", name="all_gather", size=9))
    assert values(read(own, other))["comm.dump_mismatch"] is False


def test_all_in_one_collective_hang_only_where_something_timed_out() -> None:
    four = (WAITING, WAITING, WAITING, WAITING)
    assert statuses(read(*four))["comm.hung-collective"] == "possible"  # a job that runs looks the same for a moment
    assert statuses(read(*four, log=TIMEOUT))["comm.hung-collective"] == "confirmed"


def test_dumps_of_a_job_in_which_nothing_waits_accuse_nobody() -> None:
    gathered = read(BEHIND, BEHIND, BEHIND, BEHIND)
    assert values(gathered)["comm.dump_stuck_rank_count"] == 0
    assert not {"likely", "confirmed", "possible"} & {
        status for name, status in statuses(gathered).items() if name.startswith("comm.")
    }


def test_a_dump_of_an_earlier_moment_is_told_and_not_compared() -> None:
    """Three ranks have finished collective 9: rank 1, whose record ends at 2, must have called it since."""
    later = dump(*(call(number) for number in range(1, 10)), call(10, "started"))
    gathered = read(later, BEHIND, later, later)
    assert "comm.dump_absent_rank_count" not in values(gathered)
    assert [one.reason for one in gathered.not_understood] == [
        "dumps of different moments: what rank 1 recorded ends before what others finished"
    ]


def test_dumps_that_cannot_be_compared_say_nothing_of_what_waits() -> None:
    """All have finished what they called, and rank 1 has none of what the others finished."""
    later = dump(*(call(number) for number in range(1, 10)))
    gathered = read(later, BEHIND, later, later)
    assert len(gathered.not_understood) == 1
    assert values(gathered) == {"comm.dump_rank_count": 4}


def test_one_dump_agrees_with_nobody() -> None:
    assert "comm.dump_mismatch" not in values(read(WAITING))
    assert values(read(WAITING, WAITING))["comm.dump_mismatch"] is False


TENSOR, DATA = ("1", "tensor"), ("2", "data")


def test_who_waits_elsewhere_is_not_the_root() -> None:
    """Rank 0 waits for rank 1 in one group, rank 1 for rank 2 in another; rank 2 waits for nobody."""
    groups = {"1": "[0, 1]", "2": "[1, 2]"}
    gathered = read(
        dump(call(1, "started", group=TENSOR), ranks="[0, 1, 2]", **groups),
        dump(call(1, "started", group=DATA), ranks="[0, 1, 2]", **groups),
        dump(call(1), ranks="[0, 1, 2]", **groups),
    )
    found = values(gathered)
    assert found["comm.dump_absent_ranks"] == "2"
    assert "comm.dump_crossed_ranks" not in found


def test_two_ranks_that_use_two_groups_in_different_orders() -> None:
    groups = {"1": "[0, 1]", "2": "[0, 1]"}
    gathered = read(
        dump(call(1, "started", group=TENSOR), ranks="[0, 1]", **groups),
        dump(call(1, "started", group=DATA), ranks="[0, 1]", **groups),
    )
    assert values(gathered)["comm.dump_crossed_ranks"] in ("0", "1")
    assert statuses(gathered)["comm.rank-desync"] == "likely"


@pytest.mark.parametrize("there", [True, False], ids=["all-called-it", "one-dump-lacks"])
def test_who_waits_for_a_rank_that_hangs_in_another_group_has_no_crossed_order(there: bool) -> None:
    """Rank 0 waits for rank 1, which hangs with rank 2 in another group: that exchange is the root, not an order."""
    groups = {"1": "[0, 1]", "2": "[1, 2]"}
    waits = dump(call(1, "started", group=DATA), ranks="[0, 1, 2]", **groups)
    gathered = read(
        dump(call(1, "started", group=TENSOR), ranks="[0, 1, 2]", **groups), waits, waits if there else {}, log=TIMEOUT
    )
    found, status = values(gathered), statuses(gathered)
    assert "comm.dump_crossed_ranks" not in found
    assert found["comm.dump_stuck_ranks"] == ("1, 2" if there else "1")
    assert status.get("comm.rank-desync") not in ("likely", "confirmed")
    assert status["comm.hung-collective" if there else "comm.missing-rank"] == ("confirmed" if there else "possible")


def test_a_root_that_has_finished_a_broadcast_says_nothing_of_when_the_others_wrote_theirs() -> None:
    """A broadcast ends on its root before the others have called it: rank 1 never called anything."""
    root = dump(call(1, name="broadcast"), call(2, "started"), ranks="[0, 1]")
    gathered = read(root, dump(ranks="[0, 1]"))
    assert gathered.not_understood == ()
    assert values(gathered)["comm.dump_absent_ranks"] == "1"


def test_a_dump_without_a_rank_in_its_name_is_told() -> None:
    gathered = gather([("trace.pickle", pickle.dumps(WAITING))], load().facts)
    assert "does not end in the number of the rank" in gathered.not_understood[0].reason


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("run",))


def test_a_pickle_that_would_run_something_is_refused() -> None:
    gathered = gather([("nccl_trace_rank_0", pickle.dumps({**WAITING, "x": Evil()}))], load().facts)
    assert gathered.facts == ()
    assert "plain data only" in gathered.not_understood[0].reason


@pytest.mark.parametrize("cut", [10, 60, 300])
def test_a_dump_cut_short_is_told(cut: int) -> None:
    for raw in (pickle.dumps(WAITING), json.dumps(WAITING).encode()):
        assert gather([("nccl_trace_rank_0", raw[:-cut])], load().facts).not_understood


@pytest.mark.parametrize(
    "change",
    [
        {"entries": 7},
        {"entries": [7, None, {"collective_seq_id": "x"}]},
        {"pg_config": {"0": {"ranks": "x" * 100}}},
        {"pg_config": []},
        {"pg_status": {"0": {"last_enqueued_collective": 1e9}}},
        {"entries": [{**call(1), "input_sizes": [[10**30] * 9], "timeout_ms": "x", "frames": [1]}]},
        {"entries": [{**call(-5), "process_group": []}]},
    ],
)
def test_odd_contents_never_raise(change: dict[str, object]) -> None:
    gathered = read({**WAITING, **change}, WAITING)
    assert values(gathered)["comm.dump_rank_count"] == 2
