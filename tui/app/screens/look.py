"""A look at this machine: its GPUs and its host are watched for a while; what is there can be used at any time."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, ProgressBar, Static

from gpuwhy.tui.app.messages import LookEnded, LookProgressed


class LookScreen(ModalScreen[None]):
    """Shows how far the look is."""

    CSS_PATH = "look.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.end_look", "Go on with what is there"),
        Binding("escape,c", "app.cancel_look", "Cancel"),
    ]

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Looking at this machine"
            yield Static(
                Content(
                    f"GPUs through the driver, the host through /proc, for {self._seconds:.0f} s. Nothing is changed."
                )
            )
            yield ProgressBar(total=100, show_eta=False)
        yield Footer()

    def on_look_progressed(self, message: LookProgressed) -> None:
        """Move the bar."""
        self.query_one(ProgressBar).update(progress=100 * message.share)

    def on_look_ended(self, _: LookEnded) -> None:
        """It is over."""
        self.dismiss()
