"""An audit of what a real Prometheus server recorded: the causes that were played into it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tui.audit.prometheus_fleet import dcgm, fleet, up
from tests.tui.audit.prometheus_lab import Recording, needs_prometheus, prometheus, replay, wait_until
from tests.tui.audit.test_audit import audit

pytest.importorskip("polars")
pytestmark = needs_prometheus
AT = ("--since", "6h", "--until", "2026-09-21T14:20:00Z")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the recorded fleet."""
    with prometheus(tmp_path_factory.mktemp("prometheus"), recording=fleet()) as address:
        yield address


@pytest.fixture(scope="module")
def report(server: str) -> dict[str, Any]:
    """The report of that fleet."""
    found = audit("--prometheus", server, *AT, "--format", "json")
    assert found.exit_code == 1
    return dict(json.loads(found.output))


def test_each_host_has_its_own_cause(report: dict[str, Any]) -> None:
    told = {
        (host["host"], cause["id"], " ".join(host["entities"]))
        for cause in report["causes"]
        for group in cause["types"]
        for host in group["hosts"]
    }
    assert told == {
        ("lost", "hardware.gpu-lost", "gpu 1"),
        ("ecc", "hardware.memory-errors", "gpu 0"),
        ("ecc", "oom.host-memory", ""),
        ("hot", "hardware.thermal-throttle", "gpu 0"),
        ("narrow", "hardware.link-degraded", "gpu 0"),
        ("queues", "serve.queue-saturated", "load window"),
    }


@pytest.mark.parametrize(
    ("host", "verdict"),
    [
        ("sound", "nothing to fix"),
        ("old-xid", "nothing to fix"),  # its Xid was raised before the window
        ("gone", "broken"),
        ("silent", "broken"),
    ],
)
def test_what_could_not_be_looked_at_is_not_called_sound(report: dict[str, Any], host: str, verdict: str) -> None:
    assert {row["verdict"] for row in report["findings"] if row["host"] == host} == {verdict}


def test_a_host_that_fell_silent_is_told_with_the_time(report: dict[str, Any]) -> None:
    says = {row["host"]: row["says"] for row in report["findings"]}
    assert says["gone"] == "no samples since 2026-09-21 12:20 UTC"
    assert says["silent"] == "the exporter at silent:9400 did not answer in the whole window"


def test_targets_that_belong_to_no_host_with_a_gpu_are_told(report: dict[str, Any]) -> None:
    assert any("1 node_exporter targets belong to no host with a GPU (other:9100)" in one for one in report["notes"])


@pytest.fixture(scope="module")
def facts(server: str, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """Every fact that was read, by host and id."""
    kept = tmp_path_factory.mktemp("kept") / "kept.ndjson"
    audit("--prometheus", server, *AT, "--resume", kept)
    hosts = [json.loads(line) for line in kept.read_text("utf-8").splitlines()[1:]]
    return {(one["host"], fact["id"]): fact["value"] for one in hosts for fact in json.loads(one["facts"])["facts"]}


@pytest.mark.parametrize(
    ("host", "fact", "value"),
    [
        ("hot", "gpu.temperature_celsius", 92),
        ("hot", "gpu.thermal_violation_share", 0.6),  # nanoseconds that grow by 0.6e9 a second
        ("hot", "gpu.event_hardware_slowdown_sample_share", 1),  # 72 is 0x48: bits 0x8 and 0x40
        ("sound", "gpu.memory_used_bytes", 61000 * 2**20),
        ("sound", "gpu.utilization_share", 0.96),
        ("sound", "gpu.sample_count", 720),  # six hours, looked at every 30 s
        ("ecc", "gpu.ecc_uncorrected_count", 3),
        ("ecc", "gpu.ecc_uncorrected_new_count", 3),
        ("ecc", "host.out_of_memory_kills_new", 3),
        ("ecc", "host.cpu_user_share", 0.2),
        ("ecc", "host.cpu_count", 8),
        ("narrow", "gpu.link_width", 4),
        ("narrow", "host.driver_version", "550.54.15"),
        # a restart after three hours: 20 a second all the time, nine tenths of 50 ms in the queue
        ("queues", "serve.requests_per_second", 20),
        ("queues", "serve.queue_seconds", 0.045),
        ("queues", "serve.counter_reset", True),
    ],
)
def test_facts_are_aggregates_of_the_window(
    facts: dict[tuple[str, str], Any], host: str, fact: str, value: float | str
) -> None:
    found = facts[host, fact]
    assert found == (value if isinstance(value, (str, bool)) else pytest.approx(value, rel=0.01))


def test_the_proof_of_a_host_names_the_metric(server: str) -> None:
    told = audit("--prometheus", server, *AT, "--explain", "hot").output
    assert "hardware.thermal-throttle" in told
    assert "DCGM_FI_DEV" in told
    assert "no host `hit`" in audit("--prometheus", server, *AT, "--explain", "hit").output


def test_a_look_of_a_server_without_gpus_says_so(tmp_path: Path) -> None:
    with prometheus(tmp_path) as address:
        found = audit("--prometheus", address, "--since", "1h")
    assert found.exit_code == 3
    assert "has no metrics of dcgm-exporter" in " ".join(found.output.split())


def test_a_reading_goes_on_from_its_file(server: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.ndjson"
    first = audit("--prometheus", server, *AT, "--resume", kept, "--format", "json")
    lines = kept.read_text("utf-8").splitlines(keepends=True)
    assert len(lines) == 1 + 8  # the question, and every host that was read
    kept.write_text("".join(lines[:5]) + lines[5][:40], "utf-8")
    again = audit("--prometheus", server, *AT, "--resume", kept, "--format", "json")
    assert json.loads(again.output)["causes"] == json.loads(first.output)["causes"]
    other = audit("--prometheus", server, "--since", "2h", "--resume", kept)
    assert other.exit_code == 2
    assert "of another question (since, until)" in other.output


def test_labels_name_hosts_types_and_pods(tmp_path: Path) -> None:
    made = Recording(hours=0.5)
    for number, pod in enumerate(("train-a", "train-b")):
        names = {
            "node": "worker-1",
            "Hostname": f"dcgm-exporter-{number}",
            "exported_pod": pod,
            "exported_namespace": "ml",
        }
        dcgm(made, "10.0.0.7", number, {**names, "cluster": "a", "instance": "10.0.0.7:9400"})
    dcgm(made, "10.0.0.8", 0, {"node": "worker-2", "cluster": "b", "instance": "10.0.0.8:9400"}, DEV_XID_ERRORS=0.0)
    up(made, "10.0.0.7")
    made.add(
        "kube_node_labels",
        {"node": "worker-1", "label_node_kubernetes_io_instance_type": "p4d.24xlarge", "cluster": "a"},
        1.0,
    )
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text('match: cluster="a"\nhosts:\n  - {like: worker-1, name: rack1-1, region: us-east-1}\n', "utf-8")
    with prometheus(tmp_path / "lab", recording=made) as address:
        at = ("--since", "30m", "--until", "2026-09-21T14:20:00Z")
        found = audit("--prometheus", address, *at, "--mapping", mapping, "--format", "json")
        rows = {row["host"]: row for row in json.loads(found.output)["findings"]}
        kept = tmp_path / "kept"
        audit("--prometheus", address, *at, "--mapping", mapping, "--resume", kept)
    assert set(rows) == {"rack1-1"}
    assert (rows["rack1-1"]["instance_type"], rows["rack1-1"]["gpus"]) == ("p4d.24xlarge", 2)
    facts = json.loads(json.loads(kept.read_text("utf-8").splitlines()[1])["facts"])["facts"]
    assert {one["value"] for one in facts if one["id"] == "gpu.pod"} == {"ml/train-a", "ml/train-b"}
    assert {one["value"] for one in facts if one["id"] == "host.region"} == {"us-east-1"}


def test_replayed_text_is_scraped_and_judged(tmp_path: Path) -> None:
    lines = [
        f'DCGM_FI_DEV_{name}{{gpu="0",UUID="GPU-1",modelName="NVIDIA A100-SXM4-80GB",Hostname="n1"}} {value}'
        for name, value in (("GPU_TEMP", 60), ("GPU_UTIL", 97), ("ROW_REMAP_FAILURE", 1), ("XID_ERRORS", 0))
    ]
    scraped = [0]

    def text() -> str:
        scraped[0] += 1
        return "\n".join(lines) + "\n"

    with replay(text) as target:
        config = (
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            f"scrape_configs: [{{job_name: dcgm, static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        with prometheus(tmp_path / "lab", config) as address:
            wait_until(lambda: scraped[0] >= 6, lambda: f"{scraped[0]} scrapes")
            found = audit("--prometheus", address, "--since", "20s", "--format", "json")
    document = json.loads(found.output)
    assert [(one["id"], one["types"][0]["hosts"][0]["host"]) for one in document["causes"]] == [
        ("hardware.memory-errors", "n1")
    ]
