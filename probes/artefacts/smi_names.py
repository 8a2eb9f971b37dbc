"""What nvidia-smi calls each fact about a GPU's load, clocks and link, in `-q` text, in XML and as a query field.

Names have changed from driver to driver; all known ones are here.
"""

from __future__ import annotations

from collections.abc import Callable

from gpuwhy.kb.facts import Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts import smi_values as v

Convert = Callable[[str], "Value | None"]


@dataclass(frozen=True)
class Field:
    """One fact of nvidia-smi. `paths` are the ends of its place in the `-q` tree (`section/key`, normalised).

    `query` are its `--query-gpu` names. The order of either is that of preference where one source has several.
    """

    fact: str
    convert: Convert
    paths: tuple[str, ...]
    query: tuple[str, ...] = ()


def field(fact: str, convert: Convert, paths: str, query: str = "") -> Field:
    """A field of these space-separated paths and query names."""
    return Field(fact, convert, tuple(paths.split()), tuple(query.split()))


def under(sections: str, keys: str) -> str:
    """The paths of each of these keys under each of these sections."""
    return " ".join(f"{section}/{key}" for section in sections.split() for key in keys.split())


HOST_FIELDS = (
    field("host.driver_version", v.words, "driver_version", "driver_version"),
    field("host.cuda_version", v.words, "cuda_version"),
    field("gpu.count", v.count, "attached_gpus", "count"),
)

_IDENTITY = (
    field("gpu.name", v.words, "product_name", "name gpu_name"),
    field("gpu.uuid", v.words, "gpu_uuid uuid", "uuid gpu_uuid"),
    field("gpu.bus_id", v.words, "pci/bus_id pci_bus_id", "pci.bus_id gpu_bus_id"),
    field("gpu.architecture", v.words, "product_architecture"),
    field("gpu.vbios_version", v.words, "vbios_version", "vbios_version"),
    field("gpu.gsp_firmware_version", v.words, "gsp_firmware_version", "gsp.mode.current"),
    field("gpu.compute_capability", v.words, "compute_cap", "compute_cap"),
    field("gpu.virtualization", v.words, "virtualization_mode"),
    field(
        "gpu.vgpu_license_status",
        v.words,
        "vgpu_software_licensed_product/license_status grid_licensed_product/license_status",
    ),
    field("gpu.fabric_state", v.words, "fabric/state", "fabric.state"),
    field("gpu.fabric_status", v.words, "fabric/status", "fabric.status"),
    field("gpu.fabric_health", v.words, "health/summary"),
)

_MODES = (
    field("gpu.persistence_mode", v.switch, "persistence_mode", "persistence_mode"),
    field("gpu.display_active", v.switch, "display_active", "display_active"),
    field("gpu.driver_model", v.driver_model, "driver_model/current driver_model/current_dm", "driver_model.current"),
    field("gpu.compute_mode", v.compute_mode, "compute_mode", "compute_mode"),
    field("gpu.mig_enabled", v.switch, "mig_mode/current mig_mode/current_mig", "mig.mode.current"),
    field("gpu.mig_pending_enabled", v.switch, "mig_mode/pending mig_mode/pending_mig", "mig.mode.pending"),
    field("gpu.ecc_enabled", v.switch, "ecc_mode/current ecc_mode/current_ecc", "ecc.mode.current"),
    field("gpu.ecc_pending_enabled", v.switch, "ecc_mode/pending ecc_mode/pending_ecc", "ecc.mode.pending"),
    field("gpu.reset_required", v.switch, "reset_required", "reset_status.reset_required"),
    field("gpu.recovery_action", v.recovery_action, "gpu_recovery_action"),
)

_LOAD = (
    field("gpu.performance_state", v.state, "performance_state", "pstate"),
    field("gpu.utilization_share", v.share, "utilization/gpu utilization/gpu_util", "utilization.gpu"),
    field("gpu.memory_utilization_share", v.share, "utilization/memory utilization/memory_util", "utilization.memory"),
    field("gpu.encoder_share", v.share, "utilization/encoder utilization/encoder_util", "utilization.encoder"),
    field("gpu.decoder_share", v.share, "utilization/decoder utilization/decoder_util", "utilization.decoder"),
    field("gpu.jpeg_share", v.share, "utilization/jpeg utilization/jpeg_util", "utilization.jpeg"),
    field("gpu.optical_flow_share", v.share, "utilization/ofa utilization/ofa_util", "utilization.ofa"),
    field("gpu.utilization_max_share", v.share, "gpu_utilization_samples/max"),
    field("gpu.utilization_min_share", v.share, "gpu_utilization_samples/min"),
    field("gpu.utilization_mean_share", v.share, "gpu_utilization_samples/avg"),
    field("gpu.fan_share", v.share, "fan_speed", "fan.speed"),
)

_MEMORY = (
    field("gpu.memory_total_bytes", v.size, "fb_memory_usage/total memory_usage/total", "memory.total"),
    field("gpu.memory_reserved_bytes", v.size, "fb_memory_usage/reserved", "memory.reserved"),
    field("gpu.memory_used_bytes", v.size, "fb_memory_usage/used memory_usage/used", "memory.used"),
    field("gpu.memory_free_bytes", v.size, "fb_memory_usage/free memory_usage/free", "memory.free"),
    field("gpu.bar1_total_bytes", v.size, "bar1_memory_usage/total"),
    field("gpu.bar1_used_bytes", v.size, "bar1_memory_usage/used"),
    field("gpu.bar1_free_bytes", v.size, "bar1_memory_usage/free"),
)

_DRAW = "power_draw average_power_draw instantaneous_power_draw instant_power_draw"


_GPU_POWER = "gpu_power_readings power_readings"

_POWER = (
    field("gpu.power_watts", v.watts, under(_GPU_POWER, _DRAW), "power.draw power.draw.average power.draw.instant"),
    field(
        "gpu.power_limit_watts",
        v.watts,
        under("power_readings", "enforced_power_limit")
        + " "
        + under(_GPU_POWER, "current_power_limit enforced_power_limit power_limit"),
        "enforced.power.limit power.limit",
    ),
    field("gpu.power_requested_limit_watts", v.watts, under(_GPU_POWER, "requested_power_limit")),
    field("gpu.power_default_limit_watts", v.watts, under(_GPU_POWER, "default_power_limit"), "power.default_limit"),
    field("gpu.power_limit_min_watts", v.watts, under(_GPU_POWER, "min_power_limit"), "power.min_limit"),
    field("gpu.power_limit_max_watts", v.watts, under(_GPU_POWER, "max_power_limit"), "power.max_limit"),
    field("gpu.power_max_watts", v.watts, "power_samples/max"),
    field("gpu.power_min_watts", v.watts, "power_samples/min"),
    field("gpu.module_power_watts", v.watts, under("module_power_readings", _DRAW), "module.power.draw"),
    field("gpu.module_power_limit_watts", v.watts, "module_power_readings/current_power_limit", "module.power.limit"),
)

_TEMPERATURE = (
    field("gpu.temperature_celsius", v.celsius, "gpu_current_temp gpu_temp temperature/gpu", "temperature.gpu"),
    field(
        "gpu.temperature_margin_celsius",
        v.celsius,
        "gpu_t_limit_temp gpu_tlimit_temp gpu_temp_tlimit",
        "temperature.gpu.tlimit",
    ),
    field("gpu.temperature_shutdown_celsius", v.celsius, "gpu_shutdown_temp gpu_temp_max_threshold"),
    field("gpu.temperature_slowdown_celsius", v.celsius, "gpu_slowdown_temp gpu_temp_slow_threshold"),
    field(
        "gpu.temperature_max_operating_celsius",
        v.celsius,
        "gpu_max_operating_temp gpu_temp_max_gpu_threshold",
    ),
    field("gpu.temperature_target_celsius", v.celsius, "gpu_target_temperature"),
    field("gpu.memory_temperature_celsius", v.celsius, "memory_current_temp memory_temp", "temperature.memory"),
    field(
        "gpu.memory_temperature_max_celsius",
        v.celsius,
        "memory_max_operating_temp gpu_temp_max_mem_threshold",
    ),
    field(
        "gpu.temperature_margin_shutdown_celsius",
        v.celsius,
        "gpu_shutdown_t_limit_temp gpu_shutdown_tlimit_temp gpu_temp_max_tlimit_threshold",
    ),
    field(
        "gpu.temperature_margin_slowdown_celsius",
        v.celsius,
        "gpu_slowdown_t_limit_temp gpu_slowdown_tlimit_temp gpu_temp_slow_tlimit_threshold",
    ),
    field(
        "gpu.temperature_margin_max_operating_celsius",
        v.celsius,
        "gpu_max_operating_t_limit_temp gpu_max_operating_tlimit_temp gpu_temp_max_gpu_tlimit_threshold",
    ),
)

_CLOCKS = (
    field("gpu.sm_clock_megahertz", v.megahertz, "clocks/sm clocks/sm_clock", "clocks.current.sm clocks.sm"),
    field(
        "gpu.graphics_clock_megahertz",
        v.megahertz,
        "clocks/graphics clocks/graphics_clock",
        "clocks.current.graphics clocks.gr",
    ),
    field(
        "gpu.memory_clock_megahertz",
        v.megahertz,
        "clocks/memory clocks/mem_clock",
        "clocks.current.memory clocks.mem",
    ),
    field(
        "gpu.video_clock_megahertz",
        v.megahertz,
        "clocks/video clocks/video_clock",
        "clocks.current.video clocks.video",
    ),
    field("gpu.sm_clock_max_megahertz", v.megahertz, "max_clocks/sm max_clocks/sm_clock", "clocks.max.sm"),
    field(
        "gpu.graphics_clock_max_megahertz",
        v.megahertz,
        "max_clocks/graphics max_clocks/graphics_clock",
        "clocks.max.graphics clocks.max.gr",
    ),
    field(
        "gpu.memory_clock_max_megahertz",
        v.megahertz,
        "max_clocks/memory max_clocks/mem_clock",
        "clocks.max.memory clocks.max.mem",
    ),
    field(
        "gpu.application_graphics_clock_megahertz",
        v.megahertz,
        "applications_clocks/graphics applications_clocks/graphics_clock",
        "clocks.applications.graphics clocks.applications.gr",
    ),
    field(
        "gpu.application_memory_clock_megahertz",
        v.megahertz,
        "applications_clocks/memory applications_clocks/mem_clock",
        "clocks.applications.memory clocks.applications.mem",
    ),
)

_LINK = (
    field(
        "gpu.link_generation",
        v.link,
        "pcie_generation/current current_link_gen",
        "pcie.link.gen.gpucurrent pcie.link.gen.current",
    ),
    field("gpu.link_generation_max", v.link, "pcie_generation/max max_link_gen", "pcie.link.gen.max"),
    field(
        "gpu.link_generation_device_max",
        v.link,
        "pcie_generation/device_max max_device_link_gen",
        "pcie.link.gen.gpumax",
    ),
    field(
        "gpu.link_generation_host_max", v.link, "pcie_generation/host_max max_host_link_gen", "pcie.link.gen.hostmax"
    ),
    field("gpu.link_width", v.link, "link_width/current current_link_width", "pcie.link.width.current"),
    field("gpu.link_width_max", v.link, "link_width/max max_link_width", "pcie.link.width.max"),
    field("gpu.link_replays", v.count, "replays_since_reset replay_counter"),
    field("gpu.link_replay_rollovers", v.count, "replay_number_rollovers replay_rollover_counter"),
    field("gpu.link_receive_bytes_per_second", v.rate, "rx_throughput rx_util"),
    field("gpu.link_transmit_bytes_per_second", v.rate, "tx_throughput tx_util"),
)

LOAD_FIELDS = (*_IDENTITY, *_MODES, *_LOAD, *_MEMORY, *_POWER, *_TEMPERATURE, *_CLOCKS, *_LINK)
