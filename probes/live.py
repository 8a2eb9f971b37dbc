"""One look at this machine: its GPUs through the driver and its host, over the same window."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from gpuwhy.kb.facts import Entity
from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.gathering import Gathering
from gpuwhy.probes.host_topology import normal
from gpuwhy.probes.host_watch import HostWatch
from gpuwhy.probes.nvml_sampler import sample

_TICK_SECONDS = 0.1


def look(
    seconds: float,
    progress: Callable[[float], None] | None = None,
    stop: threading.Event | None = None,
    *,
    specs: Mapping[str, FactSpec],
    host: HostWatch | None = None,
) -> Gathering:
    """Facts about all GPUs and the host, watched for so many seconds.

    Where no GPU answers the host is watched all the same. Ctrl-C, or setting `stop`, ends the look early and keeps what
    was seen. `progress` is called with the share of the time that has passed.
    """
    host = host or HostWatch()
    stop = stop or threading.Event()
    begun = time.monotonic()
    seen = sample(seconds, progress, stop, specs=specs)
    interrupted = seen.interrupted
    if not interrupted:
        interrupted = _rest(begun, seconds, progress, stop)
    host.close()
    known = {normal(str(one.value)): one.entity for one in seen.facts if one.id == "gpu.bus_id"}
    return joined(seen, host.fold(known).gathering(specs, host.seconds, interrupted))


def _rest(begun: float, seconds: float, progress: Callable[[float], None] | None, stop: threading.Event) -> bool:
    """Waits until the window is over. True if it was interrupted."""
    try:
        while (left := begun + seconds - time.monotonic()) > 0:
            if progress is not None:
                progress(1 - left / seconds)
            if stop.wait(min(_TICK_SECONDS, left)):
                return True
    except KeyboardInterrupt:
        return True
    return False


def joined(first: Gathering, second: Gathering) -> Gathering:
    """Both, as one window. Of two readings of one thing the first stays, and one that was taken is not absent."""
    taken = {(one.id, one.entity) for one in first.facts}
    facts = (*first.facts, *(one for one in second.facts if (one.id, one.entity) not in taken))
    known: set[tuple[str, Entity]] = {(one.id, one.entity) for one in facts}
    absent = {(one.id, one.entity): one for one in (*second.absent, *first.absent)}
    return Gathering(
        facts,
        tuple(one for key, one in absent.items() if key not in known),
        max(first.seconds, second.seconds),
        first.interrupted or second.interrupted,
        (*first.unfit, *second.unfit),
    )
