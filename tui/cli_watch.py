"""`gpuwhy watch`: this machine's GPUs for hours, one line when something appears or clears."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from gpuwhy.tui.durations import duration_up_to
from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import knowledge, rules_option

if TYPE_CHECKING:
    from gpuwhy.engine.watching import Watching
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.gathering import Gathering
    from gpuwhy.probes.nvml_watch import GpuWatch
    from gpuwhy.tui.watch_events import Event
    from gpuwhy.tui.webhook import Webhook

SILENT_SECONDS = 60.0
"""No window for so long beyond its time: the driver hangs."""

LAST_POST_SECONDS = 3.0
_TICK_SECONDS = 1.0
_DAY = 86400.0


@click.command()
@click.option(
    "--every",
    metavar="TIME",
    callback=duration_up_to(3600.0),
    default="5s",
    show_default=True,
    help="The length of a window.",
)
@click.option(
    "--for", "seconds", metavar="TIME", callback=duration_up_to(366 * _DAY), help="How long; else until Ctrl-C."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@click.option("--webhook", "address", metavar="URL", help="Post each event there, as JSON.")
@rules_option
@click.pass_context
def watch(
    context: click.Context,
    every: float,
    seconds: float | None,
    as_json: bool,
    address: str | None,
    rules: Path | None,
) -> None:
    """Watch the GPUs and the host of this machine, and say when a cause appears or clears.

    Only reads, through the driver's interface NVML, /proc and /sys; runs no command. A cause appears when it has held
    for three windows, and clears when it has not held for three. A GPU that stops answering is an event, not the end.

    Exit status: 0 nothing appeared, 1 a cause did or a GPU stopped answering, 3 no GPU answered, 2 unusable arguments.
    Ctrl-C and SIGTERM end it the same way.
    """
    from gpuwhy.tui.webhook import Webhook, problem_with_address

    problem = None if address is None else problem_with_address(address)
    if problem is not None:
        raise click.BadParameter(problem, param_hint="--webhook")
    webhook = None if address is None else Webhook(address)
    context.exit(_Session(knowledge(rules), every, seconds, as_json, webhook).run())


class _Session:
    """One run of the command."""

    def __init__(
        self, kb: KnowledgeBase, every: float, seconds: float | None, as_json: bool, webhook: Webhook | None
    ) -> None:
        from gpuwhy.engine.watching import Watching, facts_of_interest
        from gpuwhy.probes.nvml_watch import GpuWatch
        from gpuwhy.tui.watch_events import EVENT_FACTS, Gpus

        self._every = every
        self._as_json = as_json
        self._webhook = webhook
        self._watching: Watching = Watching(kb)
        wanted = facts_of_interest(kb) | EVENT_FACTS
        self._source: GpuWatch = GpuWatch(every, {one: kb.facts[one] for one in wanted if one in kb.facts})
        self._gpus = Gpus()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._began = time.monotonic()
        self._until = None if seconds is None else self._began + seconds
        self._last = self._began
        self._silent = False
        self._answered = False
        self._broken = False
        self._stopping = False

    def run(self) -> ExitCode:
        """Watches to the end, and says what the exit status is."""
        if self._webhook is not None:
            self._webhook.start()
        with self._signals():
            self._source.start()
            while not self._over():
                left = _TICK_SECONDS if self._until is None else min(_TICK_SECONDS, self._until - time.monotonic())
                window = self._source.take(max(left, 0.01))
                if window is not None:
                    self._take(window)
                elif self._source.ended:
                    break
                else:
                    self._note_silence()
            self._source.stop()
        return self._end()

    def _over(self) -> bool:
        return self._stopping or (self._until is not None and time.monotonic() >= self._until)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the watch; a second one ends the process as it always would."""

        def stop(number: int, frame: FrameType | None) -> None:
            del frame
            if self._stopping:
                signal.signal(number, before[signal.Signals(number)])
                signal.raise_signal(number)
            self._stopping = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _take(self, window: Gathering) -> None:
        from gpuwhy.tui.watch_events import Event, of_turn

        now, at = time.monotonic(), time.time()
        self._last = now
        if self._silent:
            self._silent = False
            self._say(Event("driver-answers", at, "the driver answers again"))
        if not self._answered:
            self._greet(window, at)
        for event in self._gpus.take(window.facts, at):
            self._broken = self._broken or event.kind == "gpu-stopped"
            self._say(event)
        for turn in self._watching.take(window.facts, now, time.process_time):
            if turn.appeared:
                self._counts[turn.key] += 1
            self._say(of_turn(turn, at, lambda moment: at - (now - moment)))

    def _greet(self, window: Gathering, at: float) -> None:
        from gpuwhy.tui.watch_events import Event

        gpus = sorted({one.entity.path for one in window.facts if one.id == "gpu.name"})
        why = next((one for one in window.facts if one.id == "host.nvml_error"), None)
        if gpus:
            self._answered = True
            many = f"{len(gpus)} GPU{'' if len(gpus) == 1 else 's'} in windows of {self._every:g} s"
            self._say(Event("started", at, f"{many}; Ctrl-C ends it", {"gpus": gpus, "every_seconds": self._every}))
        elif why is not None:
            says = why.origin.text or str(why.value)
            self._say(Event("driver-silent", at, says, {"reason": why.value}))

    def _note_silence(self) -> None:
        from gpuwhy.tui.watch_events import Event

        if self._silent or time.monotonic() - self._last < self._every + SILENT_SECONDS:
            return
        self._silent = True
        name, entity = self._source.asking or ("a question", None)
        more = {} if entity is None else {"entity": entity.path}
        self._say(Event("driver-silent", time.time(), f"the driver does not come back from {name}", more))

    def _end(self) -> ExitCode:
        from gpuwhy.tui.watch_events import summary

        seconds = time.monotonic() - self._began
        standing, windows = self._watching.standing(), self._watching.windows
        self._say(summary(standing, self._counts, time.time(), seconds, windows, self._gpus.stopped))
        if self._webhook is not None:
            self._webhook.end(LAST_POST_SECONDS)
            lost = self._webhook.failed + self._webhook.dropped
            if lost:
                _error(f"{lost} event(s) did not reach the webhook: {self._webhook.last_problem or 'no time was left'}")
        if not self._answered:
            return ExitCode.CANNOT_TELL
        return ExitCode.CAUSE_FOUND if self._counts or self._broken else ExitCode.NOTHING_TO_FIX

    def _say(self, event: Event) -> None:
        from gpuwhy.tui.wording import visible

        if self._as_json:
            sys.stdout.write(json.dumps(event.document(), allow_nan=False) + "\n")
        else:
            text = "".join(f"{line}\n" for line in event.lines())
            out(visible(text))
        sys.stdout.flush()
        if self._webhook is not None:
            self._webhook.post(event.document())


def _error(text: str) -> None:
    from gpuwhy.tui.wording import encodable, visible

    click.echo(encodable(visible(f"gpuwhy: {text}"), sys.stderr.encoding or "utf-8"), err=True)
