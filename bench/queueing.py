"""What queueing alone does to latencies: the separations that rules about serving rest on.

One server with a fixed service time of 1, simulated with arrivals at random (Poisson), on schedule, and in bursts,
below and above capacity. Prints, for each load: the share of a request's time spent in the queue, percentiles of the
latency over its median, and the mean over the median. `python bench/queueing.py`; standard library only, the same
figures on every run.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

REQUESTS = 200_000
SERVICE = 1.0


def poisson(rate: float, count: int) -> Iterator[float]:
    """Arrivals at random at this rate."""
    chance = random.Random(20261130)
    at = 0.0
    for _ in range(count):
        at += chance.expovariate(rate)
        yield at


def scheduled(rate: float, count: int) -> Iterator[float]:
    """Arrivals on schedule at this rate."""
    return (index / rate for index in range(count))


def bursts(rate: float, size: int, count: int) -> Iterator[float]:
    """Bursts of `size` requests at once, so far apart that the mean rate is this."""
    return ((index // size) * size / rate for index in range(count))


def latencies(arrivals: Iterable[float], service: float = SERVICE) -> tuple[list[float], list[float]]:
    """Latency and time in the queue of each request, first come first served."""
    free = 0.0
    total: list[float] = []
    queued: list[float] = []
    for at in arrivals:
        start = max(at, free)
        free = start + service
        queued.append(start - at)
        total.append(free - at)
    return total, queued


def row(name: str, arrivals: Iterable[float]) -> str:
    """One line of the table."""
    total, queued = latencies(arrivals)
    ordered, waits = sorted(total), sorted(queued)
    p50, p90, p99 = (ordered[int(len(ordered) * share)] for share in (0.5, 0.9, 0.99))
    mean = sum(total) / len(total)
    return (
        f"{name:<34}{sum(queued) / sum(total):>8.2f}{p90 / p50:>9.2f}{p99 / p50:>9.2f}{mean / p50:>10.2f}"
        f"{waits[len(waits) // 2]:>11.2f}{waits[int(len(waits) * 0.99)]:>11.2f}"
    )


def main() -> None:
    """Prints the table."""
    print(f"{'load':<34}{'queue':>8}{'p90/p50':>9}{'p99/p50':>9}{'mean/p50':>10}{'queue p50':>11}{'queue p99':>11}")
    for load in (0.3, 0.5, 0.6, 2 / 3, 0.7, 0.8, 0.9, 0.95):
        print(row(f"at random, {load:.2f} of capacity", poisson(load, REQUESTS)))
    for load in (1.01, 1.05, 1.2, 2.0):
        print(row(f"at random, {load:.2f} of capacity", poisson(load, REQUESTS)))
    for load in (0.99, 1.01, 1.05, 1.2, 2.0):
        print(row(f"on schedule, {load:.2f} of capacity", scheduled(load, REQUESTS)))
    for size in (4, 16, 64):
        print(row(f"bursts of {size}, 0.30 of capacity", bursts(0.3, size, REQUESTS)))


if __name__ == "__main__":
    main()
