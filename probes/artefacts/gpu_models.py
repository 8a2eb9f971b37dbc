"""Names of GPU models as people write them (`A100`, `RTX 3090`, `H100 PCIe`), and their order from small to large.

The order is only that: which of two cards is meant to be the faster one for deep learning, in coarse steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gpuwhy.probes.artefacts.lazy_pattern import later

_CLASSES: tuple[str, ...] = (
    "K80 M60 M40 P4 GTX-1060 GTX-1070 GTX-1080 GTX-1650 GTX-1660",
    "P100 P40 T4 T4G A2 A16 GTX-1080TI RTX-2060 RTX-2070 RTX-2080 RTX-3050 RTX-4000 RTX-A2000",
    "V100 RTX-2080TI TITAN-V TITAN-RTX RTX-5000 RTX-6000 RTX-8000 L4 A10 A10G RTX-3060 RTX-3060TI RTX-3070 "
    "RTX-3080 RTX-4060 RTX-4060TI RTX-4070 RTX-A4000 RTX-A5000",
    "RTX-3090 RTX-3090TI RTX-A6000 A30 A40 RTX-4080 L20 RTX-5070 RTX-5080 RTX-4070TI",
    "A100 A800 H20 L40 L40S RTX-4090 RTX-5090 RTX-6000-ADA",
    "H100 H800 GH200 RTX-PRO-6000",
    "H200 B200 B300 GB200 GB300",
)
"""Later rows are meant to be faster; within a row it depends on the work."""

_MODEL = later(
    r"(?<![A-Za-z0-9_.-])(?:NVIDIA[ _-]|Tesla[ _-]|GeForce[ _-]|Quadro[ _-]|GRID[ _-]){0,3}"
    r"(?P<count>[1-9][0-9]?\s?[x×]\s?)?(?P<name>"
    r"(?:RTX|GTX)[ _-]?PRO[ _-]?6000|(?:RTX|GTX)[ _-]?6000[ _-]?Ada|TITAN[ _-](?:RTX|V)"
    r"|(?:RTX|GTX)[ _-]?A?[0-9]{4}(?:[ _-]?Ti)?|(?:10[678]0|20[678]0|30[5-9]0|40[6-9]0|50[789]0)(?:[ _-]?Ti)?"
    r"|A6000|A5000|A4000|GB?[HB][23]00|GH200|[HB][123]00|H800|A800|H20|A100|V100|P100|A10G?|A16|A2|A30|A40|L40S?|L4|L20|T4G?"
    r"|P4|P40|K80|M60|M40)(?:S(?=-))?(?![A-Za-z0-9])(?!\.[0-9])",
    re.IGNORECASE,
)
_SHORT = {"A2", "P4", "L4", "T4"}
"""Names that are written in capitals or are something else."""


def models(text: str) -> Iterator[tuple[int, str]]:
    """GPU models in a line, with their place: `A100`, `RTX-3090`."""
    for found in _MODEL.finditer(text):
        name = _canonical(found["name"])
        if name in _steps() and not (name in _SHORT and found["name"] != name):
            yield found.start("name"), name


def step(model: str) -> int | None:
    """The place of a model in the order; None for one that has none."""
    return _steps().get(model)


def _canonical(name: str) -> str:
    plain = re.sub(r"[ _-]+", "-", name.upper())
    plain = re.sub(r"^(RTX|GTX)-?(?=[0-9AP])", r"\1-", plain)
    plain = re.sub(r"-?TI$", "TI", plain)
    if plain[:1].isdigit():
        plain = f"{'GTX' if plain.startswith('10') else 'RTX'}-{plain}"
    return f"RTX-{plain}" if plain in ("A6000", "A5000", "A4000") else plain


@cache
def _steps() -> dict[str, int]:
    return {name: number for number, row in enumerate(_CLASSES) for name in row.split()}
