"""Every screen as a picture, at two sizes and without colours, over rules that never change.

`GPUWHY_WRITE_SNAPSHOTS=1 pytest tests/tui/app/test_snapshots.py` writes what is drawn now. Look at every picture
that it changes, in a browser, before it is committed.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Footer

from gpuwhy.engine.pricing import KNOWN_HERE, NOT_COMPARED
from gpuwhy.engine.selection import Candidate, Change, Choice, Said
from gpuwhy.kb.load import load
from gpuwhy.kb.load import load as shipped
from gpuwhy.kb.offers import Machine, Price
from gpuwhy.kb.records import replace
from gpuwhy.probes import job_list, nvml_glance
from gpuwhy.probes.job_list import Job
from gpuwhy.probes.nvml_glance import Glance, Glancer, Vital
from gpuwhy.tui.app.app import GpuwhyApp
from gpuwhy.tui.app.messages import MachineChosen
from gpuwhy.tui.app.rows import Rows
from gpuwhy.tui.app.screens.choose import ChooseScreen
from gpuwhy.tui.app.screens.fix import compared
from gpuwhy.tui.app.screens.gather import GatherScreen
from gpuwhy.tui.app.screens.job import ConsentScreen, JobScreen
from gpuwhy.tui.app.screens.pick import PickScreen
from gpuwhy.tui.app.screens.value import ValueScreen
from gpuwhy.tui.app.vitals import Vitals
from gpuwhy.tui.choosing import from_form
from gpuwhy.tui.diagnosed import Diagnosed
from gpuwhy.tui.incident.events import Answered, Started
from gpuwhy.tui.incident.verification import RECOVERED, Compared, Verification
from tests.kb import pack
from tests.tui.app.picture import coloured, picture
from tests.tui.app.test_app import settled
from tests.tui.incident.test_looking import probe, steady

HERE = Path(__file__).parent / "snapshots"
SIZES = {"80x24": (80, 24), "120x36": (120, 36)}
GIB = 2**30
GPUS = Glance(tuple(Vital(n, "NVIDIA A10", n / 8, n * 2 * GIB, 22.5 * GIB, 40.0 + n, 98.0) for n in range(8)), "590.48")
EVENTS = (
    Started("oom", "1.0"),
    Answered("oom.free_bytes", "2 GiB"),
    Answered("oom.request_bytes", "1 GiB"),
    Answered("job.kind", "train"),
    Answered("gpu.power_watts", "120"),
    Answered("job.name", "llm"),
)


async def nothing(_: Pilot[None]) -> None:
    """The screen as it opens."""


def pressing(*keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    async def press(pilot: Pilot[None]) -> None:
        for key in keys:
            await pilot.press(key)
            await settled(pilot)

    return press


async def typing(pilot: Pilot[None]) -> None:
    pilot.app.push_screen(ValueScreen("How many workers?", lambda _: "a whole number", "x"))
    await pilot.press("enter")


async def picking(pilot: Pilot[None]) -> None:
    offered = [(str(number), f"about {number} in every step") for number in range(14)]
    pilot.app.push_screen(PickScreen("How many copies wait?", offered))
    await pilot.press("down")


async def verified(pilot: Pilot[None]) -> None:
    await pressing("f")(pilot)
    figures = (
        Compared("step.data_wait_share", "63 %", "6 %", "wanted < 10 %"),
        Compared("gpu.utilization_share", "31 %", "not read", "trouble < 40 %"),
    )
    found = Verification(RECOVERED, "what the fix should bring about holds", figures)
    pilot.app.screen.query_one("#verify", Rows).show(compared(found))


async def gathering(pilot: Pilot[None]) -> None:
    pilot.app.push_screen(GatherScreen("Training is slow", (probe("host", steady),), 20.0, {}))
    await pilot.pause()
    pilot.app.screen.query_one(Vitals).show(GPUS)


MACHINE = Machine(
    name="ecs.gn7i-c8g1.2xlarge", provider="alicloud", family="gn7i", status="listed", gpu="NVIDIA A10", gpus=1,
    gpu_memory_bytes=22.5 * GIB, memory_is_nominal=False, is_slice=False, architecture="Ampere",
    compute_capability=8.6, bandwidth_bytes_per_second=600e9, tensor16_flops=125e12, float32_flops=31.2e12,
    has_tensor_cores=True, supports_bfloat16=True, supports_tf32=True, supports_fp8=False, nvlink_bytes_per_second=None,
    rdma=False, mig=False, vcpus=8, memory_bytes=30.0 * GIB, network_bytes_per_second=None, disk_bytes_per_second=None,
    local_disk_bytes=None, says="", source="hand",
)  # fmt: skip
PRICE = Price(MACHINE.name, "cn-beijing", 9.53, "CNY", "payg", "2024-12-31", "hand")
SMALL = replace(MACHINE, name="ecs.gn7r-c16g1.4xlarge", family="gn7r", gpu="NVIDIA A16", gpu_memory_bytes=14.9 * GIB)
TOO_SMALL = Said("select.memory.too-small-to-train", "a GPU needs 19.22 GiB and has 14.90 GiB")


def candidate(machine: Machine, price: Price | None, *rejected: Said) -> Candidate:
    standing = (KNOWN_HERE, price.per_hour * 48) if price is not None else (NOT_COMPARED, 0.0)
    return Candidate(machine, 19.2 * GIB, price, 48.0, None, rejected, standing=standing)


async def choosing(pilot: Pilot[None]) -> None:
    app = pilot.app
    assert isinstance(app, GpuwhyApp)
    screen = ChooseScreen(app.kb, Diagnosed())
    app.push_screen(screen)
    await pilot.pause(0.3)
    await settled(pilot)
    work = from_form(shipped(), {"params": "7B", "method": "lora", "sequence": "1024", "hours": "48"}, Diagnosed())
    kept = (candidate(MACHINE, PRICE), candidate(replace(MACHINE, name="ecs.gn7i-2x.8xlarge", gpus=2), None))
    rejected = (candidate(SMALL, replace(PRICE, machine=SMALL.name, per_hour=4.87), TOO_SMALL),)
    change = Change("QLoRA instead of LoRA", replace(rejected[0], needed_bytes=10.9 * GIB))
    screen.post_message(MachineChosen(Choice(work, kept, rejected, (), change)))


JOBS = (
    Job(4242, "train", "python train.py --config llm.yaml --workers 4", 3.8, 7800.0, 1, 16.0 * GIB, 4, True, True),
    Job(5151, "ml", "python -m serve --port 8000", 0.4, 90000.0, 0, None, 0, True, False),
)


async def jobs_listed(pilot: Pilot[None]) -> None:
    pilot.app.push_screen(JobScreen("Training is slow", True))
    await settled(pilot)


async def consent(pilot: Pilot[None]) -> None:
    pilot.app.push_screen(ConsentScreen(4242))


SCREENS: dict[str, tuple[bool, Callable[[Pilot[None]], Awaitable[None]]]] = {
    "start": (False, nothing),
    "paste": (True, pressing("a")),
    "diagnosis": (True, nothing),
    "why-not": (True, pressing("x")),
    "facts": (True, pressing("slash", "enter")),
    "steps": (True, pressing("s")),
    "why-ask": (True, pressing("w")),
    "how": (True, pressing("h")),
    "fix": (True, pressing("f")),
    "verified": (True, verified),
    "report": (True, pressing("e")),
    "help": (True, pressing("question_mark")),
    "value": (True, typing),
    "pick": (True, picking),
    "gather": (True, gathering),
    "choose": (False, choosing),
    "job": (True, jobs_listed),
    "consent": (True, consent),
    "commands": (True, pressing("ctrl+p")),
}


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(Glancer, "look", lambda _: Glance(trouble="this is a test"))
    monkeypatch.setattr(job_list, "jobs", lambda _: list(JOBS))
    monkeypatch.setattr(nvml_glance, "memory_by_process", dict)
    folder = tmp_path / "rules"
    pack.write(folder)
    return folder


def drawn(rules: Path, name: str, size: tuple[int, int]) -> str:
    """What a screen shows."""
    opened, act = SCREENS[name]
    app = GpuwhyApp(lambda: load(rules), "gpuwhy 1.0   node", events=EVENTS if opened else ())

    async def run() -> str:
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            await act(pilot)
            await settled(pilot)
            for one in app.screen.query("#path"):
                one.display = False  # the name of a journal is the moment
            # the digest changes with every version
            shown = re.sub(r"\([0-9a-f]{4}\)", "(0123)", await standing(pilot))
            return re.sub(r"digest `[0-9a-f]{12}`", "digest `0123456789ab`", shown)

    return asyncio.run(run())


async def standing(pilot: Pilot[None]) -> str:
    """The picture once it has its footer and does not change any more."""
    shown = ""
    while not all(one.children for one in pilot.app.screen.query(Footer)) or shown != picture(pilot.app):
        shown = picture(pilot.app)
        await pilot.pause(0.05)
    return shown


WITHOUT_COLOURS = "80x24-no-colour"
KINDS = [*SIZES, WITHOUT_COLOURS]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_drawn_as_it_was_looked_at(
    rules: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if kind == WITHOUT_COLOURS:
        monkeypatch.setenv("NO_COLOR", "1")
    shown = drawn(rules, name, SIZES[kind.partition("-")[0]])
    path = HERE / f"{name}-{kind}.svg"
    if os.environ.get("GPUWHY_WRITE_SNAPSHOTS"):
        HERE.mkdir(exist_ok=True)
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")
    if kind == WITHOUT_COLOURS:
        assert not coloured(shown)


def test_there_is_no_picture_of_a_screen_that_is_gone() -> None:
    assert {path.name for path in HERE.iterdir()} == {f"{name}-{kind}.svg" for name in SCREENS for kind in KINDS}
