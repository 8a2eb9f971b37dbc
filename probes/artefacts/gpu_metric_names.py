"""What dcgm-exporter and nvidia_gpu_exporter call each fact about a GPU, in old and new names, and in which unit.

dcgm-exporter: names of DCGM fields, https://docs.nvidia.com/datacenter/dcgm/latest/dcgm-api/dcgm-api-field-ids.html ;
names that DCGM 4.6 gave anew are beside the old ones.
nvidia_gpu_exporter: https://github.com/utkuozdemir/nvidia_gpu_exporter .
"""

from __future__ import annotations

from collections.abc import Mapping

from gpuwhy.kb.records import dataclass

MIB = 1024.0**2


@dataclass(frozen=True)
class Metric:
    """The fact that a metric gives, and what its value is multiplied with; `kind` says what else is to be done.

    `flag`: not zero is true. `whole`: an integer. `bits`: clock events. `xid`: the last code.
    """

    fact: str
    factor: float = 1.0
    kind: str = "number"


def _both(*names: str, fact: str, factor: float = 1.0, kind: str = "number") -> dict[str, Metric]:
    return dict.fromkeys(names, Metric(fact, factor, kind))


_PERCENT = 0.01

DCGM: Mapping[str, Metric] = {
    **_both("GPU_UTIL", "GPU_UTIL_RATIO", fact="gpu.utilization_share", factor=_PERCENT),
    **_both("MEM_COPY_UTIL", "MEM_COPY_UTIL_RATIO", fact="gpu.memory_utilization_share", factor=_PERCENT),
    **_both("ENC_UTIL", "ENC_UTIL_RATIO", fact="gpu.encoder_share", factor=_PERCENT),
    **_both("DEC_UTIL", "DEC_UTIL_RATIO", fact="gpu.decoder_share", factor=_PERCENT),
    **_both("SM_CLOCK", fact="gpu.sm_clock_megahertz"),
    **_both("MEM_CLOCK", fact="gpu.memory_clock_megahertz"),
    **_both("MAX_SM_CLOCK", fact="gpu.sm_clock_max_megahertz"),
    **_both("GPU_TEMP", "GPU_TEMP_CELSIUS", fact="gpu.temperature_celsius"),
    **_both("MEMORY_TEMP", "MEMORY_TEMP_CELSIUS", fact="gpu.memory_temperature_celsius"),
    **_both("SLOWDOWN_TEMP", fact="gpu.temperature_slowdown_celsius"),
    **_both("POWER_USAGE", "BOARD_POWER_WATTS", fact="gpu.power_watts"),
    **_both("ENFORCED_POWER_LIMIT", "BOARD_POWER_LIMIT_ENFORCED_WATTS", fact="gpu.power_limit_watts"),
    **_both("POWER_MGMT_LIMIT", "BOARD_POWER_LIMIT_REQUESTED_WATTS", fact="gpu.power_limit_watts"),
    **_both("POWER_MGMT_LIMIT_DEF", fact="gpu.power_default_limit_watts"),
    **_both("FB_TOTAL", fact="gpu.memory_total_bytes", factor=MIB),
    **_both("FB_USED", fact="gpu.memory_used_bytes", factor=MIB),
    **_both("FB_FREE", fact="gpu.memory_free_bytes", factor=MIB),
    **_both("FB_RESERVED", fact="gpu.memory_reserved_bytes", factor=MIB),
    **_both("PCIE_REPLAY_COUNTER", "PCIE_REPLAY_TOTAL", fact="gpu.link_replays", kind="whole"),
    **_both("PCIE_LINK_GEN", fact="gpu.link_generation", kind="whole"),
    **_both("PCIE_LINK_WIDTH", fact="gpu.link_width", kind="whole"),
    **_both("PCIE_MAX_LINK_GEN", fact="gpu.link_generation_max", kind="whole"),
    **_both("PCIE_MAX_LINK_WIDTH", fact="gpu.link_width_max", kind="whole"),
    **_both("CLOCK_THROTTLE_REASONS", "CLOCKS_EVENT_REASONS", fact="gpu.event_bits", kind="bits"),
    **_both("XID_ERRORS", "XID_ERROR", fact="xid.code", kind="xid"),
    **_both("ECC_SBE_VOL_TOTAL", fact="gpu.ecc_corrected_count", kind="whole"),
    **_both("ECC_DBE_VOL_TOTAL", fact="gpu.ecc_uncorrected_count", kind="whole"),
    **_both("ECC_SBE_AGG_TOTAL", fact="gpu.ecc_corrected_lifetime_count", kind="whole"),
    **_both("ECC_DBE_AGG_TOTAL", fact="gpu.ecc_uncorrected_lifetime_count", kind="whole"),
    **_both("RETIRED_SBE", "PAGE_RETIRED_SBE", fact="gpu.retired_pages_single_bit", kind="whole"),
    **_both("RETIRED_DBE", "PAGE_RETIRED_DBE", fact="gpu.retired_pages_double_bit", kind="whole"),
    **_both("RETIRED_PENDING", "PAGE_RETIRED_PENDING", fact="gpu.retired_pages_pending", kind="flag"),
    **_both("UNCORRECTABLE_REMAPPED_ROWS", "ROW_REMAP_UNCORRECTABLE_TOTAL",
            fact="gpu.remapped_rows_uncorrectable", kind="whole"),
    **_both("CORRECTABLE_REMAPPED_ROWS", "ROW_REMAP_CORRECTABLE_TOTAL",
            fact="gpu.remapped_rows_correctable", kind="whole"),
    **_both("ROW_REMAP_PENDING", fact="gpu.remap_pending", kind="flag"),
    **_both("ROW_REMAP_FAILURE", "ROW_REMAP_FAILED", fact="gpu.remap_failed", kind="flag"),
    **_both("PSTATE", "GPU_PSTATE", fact="gpu.performance_state", kind="whole"),
    **_both("NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", fact="gpu.nvlink_crc_errors", kind="whole"),
    **_both("NVLINK_REPLAY_ERROR_COUNT_TOTAL", fact="gpu.nvlink_replays", kind="whole"),
    **_both("NVLINK_RECOVERY_ERROR_COUNT_TOTAL", fact="gpu.nvlink_recoveries", kind="whole"),
    **_both("GR_ENGINE_ACTIVE", "GR_ENGINE_UTIL_RATIO", fact="gpu.graphics_active_share"),
    **_both("SM_ACTIVE", "SM_UTIL_RATIO", fact="gpu.sm_active_share"),
    **_both("SM_OCCUPANCY", "SM_OCCUPANCY_RATIO", fact="gpu.sm_occupancy_share"),
    **_both("PIPE_TENSOR_ACTIVE", "TENSOR_UTIL_RATIO", fact="gpu.tensor_active_share"),
    **_both("DRAM_ACTIVE", "DRAM_UTIL_RATIO", fact="gpu.dram_active_share"),
    **_both("PCIE_TX_BYTES", fact="gpu.link_transmit_bytes_per_second"),
    **_both("PCIE_RX_BYTES", fact="gpu.link_receive_bytes_per_second"),
    **_both("NVLINK_TX_BYTES", fact="gpu.nvlink_transmit_bytes_per_second"),
    **_both("NVLINK_RX_BYTES", fact="gpu.nvlink_receive_bytes_per_second"),
}  # fmt: skip
"""By the name of a DCGM field without `DCGM_FI_`, `DEV_` and `PROF_`."""

ANCIENT: Mapping[str, str] = {
    "gpu_utilization": "GPU_UTIL",
    "mem_copy_utilization": "MEM_COPY_UTIL",
    "gpu_temp": "GPU_TEMP",
    "memory_temp": "MEMORY_TEMP",
    "power_usage": "POWER_USAGE",
    "sm_clock": "SM_CLOCK",
    "memory_clock": "MEM_CLOCK",
    "fb_used": "FB_USED",
    "fb_free": "FB_FREE",
    "xid_errors": "XID_ERRORS",
    "pcie_replay_counter": "PCIE_REPLAY_COUNTER",
    "ecc_dbe_volatile_total": "ECC_DBE_VOL_TOTAL",
    "ecc_sbe_volatile_total": "ECC_SBE_VOL_TOTAL",
}
"""Names of dcgm-exporter 1.x (`dcgm_gpu_temp`), and the fields that they are."""

VIOLATIONS: Mapping[str, str] = {
    "POWER_VIOLATION": "gpu.power_violation_share",
    "THERMAL_VIOLATION": "gpu.thermal_violation_share",
    "SYNC_BOOST_VIOLATION": "gpu.sync_boost_violation_share",
    "BOARD_LIMIT_VIOLATION": "gpu.board_limit_violation_share",
    "LOW_UTIL_VIOLATION": "gpu.low_utilization_violation_share",
    "RELIABILITY_VIOLATION": "gpu.reliability_violation_share",
}
"""Counters of nanoseconds in which clocks were cut: only their growth between two scrapes says something."""

EXPORTER: Mapping[str, Metric] = {
    "utilization_gpu_ratio": Metric("gpu.utilization_share"),
    "utilization_memory_ratio": Metric("gpu.memory_utilization_share"),
    "utilization_encoder_ratio": Metric("gpu.encoder_share"),
    "utilization_decoder_ratio": Metric("gpu.decoder_share"),
    "fan_speed_ratio": Metric("gpu.fan_share"),
    "memory_total_bytes": Metric("gpu.memory_total_bytes"),
    "memory_used_bytes": Metric("gpu.memory_used_bytes"),
    "memory_free_bytes": Metric("gpu.memory_free_bytes"),
    "memory_reserved_bytes": Metric("gpu.memory_reserved_bytes"),
    "power_draw_watts": Metric("gpu.power_watts"),
    "enforced_power_limit_watts": Metric("gpu.power_limit_watts"),
    "power_default_limit_watts": Metric("gpu.power_default_limit_watts"),
    "temperature_gpu": Metric("gpu.temperature_celsius"),
    "temperature_gpu_tlimit": Metric("gpu.temperature_margin_celsius"),
    "temperature_memory": Metric("gpu.memory_temperature_celsius"),
    "clocks_current_sm_clock_hz": Metric("gpu.sm_clock_megahertz", 1e-6),
    "clocks_max_sm_clock_hz": Metric("gpu.sm_clock_max_megahertz", 1e-6),
    "clocks_current_memory_clock_hz": Metric("gpu.memory_clock_megahertz", 1e-6),
    "pstate": Metric("gpu.performance_state", kind="whole"),
    "pcie_link_gen_current": Metric("gpu.link_generation", kind="whole"),
    "pcie_link_gen_max": Metric("gpu.link_generation_max", kind="whole"),
    "pcie_link_width_current": Metric("gpu.link_width", kind="whole"),
    "pcie_link_width_max": Metric("gpu.link_width_max", kind="whole"),
    "mig_mode_current": Metric("gpu.mig_enabled", kind="flag"),
    "ecc_mode_current": Metric("gpu.ecc_enabled", kind="flag"),
    "persistence_mode": Metric("gpu.persistence_mode", kind="flag"),
    "compute_apps": Metric("gpu.compute_process_count", kind="whole"),
    "ecc_errors_corrected_volatile_total": Metric("gpu.ecc_corrected_count", kind="whole"),
    "ecc_errors_uncorrected_volatile_total": Metric("gpu.ecc_uncorrected_count", kind="whole"),
    "ecc_errors_corrected_aggregate_total": Metric("gpu.ecc_corrected_lifetime_count", kind="whole"),
    "ecc_errors_uncorrected_aggregate_total": Metric("gpu.ecc_uncorrected_lifetime_count", kind="whole"),
    "ecc_errors_uncorrected_aggregate_sram_threshold_exceeded": Metric("gpu.ecc_sram_threshold_exceeded", kind="flag"),
    "remapped_rows_correctable": Metric("gpu.remapped_rows_correctable", kind="whole"),
    "remapped_rows_uncorrectable": Metric("gpu.remapped_rows_uncorrectable", kind="whole"),
    "remapped_rows_pending": Metric("gpu.remap_pending", kind="flag"),
    "remapped_rows_failure": Metric("gpu.remap_failed", kind="flag"),
    "retired_pages_pending": Metric("gpu.retired_pages_pending", kind="flag"),
    "clocks_event_reasons_active": Metric("gpu.event_bits", kind="bits"),
    "clocks_throttle_reasons_active": Metric("gpu.event_bits", kind="bits"),
    "clocks_event_reasons_counters_sw_power_cap_seconds": Metric("gpu.event_software_power_cap_seconds"),
    "clocks_event_reasons_counters_sw_thermal_slowdown_seconds": Metric("gpu.event_software_thermal_slowdown_seconds"),
    "clocks_event_reasons_counters_hw_thermal_slowdown_seconds": Metric("gpu.event_hardware_thermal_slowdown_seconds"),
    "clocks_event_reasons_counters_hw_power_brake_slowdown_seconds": Metric("gpu.event_hardware_power_brake_seconds"),
}
"""By the name of a metric of nvidia_gpu_exporter without `nvidia_smi_`."""

PARTITION_FACTS: Mapping[str, str] = {
    "gpu.graphics_active_share": "partition.graphics_active_share",
    "gpu.sm_active_share": "partition.sm_active_share",
    "gpu.sm_occupancy_share": "partition.sm_occupancy_share",
    "gpu.tensor_active_share": "partition.tensor_active_share",
    "gpu.dram_active_share": "partition.dram_active_share",
    "gpu.memory_used_bytes": "partition.memory_used_bytes",
    "gpu.memory_free_bytes": "partition.memory_free_bytes",
    "gpu.memory_total_bytes": "partition.memory_total_bytes",
}
"""Facts that a metric with the labels of a MIG partition gives of the partition; others are the whole GPU's."""
