"""What nvidia-smi calls each fact about what slows a GPU down and about its memory errors."""

from __future__ import annotations

from gpuwhy.probes.artefacts import smi_values as v
from gpuwhy.probes.artefacts.smi_names import Field, field, under


def _event(fact: str, label: str, query: str) -> Field:
    tags = f"clocks_event_reason_{query} clocks_throttle_reason_{query}"
    asked = query.removeprefix("gpu_") if query != "gpu_idle" else query
    return field(
        fact,
        v.switch,
        f"{label} {tags}",
        f"clocks_event_reasons.{asked} clocks_throttle_reasons.{asked}",
    )


_EVENTS = (
    _event("gpu.event_idle", under("clocks_event_reasons clocks_throttle_reasons", "idle"), "gpu_idle"),
    _event("gpu.event_application_clocks", "applications_clocks_setting", "applications_clocks_setting"),
    _event(
        "gpu.event_software_power_cap",
        under("clocks_event_reasons clocks_throttle_reasons", "sw_power_cap"),
        "sw_power_cap",
    ),
    _event("gpu.event_hardware_slowdown", "hw_slowdown", "hw_slowdown"),
    _event("gpu.event_hardware_thermal_slowdown", "hw_thermal_slowdown", "hw_thermal_slowdown"),
    _event("gpu.event_hardware_power_brake", "hw_power_brake_slowdown", "hw_power_brake_slowdown"),
    _event("gpu.event_sync_boost", "sync_boost", "sync_boost"),
    _event("gpu.event_software_thermal_slowdown", "sw_thermal_slowdown", "sw_thermal_slowdown"),
)

_COUNTERS = "clocks_event_reasons_counters"


def _counter(fact: str, label: str, tag: str) -> Field:
    return field(fact, v.seconds, f"{_COUNTERS}/{label} {_COUNTERS}_{tag}", f"{_COUNTERS}.{tag}")


_EVENT_SECONDS = (
    _counter("gpu.event_software_power_cap_seconds", "sw_power_capping", "sw_power_cap"),
    _counter("gpu.event_sync_boost_seconds", "sync_boost", "sync_boost"),
    _counter("gpu.event_software_thermal_slowdown_seconds", "sw_thermal_slowdown", "sw_therm_slowdown"),
    _counter("gpu.event_hardware_thermal_slowdown_seconds", "hw_thermal_slowdown", "hw_therm_slowdown"),
    _counter("gpu.event_hardware_power_brake_seconds", "hw_power_braking", "hw_power_brake"),
)


def _ecc(span: str, suffix: str) -> tuple[Field, ...]:
    query = f"{span}.total"
    return (
        field(
            f"gpu.ecc_corrected_{suffix}count",
            v.count,
            f"{span}/single_bit/total",
            f"ecc.errors.corrected.{query}",
        ),
        field(
            f"gpu.ecc_uncorrected_{suffix}count",
            v.count,
            f"{span}/double_bit/total",
            f"ecc.errors.uncorrected.{query}",
        ),
        field(
            f"gpu.ecc_sram_corrected_{suffix}count",
            v.count,
            f"{span}/sram_correctable",
            f"ecc.errors.corrected.{span}.sram",
        ),
        field(
            f"gpu.ecc_sram_uncorrected_{suffix}count",
            v.count,
            f"{span}/sram_uncorrectable",
            f"ecc.errors.uncorrected.{span}.sram",
        ),
        field(f"gpu.ecc_sram_parity_{suffix}count", v.count, f"{span}/sram_uncorrectable_parity"),
        field(
            f"gpu.ecc_sram_secded_{suffix}count",
            v.count,
            f"{span}/sram_uncorrectable_secded {span}/sram_uncorrectable_sec_ded",
        ),
        field(
            f"gpu.ecc_dram_corrected_{suffix}count",
            v.count,
            f"{span}/dram_correctable",
            f"ecc.errors.corrected.{span}.dram",
        ),
        field(
            f"gpu.ecc_dram_uncorrected_{suffix}count",
            v.count,
            f"{span}/dram_uncorrectable",
            f"ecc.errors.uncorrected.{span}.dram",
        ),
    )


ECC_SUMS = tuple(
    (
        f"gpu.ecc_{kind}_{suffix}count",
        tuple(tuple(f"gpu.ecc_{part}_{suffix}count" for part in parts) for parts in alternatives),
    )
    for suffix in ("", "lifetime_")
    for kind, alternatives in (
        ("corrected", (("sram_corrected", "dram_corrected"),)),
        (
            "uncorrected",
            (("sram_uncorrected", "dram_uncorrected"), ("sram_parity", "sram_secded", "dram_uncorrected")),
        ),
    )
)
"""Facts that newer drivers print only by part, and the sets of parts that each is the sum of."""

HEALTH_FIELDS = (
    *_EVENTS,
    *_EVENT_SECONDS,
    *_ecc("volatile", ""),
    *_ecc("aggregate", "lifetime_"),
    field("gpu.ecc_sram_threshold_exceeded", v.switch, "sram_threshold_exceeded"),
    field("gpu.channel_repair_pending", v.switch, "channel_repair_pending"),
    field("gpu.tpc_repair_pending", v.switch, "tpc_repair_pending"),
    field("gpu.unrepairable_memory", v.switch, "unrepairable_memory"),
    field(
        "gpu.remapped_rows_correctable",
        v.count,
        "remapped_rows/correctable_error remapped_row_corr",
        "remapped_rows.correctable",
    ),
    field(
        "gpu.remapped_rows_uncorrectable",
        v.count,
        "remapped_rows/uncorrectable_error remapped_row_unc",
        "remapped_rows.uncorrectable",
    ),
    field("gpu.remap_pending", v.switch, "remapped_rows/pending remapped_row_pending", "remapped_rows.pending"),
    field(
        "gpu.remap_failed",
        v.switch,
        "remapping_failure_occurred remapped_row_failure",
        "remapped_rows.failure",
    ),
    *(
        field(
            f"gpu.remap_banks_{level}",
            v.count,
            f"bank_remap_availability_histogram/{level} row_remapper_histogram_{level}",
            f"remapped_rows.histogram.{level}",
        )
        for level in ("max", "high", "partial", "low", "none")
    ),
    field(
        "gpu.retired_pages_single_bit",
        v.count,
        "retired_pages/single_bit_ecc multiple_single_bit_retirement/retired_count",
        "retired_pages.single_bit_ecc.count retired_pages.sbe",
    ),
    field(
        "gpu.retired_pages_double_bit",
        v.count,
        "retired_pages/double_bit_ecc double_bit_retirement/retired_count",
        "retired_pages.double_bit.count retired_pages.dbe",
    ),
    field(
        "gpu.retired_pages_pending",
        v.switch,
        "pending_page_blacklist pending_blacklist pending_retirement retired_pages/pending",
        "retired_pages.pending",
    ),
)
