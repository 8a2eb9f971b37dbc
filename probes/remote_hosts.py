"""Collects from many hosts at once, and the names of hosts and of the files about them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.ssh_collect import Cancel, Outcome, Target, collect

MAX_STEM = 100
_SAFE = re.compile(r"[^A-Za-z0-9._@-]")


def collect_all(
    hosts: Sequence[str], target: Target, specs: Mapping[str, FactSpec], parallel: int, cancel: Cancel
) -> Iterator[Outcome]:
    """The outcome of each host as it comes in, `parallel` hosts at a time. After `cancel` the rest ends at once."""
    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="collect") as pool:
        try:
            waiting = [pool.submit(collect, host, target, specs, cancel) for host in hosts]
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:
            cancel.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def hosts_in(lines: Iterable[str]) -> list[str]:
    """Host names of a list: one or several on a line, # begins a comment, each name once."""
    return list(dict.fromkeys(word for line in lines for word in line.partition("#")[0].split()))


def file_stem(host: str) -> str:
    """The beginning of the names of files about a host: safe in any folder, different for different hosts."""
    safe = _SAFE.sub("_", host).lstrip(".")
    if safe == host and len(safe) <= MAX_STEM:
        return safe
    return f"{safe[:MAX_STEM]}-{hashlib.sha256(host.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
