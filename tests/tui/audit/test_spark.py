"""The same rules on a Spark cluster: a master and two workers on this machine, judging the same Parquet."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.tui.audit.test_audit import audit

polars = pytest.importorskip("polars")
pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java for Spark"),
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),
]
SECONDS = 600


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def started(log: Path, class_name: str, *arguments: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_name}", *arguments]
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)


def registered(log: Path) -> int:
    return log.read_text(errors="replace").count("Registering worker") if log.exists() else 0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a standalone master with two workers, all on the loopback address."""
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    loopback = ["--host", "127.0.0.1", "--webui-port", "0"]
    running = [started(folder / "master.log", "master.Master", *loopback, "--port", str(port))]
    try:
        end = time.monotonic() + SECONDS
        while not listens(port) and time.monotonic() < end:
            time.sleep(0.5)
        address = f"spark://127.0.0.1:{port}"
        for number in range(2):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}")]
            running.append(started(folder / f"worker{number}.log", "worker.Worker", *loopback, *work, address))
        while registered(folder / "master.log") < 2 and time.monotonic() < end:
            time.sleep(0.5)
        assert registered(folder / "master.log") == 2, (folder / "master.log").read_text()[-2000:]
        yield address
    finally:
        with contextlib.suppress(ImportError):
            from pyspark.sql import SparkSession

            session = SparkSession.getActiveSession()
            if session is not None:
                session.stop()
        for one in running:
            one.terminate()
        for one in running:
            one.wait(60)


def fleet() -> Any:
    """Thirty hosts of two GPUs with a few kinds of faults; some facts are unknown, of some hosts in the first row."""
    rows = range(60)
    return polars.DataFrame(
        {
            "host": [f"h{row // 2:02}" for row in rows],
            "gpu": [row % 2 for row in rows],
            "host.instance_type": [
                ("p5.48xlarge", "g6e.48xlarge", None)[row // 2 % 3] if row % 4 else None for row in rows
            ],
            "gpu.name": [("NVIDIA H100 80GB HBM3", "NVIDIA L40S")[row // 2 % 2] for row in rows],
            "gpu.lost": [None if row % 7 == 0 else row % 20 == 1 for row in rows],
            "gpu.xid_event_codes": ["79" if row % 30 == 3 else None for row in rows],
            "gpu.remap_failed": [row == 7 for row in rows],
            "gpu.utilization_share": [row % 10 / 10 for row in rows],
            "gpu.sm_clock_megahertz": [None if row == 29 else 900.0 if row % 16 == 9 else 1710.0 for row in rows],
            "step.data_wait_share": [None if row == 10 else 0.6 if row == 11 else 0.01 for row in rows],
        }
    )


def told(document: dict[str, Any]) -> dict[str, Any]:
    """A report without the order of its findings, which is that of the partitions."""
    return document | {"findings": sorted(document["findings"], key=lambda one: json.dumps(one, sort_keys=True))}


def test_a_cluster_has_the_verdicts_of_polars(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fleet()
    made.write_parquet(tmp_path / "fleet.parquet")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        "spark.sql.shuffle.partitions 2\nspark.sql.adaptive.enabled false\nspark.executor.memory 512m\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    path = str(tmp_path / "fleet.parquet")
    here = json.loads(audit(path, "--format", "json").output)
    there = json.loads(audit(path, "--engine", cluster, "--format", "json").output)
    assert here["counts"]["cause"] > 3
    assert "slow.straggler" in {one["id"] for one in here["causes"]}  # a comparison with other hosts
    assert told(there) == told(here)


def test_a_path_that_spark_cannot_read_is_a_row(cluster: str, tmp_path: Path) -> None:
    document = json.loads(audit(str(tmp_path / "none.parquet"), "--engine", cluster, "--format", "json").output)
    assert document["counts"]["broken"] == 1
