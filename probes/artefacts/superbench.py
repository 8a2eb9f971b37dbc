"""Results of SuperBench: `results-summary.jsonl` (a line for each node) and what its data diagnosis writes.

Metrics are named `benchmark:annotation/metric:rank`. One node is one machine: of several nodes a diagnosis reads the
first, an audit reads each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuwhy.kb.facts import HOST, JOB, Entity, Value, gpu, is_number
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.bandwidth_figures import Figures
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Line, Reading, Trouble
from gpuwhy.probes.artefacts.packed import DamagedFile, unpacked
from gpuwhy.probes.artefacts.superbench_monitor import COUNTED

NAME = "superbench"
MOST_BYTES = 256 << 20
MOST_METRICS = 20_000
BENCHMARKS = (
    "kernel-launch", "gemm-flops", "cublaslt-gemm", "cublas-function", "cudnn-function", "matmul", "mem-bw",
    "gpu-copy-bw", "gpu-sm-copy-bw", "gpu-stream", "nvbandwidth", "nccl-bw", "rccl-bw", "ib-loopback", "ib-traffic",
    "disk-benchmark", "gpu-burn", "tensorrt-inference", "ort-inference", "cpu-memory-bw-latency",
)  # fmt: skip

_KEY = re.compile(
    rb'"(?:(?:' + "|".join(BENCHMARKS).encode() + rb")(?::[\w.-]{1,60})?/|\w{1,40}_models(?::[\w.-]{1,60})?/|"
    rb'diagnosis/(?:accept|issue_num|category|issue_details)"|monitor/gpu_)'
)
_METRIC = re.compile(
    r"(?P<benchmark>[A-Za-z][\w-]{1,60})(?::(?P<note>[\w.-]{1,60}))?/(?P<metric>[^\n]{1,200}?)(?::(?P<rank>\d{1,4}))?"
)
_GIGA, _MEGA, _MILLI, _MICRO = 1e9, 1e6, 1e-3, 1e-6

_PER_GPU: Mapping[tuple[str, str], tuple[str, float]] = {
    ("gemm-flops", "fp32_flops"): ("gpu.matmul_float32_flops", _GIGA),
    ("gemm-flops", "fp32"): ("gpu.matmul_float32_flops", _GIGA),
    ("gemm-flops", "tf32_tc_flops"): ("gpu.matmul_tf32_flops", _GIGA),
    ("gemm-flops", "tf32_tc"): ("gpu.matmul_tf32_flops", _GIGA),
    ("gemm-flops", "fp16_tc_flops"): ("gpu.matmul_float16_flops", _GIGA),
    ("gemm-flops", "fp16_tc"): ("gpu.matmul_float16_flops", _GIGA),
    ("gemm-flops", "bf16_tc_flops"): ("gpu.matmul_bfloat16_flops", _GIGA),
    ("gemm-flops", "bf16_tc"): ("gpu.matmul_bfloat16_flops", _GIGA),
    ("kernel-launch", "event_time"): ("gpu.launch_seconds", _MILLI),
    ("kernel-launch", "event_overhead"): ("gpu.launch_seconds", _MILLI),
    ("kernel-launch", "device_launch_us"): ("gpu.launch_seconds", _MICRO),
    ("monitor", "gpu_power_limit"): ("gpu.power_limit_watts", 1.0),
    ("monitor", "gpu_mem_total"): ("gpu.memory_total_bytes", 1.0),
}
"""Metrics of one GPU, named by its rank: benchmark and metric in lower case, the fact, and its unit in the fact's."""
_OWN_COPIES = {
    "h2d_bw": "gpu.host_to_device_bytes_per_second",
    "h2d_mem_bw": "gpu.host_to_device_bytes_per_second",
    "d2h_bw": "gpu.device_to_host_bytes_per_second",
    "d2h_mem_bw": "gpu.device_to_host_bytes_per_second",
    "d2d_bw": "gpu.device_copy_bytes_per_second",
    "d2d_mem_bw": "gpu.device_copy_bytes_per_second",
}
_TO_GPU = re.compile(r"cpu_to_gpu(?P<gpu>\d{1,3})_by_(?P<way>dma|sm)(?:_under_numa\d{1,3})?(?:_bw)?")
_FROM_GPU = re.compile(r"gpu(?P<gpu>\d{1,3})_to_cpu_by_(?P<way>dma|sm)(?:_under_numa\d{1,3})?(?:_bw)?")
_WITHIN = re.compile(r"gpu(?P<gpu>\d{1,3})_to_gpu(?P=gpu)_by_dma(?:_bw)?")
_BETWEEN = re.compile(r"gpu(?P<one>\d{1,3})_to_gpu(?P<other>\d{1,3})_(?:read|write)_by_(?:dma|sm)(?:_bw)?")
_TEST_OF_HOST = re.compile(
    r"(?P<test>host_to_device|device_to_host)_memcpy_(?P<way>ce|sm)_cpu\d{1,3}_gpu(?P<gpu>\d{1,3})_bw"
)
_TEST_OF_PAIR = re.compile(
    r"device_to_device_memcpy_(?:read|write)_(?:ce|sm)_gpu(?P<one>\d{1,3})_gpu(?P<other>\d{1,3})_bw"
)
_COLLECTIVE = re.compile(r"(?P<operation>[a-z]{4,20})_(?P<size>\d{1,15})_(?P<what>busbw|algbw)")
_LOOPBACK = re.compile(r"(?P<tool>ib|IB)_(?:write|read|send)_(?:bw_)?\d{1,12}(?:_[\w-]{1,40})?")
_DISK = re.compile(r"(?P<disk>[\w.-]{1,60}?)_(?P<mode>seq|rand)_read_(?P<what>bs|read_iops)")
_BURN = re.compile(r"gpu_(?P<gpu>\d{1,3})_pass")
_ISSUE = re.compile(r"(?P<benchmark>[A-Za-z][\w-]{1,60})(?::[\w.-]{1,60})?/(?P<metric>[^\s(]{1,200})\([^)\n]{1,200}")
_OF_HOST = re.compile(r"(?i)h2d|d2h|cpu|host")
"""Copies over the host's link, by their metric; others are within the GPU or between GPUs."""
_NO_NETWORK = (None, "default", "nvlink")
"""Annotations of NCCL runs that use the best path there is; others (`ib-only`, `gdr-only`) leave NVLink out."""
_KINDS: Mapping[str, str] = {
    "kernel-launch": "launch",
    "mem-bw": "copies", "gpu-copy-bw": "copies", "gpu-sm-copy-bw": "copies", "nvbandwidth": "copies",
    "nccl-bw": "collectives", "rccl-bw": "collectives",
    "ib-loopback": "network", "ib-traffic": "network",
    "disk-benchmark": "storage",
    "gemm-flops": "compute", "cublaslt-gemm": "compute", "cublas-function": "compute", "cudnn-function": "compute",
    "matmul": "compute", "gpu-stream": "compute",
}  # fmt: skip


@dataclass(frozen=True)
class Node:
    """Results of one node: its name, its metrics as printed, and the line they stand on."""

    name: str
    metrics: Mapping[str, object]
    line: int | None


def accepts(head: bytes, _name: str) -> bool:
    """True for lines or a list of JSON objects with metrics of SuperBench."""
    return head.lstrip()[:1] in (b"{", b"[") and _KEY.search(head) is not None


def read(source: Path | bytes, _name: str) -> Extract:
    """The facts of the first node; how many more there are is told as a trouble."""
    try:
        raw, whole = unpacked(source, MOST_BYTES)
    except DamagedFile as error:
        return Extract(NAME, troubles=(Trouble(None, f"not read: {error}"),))
    found, more, broken = None, 0, None
    for node, trouble in parsed(raw):
        if trouble is not None:
            broken = broken or trouble
        elif found is None:
            found = node
        else:
            more += 1
    troubles = [] if broken is None else [broken]
    if found is None:
        return Extract(NAME, troubles=tuple(troubles or [Trouble(None, "no results of a node in it")]))
    if not whole:
        troubles.append(Trouble(None, f"only its first {MOST_BYTES >> 20} MiB were read"))
    if more:
        says = f"{more} more node(s) in it: only {found.name or 'the first'} was read; `gpuwhy audit` reads each"
        troubles.append(Trouble(None, says))
    return Extract(NAME, tuple(_Reader(found).readings()), troubles=tuple(troubles))


def parsed(raw: bytes) -> Iterator[tuple[Node, Trouble | None]]:
    """The nodes of a file, and for what is no node the trouble."""
    nothing = Node("", {}, None)
    if raw.lstrip()[:1] == b"[":
        try:
            items = json.loads(raw)
        except (ValueError, RecursionError):
            yield nothing, Trouble(None, "not valid JSON: cut short?")
            return
        yield from ((node_of(one, None), None) for one in items if isinstance(one, dict))
        return
    for number, line in enumerate(raw.splitlines(), 1):
        if line.strip():
            try:
                one = json.loads(line)
            except (ValueError, RecursionError):
                yield nothing, Trouble(number, "not a whole JSON object: cut short?")
                continue
            if isinstance(one, dict):
                yield node_of(one, number), None


def node_of(one: Mapping[str, object], number: int | None) -> Node:
    """A node from its JSON object; `node` names it in results, `index` in what the diagnosis writes."""
    name = one.get("node", one.get("index", ""))
    return Node(str(name)[:200] if isinstance(name, str) else "", one, number)


class _Reader:
    """Metrics of one node, gathered by what they measure."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.figures = Figures()
        self.found: list[Reading] = []
        self.collectives: dict[tuple[str, int], dict[str, tuple[float, Line]]] = {}
        self.loopback: tuple[float, Line] | None = None
        self.disks: dict[tuple[str, str], dict[str, tuple[float, Line]]] = {}
        self.failed: list[str] = []
        self.seen = 0

    def readings(self) -> Iterator[Reading]:
        """Facts of the node."""
        for index, (key, value) in enumerate(self.node.metrics.items()):
            if index >= MOST_METRICS:
                break
            found = _METRIC.fullmatch(key)
            if found and isinstance(value, (int, float)) and not isinstance(value, bool) and is_number(value):
                self._metric(found, float(value), Line(self.node.line or 1, f'"{key}": {value}'))
        yield from self._placed(self.figures.readings())
        yield from self.found
        yield from self._of_collectives()
        if self.loopback:
            yield self._reading("network.rdma_bytes_per_second", *self.loopback)
        yield from self._of_disks()
        if self.seen:
            yield Reading("host.benchmark_failed_count", len(self.failed), self.node.line)
        if self.failed:
            yield Reading("host.benchmark_failed", ", ".join(dict.fromkeys(self.failed))[:300], self.node.line)
        yield from self._of_diagnosis()

    def _placed(self, readings: Iterator[Reading]) -> Iterator[Reading]:
        for one in readings:
            yield Reading(one.fact, one.value, self.node.line, one.text, one.entity)

    def _reading(self, fact: str, value: Value, line: Line, entity: Entity = HOST) -> Reading:
        return Reading(fact, value, self.node.line, line.text[:200], entity)

    def _metric(self, found: re.Match[str], value: float, line: Line) -> None:
        benchmark, metric = found["benchmark"], found["metric"]
        rank = int(found["rank"]) if found["rank"] else None
        if metric == "return_code":
            self.seen += 1
            if value != 0:
                self.failed.append(benchmark)
        elif benchmark in ("mem-bw", "gpu-copy-bw", "nvbandwidth"):
            self._copies(metric, rank, value, line)
        elif benchmark == "nccl-bw" and found["note"] in _NO_NETWORK:
            self._collective(metric, value, line)
        elif benchmark == "ib-loopback":
            self._loop(metric, value, line)
        elif benchmark == "disk-benchmark":
            self._disk(metric, value, line)
        elif benchmark == "gpu-burn" and (burned := _BURN.fullmatch(metric)):
            device = gpu(int(burned["gpu"]))
            self.found.append(self._reading("gpu.stress_test_passed", value != 0, line, device))
        elif rank is not None:
            self._own(benchmark, metric, rank, value, line)

    def _own(self, benchmark: str, metric: str, rank: int, value: float, line: Line) -> None:
        known = _PER_GPU.get((benchmark, metric.lower()))
        counted = COUNTED.get(metric) if benchmark == "monitor" else None
        if known and value > 0:
            self.found.append(self._reading(known[0], value * known[1], line, gpu(rank)))
        elif counted and value > 0 and value == int(value):
            self.found.append(self._reading(counted, int(value), line, gpu(rank)))

    def _copies(self, metric: str, rank: int | None, value: float, line: Line) -> None:
        if value <= 0:
            return
        own = _OWN_COPIES.get(metric.lower())
        if own is not None and rank is not None:
            self.figures.put(own, rank, value, line)
        for pattern, way in ((_TO_GPU, "host_to_device"), (_FROM_GPU, "device_to_host"), (_TEST_OF_HOST, "")):
            if found := pattern.fullmatch(metric):
                kernel = "_kernel" if found["way"] == "sm" else ""
                fact = f"gpu.{way or found['test']}{kernel}_bytes_per_second"
                self.figures.put(fact, int(found["gpu"]), value, line)
        if found := _WITHIN.fullmatch(metric):
            self.figures.put("gpu.device_copy_bytes_per_second", int(found["gpu"]), value, line)
        if found := _BETWEEN.fullmatch(metric) or _TEST_OF_PAIR.fullmatch(metric):
            self.figures.pair("peer_copy", int(found["one"]), int(found["other"]), value, line)

    def _collective(self, metric: str, value: float, line: Line) -> None:
        if (found := _COLLECTIVE.fullmatch(metric)) and value > 0:
            sizes = self.collectives.setdefault((found["operation"], int(found["size"])), {})
            if found["what"] not in sizes or value < sizes[found["what"]][0]:
                sizes[found["what"]] = value, line

    def _of_collectives(self) -> Iterator[Reading]:
        """The largest message of all-reduce, or of the first operation that was measured."""
        operations = list(dict.fromkeys(name for name, _ in self.collectives))
        if not operations:
            return
        name = "allreduce" if "allreduce" in operations else operations[0]
        size = max(size for own, size in self.collectives if own == name)
        largest = self.collectives[name, size]
        line = next(iter(largest.values()))[1]
        for what, fact in (("busbw", "comm.bus_bandwidth"), ("algbw", "comm.algorithm_bandwidth")):
            if what in largest:
                value, where = largest[what]
                yield self._reading(f"{fact}_bytes_per_second", value * _GIGA, where, JOB)
        yield self._reading("comm.message_max_bytes", size, line, JOB)
        yield self._reading("comm.bench_operation", name, line, JOB)

    def _loop(self, metric: str, value: float, line: Line) -> None:
        """Newer results are in GB/s; the older ones, in capitals, in MB/s."""
        found = _LOOPBACK.fullmatch(metric)
        if found and value > 0 and "lat" not in metric:
            rate = value * (_MEGA if found["tool"] == "IB" else _GIGA)
            if self.loopback is None or rate > self.loopback[0]:
                self.loopback = rate, line

    def _disk(self, metric: str, value: float, line: Line) -> None:
        if (found := _DISK.fullmatch(metric)) and value > 0:
            self.disks.setdefault((found["mode"], found["disk"]), {})[found["what"]] = value, line

    def _of_disks(self) -> Iterator[Reading]:
        """Of several disks the slowest: which of them holds the data is not known."""
        for mode, fact in (("seq", "storage.read_bytes_per_second"), ("rand", "storage.read_operations_per_second")):
            rates = []
            for (own, _), what in self.disks.items():
                if own == mode and "read_iops" in what and (mode == "rand" or "bs" in what):
                    rate, line = what["read_iops"]
                    rates.append((rate * what["bs"][0] if mode == "seq" else rate, line))
            if rates:
                yield self._reading(fact, *min(rates, key=lambda one: one[0]))

    def _of_diagnosis(self) -> Iterator[Reading]:
        """What SuperBench's own diagnosis says against its baseline."""
        metrics, line = self.node.metrics, self.node.line
        accepted = metrics.get("diagnosis/accept")
        details = metrics.get("diagnosis/issue_details", metrics.get("Issue Details", ""))
        if not isinstance(accepted, bool):
            accepted = None if "Issue Details" not in metrics else not details
        if accepted is None:
            return
        yield Reading("host.benchmark_accepted", accepted, line)
        if accepted or not isinstance(details, str) or not details:
            return
        yield Reading("host.benchmark_issue", details[:300], line, details[:200])
        if first := _ISSUE.search(details[:20_000]):
            kind = _KINDS.get(first["benchmark"], "other")
            if kind == "copies" and not _OF_HOST.search(first["metric"]):
                kind = "other"
            yield Reading("host.benchmark_issue_kind", kind, line, details[:200])


FORMAT = FileFormat(NAME, "Results and diagnosis of SuperBench", accepts, read)
