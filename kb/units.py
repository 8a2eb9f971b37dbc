"""Units of facts: what each measures, how a quantity is written in YAML, and how it is shown to a person."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

from gpuwhy.kb.records import dataclass

Dimension = tuple[tuple[str, int], ...]
DIMENSIONLESS: Dimension = ()


@dataclass(frozen=True)
class Unit:
    """A unit of the vocabulary: its dimension, and the spellings (with factors) accepted in YAML and answers."""

    name: str
    dimension: Dimension
    spellings: Mapping[str, float]


def _unit(name: str, dimension: Dimension, **spellings: float) -> tuple[str, Unit]:
    return name, Unit(name, dimension, MappingProxyType({name: 1.0, **spellings}))


_BYTES = (
    {"B": 1.0}
    | {f"{p}iB": 1024.0**n for n, p in enumerate("KMGT", 1)}
    | {f"{p}B": 1000.0**n for n, p in enumerate("KMGT", 1)}
)
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_BYTES_PER_SECOND = {f"{unit}/s": factor for unit, factor in _BYTES.items()}

UNITS: Mapping[str, Unit] = MappingProxyType(
    dict(
        [
            _unit("bytes", (("byte", 1),), **_BYTES),
            _unit("seconds", (("second", 1),), **_SECONDS),
            _unit("share", DIMENSIONLESS, **{"%": 0.01}),
            _unit("count", DIMENSIONLESS),
            _unit("ratio", DIMENSIONLESS),
            _unit("bytes_per_second", (("byte", 1), ("second", -1)), **_BYTES_PER_SECOND),
            _unit("per_second", (("second", -1),), **{"/s": 1.0}),
            _unit("watts", (("watt", 1),), W=1.0),
            _unit("celsius", (("celsius", 1),), **{"°C": 1.0, "C": 1.0}),
            _unit("megahertz", (("megahertz", 1),), MHz=1.0, GHz=1000.0),
            _unit("flops", (("flop", 1), ("second", -1)), TFLOPS=1e12, GFLOPS=1e9),
        ]
    )
)

_QUANTITY = re.compile(r"\s*([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(\S{1,24})\s*\Z")


def dimension(unit: str | None) -> Dimension:
    """The dimension of a unit name; a fact without a unit is a plain number."""
    return UNITS[unit].dimension if unit else DIMENSIONLESS


def factor(spelling: str, unit: str | None) -> float | None:
    """What a number in this spelling is multiplied with to be in `unit`; None if the two do not fit."""
    if unit is None or unit not in UNITS:
        return None
    return UNITS[unit].spellings.get(spelling)


def parse_quantity(text: str, unit: str | None) -> float | None:
    """`2.30 GiB` in bytes, `20 %` as a share, `120 ms` in seconds; None if it is none of that unit or too large."""
    match = _QUANTITY.match(text)
    if not match:
        return None
    scale = factor(match.group(2), unit)
    if scale is None:
        return None
    number = float(match.group(1))
    value = number * scale if scale >= 1 else number / round(1 / scale)  # 95 % is 0.95, not 95 * 0.01
    return value if math.isfinite(value) else None


def show(value: bool | int | float | str, unit: str | None = None) -> str:
    """A value as a person reads it: `2.30 GiB`, `44 %`, `120 ms`, `yes`; at most three significant decimals."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if not unit and isinstance(value, int):
        return str(value)  # a code, an index, a version: nobody searches a log for "20,034"
    shower = _SHOWERS.get(unit or "")
    return shower(float(value)) if shower else f"{_plain(float(value))}{_SUFFIX.get(unit or '', '')}"


def _plain(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _show_bytes(value: float) -> str:
    for name, size in (("TiB", 1024.0**4), ("GiB", 1024.0**3), ("MiB", 1024.0**2), ("KiB", 1024.0)):
        if abs(value) >= size:
            return f"{value / size:.2f} {name}" if name in ("TiB", "GiB") else f"{_one(value / size)} {name}"
    return f"{value:.0f} B"


def _one(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def _show_seconds(value: float) -> str:
    size = abs(value)
    if size >= 3600:
        return f"{value / 3600:.1f} h"
    if size >= 1 or size == 0:
        return f"{value:.3g} s" if size < 1000 else f"{value:.0f} s"
    for name, scale in (("ms", 1e-3), ("µs", 1e-6)):
        if size >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def _show_share(value: float) -> str:
    percent = value * 100
    return f"{percent:.0f} %" if abs(percent) >= 10 or percent == int(percent) else f"{percent:.2g} %"


def _show_rate(value: float) -> str:
    for name, size in (("GB/s", 1e9), ("MB/s", 1e6), ("KB/s", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.1f} {name}"
    return f"{value:.0f} B/s"


def _show_flops(value: float) -> str:
    for name, size in (("TFLOP/s", 1e12), ("GFLOP/s", 1e9)):
        if abs(value) >= size:
            return f"{_one(value / size)} {name}"
    return f"{_plain(value)} FLOP/s"


_SHOWERS = {
    "bytes": _show_bytes,
    "seconds": _show_seconds,
    "share": _show_share,
    "bytes_per_second": _show_rate,
    "flops": _show_flops,
}
_SUFFIX = {"watts": " W", "celsius": " °C", "megahertz": " MHz", "per_second": "/s"}
