"""A small pack that holds, in text: tests spoil one place of it and look at what is told about that place."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "pack.yaml": "name: small\nversion: 1.0.0\nsummary: A pack.\n",
    "pipeline.yaml": """\
stages:
  - {id: input, share: step.wait_share, conclusion: slow.input, says: waiting}
  - {id: compute, share: step.busy_share, conclusion: slow.input, says: computing}
""",
    "facts/all.yaml": """\
facts:
  - {id: oom.request_bytes, entity: failure, type: number, unit: bytes, says: "Asked for."}
  - {id: oom.free_bytes, entity: failure, type: number, unit: bytes, says: "Free."}
  - {id: oom.slack_share, entity: failure, type: number, unit: share, says: "Unused."}
  - {id: step.wait_share, entity: job, type: number, unit: share, says: "Waiting."}
  - {id: step.busy_share, entity: job, type: number, unit: share, says: "Computing."}
  - {id: gpu.power_watts, entity: gpu, type: number, unit: watts, says: "Power."}
  - {id: job.on, entity: job, type: boolean, says: "On."}
  - {id: job.name, entity: job, type: text, says: "Name."}
  - {id: job.kind, entity: job, type: choice, choices: [train, serve], says: "Kind."}
""",
    "conclusions/all.yaml": """\
conclusions:
  - {id: oom.pieces, kind: cause, says: "In pieces.", explains: [slow.input]}
  - {id: slow.input, kind: cause, says: "Waits."}
  - {id: evidence.insufficient, kind: evidence, says: "Nothing decides."}
""",
    "references/all.yaml": """\
references:
  - {id: guide, title: Guide, address: "https://example.com", accessed: 2026-11-30, strength: vendor}
  - {id: definition, title: Logic, address: docs/rules.md, accessed: 2026-11-30, strength: definition}
""",
    "derivations/oom/slack.yaml": """\
id: derive.oom.slack
version: 1.0.0
status: stable
title: Unused share
gives: oom.slack_share
formula: oom.free_bytes / oom.request_bytes
""",
    "signatures/oom/pieces.yaml": """\
id: sig.oom.pieces
version: 1.0.0
status: stable
title: In pieces
concludes: oom.pieces
requires:
  all:
    - {fact: oom.free_bytes, op: ge, than: {fact: oom.request_bytes}}
    - {fact: oom.slack_share, op: ge, value: "10 %", source: guide}
    - {fact: job.on, op: eq, value: true}
    - {fact: job.kind, op: in, value: [train, serve]}
    - {fact: gpu.power_watts, over: max, op: lt, value: 300, source: guide}
    - {fact: job.name, over: count, op: gt, value: 0, source: definition}
because: ["{oom.free_bytes} is free"]
""",
    "fixes/oom/grow.yaml": """\
id: fix.oom.grow
version: 1.0.0
status: stable
title: Grow
conclusions: [oom.pieces]
steps: [{says: "Set it.", command: "export X=1"}]
effect: some
risk: none
undo: unset X
verify: {says: look}
""",
}


def write(folder: Path, **spoilt: tuple[str, str]) -> Path:
    """Write the pack; `spoilt` names files by their stem, each with a text and what stands there instead."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        old, new = spoilt.get(name.removesuffix(".yaml").replace("/", "_"), ("", ""))
        assert old in content, f"{name} has no {old!r}"
        path.write_text(content.replace(old, new, 1) if old else content, encoding="utf-8")
    return folder
