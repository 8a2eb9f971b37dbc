"""What the lines of /proc/meminfo mean, whether they are read here or pasted."""

from __future__ import annotations

from collections.abc import Mapping

FACTS_OF_MEMINFO: Mapping[str, str] = {
    "MemTotal": "host.memory_total_bytes",
    "MemFree": "host.memory_free_bytes",
    "MemAvailable": "host.memory_available_bytes",
    "SwapTotal": "host.swap_total_bytes",
    "Shmem": "host.memory_shared_bytes",
    "Dirty": "host.memory_dirty_bytes",
    "Writeback": "host.memory_writeback_bytes",
    "CommitLimit": "host.commit_limit_bytes",
    "Committed_AS": "host.committed_bytes",
}
