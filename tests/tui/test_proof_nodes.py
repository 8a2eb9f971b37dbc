"""The proof as a tree: rows of one rule that are about several things can be told apart at their beginning."""

from __future__ import annotations

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import gather
from gpuwhy.tui.proof_nodes import proof
from gpuwhy.tui.report import Report

TABLE = """\
index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], pstate
0, NVIDIA A10, 97 %, 20000 MiB, 23028 MiB, P0
1, NVIDIA A10, 0 %, 9000 MiB, 23028 MiB, P0
2, NVIDIA A10, 0 %, 9000 MiB, 23028 MiB, P0
"""


def test_rows_of_one_rule_say_what_each_is_about() -> None:
    kb = load()
    gathered = gather([("paste", TABLE.encode())], kb.facts)
    report = Report(kb, gathered, diagnose(kb, FactBase.of(gathered.facts)))
    rows = [node.text for node in proof(report, "slow.gpu-unused")]
    assert len(set(rows)) == len(rows) > 1
    assert [row[: row.index(": ")] for row in rows[:2]] == ["LIKELY, gpu:1", "LIKELY, gpu:2"]
