"""Choosing a machine: a whole `gpuwhy select`, against a Python that only imports yaml and click, in turns."""

from __future__ import annotations

from bench.startup import compare, runs_wanted

TARGET = 4.0
WORK = ["--task", "finetune", "--params", "7B", "--method", "lora", "--sequence", "1024", "--hours", "48"]


def main() -> None:
    """Measure and print."""
    compare("select", ["select", *WORK], runs_wanted(__doc__), TARGET)


if __name__ == "__main__":
    main()
