"""A recorded fleet: each host as its exporter would show it, one thing wrong with each of some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.tui.audit.prometheus_lab import Recording, Shape, counting

A100 = "NVIDIA A100-SXM4-80GB"


def dcgm(
    recording: Recording,
    host: str,
    gpu: int = 0,
    extra: dict[str, str] | None = None,
    ended_before: float = 0.0,
    **shapes: Shape,
) -> None:
    """One GPU of a host as dcgm-exporter shows it: at work and sound, but for these shapes.

    `ended_before`: so many hours before the end the exporter fell silent.
    """
    labels = {
        "job": "dcgm", "instance": f"{host}:9400", "Hostname": host, "gpu": str(gpu), "UUID": f"GPU-{host}-{gpu}",
        "device": f"nvidia{gpu}", "modelName": A100, "DCGM_FI_DRIVER_VERSION": "550.54.15", **(extra or {}),
    }  # fmt: skip
    sound: dict[str, Shape] = {
        "DEV_GPU_UTIL": 96.0,
        "DEV_GPU_TEMP": 61.0,
        "DEV_POWER_USAGE": 380.0,
        "DEV_ENFORCED_POWER_LIMIT": 400.0,
        "DEV_SM_CLOCK": 1380.0,
        "DEV_FB_USED": 61000.0,
        "DEV_FB_FREE": 20000.0,
        "DEV_XID_ERRORS": 0.0,
        "DEV_CLOCK_THROTTLE_REASONS": 0.0,
        "DEV_THERMAL_VIOLATION": 0.0,
        "DEV_ECC_DBE_VOL_TOTAL": 0.0,
        "DEV_PCIE_REPLAY_COUNTER": 0.0,
        "DEV_UNCORRECTABLE_REMAPPED_ROWS": 0.0,
        "DEV_ROW_REMAP_FAILURE": 0.0,
        "PROF_PIPE_TENSOR_ACTIVE": 0.55,
        "PROF_SM_ACTIVE": 0.86,
        "PROF_DRAM_ACTIVE": 0.45,
    }
    for name, shape in {**sound, **shapes}.items():
        recording.add(f"DCGM_FI_{name}", labels, until(ended_before, shape))


def up(recording: Recording, host: str, job: str = "dcgm", port: int = 9400, shape: Shape = 1.0) -> None:
    """Whether Prometheus reached the exporter of a host."""
    recording.add("up", {"job": job, "instance": f"{host}:{port}"}, shape)


def exporter(recording: Recording, host: str, number: int = 0, **shapes: Shape) -> None:
    """One GPU of a host as nvidia_gpu_exporter shows it."""
    labels = {"job": "smi", "instance": f"{host}:9835", "uuid": f"{host}-{number}"}
    info = {**labels, "name": "NVIDIA A10", "driver_version": "550.54.15", "index": str(number)}
    recording.add("nvidia_smi_gpu_info", info, 1.0)
    sound: dict[str, Shape] = {
        "utilization_gpu_ratio": 0.93,
        "temperature_gpu": 60.0,
        "power_draw_watts": 140.0,
        "pcie_link_gen_current": 4.0,
        "pcie_link_gen_max": 4.0,
        "pcie_link_width_current": 16.0,
        "pcie_link_width_max": 16.0,
        "memory_used_bytes": 1.6e10,
        "memory_total_bytes": 2.4e10,
    }
    for name, shape in {**sound, **shapes}.items():
        recording.add(f"nvidia_smi_{name}", labels, shape)


def node(recording: Recording, host: str, **shapes: Shape) -> None:
    """A host as node_exporter shows it: 8 CPUs, a quarter of them in use."""
    labels = {"job": "node", "instance": f"{host}:9100"}
    recording.add("node_uname_info", {**labels, "nodename": host, "release": "6.1"}, 1.0)
    for cpu in range(8):
        for mode, share in (("user", 0.2), ("system", 0.05), ("idle", 0.75)):
            each = {**labels, "cpu": str(cpu), "mode": mode}
            recording.add("node_cpu_seconds_total", each, counting(share))
    recording.add("node_memory_MemTotal_bytes", labels, 2.0**36)
    recording.add("node_memory_MemAvailable_bytes", labels, 2.0**35)
    for name, shape in shapes.items():
        recording.add(f"node_{name}", labels, shape)


def triton(recording: Recording, host: str, queue_share: float, reset_before: float | None = None) -> None:
    """A Triton server with one model: 20 requests a second of 50 ms, of which a share waits in the queue."""
    labels = {"job": "triton", "instance": f"{host}:8002", "model": "ranker", "version": "1"}
    rates: dict[str, float] = {
        "nv_inference_request_success": 20,
        "nv_inference_count": 20,
        "nv_inference_exec_count": 20,
        "nv_inference_request_duration_us": 20 * 50_000,
        "nv_inference_queue_duration_us": 20 * 50_000 * queue_share,
        "nv_inference_compute_input_duration_us": 20 * 500,
        "nv_inference_compute_infer_duration_us": 20 * (50_000 * (1 - queue_share) - 1000),
        "nv_inference_compute_output_duration_us": 20 * 500,
    }
    for name, rate in rates.items():
        recording.add(name, labels, counting(rate, reset_before=reset_before))


def after(before: float, value: float, otherwise: float = 0.0) -> Callable[[float], float]:
    """A value that is there from so many hours before the end on."""
    return lambda left: value if left <= before else otherwise


def until(before: float, shape: Shape) -> Callable[[float], float | None]:
    """A shape whose samples end so many hours before the end."""
    return lambda left: None if left < before else shape(left) if callable(shape) else shape


def fleet() -> Recording:
    """Ten hosts; what is wrong with each is in its name."""
    made = Recording()
    for number in range(2):
        dcgm(made, "sound", number)
    dcgm(made, "lost", 0)
    dcgm(made, "lost", 1, DEV_XID_ERRORS=after(2.0, 79.0))
    dcgm(made, "old-xid", DEV_XID_ERRORS=79.0)
    hot: dict[str, Any] = {"DEV_GPU_TEMP": 92.0, "DEV_CLOCK_THROTTLE_REASONS": 72.0, "DEV_SM_CLOCK": 900.0}
    dcgm(made, "hot", DEV_THERMAL_VIOLATION=counting(0.6e9), **hot)
    dcgm(made, "ecc", DEV_ECC_DBE_VOL_TOTAL=after(1.0, 3.0), DEV_ROW_REMAP_FAILURE=1.0)
    dcgm(made, "gone", ended_before=2.0)
    for name in ("sound", "lost", "old-xid", "hot", "ecc"):
        up(made, name)
    up(made, "silent", shape=0.0)
    exporter(made, "narrow", pcie_link_width_current=4.0)
    triton(made, "queues", 0.9, reset_before=3.0)
    node(made, "ecc", vmstat_oom_kill=after(1.5, 3.0))
    node(made, "other")
    return made
