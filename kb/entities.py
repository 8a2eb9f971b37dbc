"""Kinds of entities and how they nest: what a fact can be about, and which kind a rule is evaluated for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

PARENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "host": (),
        "job": ("host",),
        "gpu": ("host",),
        "disk": ("host",),
        "filesystem": ("host",),
        "server": ("host",),
        "model": ("server", "host"),
        "load": ("model", "server", "host"),
        "sweep": ("model", "server", "host"),
        "device": ("host",),
        "partition": ("gpu",),
        "xid": ("gpu",),
        "process": ("gpu", "host"),
        "failure": ("gpu", "job"),
        "kernel": ("job",),
        "workload": ("job",),
        "entry": ("job",),
        "measurement": ("job",),
    }
)
"""Kinds, and what one of them may belong to."""


def reachable(kind: str) -> set[str]:
    """The kinds that an entity of this kind sees upwards: its own, and those it may belong to, up to the host."""
    return {kind}.union(*(reachable(parent) for parent in PARENTS[kind]))


_SCOPE_ORDER = (
    "failure", "partition", "process", "xid", "kernel", "workload", "load", "sweep", "model", "entry", "measurement",
    "disk", "filesystem", "server", "device", "job", "gpu", "host",
)  # fmt: skip


def infer_scope(kinds: Iterable[str]) -> str:
    """The kind a rule with facts of these kinds is evaluated for: the most specific one; a job rather than a GPU.

    A rule about a job reads the facts of the only GPU, or aggregates over several; a rule about a GPU is evaluated once
    for each GPU.
    """
    present = set(kinds)
    return next((kind for kind in _SCOPE_ORDER if kind in present), "host")
