"""`nvidia-smi -q -x`: files and pastes of several document types, cut, and hostile."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import gpu
from gpuwhy.probes.artefacts.contract import FileFormat, TextFormat
from gpuwhy.probes.artefacts.smi_xml import FORMATS, accepts, read
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024**2
FILE = next(one for one in FORMATS if isinstance(one, FileFormat))
TEXT = next(one for one in FORMATS if isinstance(one, TextFormat))

HEAD = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Mon Nov 30 02:15:06 2026</timestamp>
	<driver_version>535.104.05</driver_version>
	<cuda_version>12.2</cuda_version>
	<attached_gpus>2</attached_gpus>
"""
BUSY = """\
	<gpu id="00000000:1A:00.0">
		<product_name>NVIDIA A100-SXM4-80GB</product_name>
		<product_architecture>Ampere</product_architecture>
		<mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
		<mig_devices>
			<mig_device>
				<index>0</index>
				<gpu_instance_id>3</gpu_instance_id>
				<fb_memory_usage>
					<total>19968 MiB</total>
					<used>12 MiB</used>
				</fb_memory_usage>
			</mig_device>
		</mig_devices>
		<gpu_virtualization_mode><virtualization_mode>Pass-Through</virtualization_mode></gpu_virtualization_mode>
		<pci>
			<pci_gpu_link_info>
				<pcie_gen><max_link_gen>4</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
				<link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
			</pci_gpu_link_info>
			<tx_util>4000 KB/s</tx_util>
		</pci>
		<performance_state>P0</performance_state>
		<clocks_event_reasons>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
		</clocks_event_reasons>
		<fb_memory_usage>
			<total>81920 MiB</total>
			<reserved>869 MiB</reserved>
			<used>50 MiB</used>
			<free>81000 MiB</free>
		</fb_memory_usage>
		<utilization><gpu_util>N/A</gpu_util></utilization>
		<ecc_errors>
			<volatile>
				<sram_correctable>0</sram_correctable>
				<sram_uncorrectable>1</sram_uncorrectable>
				<dram_correctable>2</dram_correctable>
				<dram_uncorrectable>4</dram_uncorrectable>
			</volatile>
		</ecc_errors>
		<remapped_rows>
			<remapped_row_unc>3</remapped_row_unc>
			<remapped_row_pending>Yes</remapped_row_pending>
		</remapped_rows>
		<gpu_power_readings>
			<average_power_draw>N/A</average_power_draw>
			<instant_power_draw>95.50 W</instant_power_draw>
			<current_power_limit>400.00 W</current_power_limit>
		</gpu_power_readings>
		<module_power_readings><current_power_limit>2500.00 W</current_power_limit></module_power_readings>
		<processes>
			<process_info>
				<gpu_instance_id>3</gpu_instance_id>
				<pid>4711</pid>
				<type>C</type>
				<process_name>python</process_name>
				<used_memory>1005 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
"""
LOST = """\
	<gpu id="00000000:1B:00.0">
		<product_name>NVIDIA A100-SXM4-80GB</product_name>
		<clocks_throttle_reasons>
			<clocks_throttle_reason_hw_thermal_slowdown>Active</clocks_throttle_reason_hw_thermal_slowdown>
		</clocks_throttle_reasons>
		<power_readings>
			<power_draw>250.00 W</power_draw>
			<power_limit>300.00 W</power_limit>
			<enforced_power_limit>280.00 W</enforced_power_limit>
		</power_readings>
		<remapped_rows>GPU is lost</remapped_rows>
		<temperature><gpu_temp>Unknown Error</gpu_temp></temperature>
		<applications_clocks>
			<mem_clock>Requested functionality has been deprecated</mem_clock>
		</applications_clocks>
		<processes>
		</processes>
	</gpu>
"""
LOG = HEAD + BUSY + LOST + "</nvidia_smi_log>\n"


def test_a_file_gives_all_gpus_partitions_and_processes() -> None:
    extract = read(LOG.encode(), "q.xml")
    found = values([extract])
    expected: dict[str, object] = {
        "gpu.name": "NVIDIA A100-SXM4-80GB",
        "gpu.mig_enabled": True,
        "gpu.partition_count": 1,
        "gpu.virtualization": "Pass-Through",
        "gpu.link_generation": 1,
        "gpu.link_generation_max": 4,
        "gpu.link_width": 8,
        "gpu.link_width_max": 16,
        "gpu.link_transmit_bytes_per_second": 4_000_000,
        "gpu.event_software_power_cap": True,
        "gpu.memory_used_bytes": 50 * MIB,
        "gpu.memory_reserved_bytes": 869 * MIB,
        "gpu.ecc_uncorrected_count": 5,  # 1 + 4
        "gpu.ecc_corrected_count": 2,  # 0 + 2
        "gpu.remapped_rows_uncorrectable": 3,
        "gpu.remap_pending": True,
        "gpu.power_watts": 95.5,  # the average is N/A
        "gpu.power_limit_watts": 400,
        "gpu.module_power_limit_watts": 2500,
        "gpu.process_count": 1,
        "gpu.processes_memory_bytes": 1005 * MIB,
    }
    assert {fact: found[fact, "gpu:0"] for fact in expected} == expected
    assert found["partition.memory_total_bytes", "gpu:0/partition:0"] == 19968 * MIB
    assert found["process.gpu_memory_bytes", "gpu:0/process:4711"] == 1005 * MIB
    assert found["gpu.count", "host:this"] == 2
    assert extract.troubles == ()
    memory = next(r for r in extract.readings if r.fact == "gpu.memory_used_bytes")
    assert (memory.line, memory.text, memory.observed_at) == (37, "50 MiB", "Mon Nov 30 02:15:06 2026")


def test_a_lost_gpu_is_lost_and_its_values_missing_with_the_reason() -> None:
    extract = read(LOG.encode(), "q.xml")
    found = values([extract])
    reasons = {one.fact: one.reason for one in extract.missing if one.entity == gpu(1)}
    assert found["gpu.lost", "gpu:1"] is True
    assert found["gpu.event_hardware_thermal_slowdown", "gpu:1"] is True
    assert found["gpu.power_limit_watts", "gpu:1"] == 280
    assert reasons["gpu.remap_pending"] == "GPU is lost"
    assert reasons["gpu.temperature_celsius"] == "Unknown Error"
    assert reasons["gpu.application_memory_clock_megahertz"] == "Requested functionality has been deprecated"
    assert ("gpu.process_count", "gpu:1") not in found  # the list of a lost GPU says nothing


def test_files_are_recognised_compressed_wide_and_from_disk(tmp_path: Path) -> None:
    assert accepts(LOG.encode()[:1000], "x")
    assert accepts(LOG.encode("utf-16")[:1000], "x")
    assert not accepts(b"<svg></svg>", "x.xml")
    assert not accepts(b"$ nvidia-smi -q -x\n" + LOG.encode(), "x")
    path = tmp_path / "q.xml.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    for source in (path, LOG.encode("utf-16")):
        assert values([FILE.read(source, "q")])["gpu.power_watts", "gpu:0"] == 95.5


def test_damaged_compression_is_told_not_raised(tmp_path: Path) -> None:
    assert "cannot be read" in read(b"\x1f\x8bnonsense", "q").troubles[-1].message
    assert "cannot be read" in read(tmp_path / "absent.xml", "q").troubles[-1].message


def test_a_truncated_file_keeps_what_is_whole_and_says_so() -> None:
    cut = (HEAD + BUSY + LOST)[: len(HEAD + BUSY) + 400]
    extract = read(cut.encode(), "q.xml")
    found = values([extract])
    assert found["gpu.power_watts", "gpu:0"] == 95.5
    assert found["gpu.process_count", "gpu:0"] == 1
    assert found["gpu.name", "gpu:1"] == "NVIDIA A100-SXM4-80GB"
    assert ("gpu.process_count", "gpu:1") not in found
    assert "after 1 whole GPU" in extract.troubles[0].message


@pytest.mark.parametrize("prefix", ["", "> ", "    ", "[rank0]: "])
def test_a_log_inside_a_text_is_found(prefix: str) -> None:
    quoted = "".join(prefix + line + "\n" for line in LOG.splitlines())
    text = f"this is what I see\n```\n{quoted}```\nthanks\n"
    extracts = scan(TEXT, text)
    assert values(extracts)["gpu.memory_used_bytes", "gpu:0"] == 50 * MIB
    assert claimed(extracts) == set(range(3, 3 + len(LOG.splitlines())))


def test_two_logs_in_a_text_are_two_extracts_and_prose_after_a_cut_one_is_left() -> None:
    extracts = scan(TEXT, HEAD + BUSY + "<oops\nsorry < that is all\n\n" + LOG)
    assert len(extracts) == 2
    assert values(extracts[:1])["gpu.power_watts", "gpu:0"] == 95.5
    assert extracts[0].troubles
    assert not extracts[1].troubles


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>',
        '<!DOCTYPE nvidia_smi_log [\n<!ENTITY x SYSTEM "file:///etc/passwd">\n]>',
        "<!DOCTYPE nvidia_smi_log\n [<!ELEMENT x ANY>]>",
        '<!doctype x><!entity y "z">',
    ],
)
def test_declared_entities_are_refused(declaration: str) -> None:
    hostile = f"{declaration}\n<nvidia_smi_log><driver_version>&b;&x;</driver_version></nvidia_smi_log>"
    extract = read(hostile.encode(), "q.xml")
    assert extract.readings == ()
    assert extract.troubles


def test_an_undeclared_entity_is_damage_not_text() -> None:
    extract = read(b"<nvidia_smi_log><driver_version>&x;</driver_version></nvidia_smi_log>", "q.xml")
    assert extract.readings == ()
    assert "damaged" in extract.troubles[0].message


def test_deep_nesting_is_refused() -> None:
    assert "nested" in read(b"<nvidia_smi_log>" + b"<a>" * 100_000, "q.xml").troubles[0].message


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_makes_it_raise(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(LOG)))
    stop = data.draw(st.integers(start, len(LOG)))
    noise = data.draw(st.text('<>/&;![]"gpu id=nvidia_smi_log\n \x01', max_size=60))
    damaged = LOG[:start] + noise + LOG[stop:]
    read(damaged.encode(), "q.xml")
    scan(TEXT, damaged)
