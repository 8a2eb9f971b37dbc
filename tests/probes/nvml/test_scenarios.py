"""What is said about machines of many kinds; expected values are those of the scenario files, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuwhy.kb.facts import Entity, gpu
from gpuwhy.probes.nvml_clock_events import REASONS
from tests.conftest import ROOT
from tests.probes.nvml.live import GPU, SCENARIOS, Seen, probe, process

SCHEMA = json.loads((ROOT / "tui" / "schema" / "facts-1.schema.json").read_text("utf-8"))

LONGER = 1.0
"""Long enough for two readings of clocks and link, which are read twice a second."""


@pytest.fixture(scope="module")
def busy(library: Path) -> Seen:
    return probe(library, "healthy-busy", LONGER)


# a healthy card at work


def test_a_busy_card_is_described_by_what_it_is(busy: Seen) -> None:
    expected = {
        "gpu.name": "NVIDIA A100-SXM4-80GB",
        "gpu.uuid": "GPU-11111111-2222-3333-4444-555555555555",
        "gpu.bus_id": "00000000:3B:00.0",
        "gpu.architecture": "Ampere",
        "gpu.compute_capability": "8.0",
        "gpu.compute_mode": "exclusive-process",
        "gpu.persistence_mode": True,
        "gpu.display_active": False,
        "gpu.numa_node": 1,
        "gpu.cpu_affinity": "0-15,56-63",  # the mask ff00 0000 0000 ffff
        "gpu.power_limit_watts": 400.0,
        "gpu.power_default_limit_watts": 500.0,
        "gpu.power_limit_min_watts": 100.0,
        "gpu.temperature_slowdown_celsius": 89,
        "gpu.sm_clock_max_megahertz": 1410,
        "gpu.link_generation_max": 4,
        "gpu.link_width_max": 16,
        "gpu.ecc_enabled": True,
        "gpu.mig_enabled": False,
    }
    assert {name: busy.value(name) for name in expected} == expected
    assert busy.host("gpu.count") == 1
    assert busy.host("host.driver_version") == "550.54.15"
    assert busy.host("host.cuda_version") == "12.4"  # 12040
    assert busy.status == 0


def test_used_memory_leaves_out_what_the_driver_reserves(busy: Seen) -> None:
    assert busy.value("gpu.memory_total_bytes") == 85899345920
    assert busy.value("gpu.memory_used_bytes") == 41943040000
    assert busy.value("gpu.memory_reserved_bytes") == 675282944
    assert busy.value("gpu.memory_free_bytes") == 85899345920 - 41943040000 - 675282944


def test_gauges_carry_their_spread_their_number_of_samples_and_their_window(busy: Seen) -> None:
    assert busy.value("gpu.utilization_share") == 0.97
    assert busy.value("gpu.utilization_p10_share") == busy.value("gpu.utilization_max_share") == 0.97
    assert busy.value("gpu.memory_utilization_share") == 0.41
    assert busy.value("gpu.power_watts") == busy.value("gpu.power_p90_watts") == 391.25
    assert busy.value("gpu.temperature_celsius") == 71.0
    assert busy.value("gpu.memory_temperature_celsius") == 66.0
    assert busy.value("gpu.performance_state") == 0
    assert busy.value("gpu.decoder_share") == 0.12
    fact = busy.fact("gpu.utilization_share")
    assert fact.window_seconds == busy.value("gpu.watched_seconds")
    assert fact.origin.source == "nvml"
    assert fact.observed_at is not None
    assert fact.observed_at.endswith("Z")
    count = busy.number("gpu.sample_count")
    assert count >= 2
    assert f"{count:.0f} samples" in str(fact.origin.text)


def test_the_mean_of_the_drivers_own_samples_stands_beside_the_polled_median(busy: Seen) -> None:
    assert busy.value("gpu.utilization_mean_share") == pytest.approx(0.95)  # (90 + 96 + 99) / 3


def test_counters_become_shares_and_rates(busy: Seen) -> None:
    assert busy.value("gpu.power_violation_share") == pytest.approx(0.25, rel=0.02)
    assert busy.value("gpu.thermal_violation_share") == 0.0
    assert busy.value("gpu.power_mean_watts") == pytest.approx(380.0, rel=0.02)
    assert busy.value("gpu.link_receive_bytes_per_second") == pytest.approx(12e9, rel=0.02)
    assert busy.value("gpu.link_transmit_bytes_per_second") == pytest.approx(1e9, rel=0.02)
    assert busy.value("gpu.link_replays") == 7
    assert busy.value("gpu.link_replays_per_second") == 0.0
    assert busy.number("gpu.event_software_power_cap_seconds") >= 5.0


def test_clock_events_are_shares_of_samples(busy: Seen) -> None:
    assert busy.value("gpu.event_software_power_cap") is True
    assert busy.value("gpu.event_software_power_cap_sample_share") == 1.0
    assert busy.value("gpu.event_idle") is False
    assert busy.value("gpu.event_hardware_slowdown_sample_share") == 0.0
    assert busy.value("gpu.event_bits") == "0x0000000000000004"
    assert not busy.knows("gpu.event_unknown_bits")
    assert busy.reason("gpu.event_board_limit") == "this GPU does not report this clock event"  # 0x200 is not in 0xff


def test_clock_and_link_are_judged_under_load(busy: Seen) -> None:
    assert busy.value("gpu.sm_clock_loaded_megahertz") == 1275.0
    assert busy.value("gpu.link_generation_loaded") == 4
    assert busy.value("gpu.link_width_loaded") == 16
    assert busy.value("gpu.loaded_sample_share") == 1.0


def test_memory_errors_that_happened_while_watched_are_told_apart(busy: Seen) -> None:
    assert busy.value("gpu.ecc_corrected_count") == 5
    assert busy.value("gpu.ecc_corrected_new_count") == 2  # 3 at first, 5 at the end
    assert busy.value("gpu.ecc_uncorrected_new_count") == 0
    assert busy.value("gpu.ecc_uncorrected_lifetime_count") == 1
    assert busy.value("gpu.remapped_rows_uncorrectable") == 1
    assert busy.value("gpu.remap_pending") is False
    assert busy.value("gpu.remap_banks_partial") == 1
    assert busy.value("gpu.lost") is False
    assert busy.value("gpu.reset_required") is False
    assert busy.value("gpu.xid_event_count") == 0


def test_traffic_over_all_nvlinks_is_summed(busy: Seen) -> None:
    assert busy.value("gpu.nvlink_count") == 3
    assert busy.value("gpu.nvlink_active_count") == 2
    # two links, a million KiB each second on each
    assert busy.value("gpu.nvlink_transmit_bytes_per_second") == pytest.approx(2 * 1e6 * 1024, rel=0.02)
    assert busy.value("gpu.nvlink_receive_bytes_per_second") == pytest.approx(4 * 1e6 * 1024, rel=0.02)
    assert busy.value("gpu.nvlink_crc_errors") == 3  # 2 and 1


def test_processes_are_listed_with_memory_and_use(busy: Seen) -> None:
    one = process(4194311)
    assert busy.value("process.pid", one) == 4194311
    assert busy.value("process.type", one) == "compute"
    assert busy.value("process.name", one) == "/usr/bin/python3"
    assert busy.value("process.gpu_memory_bytes", one) == 41000000000
    assert busy.value("process.sm_share", one) == 0.95
    assert busy.value("process.exited", one) is False
    assert busy.value("gpu.process_count") == busy.value("gpu.compute_process_count") == 1
    assert busy.value("gpu.processes_memory_bytes") == 41000000000
    assert busy.value("gpu.graphics_processes_memory_bytes") == 0


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENARIOS.glob("*.scn") if path.stem != "hangs"))
def test_the_file_holds_to_its_schema_and_each_fact_stands_once(library: Path, name: str) -> None:
    seen = probe(library, name, 0.2)
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(json.loads(seen.text))
    known = [(one.id, one.entity) for one in seen.facts]
    assert len(known) == len(set(known))
    assert not set(known) & {(one.id, one.entity) for one in seen.absent}


# other machines


def test_at_rest_the_link_is_not_judged(library: Path) -> None:
    seen = probe(library, "idle")
    assert seen.value("gpu.link_generation") == 1
    assert seen.value("gpu.performance_state") == 8
    assert seen.value("gpu.event_idle") is True
    assert seen.reason("gpu.link_generation_loaded") == "the GPU was not under load in the watched time"
    assert seen.reason("gpu.sm_clock_loaded_megahertz") == "the GPU was not under load in the watched time"
    assert seen.value("gpu.loaded_sample_share") == 0.0
    assert seen.value("gpu.power_violation_share") == 0.0


def test_what_a_consumer_card_does_not_support_is_absent_and_never_zero(library: Path) -> None:
    seen = probe(library, "consumer")
    for fact in (
        "gpu.ecc_enabled",
        "gpu.ecc_uncorrected_count",
        "gpu.mig_enabled",
        "gpu.remap_pending",
        "gpu.power_violation_share",
        "gpu.power_mean_watts",
        "gpu.link_replays",
        "gpu.nvlink_active_count",
        "gpu.memory_temperature_celsius",
        "gpu.numa_node",
    ):
        assert seen.reason(fact) == "not supported by this GPU, driver or mode (NVML 3)"
    assert seen.value("gpu.fan_share") == 0.65
    assert seen.value("gpu.link_transmit_bytes_per_second") == 1200000  # KB/s


def test_traffic_in_bursts_is_the_mean_of_its_readings(library: Path) -> None:
    seen = probe(library, "consumer", 1.5)
    # one burst of 4 000 000 KB/s among many readings of nothing: the median would be nothing
    count = seen.number("gpu.link_traffic_sample_count")
    assert count >= 4
    assert seen.value("gpu.link_receive_bytes_per_second") == pytest.approx(4e9 / count)
    assert seen.value("gpu.link_receive_max_bytes_per_second") == 4e9


def test_a_process_that_computes_and_draws_counts_once(library: Path) -> None:
    seen = probe(library, "consumer")
    assert seen.value("process.type", process(4194311)) == "compute-and-graphics"
    assert seen.value("process.type", process(4194312)) == "graphics"
    assert seen.value("gpu.process_count") == 2
    assert seen.value("gpu.compute_process_count") == 1
    assert seen.value("gpu.processes_memory_bytes") == 8200000000
    assert seen.value("gpu.graphics_processes_memory_bytes") == 200000000


def test_mig_slices_tell_what_the_card_does_not(library: Path) -> None:
    seen = probe(library, "mig-parent", LONGER)
    assert seen.reason("gpu.utilization_share") == "not supported by this GPU, driver or mode (NVML 3)"
    assert "the load is not known" in seen.reason("gpu.link_width_loaded")
    assert seen.value("gpu.partition_count") == 2
    first, second = (Entity("partition", name, GPU) for name in ("0", "2"))
    assert seen.value("partition.profile", first) == "1g.10gb"
    assert seen.value("partition.profile", second) == "2g.20gb"
    assert seen.value("partition.gpu_instance", first) == 9
    assert seen.value("partition.multiprocessor_count", second) == 32
    assert seen.value("partition.memory_used_bytes", first) == 4000000000
    assert seen.value("partition.memory_total_bytes", second) == 20937965568
    # hardware counters: 50 % of the card, 80 % and 0 % of the slices
    assert seen.value("gpu.sm_active_share") == 0.5
    assert seen.value("partition.sm_active_share", first) == 0.8
    assert seen.value("partition.sm_occupancy_share", first) == 0.25
    assert seen.value("partition.sm_active_share", second) == 0.0
    assert seen.value("partition.process_count", first) == 1
    assert seen.value("partition.process_count", second) == 0
    assert seen.value("process.gpu_instance", process(4194311)) == 9
    assert seen.value("gpu.process_count") == 1


def test_a_gpu_that_is_lost_midway_keeps_what_was_seen_and_hides_no_other(library: Path) -> None:
    seen = probe(library, "lost-midway", LONGER)
    lost = gpu(1)
    assert seen.value("gpu.lost", lost) is True
    assert seen.value("gpu.nvml_error", lost) == "gpu-lost"
    assert seen.value("gpu.utilization_share", lost) == 0.6
    assert seen.value("gpu.memory_used_bytes", lost) == 1000000000
    assert seen.value("gpu.xid_event_codes", lost) == "79, 154"
    assert seen.value("gpu.xid_event_first", lost) == 79
    assert seen.number("gpu.watched_seconds", lost) < seen.number("gpu.watched_seconds")
    assert seen.reason("gpu.thermal_violation_share", lost) == "the GPU is lost (NVML 15)"
    assert seen.value("gpu.lost") is False
    assert seen.value("gpu.utilization_share") == 0.97
    assert seen.value("gpu.xid_event_count") == 0
    assert seen.status == 0


def test_a_gpu_that_asks_for_a_reset_is_asked_nothing_more(library: Path) -> None:
    seen = probe(library, "resets-midway", LONGER)
    assert seen.value("gpu.reset_required") is True
    assert seen.value("gpu.nvml_error") == "reset-required"
    assert not seen.knows("gpu.lost")


def test_a_gpu_that_may_not_be_opened_hides_no_other(library: Path) -> None:
    seen = probe(library, "one-forbidden")
    assert seen.host("gpu.count") == 3
    assert seen.value("gpu.nvml_error", gpu(1)) == "no-permission"
    assert "NVML 4" in str(seen.value("gpu.handle_error", gpu(1)))
    assert "NVML 4" in seen.reason("gpu.utilization_share", gpu(1))
    assert not seen.knows("gpu.lost", gpu(1))
    assert seen.value("gpu.utilization_share", gpu(0)) == 0.1
    assert seen.value("gpu.utilization_share", gpu(2)) == 0.2


@pytest.mark.parametrize(
    ("code", "fact", "error"), [(15, "gpu.lost", "gpu-lost"), (16, "gpu.reset_required", "reset-required")]
)
def test_a_gpu_that_is_lost_from_the_start(library: Path, tmp_path: Path, code: int, fact: str, error: str) -> None:
    scenario = tmp_path / "lost.scn"
    scenario.write_text(f"count = 1\ngpu0.err.nvmlDeviceGetHandleByIndex_v2 = {code}\n")
    seen = probe(library, scenario)
    assert seen.value(fact) is True
    assert seen.value("gpu.nvml_error") == error
    assert seen.status == 3


def test_an_old_library_is_asked_by_older_names(old_library: Path) -> None:
    seen = probe(old_library, "old-library")
    # the older answer counts the driver's reserve as used: 1 000 000 000 + 500 000 000
    assert seen.value("gpu.memory_used_bytes") == 1500000000
    assert seen.reason("gpu.memory_reserved_bytes") == "this driver counts its reserve as used memory"
    assert seen.value("gpu.temperature_celsius") == 60.0
    assert seen.value("gpu.event_software_power_cap") is True
    assert seen.value("gpu.event_unknown_bits") == "0x8000000000000000"
    assert seen.value("gpu.power_violation_share") == pytest.approx(0.5, rel=0.03)
    assert seen.value("gpu.thermal_violation_share") == 0.0
    assert seen.value("gpu.power_mean_watts") == pytest.approx(60.0, rel=0.03)
    assert seen.value("gpu.link_replays") == 4
    assert seen.value("process.gpu_memory_bytes", process(4194311)) == 900000000
    assert "NVML 13" in seen.reason("gpu.sm_active_share")


def test_under_wsl_what_cannot_be_told_is_absent(library: Path) -> None:
    seen = probe(library, "wsl")
    assert seen.value("gpu.memory_used_bytes") == 1610612736  # by the older question
    assert seen.reason("gpu.utilization_share") == "not supported by this GPU, driver or mode (NVML 3)"
    assert seen.reason("process.gpu_memory_bytes", process(4194311)).startswith("the driver does not tell")
    assert seen.reason("gpu.processes_memory_bytes").startswith("the driver does not tell")
    assert seen.value("gpu.process_count") == 1


def test_impossible_readings_are_left_out(library: Path) -> None:
    seen = probe(library, "garbage-utilisation")
    assert not seen.knows("gpu.utilization_share")  # 101 %
    assert seen.value("gpu.memory_utilization_share") == 0.3
    assert not seen.knows("process.sm_share", process(4194311))
    assert seen.value("process.memory_utilization_share", process(4194311)) == 0.07
    assert seen.value("process.sm_share", process(4194312)) == 0.4
    assert {one.entity for one in seen.facts if one.entity.kind == "process"} == {process(4194311), process(4194312)}


def test_no_gpu_is_a_finding(library: Path) -> None:
    seen = probe(library, "zero-gpus")
    assert seen.host("gpu.count") == 0
    assert seen.host("host.nvml_error") == "no-devices"
    assert seen.status == 3


def test_repairs_that_wait_or_failed_are_told(library: Path) -> None:
    seen = probe(library, "remap-pending")
    assert seen.value("gpu.remap_pending") is True
    assert seen.value("gpu.ecc_uncorrected_count") == 2
    assert seen.value("gpu.recovery_action") == "reset"
    assert seen.value("gpu.reset_required") is True
    assert seen.value("gpu.remap_failed", gpu(1)) is True
    assert seen.value("gpu.recovery_action", gpu(1)) == "drain-p2p"
    assert not seen.knows("gpu.reset_required", gpu(1))
    assert seen.value("gpu.retired_pages_single_bit", gpu(1)) == 2
    assert seen.value("gpu.retired_pages_double_bit", gpu(1)) == 1
    assert seen.value("gpu.retired_pages_pending", gpu(1)) is True


def test_a_link_trained_down_shows_under_load(library: Path) -> None:
    seen = probe(library, "trained-down", LONGER)
    assert seen.value("gpu.link_generation_loaded") == 3
    assert seen.value("gpu.link_width_loaded") == 8
    assert seen.value("gpu.link_generation_max") == 4
    assert seen.value("gpu.link_width_max") == 16
    assert seen.value("gpu.link_correctable_errors") == 40
    assert seen.value("gpu.link_fatal_errors") == 0
    assert seen.value("gpu.link_replays_per_second") == pytest.approx(20, abs=2)


def test_a_power_brake_shows_in_samples_time_and_clock(library: Path) -> None:
    seen = probe(library, "power-brake", LONGER)
    assert seen.value("gpu.event_hardware_power_brake") is True
    assert seen.value("gpu.event_hardware_slowdown") is True
    assert seen.value("gpu.event_hardware_power_brake_sample_share") == 1.0
    assert seen.value("gpu.hardware_power_brake_violation_share") == pytest.approx(1.0, rel=0.02)
    assert seen.value("gpu.software_thermal_violation_share") == 0.0
    assert seen.value("gpu.sm_clock_loaded_megahertz") == 480.0
    assert seen.value("gpu.temperature_margin_celsius") == 42.0
    assert seen.value("gpu.temperature_margin_shutdown_celsius") == -8


def test_a_single_flash_of_hardware_slowdown_is_none_and_unknown_bits_are_kept(library: Path) -> None:
    seen = probe(library, "flashing", LONGER)
    assert seen.value("gpu.event_hardware_slowdown") is False
    assert seen.value("gpu.event_hardware_slowdown_sample_share") == 0.0
    assert seen.value("gpu.event_bits_seen") == "0x0000000000010008"
    assert seen.value("gpu.event_unknown_bits") == "0x0000000000010000"
    assert all(seen.value(f"gpu.event_{name}") is False for name in REASONS.values())


def test_a_gpu_that_answers_nothing_is_not_healthy(library: Path) -> None:
    seen = probe(library, "silent")
    assert seen.host("gpu.count") == 1
    assert seen.value("gpu.nvml_error") == "unknown-error"
    assert not seen.knows("gpu.lost")
    assert not seen.knows("gpu.handle_error")
    assert "NVML 999" in seen.reason("gpu.utilization_share")
    assert seen.status == 3
