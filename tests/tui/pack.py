"""A small rule pack over the shipped vocabulary: reports are tested on rules that do not move under them."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from gpuwhy.engine.answers import parse_answer
from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase, OriginKind
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.probes.artefacts.read import gather
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import columns

FILES = {
    "pack.yaml": """
name: tested
version: 3.2.1
summary: Rules for tests of the reports.
""",
    "pipeline.yaml": """
stages:
  - {id: input, share: step.data_wait_share, conclusion: slow.io-wall, says: "waiting for data"}
  - {id: compute, share: step.compute_share, conclusion: slow.compute-bound, says: "computing"}
""",
    "facts/tested.yaml": """
facts:
  - {id: tested.unused_share, entity: failure, type: number, unit: share, says: "Unused part of what is reserved."}
  - id: tested.shapes_vary
    entity: job
    type: boolean
    says: "Input shapes vary from step to step."
    ask: "Do input shapes vary between steps?"
    answers: [{value: true, says: "They vary."}, {value: false, says: "They are always the same."}]
    obtain: [{effort: question, says: "print(batch.shape) for 20 steps"}]
  - {id: tested.already_set, entity: job, type: boolean, says: "The setting is on."}
  - {id: tested.word, entity: job, type: text, says: "Any word."}
""",
    "references/tested.yaml": """
references:
  - id: tested-threshold
    title: A guide with thresholds
    address: https://example.com/guide
    accessed: 2026-11-30
    strength: vendor
  - {id: definition, title: Arithmetic, address: docs/rules.md, accessed: 2026-11-30, strength: definition}
""",
    "derivations/oom/unused.yaml": """
id: derive.oom.unused
version: 1.0.0
status: stable
title: Unused part of what is reserved
gives: tested.unused_share
formula: oom.reserved_unallocated_bytes / (oom.reserved_unallocated_bytes + oom.allocated_bytes)
""",
    "signatures/oom/pieces.yaml": """
id: sig.oom.pieces
version: 2.1.0
status: stable
title: Reserved and unused memory covers the request
concludes: oom.fragmentation
priority: 70
given: {fact: oom.event, op: eq, value: true}
requires:
  all:
    - {fact: oom.reserved_unallocated_bytes, op: ge, than: {fact: oom.request_bytes}}
    - {fact: tested.unused_share, op: ge, value: "10 %", source: tested-threshold}
confirms: {fact: tested.shapes_vary, op: eq, value: true}
because:
  - "{oom.reserved_unallocated_bytes} is reserved and unused, the request was {oom.request_bytes}"
refuted: ["only {oom.reserved_unallocated_bytes} is reserved and unused"]
""",
    "signatures/oom/neighbour.yaml": """
id: sig.oom.neighbour
version: 1.0.0
status: stable
title: Most of the card is held by others
concludes: oom.other-process
given: {fact: oom.event, op: eq, value: true}
requires: {fact: oom.process_in_use_bytes, op: lt, than: {fact: oom.capacity_bytes}, times: 0.5, source: definition}
because: ["this process holds {oom.process_in_use_bytes}"]
refuted: ["this process holds {oom.process_in_use_bytes} of {oom.capacity_bytes}"]
""",
    "signatures/oom/growth.yaml": """
id: sig.oom.growth
version: 1.0.0
status: stable
title: It never stops growing
concludes: oom.leak
given: {fact: oom.event, op: eq, value: true}
requires:
  all:
    - {fact: tested.shapes_vary, op: eq, value: false}
    - {not: {fact: tested.already_set, op: eq, value: true}}
because: ["with shapes that never vary, use should be the same in every step"]
""",
    "signatures/slow/input.yaml": """
id: sig.slow.input
version: 1.0.0
status: stable
title: Steps wait for data
concludes: slow.io-wall
given: {fact: step.data_wait_share, op: known}
requires: {fact: step.data_wait_share, op: ge, value: "20 %", source: tested-threshold}
confirms: {fact: step.data_wait_share, op: ge, value: "20 %", source: tested-threshold}
because: ["{step.data_wait_share} of the time is spent waiting for data"]
refuted: ["only {step.data_wait_share} of the time is spent waiting for data"]
""",
    "signatures/slow/busy.yaml": """
id: sig.slow.busy
version: 1.0.0
status: stable
title: Nothing is wrong
concludes: oom.warning-only
given: {fact: oom.recovered, op: eq, value: true}
requires: {fact: oom.recovered, op: eq, value: true}
because: ["the program went on"]
""",
    "fixes/oom/segments.yaml": """
id: fix.oom.segments
version: 1.0.0
status: stable
title: Let segments grow
conclusions: [oom.fragmentation]
unless:
  - {when: {fact: tested.already_set, op: eq, value: true}, because: "segments already grow"}
steps:
  - {says: "Set it before the first import of torch.", command: "export PYTORCH_ALLOC_CONF=expandable_segments:True"}
effect: "up to {oom.reserved_unallocated_bytes} becomes usable"
risk: none known
undo: unset PYTORCH_ALLOC_CONF
restart: true
verify: {says: "allocator retries stay 0 over 500 steps", command: "grep -c retries train.log"}
""",
    "fixes/oom/lengths.yaml": """
id: fix.oom.lengths
version: 1.0.0
status: stable
title: Pad to a few lengths
conclusions: [oom.fragmentation]
order: 90
steps: [{says: "Round every length up.", command: "pad_to = -(-length // 64) * 64"}]
effect: most blocks are used again
risk: a little more computing
undo: use the old collate function
verify: {says: "reserved stays level"}
""",
}
"""The pack's own files, by path."""

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB "
    "of which 411.06 MiB is free. Including non-PyTorch memory, this process has 23.28 GiB memory in use. Of the "
    "allocated memory 17.94 GiB is allocated by PyTorch, and 4.87 GiB is reserved by PyTorch but unallocated."
)
"""Reserved and unused 4.87 GiB of 4.87 + 17.94 = 22.81 GiB: 21.35 %."""


def build(folder: Path) -> Path:
    """Write the pack into a folder and return it."""
    shipped = rules_folder()
    for name in ("facts", "conclusions", "schema"):
        shutil.copytree(shipped / name, folder / name)
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.lstrip("\n"), encoding="utf-8")
    return folder


def report(folder: Path, artefact: str | bytes, *answers: str, name: str = "oom.txt") -> Report:
    """The report on one artefact and answers, by the pack in this folder."""
    kb = load(folder)
    content = artefact.encode() if isinstance(artefact, str) else artefact
    gathered = gather([(name, content)] if content else [], kb.facts)
    base = FactBase.of(gathered.facts, gathered.absent)
    given = [parse_answer(kb.facts, one, OriginKind.PERSON, "answer", base) for one in answers]
    return Report(kb, gathered, diagnose(kb, base.with_facts(given)))


def too_wide(text: str, width: int = 80) -> list[str]:
    """Lines of a report wider than the page; one word of a command that cannot be broken may be."""
    wide = [line for line in text.splitlines() if columns(line) > width]
    return [line for line in wide if len(shlex.split(line.removesuffix(" \\"), comments=True)) > 1]
