"""What the system shows of the driver without asking it, from a file system of our own."""

from __future__ import annotations

from pathlib import Path

from gpuwhy.probes.driver_files import read

VERSION = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"


def machine(root: Path, *, devices: tuple[str, ...], module: str | None, gpus: tuple[str, ...]) -> Path:
    (root / "dev").mkdir()
    for name in devices:
        (root / "dev" / name).touch(mode=0o666)
    if module is not None:
        (root / "proc/driver/nvidia").mkdir(parents=True)
        (root / "proc/driver/nvidia/version").write_text(module)
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    for address in gpus:
        (bus / address).mkdir()
        (bus / address / "vendor").write_text("0x10de\n")
        (bus / address / "class").write_text("0x030200\n")
    return root


def test_a_machine_that_is_as_it_should_be(tmp_path: Path) -> None:
    devices = ("nvidia0", "nvidiactl", "nvidia-uvm")
    found = read(machine(tmp_path, devices=devices, module=VERSION, gpus=("0000:3b:00.0",)))
    assert (found.pci, found.module, found.devices) == (("0000:3b:00.0",), "535.129.03", ("nvidia0",))
    assert (found.missing, found.wsl) == ((), False)


def test_the_open_module_names_its_version_too(tmp_path: Path) -> None:
    assert read(machine(tmp_path, devices=(), module=OPEN, gpus=())).module == "580.95.05"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    found = read(machine(tmp_path, devices=("nvidia0", "nvidiactl"), module=None, gpus=("0000:3b:00.0",)))
    assert found.missing == ("/dev/nvidia-uvm",)
    assert found.module is None
    assert found.bound == ("none",)


def test_audio_and_bridges_are_no_gpus(tmp_path: Path) -> None:
    root = machine(tmp_path, devices=(), module=None, gpus=("0000:3b:00.0",))
    audio = root / "sys/bus/pci/devices/0000:3b:00.1"
    audio.mkdir()
    (audio / "vendor").write_text("0x10de\n")
    (audio / "class").write_text("0x040300\n")
    assert read(root).pci == ("0000:3b:00.0",)


def test_another_driver_that_holds_the_gpu_is_named(tmp_path: Path) -> None:
    root = machine(tmp_path, devices=(), module=None, gpus=("0000:3b:00.0",))
    (root / "sys/bus/pci/drivers/vfio-pci").mkdir(parents=True)
    (root / "sys/bus/pci/devices/0000:3b:00.0/driver").symlink_to(root / "sys/bus/pci/drivers/vfio-pci")
    assert read(root).bound == ("vfio-pci",)


def test_a_bus_that_is_not_shown_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    assert read(tmp_path).pci is None


def test_windows_gives_its_gpus_another_way(tmp_path: Path) -> None:
    assert read(machine(tmp_path, devices=("dxg",), module=None, gpus=())).wsl
