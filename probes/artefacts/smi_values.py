"""How nvidia-smi and its kin print values, and how they say that a value cannot be had."""

from __future__ import annotations

import re

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.quantities import parse_number, parse_size

MEBIBYTE = 1024.0**2

_ABSENT = frozenset(
    {
        "n/a",
        "na",
        "-",
        "not supported",
        "unknown error",
        "unknown",
        "err!",
        "gpu requires reset",
        "gpu is lost",
        "gpu access blocked by the operating system",
        "requested functionality has been deprecated",
        "not available in wddm driver model",
        "insufficient permissions",
        "insufficient permission",
        "no permission",
        "not found",
        "function not found",
        "invalid argument",
        "not available",
        "no data",
        "timeout",
        "deprecated",
        "error",
        "??",
    }
)
_TRUE = frozenset({"enabled", "yes", "active", "on", "true"})
_FALSE = frozenset({"disabled", "no", "not active", "off", "false"})
_MEASURED = re.compile(r"\s{0,4}(-?[0-9][0-9.,]{0,24})\s{0,4}([A-Za-z%/()']{0,8})\s{0,4}")
_STATE = re.compile(r"\s{0,4}P?([0-9]{1,2})\s{0,4}")

_COMPUTE_MODES = {
    "default": "default",
    "e. process": "exclusive-process",
    "exclusive_process": "exclusive-process",
    "exclusive process": "exclusive-process",
    "e. thread": "exclusive-thread",
    "exclusive_thread": "exclusive-thread",
    "exclusive thread": "exclusive-thread",
    "prohibited": "prohibited",
}

EVENT_BITS = (
    (0x1, "gpu.event_idle"),
    (0x2, "gpu.event_application_clocks"),
    (0x4, "gpu.event_software_power_cap"),
    (0x8, "gpu.event_hardware_slowdown"),
    (0x10, "gpu.event_sync_boost"),
    (0x20, "gpu.event_software_thermal_slowdown"),
    (0x40, "gpu.event_hardware_thermal_slowdown"),
    (0x80, "gpu.event_hardware_power_brake"),
)
"""Clock event reasons by their bit (NVML, group nvmlClocksEventReasons)."""


def absence(text: str) -> str | None:
    """The reason why a printed value is none (`N/A`, `Unknown Error`, `GPU is lost`), or None if it is a value."""
    bare = text.strip().strip("[]").strip()
    return bare if bare.lower() in _ABSENT else None


def says_lost(reason: str) -> bool:
    """True if a reason says that the GPU is lost."""
    return "gpu is lost" in reason.lower()


def says_reset(reason: str) -> bool:
    """True if a reason says that the GPU must be reset."""
    return "requires reset" in reason.lower()


def _measured(text: str, units: tuple[str, ...]) -> float | None:
    matched = _MEASURED.fullmatch(text)
    if matched is None or matched[2].lower() not in ("", *units):
        return None
    return parse_number(matched[1])


def size(text: str) -> float | None:
    """Bytes of `81920 MiB`, `72297MiB`; a bare number counts MiB, as the tool's `nounits` prints it."""
    bare = parse_number(text)
    return parse_size(text) if bare is None else (bare * MEBIBYTE if bare >= 0 else None)


def rate(text: str) -> float | None:
    """Bytes per second of `4000 KB/s`: NVML counts decimal kilobytes here."""
    number = _measured(text, ("kb/s",))
    return None if number is None else number * 1000.0


def watts(text: str) -> float | None:
    """Watts of `67.03 W`, `95W`."""
    return _measured(text, ("w",))


def celsius(text: str) -> float | None:
    """Degrees of `49 C`, `49C`; margins may be negative."""
    return _measured(text, ("c",))


def megahertz(text: str) -> float | None:
    """Megahertz of `1410 MHz`."""
    return _measured(text, ("mhz",))


def share(text: str) -> float | None:
    """A share of 1 from `98 %`, `98%` or a bare `98`."""
    number = _measured(text, ("%",))
    return None if number is None else number / 100.0


def count(text: str) -> int | None:
    """A whole number, with or without what it counts: `5`, `16x`, `640 bank(s)`."""
    number = _measured(text, ("x", "bank(s)", "banks"))
    return int(number) if number is not None and number == int(number) else None


def link(text: str) -> int | None:
    """A PCIe generation or a number of lanes (`4`, `16x`); 0 is neither."""
    return count(text) or None


def seconds(text: str) -> float | None:
    """Seconds of `39595 us`, the form of the tool's counters."""
    number = _measured(text, ("us",))
    return None if number is None else number / 1e6


def state(text: str) -> int | None:
    """The number of a performance state: 8 of `P8`."""
    matched = _STATE.fullmatch(text)
    return None if matched is None else int(matched[1])


def switch(text: str) -> bool | None:
    """Enabled, Active, Yes, On are true; Disabled, Not Active, No, Off are false. A `*` marks a pending change."""
    word = text.strip().rstrip("*").strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def words(text: str) -> str | None:
    """The text itself."""
    return text.strip() or None


def compute_mode(text: str) -> str | None:
    """`Default`, `E. Process`, `Exclusive_Process`, … in the words of the vocabulary."""
    return _COMPUTE_MODES.get(text.strip().lower())


def driver_model(text: str) -> str | None:
    """`WDDM`, `TCC`, `MCDM` in lower case."""
    word = text.strip().lower()
    return word if word in ("wddm", "tcc", "mcdm") else None


def events(bits: str) -> dict[str, bool] | None:
    """The clock events that a printed bit mask (`0x0000000000000004`) holds, by fact; None if it is no mask."""
    try:
        mask = int(bits.strip(), 16)
    except ValueError:
        return None
    return {fact: bool(mask & bit) for bit, fact in EVENT_BITS}


def recovery_action(text: str) -> Value | None:
    """NVML's recovery action in the words of the vocabulary."""
    word = text.strip().lower().removeprefix("gpu ").replace(" ", "-")
    known = ("none", "reset", "reboot", "drain-p2p", "drain-and-reset")
    return word if word in known else None
