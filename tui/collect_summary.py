"""What `gpuwhy collect` says at the end: hosts by what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpuwhy.probes.ssh_collect import Outcome
from gpuwhy.tui.collect_files import Folder
from gpuwhy.tui.wording import wrapped

WIDTH = 80
MAX_NAMED = 30
"""Hosts named in one group; a longer group is in the folder."""

REDUCED = "no-python-fallback-used"
_LABEL = 12


def render(outcomes: Sequence[Outcome], skipped: Sequence[str], folder: Folder) -> str:
    """The summary for a terminal of 80 columns."""
    lines: list[str] = []
    whole = [one for one in outcomes if one.found is not None and one.collector == "python"]
    reduced = [one for one in outcomes if one.found is not None and one.collector != "python"]
    lines += _group("COLLECTED", [one.host for one in whole], "")
    lines += _group("COLLECTED", [one.host for one in reduced], f"{REDUCED}: by the shell, which reads less", reduced)
    lines += _group("SKIPPED", skipped, "fresh facts were there already (--resume)")
    for reason in dict.fromkeys(one.reason for one in outcomes if one.reason is not None):
        failed = [one for one in outcomes if one.reason is reason]
        lines += _group("FAILED", [one.host for one in failed], f"{reason.value}: {reason.says}", failed)
    count = len(whole) + len(reduced)
    lines.append(f"{count} of {len(outcomes) + len(skipped)} hosts collected, {len(skipped)} skipped; {folder.path}/")
    if count:
        example = folder.facts((whole or reduced)[0].host)
        lines += wrapped(f"`gpuwhy diagnose {example}` diagnoses a host.", "", "  ", WIDTH)
    return "\n".join(lines) + "\n"


def _group(label: str, hosts: Sequence[str], says: str, details: Sequence[Outcome] = ()) -> Iterator[str]:
    if not hosts:
        return
    indent = " " * _LABEL
    count = f"{len(hosts)} host{'' if len(hosts) == 1 else 's'}"
    yield from wrapped(f"{count}; {says}" if says else count, label.ljust(_LABEL), indent, WIDTH)
    shown = list(hosts[:MAX_NAMED])
    told = [(one.host, one.detail or one.python_failed) for one in details[:MAX_NAMED]]
    if any(detail for _, detail in told):
        for host, detail in told:
            yield from wrapped(f"{host}: {detail}" if detail else host, indent, indent + "  ", WIDTH)
    else:
        yield from wrapped(" ".join(shown), indent, indent, WIDTH)
    if len(hosts) > MAX_NAMED:
        yield f"{indent}and {len(hosts) - MAX_NAMED} more"


def document(outcomes: Sequence[Outcome], skipped: Sequence[str], folder: Folder) -> dict[str, Any]:
    """The summary for machines: one entry for each host."""
    entries = [_entry(one, folder) for one in outcomes]
    entries += [{"host": host, "status": "skipped", "file": folder.facts(host).name} for host in skipped]
    return {"format": "gpuwhy-collect-summary", "schema": 1, "folder": str(folder.path), "hosts": entries}


def _entry(one: Outcome, folder: Folder) -> dict[str, Any]:
    if one.found is None:
        return {
            "host": one.host,
            "status": "failed",
            "file": folder.failure(one.host).name,
            "reason": None if one.reason is None else one.reason.value,
            "detail": one.detail,
            "seconds": round(one.seconds, 3),
        }
    return {
        "host": one.host,
        "status": "collected",
        "file": folder.facts(one.host).name,
        "note": None if one.collector == "python" else REDUCED,
        "facts": len(one.found.facts),
        "absent_sections": list(one.absent_sections),
        "not_read": list(one.found.troubles),
        "seconds": round(one.seconds, 3),
    }
