"""Collectives that did not end, as each rank tells it."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.collective_timeouts import FORMAT
from tests.probes.artefacts.helpers import scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


def timeout(rank: int, sequence: int = 100, operation: str = "ALLREDUCE", elements: int | None = 4096) -> str:
    numel = "" if elements is None else f", NumelIn={elements}, NumelOut={elements}"
    return (
        f"[rank{rank}]:[E1130 02:15:06.1 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective operation "
        f"timeout: WorkNCCL(SeqNum={sequence}, OpType={operation}{numel}, Timeout(ms)=600000) ran for 600060 "
        "milliseconds before timing out.\n"
    )


def state(rank: int, work: int, group: str = "PG 1") -> str:
    return (
        f"[rank{rank}]:[E1130 02:15:06.2 ProcessGroupNCCL.cpp:1664] [{group} Rank {rank}] Exception (either an "
        f"error or "
        f"timeout) detected by watchdog at work: {work}, last enqueued NCCL work: {work + 2}, last completed NCCL "
        f"work: "
        f"{work - 1}.\n"
    )


def test_figures_of_one_rank() -> None:
    found = facts(timeout(0) + state(0, 100))
    assert found["comm.timed_out"] is True
    assert found["comm.sequence"] == 100
    assert found["comm.element_count"] == 4096
    assert found["comm.operation"] == "ALLREDUCE"
    assert (found["comm.timeout_seconds"], found["comm.waited_seconds"]) == (600.0, 600.06)
    assert (found["comm.last_enqueued"], found["comm.last_completed"]) == (102, 99)
    assert found["comm.timed_out_rank_count"] == 1
    assert not {"comm.waits_differ", "comm.silent_rank_count"} & set(found)


def test_the_oldest_layout_has_no_sizes() -> None:
    line = (
        "[E ProcessGroupNCCL.cpp:828] [Rank 2] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=7, OpType=BROADCAST, Timeout(ms)=1800000) ran for 1804046 milliseconds before timing out."
    )
    assert facts(line)["comm.timeout_seconds"] == 1800.0


def test_ranks_that_agree_and_one_that_says_nothing() -> None:
    found = facts(timeout(0) + timeout(2) + state(3, 100))
    assert found["comm.timed_out_rank_count"] == 3
    assert found["comm.waits_differ"] is False
    assert (found["comm.silent_rank_count"], found["comm.silent_ranks"]) == (1, "1")


@pytest.mark.parametrize(
    "other",
    [timeout(1, sequence=101), timeout(1, operation="_ALLGATHER_BASE"), timeout(1, elements=8192)],
    ids=["another number", "another operation", "another size"],
)
def test_ranks_that_wait_in_different_collectives(other: str) -> None:
    assert facts(timeout(0) + other)["comm.waits_differ"] is True


def test_of_several_collectives_of_a_rank_the_first_is_the_one_it_waits_in() -> None:
    assert facts(timeout(0, sequence=103) + timeout(0, sequence=100) + timeout(1))["comm.waits_differ"] is False


@pytest.mark.parametrize(
    "text",
    [
        timeout(0, operation="SEND") + timeout(1, sequence=5, operation="RECV"),
        timeout(0) + state(0, 100, "PG ID 2 PG GUID 9") + timeout(1, sequence=7) + state(1, 7, "PG ID 3 PG GUID 5"),
    ],
    ids=["point to point", "several process groups"],
)
def test_numbers_that_cannot_be_compared_are_not(text: str) -> None:
    assert "comm.waits_differ" not in facts(text)


def test_one_process_group_is_said_where_messages_name_it() -> None:
    assert facts(timeout(0) + state(0, 100) + timeout(1) + state(1, 100))["comm.one_process_group"] is True
    assert "comm.one_process_group" not in facts(timeout(0) + timeout(1))


def test_a_stated_mismatch() -> None:
    found = facts(
        "[rank7]: RuntimeError: Detected mismatch between collectives on ranks. Rank 7 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=412, OpType=ALLGATHER, X), but Rank 0 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=409OpType=BROADCAST)."
    )
    assert found["comm.mismatch_stated"] is True
    assert (found["comm.operation"], found["comm.sequence"]) == ("ALLGATHER", 412)
    assert (found["comm.operation_other"], found["comm.sequence_other"]) == ("BROADCAST", 409)


def test_the_desync_report() -> None:
    found = facts(
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "\t   - [47] joined but didn't finish collective #41207 (count from 1)\n"
        "\t     [0, 1, ..., 46] finished collective #41207, but didn't join collective #41208 (count from 1)\n"
    )
    assert (found["comm.stuck_rank_count"], found["comm.ahead_rank_count"]) == (1, 47)
    never = facts(
        "\t - To our best knowledge, ranks [5] are the lagging ranks that caused this timeout. They never joined"
    )
    assert (never["comm.absent_rank_count"], never["comm.absent_ranks"]) == (1, "5")


def test_the_analyser_of_flight_recorder_dumps() -> None:
    found = facts(
        "Not all ranks joining collective, sequence number: 5\n collective: nccl:all_reduce\n missing ranks: {1, 3}\n"
    )
    assert (found["comm.absent_rank_count"], found["comm.absent_ranks"]) == (2, "1, 3")
    assert facts("Found errors: Error type: COLLECTIVE_TYPE_MISMATCH, ...")["comm.mismatch_stated"] is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Timed out after 1801 seconds waiting for clients. 3/4 clients joined.",
         {"comm.joined_rank_count": 3, "job.rank_count": 4, "comm.absent_rank_count": 1, "comm.absence_stated": True}),
        ("RuntimeError: The client socket has timed out after 900s while trying to connect to (10.0.0.1, 29500).",
         {"comm.store_unreachable": True, "comm.timeout_seconds": 900.0}),
        ("[Rank 0]: Ranks 1, 5 failed to pass monitoredBarrier in 30000 ms", {"comm.absent_rank_count": 2}),
        ("RuntimeError: [1] is setting up and retrieving ncclUniqueId from [0] via c10d key-value store "
         "by key '0', but store->get('0') got error: Connection reset by peer", {"comm.peer_connection_lost": True}),
        ("socketStartConnect: Connect to 10.0.0.7<5> failed : No route to host", {"comm.peer_connection_lost": True}),
        ("node5:240:240 [6] misc/socket.cc:533 NCCL WARN socketPollConnect: Connect to 10.0.0.4<56849> returned "
         "113(No route to host) errno 115(Operation now in progress)", {"comm.peer_connection_lost": True}),
        ("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]",
         {"comm.peer_connection_lost": True}),
        ("[Rank 0] NCCL watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
         {"comm.watchdog_stuck": True, "comm.waited_seconds": 480}),
    ],
    ids=["meeting", "store", "barrier", "store reset", "no route", "no route, as a warning", "gloo", "stuck"],
)  # fmt: skip
def test_other_messages(text: str, expected: dict[str, Value]) -> None:
    assert expected.items() <= facts(text).items()


def test_a_connection_that_is_none_of_the_ranks_is_not_theirs() -> None:
    assert facts("requests.exceptions.ConnectionError: Connection reset by peer") == {}


def test_an_exception_on_a_rank_that_the_others_wait_for() -> None:
    found = facts("[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: no\n" + timeout(0) + timeout(2))
    assert found["comm.raised_rank"] == 1
    assert "comm.raised_rank" not in facts("[rank0]: Traceback (most recent call last):\n" + timeout(0) + timeout(1))


@pytest.mark.parametrize(
    "text",
    [
        "[1] is setting up NCCL communicator by key '0', but store->get('0') got error: Socket Timeout",
        "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
        "RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.",
    ],
)
def test_a_first_rank_that_is_not_there(text: str) -> None:
    assert facts(text)["comm.store_unreachable"] is True


def test_a_silent_rank_is_one_that_would_have_been_heard() -> None:
    whole = facts(timeout(0) + timeout(2) + timeout(3))
    assert whole["comm.report_whole"] is True
    assert "comm.silent_rank_heard_count" not in whole
    talks = facts(timeout(0) + timeout(7) + "[rank3]: step 100 loss 2.1\n")
    assert talks["comm.silent_rank_heard_count"] == 1  # of six silent ranks the log of one is there


@pytest.mark.parametrize(
    "mark", ["...", "[...]", "<snip>", "--- cut ---", "… 400 lines", "[output truncated]", "12 lines omitted"]
)
def test_where_something_is_left_out_silence_says_nothing(mark: str) -> None:
    assert "comm.report_whole" not in facts(f"{timeout(0)}{mark}\n{timeout(2)}{timeout(3)}")


def test_where_most_ranks_are_silent_their_logs_are_just_not_there() -> None:
    assert "comm.report_whole" not in facts(timeout(0) + timeout(7))


def test_an_ordinary_line_is_no_mark_of_a_cut() -> None:
    line = "loading shard 3 ... done\n[rank0]: gradient clipped, cut at 1.0\n"
    assert facts(timeout(0) + line + timeout(2) + timeout(3))["comm.report_whole"] is True


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("Rank 6] Received a dump signal due to a collective timeout from this local rank", "comm.watchdog_stuck"),
        ("DeepEP timeout check failed: rank = 6, thread = 0, value = 0)", "comm.watchdog_stuck"),
        (
            ". This may indicate a possible application crash on rank 0 or a network set up issue.",
            "comm.store_unreachable",
        ),
    ],
)
def test_other_words_for_a_rank_that_does_not_come(line: str, fact: str) -> None:
    assert values(scan(FORMAT, line + "\n"))[fact, "job:this"] is True
