"""Kineto traces: hand-made timelines with known shares, broken and cut traces."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.contract import Extract
from gpuwhy.probes.artefacts.kineto import FORMAT, read
from gpuwhy.probes.artefacts.kineto_stream import mended

Event = dict[str, object]


def event(cat: str, name: str, ts: float, dur: float, **args: object) -> Event:
    """A duration event of the main thread."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}


def kernel(ts: float, dur: float, correlation: int, name: str = "ampere_sgemm_128x64_nn", stream: int = 7) -> Event:
    """A kernel on device 0."""
    geometry = {"blocks per SM": 0.5, "est. achieved occupancy %": 25}
    return event("kernel", name, ts, dur, device=0, stream=stream, correlation=correlation, **geometry)


def launch(ts: float, correlation: int, dur: float = 5.0) -> Event:
    """A kernel launch call."""
    return event("cuda_runtime", "cudaLaunchKernel", ts, dur, correlation=correlation)


def trace(events: list[Event], **metadata: object) -> bytes:
    """A trace file with these events."""
    return json.dumps({"schemaVersion": 1, **metadata, "traceEvents": events}, indent=2).encode()


def facts(extract: Extract) -> dict[str, Value]:
    """Values of the job's facts by id."""
    return {one.fact: one.value for one in extract.readings if one.entity.kind == "job"}


def starved_steps(count: int) -> list[Event]:
    """Steps of 1000 us: 400 us waiting for data, launch at 450, kernel from 500 to 700, optimizer from 800 to 900."""
    found: list[Event] = []
    for step in range(count):
        at = 1e15 + step * 1000.0
        found += [
            event("user_annotation", f"ProfilerStep#{step + 3}", at, 1000.0),
            event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 400.0),
            event("cpu_op", "aten::mm", at + 440, 30.0),
            launch(at + 450, step),
            kernel(at + 500, 200.0, step),
            event("user_annotation", "Optimizer.step#SGD.step", at + 800, 100.0),
        ]
    return found


def test_shares_of_steps() -> None:
    """Five steps, the first left out: 400 of 1000 us wait, the GPU is busy for 200 and idle before late launches."""
    found = facts(read(trace(starved_steps(5)), "t"))
    assert found["step.count"] == 4
    assert found["step.time_seconds"] == pytest.approx(1e-3)
    assert found["step.data_wait_share"] == pytest.approx(0.4)
    assert found["step.data_wait_seconds"] == pytest.approx(400e-6)
    assert found["loader.in_main_process"] is True
    assert found["step.gpu_busy_share"] == pytest.approx(0.2)
    assert found["step.gpu_idle_share"] == pytest.approx(0.8)
    assert found["step.idle_in_data_wait_share"] == pytest.approx(0.4)
    # Gaps: 500 us before the first kernel and 800 us between kernels (launched after the gap began), 300 us at the end.
    assert found["step.host_wait_share"] == pytest.approx(0.8)
    assert found["step.optimizer_share"] == pytest.approx(0.1)
    assert found["step.kernel_count"] == 4
    assert found["step.kernel_mean_seconds"] == pytest.approx(200e-6)
    assert found["step.launch_mean_seconds"] == pytest.approx(5e-6)
    assert found["step.window_seconds"] == pytest.approx(4e-3)
    assert found["step.operator_count"] == 4
    assert found["step.operator_mean_seconds"] == pytest.approx(30e-6)
    assert found["step.float32_matmul_share"] == pytest.approx(1.0)
    assert found["step.tensor_core_share"] == 0.0
    assert found["step.underfilled_kernel_share"] == 1.0
    assert found["step.kernel_occupancy_share"] == pytest.approx(0.25)
    assert found["step.no_device_time"] is False


def test_three_steps_are_all_kept() -> None:
    """The first step is left out only if three remain."""
    assert facts(read(trace(starved_steps(3)), "t"))["step.count"] == 3
    assert facts(read(trace(starved_steps(4)), "t"))["step.count"] == 3


def test_busy_time_is_a_union_over_streams() -> None:
    """Two kernels that overlap by half: 150 us busy, not 200; no steps, so the window is the span of activity."""
    found = facts(read(trace([kernel(0, 100, 1), kernel(50, 100, 2, stream=8), kernel(200, 100, 3)]), "t"))
    assert found["step.gpu_busy_share"] == pytest.approx(250 / 300)
    assert found["step.kernel_total_seconds"] == pytest.approx(300e-6)


def test_old_category_names_and_text_threads() -> None:
    """Traces of PyTorch 1.8 have `Kernel`, `Operator`, `Runtime` and threads written as texts."""
    events = [
        {**event("Operator", "ProfilerStep#1", 0, 100), "tid": "1"},
        {**event("Operator", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 25)},
        event("Runtime", "cudaLaunchKernel", 30, 5, correlation=1),
        {**event("Kernel", "k", 40, 50, device=0, correlation=1), "tid": "stream 7"},
    ]
    found = facts(read(trace(events), "t"))
    assert found["step.data_wait_share"] == pytest.approx(0.25)
    assert found["step.gpu_busy_share"] == pytest.approx(0.5)
    assert found["loader.in_main_process"] is False


def test_steps_from_fetches_where_none_are_marked() -> None:
    """From one fetch of a batch to the next is a step: three fetches 100 us apart make two steps of 30 us waiting."""
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events = [event("user_annotation", name, at, 30) for at in (0, 100, 200)]
    found = facts(read(trace([*events, launch(50, 1), kernel(60, 20, 1)]), "t"))
    assert found["step.count"] == 2
    assert found["step.data_wait_share"] == pytest.approx(0.3)


def test_copies() -> None:
    """Two copies of 1 MiB in 100 us each, one pageable, half of one under a kernel: 150 us of 400 us exposed."""
    size = 1 << 20
    events = [
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 100, device=0, bytes=size, correlation=1),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 100, 100, device=0, bytes=size, correlation=2),
        kernel(150, 250, 3),
    ]
    found = facts(read(trace(events), "t"))
    assert found["step.transfer_share"] == pytest.approx(150 / 400)
    assert found["step.pageable_copy_share"] == 0.5
    assert found["step.copy_bytes_per_second"] == pytest.approx(2 * size / 200e-6)


def test_waits_of_the_host() -> None:
    """A synchronisation of 300 us and a pageable copy whose call outlasts it count; the profiler's last does not."""
    events = [
        launch(0, 1),
        kernel(10, 290, 1),
        event("cuda_runtime", "cudaStreamSynchronize", 10, 300, correlation=2),
        event("cuda_runtime", "cudaMemcpyAsync", 400, 60, correlation=3),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 410, 40, device=0, bytes=4, correlation=3),
        launch(600, 4),
        kernel(610, 390, 4),
        event("cuda_runtime", "cudaDeviceSynchronize", 700, 400, correlation=5),
    ]
    found = facts(read(trace(events), "t"))
    assert found["step.sync_count"] == 2
    assert found["step.sync_share"] == pytest.approx(360 / 1000)
    # The gap from 300 began while the host was in cudaStreamSynchronize (until 310); the copy came at 410.
    assert found["step.idle_after_sync_share"] == pytest.approx(0.11 + 0.16)


def test_collectives_count_where_no_compute_overlaps() -> None:
    """100 us of NCCL of which 60 are under a compute kernel: 40 of 200 us exposed."""
    events = [kernel(0, 160, 1), kernel(100, 100, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=20)]
    assert facts(read(trace(events), "t"))["step.communication_share"] == pytest.approx(40 / 200)


def test_queue_of_a_busy_gpu_is_no_launch_work() -> None:
    """Launches that block for 90 of 100 us while the GPU is always busy are waits."""
    events = [one for at in range(4) for one in (launch(at * 100, at, 90), kernel(at * 100 + 1, 100, at))]
    assert facts(read(trace(events), "t"))["step.wait_booked_as_work"] is True
    assert facts(read(trace(starved_steps(4)), "t"))["step.wait_booked_as_work"] is False


def test_launches_without_gpu_activity() -> None:
    """No GPU events although kernels were launched: the device times are missing, not zero."""
    extract = read(trace([event("cpu_op", "aten::mm", 0, 10), launch(5, 1)]), "t")
    assert facts(extract)["step.no_device_time"] is True
    assert [one.fact for one in extract.missing] == ["step.gpu_busy_share"]
    assert "step.gpu_busy_share" not in facts(extract)


def test_two_gpus() -> None:
    """The job's share is the mean over the GPUs; each has its own beside it."""
    events = [kernel(0, 100, 1), event("kernel", "k", 0, 50, device=1), event("kernel", "k", 90, 10, device=1)]
    extract = read(trace(events), "t")
    assert facts(extract)["step.gpu_busy_share"] == pytest.approx(0.8)
    each = {one.entity.name: one.value for one in extract.readings if one.fact == "trace.gpu_busy_share"}
    assert each == {"0": pytest.approx(1.0), "1": pytest.approx(0.6)}


def test_metadata_and_memory() -> None:
    """Names and sizes of GPUs, ranks, and the peak of the allocator's figures on the GPU."""
    instants = [
        {
            "ph": "i",
            "name": "[memory]",
            "ts": at,
            "args": {"Device Type": kind, "Total Allocated": size, "Total Reserved": 900},
        }
        for at, kind, size in ((1, 1, 500), (2, 1, 800), (3, 0, 5000), (4, 1, 100))
    ]
    devices = [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42297524224}]
    extract = read(
        trace([*instants, kernel(0, 1, 1)], deviceProperties=devices, distributedInfo={"world_size": 8}), "t"
    )
    found = facts(extract)
    assert (found["allocator.allocated_peak_bytes"], found["allocator.reserved_peak_bytes"]) == (800, 900)
    assert found["job.rank_count"] == 8
    of_gpu = {one.fact: one.value for one in extract.readings if one.entity.path == "gpu:0"}
    assert of_gpu == {"gpu.name": "NVIDIA A100-SXM4-40GB", "gpu.memory_total_bytes": 42297524224}


def test_metadata_after_the_events_and_bare_lists() -> None:
    """Kineto writes some entries behind the events; other tools write the list alone."""
    late = json.dumps({"traceEvents": [kernel(0, 1, 1)], "distributedInfo": {"world_size": 4}}).encode()
    assert facts(read(late, "t"))["job.rank_count"] == 4
    assert facts(read(json.dumps([kernel(0, 1, 1)]).encode(), "t"))["step.kernel_count"] == 1


def test_compressed_files(tmp_path: Path) -> None:
    """gzip and bzip2, from a file and from memory; a gzip file that breaks off gives what was read."""
    plain = trace(starved_steps(5))
    for packed in (gzip.compress(plain), bz2.compress(plain)):
        path = tmp_path / "trace"
        path.write_bytes(packed)
        assert facts(read(path, "t")) == facts(read(packed, "t")) == facts(read(plain, "t"))
    cut = read(gzip.compress(trace(starved_steps(400)))[:-2000], "t")
    assert cut.troubles
    assert facts(cut)["step.data_wait_share"] == pytest.approx(0.4, abs=0.01)


def test_cut_trace_says_so_and_keeps_what_stands_before() -> None:
    """A trace cut within an event: the steps before it count."""
    whole = trace(starved_steps(6))
    extract = read(whole[: int(len(whole) * 0.8)], "t")
    assert any("end" in trouble.message for trouble in extract.troubles)
    assert facts(extract)["step.count"] == 4  # the marks of five steps, the first left out


def test_unescaped_quotes_and_backslashes_are_mended() -> None:
    """Old PyTorch wrote names without escaping; the event is mended and the line reported."""
    good = json.dumps(kernel(0, 100, 1))
    bad = good.replace("ampere_sgemm_128x64_nn", 'lambda "x" C:\\Users\\q').replace('"ts": 0', '"ts": 300')
    later = json.dumps(kernel(500, 100, 3))
    extract = read(f'{{"traceEvents": [\n{good},\n{bad},\n{later}]}}'.encode(), "t")
    assert facts(extract)["step.kernel_count"] == 3
    assert [trouble.line for trouble in extract.troubles] == [3]


def test_event_that_cannot_be_mended_is_left_out() -> None:
    """One hopeless event does not take the others with it."""
    good = json.dumps(kernel(0, 100, 1))
    extract = read(f'{{"traceEvents": [{good}, {{"ph": "X", ]] }}, {good}]}}'.encode(), "t")
    assert facts(extract)["step.kernel_count"] == 2
    assert extract.troubles


def test_mended_leaves_sound_text_alone() -> None:
    """A sound event stays as it is."""
    text = json.dumps(kernel(0, 1, 1, 'a "quoted" \\ name'))
    assert json.loads(mended(text)) == json.loads(text)


def test_odd_values_are_left_out() -> None:
    """NaN, texts and negative durations are no events."""
    events: list[Event] = [
        kernel(0, 100, 1),
        {**kernel(0, 1, 2), "dur": -5},
        {**kernel(0, 1, 3), "ts": "soon"},
        {**kernel(0, 1, 4), "dur": float("nan")},
    ]
    extract = read(json.dumps(events).encode(), "t")
    assert facts(extract)["step.kernel_count"] == 1
    assert "3 events" in extract.troubles[0].message


def test_recognised_by_its_start() -> None:
    """A Kineto trace, an event list; not any other JSON."""
    assert FORMAT.accepts(trace([kernel(0, 1, 1)])[:65536], "x.json")
    assert FORMAT.accepts(b'{"schemaVersion": 1, "deviceProperties": [', "x.json")
    assert FORMAT.accepts(b' [{"name": "a", "ph": "X", "ts": 1}', "x.json")
    assert not FORMAT.accepts(b'{"results": [{"name": 1}]}', "x.json")
    assert not FORMAT.accepts(b"Epoch 1", "x.log")


def test_unreadable_files_are_trouble(tmp_path: Path) -> None:
    """A missing file and an empty one give a reason, no exception."""
    assert read(tmp_path / "none", "none").troubles
    assert read(b"", "empty").troubles


SAMPLE = trace(starved_steps(4), deviceProperties=[{"id": 0}]).decode()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SAMPLE)), st.integers(0, len(SAMPLE)), st.text(max_size=20))
def test_damage_never_raises(start: int, end: int, junk: str) -> None:
    """Cut, spliced and spoilt traces are read as far as they go."""
    read((SAMPLE[:start] + junk + SAMPLE[end:]).encode("utf-8", "replace"), "t")


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda one: st.lists(one, max_size=3))
)
def test_any_value_in_any_place_never_raises(value: object) -> None:
    """Fields of unexpected types are no reason to fail."""
    events = [{**kernel(0, 1, 1), key: value} for key in ("ph", "cat", "name", "ts", "dur", "args", "pid", "tid")]
    events += [event("kernel", "k", 0, 1, device=value, correlation=value, bytes=value)]
    read(json.dumps({"deviceProperties": value, "distributedInfo": value, "traceEvents": events}).encode(), "t")
