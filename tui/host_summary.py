"""What was seen of the host, as rows for the summary of a live look."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuwhy.kb.facts import HOST, Entity, Fact
from gpuwhy.kb.units import show

MAX_DISKS = 4
_MIN_SHARE = 0.01

Shown = Callable[[str, Entity], "str | None"]
Facts = dict[tuple[str, Entity], Fact]


def rows(facts: Facts) -> Iterator[tuple[str, str]]:
    """Label and text of each row that has something to say."""

    def shown(fact: str, entity: Entity = HOST) -> str | None:
        found = facts.get((fact, entity))
        return None if found is None else show(found.value, found.unit)

    for label, text in (
        ("  CPUs", _cpus(facts, shown)),
        ("  waiting", _pressure(facts, shown)),
        ("  memory", _memory(shown)),
        ("  /dev/shm", _of(shown, "loader.shared_memory_used_bytes", "loader.shared_memory_total_bytes")),
        *((f"  {one.name}", _disk(shown, one)) for one in _disks(facts)[:MAX_DISKS]),
    ):
        if text:
            yield label, text


def _cpus(facts: Facts, shown: Shown) -> str:
    count, usable = facts.get(("host.cpu_count", HOST)), facts.get(("host.effective_cpu_count", HOST))
    parts = [f"{shown('host.cpu_count', HOST)}" if count else ""]
    if count and usable and usable.value != count.value:
        parts.append(f"of which {shown('host.effective_cpu_count', HOST)} may be used")
    for fact, words in (
        ("host.cpu_busy_share", "busy"),
        ("host.cpu_iowait_share", "waiting for I/O"),
        ("host.cpu_steal_share", "taken by the hypervisor"),
        ("host.cpu_throttled_period_share", "of the periods held back by the quota"),
    ):
        if _counts(facts, fact) or (fact == "host.cpu_busy_share" and shown(fact, HOST)):
            parts.append(f"{shown(fact, HOST)} {words}")
    return ", ".join(part for part in parts if part)


def _pressure(facts: Facts, shown: Shown) -> str:
    """What some task waited for, in the window."""
    found = []
    for fact, words in (
        ("host.cpu_pressure_some_share", "a CPU"),
        ("host.memory_pressure_some_share", "memory"),
        ("host.io_pressure_some_share", "I/O"),
    ):
        if _counts(facts, fact):
            found.append(f"for {words} {shown(fact, HOST)}")
    return f"some task waited {', '.join(found)} of the time" if found else ""


def _memory(shown: Shown) -> str:
    parts = [_of(shown, "host.memory_used_bytes", "host.memory_total_bytes")]
    limit = _of(shown, "host.memory_limit_used_bytes", "host.memory_limit_bytes")
    parts.append(f"the control group {limit}" if limit else "")
    for fact, words in (("host.swap_in_bytes_per_second", "swapped in"), ("host.out_of_memory_kills_new", "killed")):
        text = shown(fact, HOST)
        parts.append(f"{text} {words}" if text and not text.startswith("0") else "")
    return ", ".join(part for part in parts if part)


def _disks(facts: Facts) -> list[Entity]:
    return [one for fact, one in facts if fact == "disk.busy_share"]


def _disk(shown: Shown, disk: Entity) -> str:
    parts = [
        (shown("disk.read_bytes_per_second", disk), "read"),
        (shown("disk.write_bytes_per_second", disk), "written"),
        (shown("disk.read_wait_seconds", disk), "a read"),
        (shown("disk.busy_share", disk), "of the time with requests"),
    ]
    return ", ".join(f"{text} {words}" for text, words in parts if text)


def _of(shown: Shown, fact: str, whole: str) -> str:
    own, of = shown(fact, HOST), shown(whole, HOST)
    return "" if own is None else own if of is None else f"{own} of {of}"


def _counts(facts: Facts, fact: str) -> bool:
    found = facts.get((fact, HOST))
    return found is not None and isinstance(found.value, float) and found.value >= _MIN_SHARE
