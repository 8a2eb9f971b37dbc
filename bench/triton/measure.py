"""What a real tritonserver shows while a known cause of latency is provoked: the figures that rules are set between.

Starts the server that the wheel nvidia-pytriton carries (no GPU needed), provokes one cause after the other with models
that sleep, watches it as `gpuwhy diagnose --triton` does, and prints for each run the separating figures and what is
concluded. From the root of the repository: `python -m bench.triton.measure --runs 3 --for 5`. Models sleep instead of
computing, so that the figures hold on a busy machine too; the load of the machine is printed with them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.model import Diagnosis
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.triton_http import Address
from gpuwhy.probes.triton_live import Target, look
from tests.triton_lab.scenarios import SCENARIOS, Lab, Scenario, lab
from tests.triton_lab.server import why_not

FIGURES = (
    "serve.requests_per_second",
    "serve.server_latency_seconds",
    "serve.queue_share",
    "serve.queue_seconds",
    "serve.max_queue_delay_seconds",
    "serve.busy_instance_share",
    "serve.batch_size_mean",
    "serve.rate_peak_ratio",
    "serve.first_latency_ratio",
    "serve.spike_count",
    "serve.spike_ratio",
    "serve.infer_spread_ratio",
    "serve.new_shape_ratio",
    "serve.handler_share",
    "serve.step_share",
    "serve.cache_hit_share",
    "serve.reload_count",
    "serve.failed_count",
)


def watched(kb: KnowledgeBase, where: Lab, one: Scenario, seconds: float) -> Diagnosis:
    """The diagnosis of one scenario."""
    server = where.explicit if one.explicit else where.polled
    where.prime(*one.prime)
    target = Target(
        Address("127.0.0.1", server.metrics), Address("127.0.0.1", server.http), server.repository, server.log
    )
    with one.provoke(where):
        seen = look(target, seconds, kb.facts)
    return diagnose(kb, FactBase.of(seen.facts, seen.absent))


def lines(found: Diagnosis) -> Iterable[str]:
    """The conclusions, and the figures of every load."""
    yield "  " + ", ".join(f"{one.status.value} {one.id}" for one in found.conclusions)
    loads: dict[str, list[str]] = {}
    for fact in found.facts:
        if fact.id in FIGURES and not isinstance(fact.value, str):
            loads.setdefault(fact.entity.path, []).append(f"{fact.id.removeprefix('serve.')} {fact.value:.3g}")
    for path, figures in loads.items():
        yield f"    {path.removeprefix('server:this/')}: {', '.join(figures)}"


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--for", dest="seconds", type=float, default=5.0)
    arguments.add_argument("--only", nargs="*", default=[], metavar="NAME")
    given = arguments.parse_args()
    if why_not():
        raise SystemExit(f"the server cannot run here: {why_not()}")
    kb = load()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, lab(Path(folder)) as where:
        print(f"both servers ready after {time.monotonic() - began:.0f} s")
        for number in range(given.runs):
            for one in SCENARIOS:
                if not given.only or one.name in given.only:
                    found = watched(kb, where, one, max(given.seconds, one.seconds))
                    print(f"{one.name}, run {number + 1}, {os.getloadavg()[0]:.1f} threads ready")
                    print("\n".join(lines(found)), flush=True)


if __name__ == "__main__":
    main()
