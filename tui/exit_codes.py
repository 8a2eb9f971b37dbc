"""Exit codes of the command line, in one place.

0  looked, and found nothing to fix
1  a cause is confirmed or likely
2  unusable input or arguments
3  cannot tell; the report says what would decide
70  a defect of gpuwhy; 130 interrupted
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuwhy.engine.model import Diagnosis


class ExitCode(IntEnum):
    """What the exit status of `gpuwhy` means."""

    NOTHING_TO_FIX = 0
    CAUSE_FOUND = 1
    UNUSABLE = 2
    CANNOT_TELL = 3
    DEFECT = 70
    INTERRUPTED = 130


def of(diagnosis: Diagnosis) -> ExitCode:
    """A cause found; else nothing to fix where something normal explains what was seen; else cannot tell."""
    kinds = {one.spec.kind for one in diagnosis.asserted}
    if "cause" in kinds:
        return ExitCode.CAUSE_FOUND
    return ExitCode.NOTHING_TO_FIX if "normal" in kinds else ExitCode.CANNOT_TELL
