"""Messages between workers, screens and the application. Verbs in the past tense; what they carry is frozen."""

from __future__ import annotations

from textual.message import Message

from gpuwhy.probes.nvml_glance import Glance
from gpuwhy.tui.incident.session import Snapshot


class SnapshotTaken(Message):
    """The incident was judged anew."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class Glanced(Message):
    """The GPUs of this machine were looked at for a moment."""

    def __init__(self, glance: Glance) -> None:
        super().__init__()
        self.glance = glance


class LookMoved(Message):
    """A probe of the look at this machine has got on, or has ended."""

    def can_replace(self, message: Message) -> bool:
        """One that waits still stands for all."""
        return isinstance(message, LookMoved)


class PasteUnderstood(Message):
    """What a paste was found to hold, in lines for a person."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__()
        self.lines = lines
