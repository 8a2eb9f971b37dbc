"""The data diagnosis of SuperBench on its own rules: `.venv/bin/python bench/superbench.py CHECKOUT PYTHON [NODES]`.

CHECKOUT is a folder with microsoft/superbenchmark, PYTHON an interpreter that has pandas, jsonlines and PyYAML. Its
`superbench.analyzer` runs as it is (the logger and the benchmarks' context, which need far more, are stood in for) on
`tests/analyzer/test_rules.yaml` and the baseline beside it. Result lines are generated: 463 metrics a node as its
benchmarks name them, 2 % of the nodes with one of the 34 metrics that the rules read beyond its bound.

The same rules are read as conditions of ours: `lambda x:x>0.05` over a variance is a bound of 1.05 times the baseline.
Both are whole processes, from the files to the names of the defective nodes, which must be the same.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DEFECTIVE = 0.02
TIMES = 3
"""How often the fast side is run before and after the slow one; its best run counts."""
PEER = """
import sys, types, json, time
sys.path.insert(0, sys.argv[1])
import enum
class Enum(enum.Enum): pass
class Logger:
    def log_and_raise(self, exception=Exception, msg=""): raise exception(msg)
    def warning(self, *a): pass
    error = info = warning
for name in ("superbench.common", "superbench.common.utils", "superbench.benchmarks", "superbench.benchmarks.context"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["superbench.common.utils"].logger = Logger()
sys.modules["superbench.benchmarks.context"].Enum = Enum
from superbench.analyzer.data_diagnosis import DataDiagnosis
from superbench.analyzer import file_handler
begun = time.process_time()
one = DataDiagnosis()
rules = one.preprocess(sys.argv[2], sys.argv[3])
loaded = time.process_time()
_, labels = one.run_diagnosis_rules(rules, file_handler.read_baseline(sys.argv[4]))
print(json.dumps([loaded - begun, time.process_time() - loaded, sorted(labels.index[labels["label"] == 1])]))
"""
SIGNS = {">": "gt", ">=": "ge", "<": "lt", "<=": "le"}
_CRITERIA = re.compile(r"lambda (\w+):\s*\1\s*([<>]=?)\s*(-?[\d.]+)")


def _named(pattern: str, *parts: Iterable[Any]) -> list[str]:
    """Metric names: the pattern with every combination of the parts."""
    return [pattern.format(*one) for one in itertools.product(*parts)]


def metrics() -> dict[str, float]:
    """A node that is well."""
    ranks = range(8)
    kinds = ("FP64", "FP32", "FP16", "FP64_TC", "TF32_TC", "BF16_TC", "FP16_TC", "INT8_TC", "INT4_TC")
    models = ("bert-base", "bert-large", "densenet169", "densenet201", "gpt2-large", "lstm", "resnet50")
    groups: list[tuple[list[str], float]] = [
        (["kernel-launch/return_code", "mem-bw/return_code"], 0),
        (_named("kernel-launch/event_overhead:{}", ranks), 0.0059),
        (_named("kernel-launch/wall_overhead:{}", ranks), 0.0102),
        (_named("mem-bw/H2D_Mem_BW:{}", ranks), 25.8),
        (_named("mem-bw/D2H_Mem_BW:{}", ranks), 24.4),
        (_named("mem-bw/D2D_Mem_BW:{}", ranks), 1118.0),
        (_named("gemm-flops/{}:{}", kinds, ranks), 18362.1),
        (_named("ib-loopback/IB_write_{}_Avg_{}:0", [512 << size for size in range(15)], ranks), 23930.4),
        (_named("gpu-sm-copy-bw/{}:{}", ("dtoh", "htod"), range(32)), 3.9),
        (_named("nccl-bw/allreduce_{}_{}:0", [8 << size for size in range(28)], ("busbw", "algbw", "time")), 37.8),
        (_named("models/pytorch-{}/{}_train_{}", models, ("steptime", "throughput"), ("float32", "float16")), 207.3),
    ]
    found = {name: value for names, value in groups for name in names}
    found |= dict.fromkeys(
        _named("pytorch-computation-communication-overlap/mul_cost:{}", range(463 - len(found))), 44.2
    )
    return found


def write_results(path: Path, nodes: int) -> list[str]:
    """The result lines; gives the names of the defective nodes."""
    chance, well = random.Random(11), metrics()
    worse = {name: 1.5 for name in well if name.startswith("kernel-launch/") and "overhead" in name}
    worse |= {name: 0.5 for name in well if name.startswith(("mem-bw/H2D", "mem-bw/D2H"))}
    defective = []
    with path.open("w") as file:
        for number in range(nodes):
            row: dict[str, Any] = {"node": f"node-{number:05}"}
            row |= {name: value if "return_code" in name else value * chance.uniform(0.99, 1.01)
                    for name, value in well.items()}  # fmt: skip
            if chance.random() < DEFECTIVE:
                name = chance.choice([*worse, "kernel-launch/return_code"])
                row[name] = row[name] * worse[name] if name in worse else 1
                defective.append(row["node"])
            file.write(json.dumps(row) + "\n")
    return defective


def conditions(rules: Path, baseline: Path, names: list[str]) -> list[Any]:
    """For each rule and each metric that it matches, the comparison that makes a node defective."""
    import yaml

    from gpuwhy.kb.conditions import Comparison, FactRef, Operator

    known = json.loads(baseline.read_text())
    found = []
    for rule in yaml.safe_load(rules.read_text())["superbench"]["rules"].values():
        matched = _CRITERIA.fullmatch(rule["criteria"].strip())
        assert matched is not None, rule["criteria"]
        op, bound = Operator(SIGNS[matched.group(2)]), float(matched.group(3))
        wanted = rule["metrics"] if isinstance(rule["metrics"], list) else [rule["metrics"]]
        for name in names:
            if any(re.search(one, name) for one in wanted):
                base = known.get(name, known.get(name.rpartition(":")[0]))
                limit = base * (1 + bound) if rule["function"] == "variance" else bound
                found.append(Comparison(FactRef(name), op, limit))
    return found


def ours(results: Path, rules: Path, baseline: Path) -> list[str]:
    """The defective nodes by the column reading."""
    import polars

    from gpuwhy.engine.columns import truths
    from gpuwhy.kb.conditions import Any_
    from gpuwhy.kb.model import FactSpec

    with results.open() as file:
        names = [name for name in json.loads(file.readline()) if name != "node"]
    tests = conditions(rules, baseline, names)
    tree = Any_(tuple(tests))
    read = sorted({one.ref.fact for one in tests})
    schema = {"node": polars.String, **dict.fromkeys(read, polars.Float64)}
    frame = polars.read_ndjson(results, schema=schema)
    specs = {name: FactSpec(name, "host", "number", name) for name in read}
    held = truths(specs, frame, {"defective": tree})
    found: list[str] = held.filter(held["defective"].fill_null(False))["node"].to_list()
    return sorted(found)


def process(command: list[str]) -> tuple[float, float, str]:
    """The seconds that a process takes from start to end, its processor time, and what it printed."""
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    after, ended = os.times(), time.perf_counter()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return ended - begun, busy, done.stdout


def main() -> None:
    if sys.argv[1] == "--ours":
        print(json.dumps(ours(*(Path(one) for one in sys.argv[2:5]))))
        return
    checkout, python = sys.argv[1], sys.argv[2]
    nodes = int(sys.argv[3]) if len(sys.argv) > 3 else 8_000
    tests = Path(checkout) / "tests" / "analyzer"
    rules, baseline = tests / "test_rules.yaml", tests / "test_baseline.json"
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results-summary.jsonl"
        defective = write_results(results, nodes)
        files = [str(results), str(rules), str(baseline)]
        command = [sys.executable, __file__, "--ours", *files]
        mine = [process(command) for _ in range(TIMES)]
        peer = process([python, "-c", PEER, checkout, *files])
        mine += [process(command) for _ in range(TIMES)]
    load, diagnose, theirs = json.loads(peer[2])
    found = json.loads(mine[0][2])
    if theirs != defective or found != defective:
        raise SystemExit(f"other nodes: {len(theirs)} by SuperBench, {len(found)} here, {len(defective)} made")
    wall, busy = min(one[0] for one in mine), min(one[1] for one in mine)
    print(f"{nodes:,} nodes, {len(defective)} defective, the same in both; whole processes: seconds, processor time")
    print(
        f"SuperBench {peer[0]:8.2f}{peer[1]:8.2f}   (of that {load:.1f} for loading, {diagnose:.1f} for the diagnosis)"
    )
    print(f"gpuwhy     {wall:8.2f}{busy:8.2f}   {peer[0] / wall:.0f} and {peer[1] / busy:.0f} times")


if __name__ == "__main__":
    main()
