"""`gpuwhy check` as a user runs it: each thing that is broken is named, with its fix and the status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import ROOT
from tests.probes.nvml.conftest import compiled

STUB = ROOT / "tests" / "probes" / "check" / "stub_torch"
MIB = 1 << 20


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a recent driver."""
    return compiled(tmp_path_factory.mktemp("nvml-check"))


def environment(scenario: Path | None, library: Path | None, torch: str | None) -> dict[str, str]:
    more = {"LD_LIBRARY_PATH": str(library or "/no/such/folder"), "FAKE_NVML_SCENARIO": str(scenario or "")}
    if torch is not None:
        more |= {"PYTHONPATH": str(STUB), "STUB_TORCH": torch}
    return {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")} | more


def check(
    *arguments: str | Path, scenario: Path | None = None, library: Path | None = None, torch: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpuwhy", "check", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env=environment(scenario, library, torch),
        stdin=subprocess.DEVNULL,
    )


def document(*arguments: str | Path, **more: Any) -> tuple[dict[str, Any], int]:
    done = check("--python", sys.executable, "--format", "json", *arguments, **more)
    assert done.stderr == ""
    return json.loads(done.stdout), done.returncode


def states(found: dict[str, Any], step: int = 0) -> dict[str, str]:
    return {one["name"]: one["state"] for one in found["steps"][step]["checks"]}


def asserted(found: dict[str, Any]) -> list[str]:
    return [one["id"] for one in found["diagnosis"]["conclusions"] if one["status"] in ("confirmed", "likely")]


def facts(found: dict[str, Any]) -> dict[str, Any]:
    return {one["id"]: one["value"] for one in found["diagnosis"]["facts"]}


@pytest.fixture
def a100(tmp_path: Path) -> Path:
    path = tmp_path / "a100.scn"
    path.write_text(
        "driver = 560.35.03\ncount = 1\ngpu0.name = NVIDIA A100-SXM4-80GB\ngpu0.util.gpu = 0\ngpu0.util.mem = 0\n"
    )
    return path


@pytest.mark.skipif(
    any(Path("/sys/bus/pci/devices").glob("*/driver/module/../nvidia")), reason="this machine has a GPU"
)
def test_a_machine_without_a_gpu_is_told_so_with_what_to_do() -> None:
    done = check("--python", sys.executable, torch="too-old")
    lines = " ".join(done.stdout.split())
    assert "the driver's library libnvidia-ml.so.1 is missing (NVML 12)" in lines
    assert done.returncode == 1
    assert done.stderr == ""
    assert max(len(line) for line in done.stdout.splitlines()) <= 80 or "http" in done.stdout


def test_a_library_of_another_version_than_the_module_is_named_with_its_fix(library: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "mismatch.scn"
    scenario.write_text("driver = 550.54.15\ncount = 2\nerr.nvmlInit = 18\n")
    found, status = document(scenario=scenario, library=library, torch="too-old")
    assert states(found)["driver"] == "broken"
    assert asserted(found)[0] == "env.driver-library-mismatch"
    assert any(fix["offered"] for fix in found["diagnosis"]["conclusions"][0]["fixes"])
    assert status == 1
    text = check("--python", sys.executable, scenario=scenario, library=library, torch="too-old").stdout
    broken = text.index("BROKEN   driver")
    assert "fix" in text[broken : text.index("STEP 2")]


def test_the_real_pytorch_without_cuda_is_named(library: Path, a100: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if torch.version.cuda:
        pytest.skip("this PyTorch has CUDA")
    found, status = document(scenario=a100, library=library)
    assert states(found)["framework"] == "broken"
    assert asserted(found)[0] == "env.cpu-only-build"
    assert facts(found)["job.cuda_available"] is False
    assert states(found, 1) == {"GPU": "unknown"}
    absent = {one["id"]: one["reason"] for one in found["diagnosis"]["absent"]}
    assert absent["job.kernel_runs"] == "CUDA is not available to PyTorch"
    assert status == 1


def test_a_driver_that_is_too_old_for_the_build_is_named_in_its_words(library: Path, a100: Path) -> None:
    found, status = document(scenario=a100, library=library, torch="too-old")
    assert states(found)["CUDA"] == "broken"
    assert asserted(found)[0] == "env.driver-too-old"
    assert facts(found)["said.driver_cuda"] == "11.4"
    assert status == 1


def test_a_build_without_code_for_the_gpu_is_named(library: Path, a100: Path) -> None:
    found, status = document(scenario=a100, library=library, torch="no-kernel")
    assert states(found)["a kernel"] == "broken"
    assert asserted(found)[0] == "env.no-kernel-image"
    assert status == 1


def test_a_gpu_that_works_is_measured(library: Path, a100: Path) -> None:
    found, status = document(scenario=a100, library=library, torch="works")
    step = states(found)
    assert (step["driver"], step["framework"], step["CUDA"], step["a kernel"], step["NCCL"]) == ("ok",) * 5
    measured = facts(found)
    # every run of the stub takes 1 ms: 128 MiB in 1 ms, twice 1 GiB in 1 ms, 2 * 8192^3 operations in 1 ms
    assert measured["gpu.host_to_device_bytes_per_second"] == pytest.approx(128 * MIB / 1e-3)
    assert measured["gpu.copy_bandwidth_bytes_per_second"] == pytest.approx(2 * 1024 * MIB / 1e-3)
    assert measured["gpu.matmul_float16_flops"] == pytest.approx(2 * 8192**3 / 1e-3)
    assert measured["gpu.launch_seconds"] == pytest.approx(1e-3 / 1000)
    assert set(states(found, 1).values()) == {"ok"}
    schema = json.loads((ROOT / "tui" / "schema" / "check-1.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(found)
    assert not [one for one in asserted(found) if one.startswith("env.")]
    assert status in (0, 3)


def test_a_busy_gpu_is_not_measured_unless_told_to(library: Path, tmp_path: Path) -> None:
    busy = tmp_path / "busy.scn"
    busy.write_text(
        "driver = 560.35.03\ncount = 1\ngpu0.name = NVIDIA A100-SXM4-80GB\ngpu0.util.gpu = 97\ngpu0.util.mem = 40\n"
    )
    found, _ = document(scenario=busy, library=library, torch="works")
    assert states(found, 1) == {"GPU": "unknown"}
    assert "gpu.matmul_float16_flops" not in facts(found)
    found, _ = document("--even-if-busy", scenario=busy, library=library, torch="works")
    assert "gpu.matmul_float16_flops" in facts(found)


def test_a_pytorch_that_dies_could_not_be_looked_at(library: Path, a100: Path) -> None:
    found, status = document(scenario=a100, library=library, torch="dies")
    says = {one["name"]: one["says"] for one in found["steps"][0]["checks"]}
    assert says["CUDA"] == "PyTorch was ended by signal 11"
    assert states(found)["CUDA"] == "unknown"
    assert status == 3


def test_ctrl_c_keeps_what_was_gathered(library: Path, a100: Path, tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    slow.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuwhy", "check", "--python", str(slow)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(a100, library, "hangs"),
    )
    _until_child_runs(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert "Ended early; what was gathered until then stands above." in out
    assert "560.35.03" in out
    assert err == ""


def _until_child_runs(pid: int) -> None:
    """Waits until PyTorch has been asked: a child process of ours, which never answers, runs instead of it."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for _ in range(1200):
        for child in children.read_text().split():
            if b"sleep" in Path(f"/proc/{child}/cmdline").read_bytes():
                time.sleep(1.0)
                return
        time.sleep(0.1)
    raise AssertionError("PyTorch was never asked")


def test_data_is_read_and_never_written(library: Path, a100: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "shard-0.tar").write_bytes(os.urandom(40 * MIB))
    before = (folder / "shard-0.tar").stat().st_mtime_ns
    found, _ = document("--data", folder, scenario=a100, library=library, torch="works")
    (data,) = found["steps"][2]["checks"]
    assert "40 MiB of 1 of 1 file(s)" in data["says"]
    assert ("storage.read_bytes_per_second" in facts(found)) == (data["state"] == "ok")
    assert [(one.name, one.stat().st_mtime_ns) for one in folder.iterdir()] == [("shard-0.tar", before)]


def test_too_little_data_gives_no_rate(library: Path, a100: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.bin"
    path.write_bytes(b"x" * 1000)
    found, _ = document("--data", path, scenario=a100, library=library, torch="works")
    assert states(found, 2) == {"data": "unknown"}
    assert "storage.read_bytes_per_second" not in facts(found)


@pytest.mark.parametrize(
    "arguments", [("--python", "/no/such/python"), ("--data", "/no/such/data")], ids=["python", "data"]
)
def test_unusable_arguments_are_told(arguments: tuple[str, str]) -> None:
    done = check(*arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr
