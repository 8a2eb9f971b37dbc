"""A pack of three rules with cases, for tests of what is done with rules."""

from __future__ import annotations

from pathlib import Path

from tests.kb.pack import write as write_pack

SIGNATURE_TEST = """\
cases:
  - name: enough in pieces
    facts: {oom.request_bytes: 100, oom.free_bytes: 200, job.on: true, job.kind: train, job.name: x, gpu.power_watts: 9}
    expect: likely
    because: "200 B is free"
  - name: too little
    facts: {oom.request_bytes: 100, oom.free_bytes: 50, job.on: true, job.kind: train, job.name: x, gpu.power_watts: 30}
    expect: ruled-out
  - name: power not known
    facts: {oom.request_bytes: 100, oom.free_bytes: 200, job.on: true, job.kind: train, job.name: x}
    expect: unknown
    missing: [gpu.power_watts]
"""
DERIVATION_TEST = """\
cases:
  - {name: a half, facts: {oom.free_bytes: 50, oom.request_bytes: 100}, expect: "50 %"}
  - {name: nothing asked for, facts: {oom.free_bytes: 50}, expect: underived}
"""
FIX_TEST = """\
cases:
  - {name: always, facts: {job.on: true}, expect: offered}
"""


def write(folder: Path, **spoilt: tuple[str, str]) -> Path:
    """Write the pack with a test file beside each rule; `spoilt` as in `tests.kb.pack.write`."""
    write_pack(folder, **spoilt)
    (folder / "signatures/oom/pieces.test.yaml").write_text(SIGNATURE_TEST, "utf-8")
    (folder / "derivations/oom/slack.test.yaml").write_text(DERIVATION_TEST, "utf-8")
    (folder / "fixes/oom/grow.test.yaml").write_text(FIX_TEST, "utf-8")
    return folder
