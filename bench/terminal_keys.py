"""From a key to the bytes that show what it did, on a machine whose eight GPUs move all the time.

The guided diagnosis and a bare Textual application with a list and as many widgets run side by side, and get their keys
in turns: on the first screen, where the GPUs are looked at every second, and while this machine is looked at.
Prints medians, 95th percentiles and their ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.eight_gpus import GPUS, environment
from bench.terminal import Terminal

SYMPTOMS = ("Training is slow", "Out of memory", "Inference latency jitters", "Something looks broken", "Just look")
PROBES = ("GPU readings", "host")
BARE = """
import sys
from textual.app import App
from textual.widgets import OptionList, Static
class Bare(App):
    def compose(self):
        yield OptionList(*sys.argv[2:])
        yield from (Static(str(number)) for number in range(int(sys.argv[1])))
Bare().run()
"""
DOWN, UP = b"\x1b[B", b"\x1b[A"


def widgets() -> int:
    """How many the first screen has with so many GPUs."""
    from gpuwhy.probes.nvml_glance import Glance, Vital
    from gpuwhy.tui.app.app import GpuwhyApp
    from gpuwhy.tui.app.messages import Glanced
    from gpuwhy.tui.app.run import read_rules

    async def counted() -> int:
        app = GpuwhyApp(read_rules, "gpuwhy")
        async with app.run_test(size=(80, 24)) as pilot:
            app.post_message(Glanced(Glance(tuple(Vital(number, "GPU") for number in range(GPUS)))))
            await pilot.pause(0.2)
            return len(app.screen.query("*"))

    return asyncio.run(counted())


MARKED = rb"\x1b\[1;[\d;]+m[^\x1b]*"
"""Before the text of the line that is marked: bold."""


def pressed(one: Terminal, key: bytes, text: str, before: bytes = b"") -> float:
    """Seconds from a key until a text is drawn again."""
    pattern = re.compile(before + text.encode())
    one.read(0.001)
    began, found = time.perf_counter(), b""
    os.write(one.line, key)
    while pattern.search(found) is None:
        found += one.read(5, b"\x1b[")
        if time.perf_counter() - began > 30:
            raise SystemExit(f"{key!r} did not lead to {text!r}: {found[-400:]!r}")
    return time.perf_counter() - began


def measure(ours: Terminal, bare: Terminal, lines: Sequence[str], keys: int, what: str) -> None:
    """Keys in turns; prints what came of it."""
    moves = [(DOWN, line) for line in lines[1:]] + [(UP, line) for line in lines[-2::-1]]
    pressed(ours, DOWN, lines[0], MARKED)
    pressed(bare, DOWN, lines[0])  # where keys alone draw anything
    taken = []
    for number in range(keys):
        key, line = moves[number % len(moves)]
        taken.append((pressed(ours, key, line, MARKED), pressed(bare, key, line)))
        time.sleep(random.uniform(0.02, 0.08))
    mine, base = ([pair[whose] * 1000 for pair in taken] for whose in (0, 1))
    for name, of in (
        ("median", statistics.median),
        ("95th percentile", lambda one: statistics.quantiles(one, n=20)[-1]),
    ):
        print(f"{what}, {name}: {of(mine):.1f} ms, bare {of(base):.1f} ms, ratio {of(mine) / of(base):.2f}")


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keys", type=int, default=80)
    keys = arguments.parse_args().keys
    with tempfile.TemporaryDirectory() as name:
        found = environment(Path(name))
        library = {key: found[key] for key in ("LD_LIBRARY_PATH", "FAKE_NVML_SCENARIO")}
        ours = Terminal([sys.executable, "-m", "gpuwhy"], name, **library)
        more = widgets() - 1
        for what, lines, sign in (("first screen", SYMPTOMS, SYMPTOMS[-1]), ("while looking", PROBES, "GPU readings")):
            ours.read(30, sign.encode())
            ours.read(3)
            if lines is SYMPTOMS:
                print(f"{len(ours.read(10)) * 6} bytes a minute while nobody presses a key and eight GPUs move")
            bare = Terminal([sys.executable, "-c", BARE, str(more), *lines], name)
            bare.read(3)
            measure(ours, bare, lines, keys, what)
            bare.close()
            os.write(ours.line, b"5")
        ours.close()


if __name__ == "__main__":
    main()
