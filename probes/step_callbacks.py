"""The step timer as a callback of Lightning and of the Transformers trainer; either is imported only when asked for.

Both tell when a step begins and ends. What lies between, unless the framework says that it evaluates or saves, is
waiting for data.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpuwhy.probes.step_timer import StepTimer


class _Hooks:
    """Turns the moments that a trainer tells into phases of the timer."""

    def __init__(self, timer: StepTimer) -> None:
        self._timer = timer
        self._since: float | None = None

    def begin(self) -> None:
        """A step begins: the time since the last moment was waiting for data."""
        if self._since is not None:
            self._timer.add("data", self._timer.clock() - self._since)
        self._timer.begin_step()
        self._since = None

    def end(self) -> None:
        """A step ends."""
        self._timer.end_step()
        self._since = self._timer.clock()

    def passed(self, phase: str | None) -> None:
        """The time since the last moment was this phase, or belongs to no step."""
        if self._since is None:
            return
        now = self._timer.clock()
        if phase is None:
            self._timer.leave_out(now - self._since)
        else:
            self._timer.add(phase, now - self._since)
        self._since = now


def lightning_callback(timer: StepTimer) -> Any:
    """A callback for `Trainer(callbacks=[...])` of Lightning. Raises `ImportError` where it is not installed."""
    base: Any = _first("lightning.pytorch", "pytorch_lightning").Callback
    hooks = _Hooks(timer)

    class TimerCallback(base):  # type: ignore[misc]  # the base is known only when Lightning is there
        def on_train_batch_start(self, *_: Any, **__: Any) -> None:
            hooks.begin()

        def on_train_batch_end(self, *_: Any, **__: Any) -> None:
            hooks.end()

        def on_validation_end(self, *_: Any, **__: Any) -> None:
            hooks.passed(None)

        def on_save_checkpoint(self, *_: Any, **__: Any) -> None:
            hooks.passed("checkpoint")

        def on_train_end(self, *_: Any, **__: Any) -> None:
            timer.write()

    return TimerCallback()


def transformers_callback(timer: StepTimer) -> Any:
    """A callback for `Trainer(callbacks=[...])` of Transformers. Raises `ImportError` where it is not installed."""
    base: Any = _first("transformers").TrainerCallback
    hooks = _Hooks(timer)

    class TimerCallback(base):  # type: ignore[misc]  # the base is known only when Transformers is there
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            hooks.begin()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            hooks.end()

        def on_log(self, *_: Any, **__: Any) -> None:
            hooks.passed("logging")

        def on_evaluate(self, *_: Any, **__: Any) -> None:
            hooks.passed(None)

        def on_save(self, *_: Any, **__: Any) -> None:
            hooks.passed("checkpoint")

        def on_train_end(self, *_: Any, **__: Any) -> None:
            timer.write()

    return TimerCallback()


def _first(*names: str) -> Any:
    """The first of these modules that is installed. Raises `ImportError` if none is."""
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise ImportError(f"none of {', '.join(names)} is installed")
