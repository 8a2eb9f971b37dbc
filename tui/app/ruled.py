"""An application that reads its rules after its first screen has been painted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from gpuwhy.tui.app.messages import RulesRead
from gpuwhy.tui.app.screens.start import StartScreen
from gpuwhy.tui.app.steady import SteadyApp
from gpuwhy.tui.app.terminal import driver, theme

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.artefacts.read import Reader

PATIENCE_SECONDS = 0.5


class RuledApp(SteadyApp):
    """Its rules, and what waits for them; `rules_trouble` is why they could not be read."""

    def __init__(self, rules: Callable[[], KnowledgeBase]) -> None:
        super().__init__(driver_class=driver(), ansi_color=True)
        self.theme = theme()
        self._read_rules, self._rules_read = rules, threading.Event()
        self._kb: KnowledgeBase | None = None
        self._waiting: list[Callable[[], None]] = []
        self.rules_trouble: Exception | None = None

    def _prepare(self) -> None:
        """Reads the rules, then imports what comes next: nobody waits for either on the first screen."""
        try:
            kb = self._kb = self._read_rules()
        except Exception as error:  # noqa: BLE001 - whoever started the application tells it
            self.rules_trouble = error
            self.call_from_thread(self.exit, return_code=1)
            return
        finally:
            self._rules_read.set()
        self.post_message(RulesRead(kb))
        from gpuwhy.tui.app.screens import diagnosis, gather, paste  # noqa: F401

    def on_rules_read(self, message: RulesRead) -> None:
        """Say which they are, and do what had to wait for them."""
        for screen in self.screen_stack:
            if isinstance(screen, StartScreen):
                screen.show_rules(message.kb)
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()

    def when_ready(self, act: Callable[[], None]) -> None:
        """Do it now, or as soon as the rules are read."""
        if self._kb is not None:
            act()
            return
        self._waiting.append(act)
        self.set_timer(PATIENCE_SECONDS, self._tell_waiting)

    def _tell_waiting(self) -> None:
        if self._waiting:
            self.notify("The rules are read; after an update that takes a few seconds", timeout=3)

    @property
    def ready(self) -> bool:
        """True if the rules are read, and nothing waits for them any more."""
        return self._kb is not None and not self._waiting

    @property
    def kb(self) -> KnowledgeBase:
        """The rules; for what is done when they are read."""
        assert self._kb is not None
        return self._kb

    @cached_property
    def reader(self) -> Reader:
        """Reads artefacts, each once."""
        from gpuwhy.probes.artefacts.read import Reader

        return Reader()

    def understood(self, text: str) -> tuple[str, ...]:
        """What a text holds, in lines for a person. Called from a thread: it takes a while."""
        from gpuwhy.tui.app.understood import understood

        self._rules_read.wait()
        return understood(self.next_paste, text, self._kb.facts, self.reader) if self._kb is not None else ()

    @property
    def next_paste(self) -> str:
        """What the next paste will be called."""
        return "paste"
