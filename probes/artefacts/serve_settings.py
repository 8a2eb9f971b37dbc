"""What headings and labels of a benchmark say about the setting that was changed between its runs."""

from __future__ import annotations

import re

from gpuwhy.kb.patterns import later

_BATCHING_OFF = later(
    r"\b(?:no|without|w/o|non|not|disabled?)\b[-\w ]{0,24}\bbatch"
    r"|\bbatch(?:ing|er)?\b[ :=]{0,3}(?:off|disabled|none|false)\b",
    re.I,
)
_BATCHING_ON = later(
    r"\b(?:dynamic|server[- ]side|continuous|in-?flight|with)[- ]batch"
    r"|\bbatch(?:ing|er)\b[ :=]{0,3}(?:on|enabled|true)\b",
    re.I,
)
_INSTANCES = later(
    r"\b([0-9]{1,3})\s{0,2}(?:x\s{0,2})?(?:model\s{1,2})?(?:instances?|workers?|replicas?)\b"
    r"|\b(?:instances?|workers?|replicas?|instance_group count|count)\s{0,2}[:=]?\s{0,2}([0-9]{1,3})\b",
    re.I,
)
_ONE = later(r"\b(?:one|single) (?:instance|worker|replica)\b", re.I)


def batching_of(label: str) -> bool | None:
    """True where a label says that the server batches, False where that it does not, None where it is silent."""
    if _BATCHING_OFF.search(label):
        return False
    return True if _BATCHING_ON.search(label) else None


def instances_of(label: str) -> int | None:
    """The number of instances that a label speaks of, or None."""
    if (found := _INSTANCES.search(label)) is not None:
        return int(found[1] or found[2])
    return 1 if _ONE.search(label) else None
