"""Memory snapshots: sums per device, and pickles that must not be trusted."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.memory_snapshot import FORMAT

MIB = 1024**2


def _block(size: int, state: str, requested: int | None = None) -> dict[str, object]:
    return {"size": size * MIB, "state": state, **({} if requested is None else {"requested_size": requested * MIB})}


def _segment(blocks: list[dict[str, object]], **more: object) -> dict[str, object]:
    sizes = [(block["state"], int(str(block["size"]))) for block in blocks]
    used = sum(size for state, size in sizes if state == "active_allocated")
    return {
        "device": 0,
        "total_size": sum(size for _, size in sizes),
        "allocated_size": used,
        "active_size": sum(size for state, size in sizes if state != "inactive"),
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "blocks": blocks,
        **more,
    }


_SEGMENTS = [
    _segment([_block(8, "active_allocated", 7), _block(4, "active_awaiting_free", 4), _block(8, "inactive")]),
    _segment([_block(20, "inactive")]),
    _segment([_block(6, "inactive")], stream=7, segment_pool_id=(0, 1)),
    _segment([_block(2, "active_allocated", 2)], device=1),
]
_SNAPSHOT = {
    "segments": _SEGMENTS,
    "device_traces": [
        [{"action": "alloc", "size": 1}, {"action": "oom", "size": 64 * MIB, "device_free": 3 * MIB}],
        [],
    ],
    "allocator_settings": {"expandable_segments": True, "max_split_size": -1},
}


def _facts(source: Path | bytes) -> dict[tuple[str, str], Value]:
    return {(one.fact, one.entity.path): one.value for one in FORMAT.read(source, "snapshot").readings}


@pytest.mark.parametrize("packed", [False, True])
def test_fragmentation_of_the_device_with_most_reserved(tmp_path: Path, packed: bool) -> None:
    content = pickle.dumps(_SNAPSHOT, protocol=4)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
    facts = {fact: value for (fact, entity), value in _facts(path).items() if entity == "job:this"}
    assert facts == {
        "allocator.segment_count": 3,
        "allocator.reserved_bytes": 46.0 * MIB,
        "allocator.allocated_bytes": 8.0 * MIB,
        "allocator.active_bytes": 12.0 * MIB,
        "allocator.requested_bytes": 7.0 * MIB,
        "allocator.rounding_bytes": 1.0 * MIB,
        "allocator.free_blocks_bytes": 34.0 * MIB,  # 8 + 20 + 6
        "allocator.largest_free_block_bytes": 20.0 * MIB,
        "allocator.releasable_bytes": 20.0 * MIB,  # the wholly free segment of the default pool
        "allocator.inactive_split_bytes": 14.0 * MIB,
        "allocator.private_pools_bytes": 6.0 * MIB,
        "allocator.other_pool_free_bytes": 6.0 * MIB,
        "allocator.trace_oom_count": 1,
        "allocator.expandable_segments": True,
    }


def test_a_failure_in_the_history() -> None:
    facts = _facts(pickle.dumps(_SNAPSHOT))
    assert facts["oom.request_bytes", "gpu:0/failure:snapshot-1"] == 64.0 * MIB
    assert facts["oom.free_bytes", "gpu:0/failure:snapshot-1"] == 3.0 * MIB


def test_the_other_device_is_kept_as_readings() -> None:
    facts = _facts(pickle.dumps(_SNAPSHOT))
    assert facts["reading.bytes", "job:this/measurement:device 1, reserved"] == 2.0 * MIB


def test_the_bare_list_of_old_versions_has_no_requested_sizes() -> None:
    segment = _segment([_block(8, "active_allocated"), _block(12, "inactive")])
    del segment["segment_pool_id"]
    facts = _facts(pickle.dumps([segment], protocol=2))
    assert facts["allocator.reserved_bytes", "job:this"] == 20.0 * MIB
    assert not {fact for fact, _ in facts} & {"allocator.requested_bytes", "allocator.rounding_bytes"}


def test_snapshots_are_recognised_by_content() -> None:
    assert FORMAT.accepts(pickle.dumps(_SNAPSHOT)[:65536], "any.name")
    assert not FORMAT.accepts(pickle.dumps({"weights": [1, 2]}), "snapshot.pickle")
    assert not FORMAT.accepts(b"total_size", "snapshot.pickle")


class _Command:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_that_would_run_code_runs_nothing(tmp_path: Path) -> None:
    target = tmp_path / "created"
    found = FORMAT.read(pickle.dumps({"segments": [], "x": _Command(target)}), "evil")
    assert not found.readings
    assert "mkdir" in found.troubles[0].message
    assert not target.exists()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(_SNAPSHOT)[:300],
        gzip.compress(pickle.dumps(_SNAPSHOT), mtime=0)[:100],
        b"\x80\x04K\x01r\xff\xff\xff\x7f.",  # asks for a memo of 2^31 entries
        pickle.dumps({"segments": {"not": "a list"}}),
        pickle.dumps(7),
        b"",
    ],
)
def test_damaged_and_hostile_files_become_a_trouble(content: bytes) -> None:
    found = FORMAT.read(content, "bad")
    assert not found.readings
    assert len(found.troubles) == 1


def test_parts_of_the_wrong_kind_are_counted_not_guessed() -> None:
    broken: list[object] = [7, {"blocks": 3}, {"blocks": [None, {"size": "x"}], "total_size": -1, "stream": []}]
    found = FORMAT.read(
        pickle.dumps({"segments": [*_SEGMENTS, *broken], "device_traces": [[1, {"action": []}], 2]}), "odd"
    )
    assert found.troubles[0].message == "2 of 7 segments could not be read"


def test_a_missing_file_is_a_trouble(tmp_path: Path) -> None:
    assert FORMAT.read(tmp_path / "none", "none").troubles
