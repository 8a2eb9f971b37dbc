"""Processes on a GPU as they are seen from outside and from inside a container, where process ids are not ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuwhy.probes import process_names
from tests.probes.nvml.live import environment

PID = 4194311  # above the highest process id of Linux: no process here has it
CONTAINER = "pid:[4026532001]"

WATCH = """
import json, sys
from pathlib import Path
from gpuwhy.probes import process_names
process_names.PROC = Path(sys.argv[1])
from gpuwhy.probes.nvml_sampler import sample
seen = sample(0.2)
print(json.dumps({
    "facts": {f"{one.entity.path} {one.id}": one.value for one in seen.facts},
    "absent": {f"{one.entity.path} {one.id}": one.reason for one in seen.absent},
}))
"""


def proc(folder: Path, namespace: str, **commands: str) -> Path:
    """A /proc of a process namespace, with processes by id (`p4242="python3"`)."""
    (folder / "self" / "ns").mkdir(parents=True)
    (folder / "self" / "ns" / "pid").symlink_to(namespace)
    for name, command in commands.items():
        own = folder / name.removeprefix("p")
        own.mkdir()
        (own / "comm").write_text(command[:15] + "\n")
        (own / "cmdline").write_bytes(f"/opt/bin/{command}\0--flag\0".encode())
    return folder


def watch(library: Path, scenario: str, proc_folder: Path) -> tuple[dict[str, object], dict[str, str]]:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(proc_folder)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(library, scenario),
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    return found["facts"], found["absent"]


OWN = f"gpu:0/process:{PID}"


def test_in_a_container_an_id_without_a_process_is_the_hosts(library: Path, tmp_path: Path) -> None:
    facts, _ = watch(library, "healthy-busy", proc(tmp_path, CONTAINER))
    assert facts["host:this host.process_ids_foreign"] is True
    assert facts[f"{OWN} process.name"] == "/usr/bin/python3"  # as the driver says it
    assert f"{OWN} process.running" not in facts
    assert facts[f"{OWN} process.gpu_memory_bytes"] == 41000000000


def test_in_a_container_another_process_of_that_id_is_not_taken_for_it(library: Path, tmp_path: Path) -> None:
    facts, _ = watch(library, "healthy-busy", proc(tmp_path, CONTAINER, **{f"p{PID}": "postgres"}))
    assert facts["host:this host.process_ids_foreign"] is True


def test_a_container_that_shares_the_hosts_ids_is_recognised_by_the_names(library: Path, tmp_path: Path) -> None:
    facts, _ = watch(library, "healthy-busy", proc(tmp_path, CONTAINER, **{f"p{PID}": "python3"}))
    assert facts["host:this host.process_ids_foreign"] is False
    assert facts[f"{OWN} process.running"] is True


def test_a_name_is_looked_up_only_where_the_ids_are_ours(library: Path, tmp_path: Path) -> None:
    # MIG slices list this process, and the driver does not tell its name
    outside = proc(tmp_path / "outside", process_names.INITIAL_NAMESPACE, **{f"p{PID}": "torchrun"})
    facts, _ = watch(library, "mig-parent", outside)
    assert facts[f"{OWN} process.name"] == "torchrun"
    facts, absent = watch(library, "mig-parent", proc(tmp_path / "inside", CONTAINER))
    assert f"{OWN} process.name" not in facts
    assert "container" in absent[f"{OWN} process.name"]


def test_outside_of_containers_an_id_without_a_process_has_left_its_memory(library: Path, tmp_path: Path) -> None:
    facts, _ = watch(library, "healthy-busy", proc(tmp_path, process_names.INITIAL_NAMESPACE))
    assert facts["host:this host.process_ids_foreign"] is False
    assert facts[f"{OWN} process.running"] is False


@pytest.mark.parametrize(("namespace", "known"), [(CONTAINER, False), (process_names.INITIAL_NAMESPACE, True)])
def test_an_empty_list_says_that_there_is_no_process_only_outside_of_containers(
    library: Path, tmp_path: Path, namespace: str, known: bool
) -> None:
    facts, absent = watch(library, "idle", proc(tmp_path, namespace))
    if known:
        assert facts["gpu:0 gpu.process_count"] == 0
        assert facts["gpu:0 gpu.processes_memory_bytes"] == 0
    else:
        assert "gpu:0 gpu.process_count" not in facts
        assert "container" in absent["gpu:0 gpu.process_count"]


def test_own_process_exists_and_has_names() -> None:
    assert process_names.exists(os.getpid())
    assert process_names.names_here(os.getpid())
    assert not process_names.exists(PID)
    assert process_names.names_here(PID) == frozenset()


def test_nothing_to_compare_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_names, "PROC", tmp_path)
    assert process_names.in_initial_namespace() is None
    assert process_names.foreign([], {}) is None
