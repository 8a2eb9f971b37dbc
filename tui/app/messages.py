"""Messages between workers, screens and the application. Verbs in the past tense; what they carry is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from gpuwhy.engine.selection import Choice
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.job_list import Job
    from gpuwhy.probes.nvml_glance import Glance
    from gpuwhy.tui.incident.journal import Kept
    from gpuwhy.tui.incident.session import Snapshot


class RulesRead(Message):
    """The rules can be used."""

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__()
        self.kb = kb


class IncidentsListed(Message):
    """The incidents on disk, the latest first."""

    def __init__(self, incidents: tuple[Kept, ...]) -> None:
        super().__init__()
        self.incidents = incidents


class SnapshotTaken(Message):
    """The incident was judged anew."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class Glanced(Message, bubble=False):
    """The GPUs of this machine were looked at for a moment; the application hands it to the screen on top."""

    def __init__(self, glance: Glance) -> None:
        super().__init__()
        self.glance = glance


class JobsListed(Message):
    """The programs of this machine that may be jobs."""

    def __init__(self, jobs: tuple[Job, ...]) -> None:
        super().__init__()
        self.jobs = jobs


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


class MachineChosen(Message):
    """A piece of work was judged: what would do it, or in words why it cannot be judged."""

    def __init__(self, found: Choice | str) -> None:
        super().__init__()
        self.found = found
