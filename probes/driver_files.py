"""What the system shows of the NVIDIA driver without asking it: the PCI bus, the kernel module, the device files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_MODULE = re.compile(r"Kernel Module(?:\s{1,40}for \S{1,20})?\s{1,40}(\d{3}\.[0-9.]{1,16})")
_DEVICE = re.compile(r"nvidia\d{1,3}\Z")
_READ_LIMIT = 1 << 16
NVIDIA = "0x10de"
_DISPLAY_CLASSES = ("0x0300", "0x0302")


@dataclass(frozen=True)
class DriverFiles:
    """What was found. None: it could not be looked at.

    `pci` are bus addresses of GPUs; `bound` is the driver that holds each; `module` is the version of the one loaded;
    `missing` and `closed` are device files that are not there, or that this user may not open; `wsl`: GPUs come
    through Windows, and none of this applies.
    """

    pci: tuple[str, ...] | None
    bound: tuple[str, ...]
    module: str | None
    devices: tuple[str, ...]
    missing: tuple[str, ...]
    closed: tuple[str, ...]
    wsl: bool


def read(root: Path = Path("/")) -> DriverFiles:
    """What is below this root of a file system."""
    dev = root / "dev"
    names = _names(dev)
    devices = tuple(sorted(one for one in names if _DEVICE.match(one)))
    needed = ("nvidiactl", "nvidia-uvm", *devices)
    pci = _gpus(root / "sys/bus/pci/devices")
    return DriverFiles(
        pci=pci,
        bound=tuple(_holder(root / "sys/bus/pci/devices" / one) for one in pci or ()),
        module=_module(root / "proc/driver/nvidia/version"),
        devices=devices,
        missing=tuple(f"/dev/{one}" for one in needed if one not in names),
        closed=tuple(f"/dev/{one}" for one in needed if one in names and not os.access(dev / one, os.R_OK | os.W_OK)),
        wsl="dxg" in names,
    )


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _gpus(folder: Path) -> tuple[str, ...] | None:
    try:
        addresses = sorted(os.listdir(folder))
    except OSError:
        return None
    return tuple(
        one
        for one in addresses
        if _text(folder / one / "vendor") == NVIDIA and _text(folder / one / "class").startswith(_DISPLAY_CLASSES)
    )


def _holder(device: Path) -> str:
    try:
        return os.path.basename(os.readlink(device / "driver"))
    except OSError:
        return "none"


def _module(path: Path) -> str | None:
    found = _MODULE.search(_text(path))
    return found.group(1).rstrip(".") if found else None


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_READ_LIMIT).strip()
    except OSError:
        return ""
