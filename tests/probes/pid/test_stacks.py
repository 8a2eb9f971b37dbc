"""What py-spy prints becomes stacks, stacks become phases of a step, and shares of the time become facts."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gpuwhy.kb.facts import JOB
from gpuwhy.probes import stack_facts
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.stack_facts import Window
from gpuwhy.probes.stack_phases import Phase, judge
from gpuwhy.probes.stack_samples import Frame, Samples, Stack, explain, parse
from tests.probes.host.trees import reasons, values

SITE = "/usr/lib/python3.12/site-packages"
TORCH = f"{SITE}/torch"
TRAIN = "/home/me/train.py"

LINES = {
    10: "for batch in loader:",
    11: "    loss = model(batch)",
    12: "    total += loss.item()",
    13: "    print(step, total)",
    14: "    batch = batch.to(device)",
    15: "    if torch.isnan(loss):",
    16: "    loss.backward()",
    17: "    optimizer.step()",
    18: "    value = float(loss)",
    19: "    x = [w * 2 for w in words]",
    20: "    answer = inbox.get()",
    21: "    torch.save(model.state_dict(), path)",
    22: "    dist.all_reduce(loss)",
    23: "    logger.info('%d', step)",
    24: "    scores = out.cpu()",
}


def frame(text: str) -> Frame:
    """`function file:line`, the file below torch/ where it is relative, the training script where it is `train`."""
    function, _, place = text.partition(" ")
    name, _, line = place.rpartition(":")
    return Frame(
        function, TRAIN if name == "train" else name if name.startswith(("/", "<")) else f"{TORCH}/{name}", int(line)
    )


def text_of(one: Frame) -> str:
    return LINES.get(one.line, "") if one.file == TRAIN else ""


def phase(*frames: str) -> Phase:
    return judge([frame(one) for one in frames], text_of).phase


FORWARD = ("_wrapped_call_impl nn/modules/module.py:1739", "forward nn/modules/linear.py:125")


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (
            ("main train:10", "__next__ utils/data/dataloader.py:733", "get /usr/lib/python3.12/queue.py:171"),
            Phase.DATA,
        ),
        (("main train:10", "fetch utils/data/_utils/fetch.py:52", "__getitem__ train:12"), Phase.DATA),
        (("main train:11", *FORWARD), Phase.FORWARD),
        (("main train:16", "backward _tensor.py:648", "_engine_run_backward autograd/graph.py:824"), Phase.BACKWARD),
        (("main train:17", "wrapper optim/lr_scheduler.py:140", "step optim/adamw.py:243"), Phase.OPTIMIZER),
        (("main train:17", "step optim/adam.py:200", "closure train:11", *FORWARD), Phase.FORWARD),
        (("main train:17", "step amp/grad_scaler.py:457", "step optim/sgd.py:80"), Phase.OPTIMIZER),
        (("main train:12",), Phase.SYNC),
        (("main train:12", "item /home/me/lazy.py:5", "wait /usr/lib/python3.12/threading.py:655"), Phase.SYNC),
        (("main train:19", "synchronize cuda/__init__.py:985"), Phase.SYNC),
        (("main train:13", "__format__ _tensor.py:1108"), Phase.SYNC),
        (("main train:15",), Phase.SYNC),
        (("main train:18",), Phase.SYNC),
        (("main train:24",), Phase.SYNC),
        (("main train:13",), Phase.LOGGING),
        (("main train:23", "info /usr/lib/python3.12/logging/__init__.py:1539"), Phase.LOGGING),
        (("main train:19", f"log {SITE}/wandb/sdk/wandb_run.py:2010"), Phase.LOGGING),
        (("main train:14",), Phase.TRANSFER),
        (("main train:21", "save serialization.py:964", "_save serialization.py:1268"), Phase.CHECKPOINT),
        (("main train:22", "all_reduce distributed/distributed_c10d.py:2810"), Phase.COMMUNICATION),
        (("<module> train:1", "_find_and_load <frozen importlib._bootstrap>:1360"), Phase.STARTUP),
        (("main train:20",), Phase.WAITING),
        (("main train:20", "get /usr/lib/python3.12/queue.py:171"), Phase.WAITING),
        (("main train:19",), Phase.OTHER),
    ],
    ids=lambda value: value.value if isinstance(value, Phase) else "",
)
def test_the_phase_of_a_stack(frames: tuple[str, ...], expected: Phase) -> None:
    assert phase(*frames) is expected


def test_the_line_of_the_own_code_that_leads_there_is_told() -> None:
    frames = ["main train:10", "__next__ utils/data/dataloader.py:733", "wait /home/me/prefetch.py:8"]
    assert judge([frame(one) for one in frames], text_of).site.place == "train.py:10"
    frames = ["main train:12", "item /home/me/lazy.py:5", "wait /usr/lib/python3.12/threading.py:655"]
    assert judge([frame(one) for one in frames], text_of).site.place == "train.py:12"


RAW = """\
process 100:"python t.py --name a;b (c)";thread (100): MainThread;<module> (/t.py:90);Loop.run (/home/me/train.py:12) 30
process 100:"python t.py";process 101:"python t.py";thread (101): MainThread;<module> (/home/me/train.py:90) 4
process 100:"python train.py";thread (0x7F12): pin;memory thread;run (/usr/lib/python3.12/threading.py:5) 7
nothing like a stack
process 100:"python";thread (100): MainThread; 3
"""


def test_stacks_are_read_with_their_process_and_thread() -> None:
    found = parse(RAW)
    assert [(one.pid, one.main, one.count) for one in found] == [(100, True, 30), (101, True, 4), (100, False, 7)]
    assert found[0].frames[-1] == Frame("run", "/home/me/train.py", 12)


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("Error: Permission Denied: Try running again with elevated permissions", "permitted"),
        ("Error: Operation not permitted (os error 1)", "permitted"),
        ("Error: No such process (os error 3)", "there is no process 7 any more"),
        ("Error: Failed to find python version from target process", "no Python program"),
        ("Error: something \x1b[31mnew", "something"),
        ("", "no stacks"),
    ],
    ids=["denied", "not permitted", "gone", "not Python", "unknown", "silent"],
)
def test_why_there_are_no_stacks_is_said_with_what_helps(said: str, part: str) -> None:
    told = explain(said, 7)
    assert part in told
    assert told.isprintable()


def stacks(pid: int, *seen: tuple[int, tuple[str, ...]]) -> list[Stack]:
    return [Stack(pid, pid, True, tuple(frame(one) for one in frames), count) for count, frames in seen]


DATA = ("main train:10", "__next__ utils/data/dataloader.py:733")
UNKNOWN = ("main train:20", "get /usr/lib/python3.12/queue.py:171")
IMPORT = ("<module> train:1", "_find_and_load <frozen importlib._bootstrap>:1360")
IDLE_WORKER = ("_worker_loop utils/data/_utils/worker.py:319", "get /usr/lib/python3.12/queue.py:171")
BUSY_WORKER = ("_worker_loop utils/data/_utils/worker.py:349", "fetch utils/data/_utils/fetch.py:52")


def fold(found: Iterable[Stack], pid: int = 1, lost: float | None = 0.0, problem: str | None = None) -> Readings:
    readings = Readings("process")
    samples = Samples(tuple(found), lost, problem)
    roles = stack_facts.roles(samples.stacks, pid, lambda _: text_of)
    stack_facts.fold(samples, roles, Window(10.0, 1e9), readings)
    return readings


def test_shares_are_those_of_the_main_thread() -> None:
    found = fold([*stacks(1, (30, DATA), (60, ("main train:11", *FORWARD)), (10, ("main train:12",)))])
    told = values(found, JOB)
    assert told["step.data_wait_share"] == pytest.approx(0.3)
    assert told["step.sync_share"] == pytest.approx(0.1)
    assert told["step.host_forward_share"] == pytest.approx(0.6)
    assert told["step.stack_samples"] == 100
    assert told["step.sync_site"] == "train.py:12 (10%)"


def test_the_start_is_not_counted() -> None:
    told = values(fold(stacks(1, (40, IMPORT), (30, DATA), (30, ("main train:11", *FORWARD)))), JOB)
    assert told["step.data_wait_share"] == pytest.approx(0.5)
    assert "step.warmup_only" not in told
    assert values(fold(stacks(1, (400, IMPORT), (30, DATA))), JOB)["step.warmup_only"] is True


def test_workers_are_counted_and_judged_by_what_they_do() -> None:
    found = [*stacks(1, (100, DATA)), *stacks(2, (50, IDLE_WORKER), (50, BUSY_WORKER)), *stacks(3, (100, BUSY_WORKER))]
    told = values(fold(found), JOB)
    assert told["loader.workers"] == 2
    assert told["loader.in_main_process"] is False
    assert told["loader.worker_fetch_share"] == pytest.approx(0.75)  # of 50 % and 100 %


def test_loading_in_the_main_process_is_seen() -> None:
    told = values(fold(stacks(1, (100, (*DATA, "fetch utils/data/_utils/fetch.py:52")))), JOB)
    assert (told["loader.workers"], told["loader.in_main_process"]) == (0, True)


def test_of_a_launcher_the_processes_below_it_are_taken_together() -> None:
    launcher = stacks(1, (100, ("main /home/me/launch.py:3", "wait /usr/lib/python3.12/subprocess.py:1264")))
    told = values(fold([*launcher, *stacks(2, (50, DATA), (50, ("main train:12",))), *stacks(3, (100, DATA))]), JOB)
    assert told["step.data_wait_share"] == pytest.approx(0.75)
    assert told["step.stack_samples"] == 200


def test_waiting_for_something_unknown_rules_nothing_out() -> None:
    found = fold(stacks(1, (70, UNKNOWN), (30, ("main train:11", *FORWARD))))
    assert "step.data_wait_share" not in values(found, JOB)
    assert "waits for something not known" in reasons(found, JOB)["step.data_wait_share"]
    assert values(found, JOB)["step.host_unknown_wait_share"] == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("found", "lost", "problem", "reason"),
    [
        ([], None, "py-spy is not installed", "py-spy is not installed"),
        ([], None, None, "no stack of a main thread"),
        (stacks(1, (19, DATA)), 0.0, None, "only 19 samples"),
        (stacks(1, (100, ("main train:19",))), 0.0, None, "no framework was seen"),
        (stacks(1, (100, DATA)), 0.21, None, "were lost"),
    ],
    ids=["no py-spy", "no stacks", "few", "no framework", "lost"],
)
def test_what_is_no_fair_picture_gives_no_share(
    found: list[Stack], lost: float | None, problem: str | None, reason: str
) -> None:
    readings = fold(found, lost=lost, problem=problem)
    assert "step.data_wait_share" not in values(readings, JOB)
    assert reason in reasons(readings, JOB)["step.data_wait_share"]
