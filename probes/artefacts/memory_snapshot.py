"""Memory snapshots of PyTorch (`torch.cuda.memory._dump_snapshot`, pickles): what the allocator holds, and how split.

Per device, from the segments:
    slack       = sum of inactive blocks
    releasable  = sum of segments of the default pool that are wholly inactive: what empty_cache() returns
    rounding    = sum of (size − requested size) over blocks in use
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpuwhy.kb.facts import JOB, Entity, Value, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Reading, Trouble
from gpuwhy.probes.artefacts.snapshot_pickle import RefusedPickle, load_plain

_NAME = "pytorch-memory-snapshot"
_MOST_BLOCKS = 5_000_000
_MOST_EVENTS = 5_000_000
_MOST_FAILURES = 50
_DEFAULT_POOL = (0, 0)


@dataclass
class _Device:
    """Sums over the segments of one device; bytes."""

    segments: int = 0
    reserved: int = 0
    allocated: int = 0
    active: int = 0
    requested: int | None = None
    slack: int = 0
    largest: int = 0
    releasable: int = 0
    private: int = 0
    rounding: int | None = None
    slack_by_place: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)


def accepts(head: bytes, name: str) -> bool:
    """True for a pickle whose first 64 KiB name the keys of a snapshot; the name of the file says nothing."""
    del name
    return head[:1] == b"\x80" and (b"total_size" in head or b"device_traces" in head or b"segment_type" in head)


def read(source: Path | bytes, name: str) -> Extract:
    """Allocator facts of a snapshot; what cannot be read becomes a trouble."""
    del name
    try:
        data = load_plain(source)
    except (RefusedPickle, OSError) as error:
        return Extract(_NAME, troubles=(Trouble(None, f"the snapshot was not read: {error}"),))
    segments, traces, settings = _parts(data)
    troubles: list[Trouble] = []
    if segments is None:
        return Extract(_NAME, troubles=(Trouble(None, "the pickle holds no list of segments"),))
    devices = _devices(segments, troubles)
    readings = [*_device_readings(devices), *_trace_readings(traces, devices), *_settings_readings(settings)]
    return Extract(_NAME, tuple(readings), troubles=tuple(troubles))


def _parts(data: object) -> tuple[list[object] | None, object, object]:
    """Segments, traces and settings; before version 2 a snapshot was a bare list of segments."""
    if isinstance(data, list):
        return data, None, None
    if isinstance(data, dict) and isinstance(data.get("segments"), list):
        return data["segments"], data.get("device_traces"), data.get("allocator_settings")
    return None, None, None


def _whole(value: object) -> int:
    """A size or an index; 0 for anything that cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else 0


def _word(value: object) -> str:
    return value[:60] if isinstance(value, str) else ""


def _devices(segments: Sequence[object], troubles: list[Trouble]) -> dict[int, _Device]:
    devices: dict[int, _Device] = {}
    blocks_left = _MOST_BLOCKS
    unreadable = 0
    for segment in segments:
        if not isinstance(segment, dict) or not isinstance(segment.get("blocks"), list):
            unreadable += 1
            continue
        blocks_left -= len(segment["blocks"])
        if blocks_left < 0:
            troubles.append(Trouble(None, f"only the first {_MOST_BLOCKS} blocks were counted"))
            break
        _add_segment(devices.setdefault(_whole(segment.get("device")), _Device()), segment)
    if unreadable:
        troubles.append(Trouble(None, f"{unreadable} of {len(segments)} segments could not be read"))
    return devices


def _add_segment(device: _Device, segment: Mapping[object, object]) -> None:
    total = _whole(segment.get("total_size"))
    pool = segment.get("segment_pool_id")
    pool_id = tuple(_whole(part) for part in pool[:2]) if isinstance(pool, (tuple, list)) else _DEFAULT_POOL
    default_pool = pool_id == _DEFAULT_POOL
    device.segments += 1
    device.reserved += total
    device.allocated += _whole(segment.get("allocated_size"))
    device.active += _whole(segment.get("active_size"))
    device.private += 0 if default_pool else total
    slack = _add_blocks(device, segment["blocks"])
    place = (_whole(segment.get("stream")), pool_id)
    device.slack_by_place[place] = device.slack_by_place.get(place, 0) + slack
    if default_pool and slack == total and not _whole(segment.get("active_size")):
        device.releasable += total


def _add_blocks(device: _Device, blocks: object) -> int:
    slack = 0
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, dict):
            continue
        size = _whole(block.get("size"))
        if _word(block.get("state")).startswith("active"):
            requested = block.get("requested_size")
            if isinstance(requested, int) and block.get("state") == "active_allocated":
                device.requested = (device.requested or 0) + _whole(requested)
                device.rounding = (device.rounding or 0) + max(0, size - _whole(requested))
        else:
            slack += size
            device.largest = max(device.largest, size)
    device.slack += slack
    return slack


def _main(devices: Mapping[int, _Device]) -> int | None:
    """The device that stands for the job: the one with most memory reserved."""
    return max(devices, key=lambda index: (devices[index].reserved, -index), default=None)


def _facts(device: _Device) -> Iterator[tuple[str, Value]]:
    yield "allocator.segment_count", device.segments
    yield "allocator.reserved_bytes", float(device.reserved)
    yield "allocator.allocated_bytes", float(device.allocated)
    yield "allocator.active_bytes", float(device.active)
    yield "allocator.free_blocks_bytes", float(device.slack)
    yield "allocator.largest_free_block_bytes", float(device.largest)
    yield "allocator.releasable_bytes", float(device.releasable)
    yield "allocator.inactive_split_bytes", float(max(0, device.slack - device.releasable))
    yield "allocator.private_pools_bytes", float(device.private)
    busiest = max(device.slack_by_place.values(), default=0)
    yield "allocator.other_pool_free_bytes", float(device.slack - busiest)
    if device.requested is not None:
        yield "allocator.requested_bytes", float(device.requested)
    if device.rounding is not None:
        yield "allocator.rounding_bytes", float(device.rounding)


def _device_readings(devices: Mapping[int, _Device]) -> Iterator[Reading]:
    main = _main(devices)
    if main is None:
        return
    for fact, value in _facts(devices[main]):
        yield Reading(fact, value, None, f"device {main}", JOB)
    for index, device in devices.items():
        if index == main:
            continue
        for fact, value in _facts(device):
            label = f"device {index}, {fact.removeprefix('allocator.').removesuffix('_bytes').replace('_', ' ')}"
            kind = "reading.bytes" if fact.endswith("_bytes") else "reading.count"
            yield Reading(kind, value, None, None, Entity("measurement", label, JOB))


def _trace_readings(traces: object, devices: Mapping[int, _Device]) -> Iterator[Reading]:
    if not isinstance(traces, list):
        return
    actions: dict[str, int] = {}
    failures: list[tuple[int, Mapping[object, object]]] = []
    left = _MOST_EVENTS
    for index, events in enumerate(traces):
        for event in events[:left] if isinstance(events, list) else ():
            if not isinstance(event, dict):
                continue
            action = _word(event.get("action"))
            actions[action] = actions.get(action, 0) + 1
            if action == "oom":
                failures.append((index, event))
        left -= len(events) if isinstance(events, list) else 0
        if left <= 0:
            break
    if actions:
        yield Reading("allocator.trace_oom_count", len(failures), None, None, JOB)
    for action, count in list(actions.items())[:40]:
        yield Reading("reading.count", count, None, None, Entity("measurement", f"trace action {action}", JOB))
    for number, (index, event) in enumerate(failures[-_MOST_FAILURES:], 1):
        yield from _failure_readings(number, index, event, devices.get(index))


def _failure_readings(
    number: int, index: int, event: Mapping[object, object], device: _Device | None
) -> Iterator[Reading]:
    entity = Entity("failure", f"snapshot-{number}", gpu(index))
    yield Reading("oom.event", True, None, None, entity)
    yield Reading("oom.allocator", "pytorch", None, None, entity)
    yield Reading("oom.device_index", index, None, None, entity)
    yield Reading("oom.request_bytes", float(_whole(event.get("size"))), None, None, entity)
    free = event.get("device_free", event.get("addr"))
    if isinstance(free, int):
        yield Reading("oom.free_bytes", float(_whole(free)), None, None, entity)
    if device is not None and device.largest:
        yield Reading("oom.largest_free_block_bytes", float(device.largest), None, "state at the snapshot", entity)


_SETTINGS = {
    "expandable_segments": ("allocator.expandable_segments", bool),
    "garbage_collection_threshold": ("allocator.garbage_collection_threshold", float),
    "max_split_size": ("allocator.max_split_size_bytes", float),
}


def _settings_readings(settings: object) -> Iterator[Reading]:
    if not isinstance(settings, dict):
        return
    for key, (fact, kind) in _SETTINGS.items():
        value = settings.get(key)
        unlimited = isinstance(value, int) and value < 0  # −1 stands for no limit
        if isinstance(value, (bool, int, float)) and not unlimited:
            yield Reading(fact, kind(value), None, f"{key}: {value}", JOB)


FORMAT = FileFormat(_NAME, "PyTorch memory snapshot", accepts, read)
