"""Rules as alerts of Prometheus: promtool accepts them, and they say what the rules say of the same facts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpuwhy.tui.cli import main
from tests.tui.audit.prometheus_lab import PROMTOOL, needs_prometheus


def export(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["rules", "export", *map(str, arguments)], catch_exceptions=False)


def promtool(*arguments: object) -> str:
    """What promtool prints; fails where it does."""
    assert PROMTOOL
    found = subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-4000:]
    return found.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The exported rules, their unit tests, and what the command said."""
    folder = tmp_path_factory.mktemp("rules")
    rules, tests = folder / "rules.yml", folder / "tests.yml"
    found = export("--prometheus", "--out", rules, "--tests", tests)
    assert found.exit_code == 0
    return rules, tests, found.output


def alerts_of(path: Path) -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(path.read_text("utf-8"))["groups"]
    return [one for one in group["rules"] if "alert" in one]


@needs_prometheus
def test_promtool_accepts_the_rules_and_the_cases_of_the_rules_hold(files: tuple[Path, Path, str]) -> None:
    rules, tests, _ = files
    assert "SUCCESS" in promtool("check", "rules", rules)
    assert "SUCCESS" in promtool("test", "rules", tests)


def test_alerts_carry_title_fix_conclusion_and_source(files: tuple[Path, Path, str]) -> None:
    found = {(one["labels"]["rule"], one["labels"]["status"]): one for one in alerts_of(files[0])}
    lost = found["sig.hardware.gpu-lost-xid", "confirmed"]
    assert lost["alert"] == "HardwareGpuLost"
    assert lost["labels"]["severity"] == "critical"
    assert lost["labels"]["conclusion"] == "hardware.gpu-lost"
    assert lost["annotations"]["summary"].startswith("The GPU fell off the bus.")
    assert lost["annotations"]["source"].startswith("https://docs.nvidia.com/")
    assert lost["annotations"]["fix"]
    assert all(
        "{{" not in value for one in found.values() for key, value in one["annotations"].items() if key != "place"
    )


def test_most_alerts_are_tested_by_a_case_in_which_they_fire(files: tuple[Path, Path, str]) -> None:
    (group,) = yaml.safe_load(files[1].read_text("utf-8"))["tests"]
    fired = {one["exp_labels"]["rule"] for test in group["alert_rule_test"] for one in test["exp_alerts"]}
    every = {one["labels"]["rule"] for one in alerts_of(files[0])}
    silent = every - fired
    assert len(every) >= 40
    assert not silent, silent
    assert "test cases" in files[2]


def test_rules_that_cannot_be_alerts_are_listed_with_the_reason() -> None:
    lines = dict(line.split(": ", 1) for line in export("--prometheus", "--missing").output.splitlines())
    assert lines["sig.oom.fragmentation-from-message"].startswith("no exporter gives oom.event")
    assert "sig.hardware.gpu-lost-xid" not in lines
    assert all(lines.values())


def test_names_choose_rules() -> None:
    group = yaml.safe_load(export("--prometheus", "sig.hardware.gpu-lost-xid").output)["groups"][0]
    assert {one["labels"]["rule"] for one in group["rules"] if "alert" in one} == {"sig.hardware.gpu-lost-xid"}


def test_a_conclusion_chooses_its_rules() -> None:
    group = yaml.safe_load(export("--prometheus", "hardware.gpu-lost").output)["groups"][0]
    alerts = [one["labels"] for one in group["rules"] if "alert" in one]
    assert {one["conclusion"] for one in alerts} == {"hardware.gpu-lost"}
    assert "sig.hardware.gpu-lost-xid" in {one["rule"] for one in alerts}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--prometheus"),
        (("--prometheus", "--tests", "t.yml"), "--out"),
        (("--prometheus", "sig.none"), "no rule"),
        (("--prometheus", "sig.comm.hung-collective-said"), "--missing"),
    ],
)
def test_what_cannot_be_done_is_told(arguments: tuple[str, ...], says: str) -> None:
    found = export(*arguments)
    assert found.exit_code == 2
    assert says in found.output


RAW = """
rule_files: [rules.yml]
evaluation_interval: 30s
tests:
  - interval: 30s
    input_series:
      # the last Xid becomes 79 after ten minutes
      - {series: 'DCGM_FI_DEV_XID_ERRORS{job="d",instance="a:9400",Hostname="a",gpu="3"}', values: "0x20 79x20"}
      - {series: 'DCGM_FI_DEV_XID_ERRORS{job="d",instance="b:9400",Hostname="b",gpu="0"}', values: "79x40"}
      # clocks are cut for heat (bit 0x40) in all of the last ten minutes
      - {series: 'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{job="d",instance="c:9400",gpu="0"}', values: "0x10 64x30"}
      - {series: 'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{job="d",instance="c:9400",gpu="1"}', values: "4x40"}
      # one GPU has nothing to do, in each of the twenty looks of the window
      - {series: 'DCGM_FI_DEV_GPU_UTIL{job="d",instance="f:9400",gpu="0"}', values: "0x40"}
      # a row remap failed on a card of nvidia_gpu_exporter
      - {series: 'nvidia_smi_remapped_rows_failure{job="s",instance="e:9835",uuid="u1"}', values: "1x40"}
    alert_rule_test:
      - eval_time: 20m
        alertname: HardwareGpuLost
        exp_alerts:
          - exp_labels: {conclusion: hardware.gpu-lost, rule: sig.hardware.gpu-lost-xid, severity: critical,
                         status: confirmed, job: d, instance: "a:9400", Hostname: a, gpu: "3"}
            exp_annotations: LOST
    promql_expr_test:
      - {expr: 'sum by (gpu) (gpuwhy:gpu_event_hardware_thermal_slowdown_sample_share)', eval_time: 20m,
         exp_samples: [{labels: '{gpu="0"}', value: 1}, {labels: '{gpu="1"}', value: 0}]}
      - {expr: 'gpuwhy:gpu_sample_count{instance="f:9400"} >= bool 20', eval_time: 20m,
         exp_samples: [{labels: '{job="d", instance="f:9400", gpu="0"}', value: 1}]}
      - {expr: 'gpuwhy:gpu_idle_over_samples{instance="f:9400"}', eval_time: 20m, exp_samples: [
         {labels: 'gpuwhy:gpu_idle_over_samples{job="d", instance="f:9400", gpu="0"}', value: 1}]}
      - {expr: 'count by (instance, status) (ALERTS{conclusion="hardware.memory-errors", alertstate="firing"})',
         eval_time: 20m, exp_samples: [{labels: '{instance="e:9835", status="confirmed"}', value: 1}]}
"""


@needs_prometheus
def test_series_of_exporters_lead_to_alerts(files: tuple[Path, Path, str], tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_bytes(files[0].read_bytes())
    lost = next(one for one in alerts_of(files[0]) if one["labels"]["rule"] == "sig.hardware.gpu-lost-xid")
    texts = {**lost["annotations"], "place": "a gpu 3"}
    (tmp_path / "tests.yml").write_text(RAW.replace("LOST", yaml.safe_dump(texts, default_flow_style=True)), "utf-8")
    assert "SUCCESS" in promtool("test", "rules", tmp_path / "tests.yml")
