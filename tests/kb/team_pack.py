"""A team's pack beside the shipped rules, in text: tests spoil one place of it and look at what is told about it."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "pack.yaml": """\
name: acme
version: 1.2.0
extends: gpuwhy
engine: ">=0.1,<1"
disable:
  - {id: sig.oom.capacity-of-card, reason: "our cards are partitioned by a scheduler of our own"}
override:
  - {id: sig.oom.fragmentation-from-message, with: sig.oom.pieces, reason: "our allocator counts slack otherwise"}
""",
    "facts/queue.yaml": """\
facts:
  - id: acme.queue_seconds
    entity: job
    type: number
    unit: seconds
    says: "How long the job waited in the queue."
    obtain: [{effort: reading, says: "sacct", command: "sacct -o reserved"}]
""",
    "conclusions/queue.yaml": """\
conclusions:
  - {id: acme.queued, kind: cause, says: "The job waited for a slot.", collect: "squeue"}
""",
    "references/queue.yaml": """\
references:
  - {id: runbook, title: Runbook, address: "https://wiki.example/q", accessed: 2026-11-30, strength: measured}
""",
    "signatures/oom/pieces.yaml": """\
id: sig.oom.pieces
version: 1.0.0
status: stable
title: In pieces at Acme
concludes: oom.fragmentation
given: {fact: oom.request_bytes, op: known}
requires: {fact: oom.slack_bytes, op: ge, than: {fact: oom.request_bytes}}
because: ["{oom.slack_bytes} unused"]
""",
    "signatures/oom/pieces.test.yaml": """\
cases:
  - {name: more, facts: {oom.slack_bytes: 3 GiB, oom.request_bytes: 2 GiB}, expect: likely}
  - {name: as much, facts: {oom.slack_bytes: 2 GiB, oom.request_bytes: 2 GiB}, expect: likely}
  - {name: less, facts: {oom.slack_bytes: 1 GiB, oom.request_bytes: 2 GiB}, expect: ruled-out}
  - {name: not known, facts: {oom.request_bytes: 2 GiB}, expect: unknown, missing: [oom.slack_bytes]}
""",
    "signatures/oom/queued.yaml": """\
id: sig.oom.queued
version: 1.0.0
status: stable
title: Waited in the queue
concludes: acme.queued
requires: {fact: acme.queue_seconds, op: ge, value: "10 s", source: runbook}
because: ["it waited {acme.queue_seconds}"]
""",
    "signatures/oom/queued.test.yaml": """\
cases:
  - {name: long, facts: {acme.queue_seconds: 10}, expect: likely}
  - {name: short, facts: {acme.queue_seconds: 9.9}, expect: ruled-out}
  - {name: not known, facts: {}, expect: unknown, missing: [acme.queue_seconds]}
""",
}


def write(folder: Path, *spoilt: tuple[str, str, str]) -> Path:
    """Write the pack; `spoilt` names files, each with a text and what stands there instead."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for name, old, new in spoilt:
        content = (folder / name).read_text("utf-8")
        assert old in content, f"{name} has no {old!r}"
        (folder / name).write_text(content.replace(old, new, 1), encoding="utf-8")
    return folder
