"""What a person says the memory of a card should be, beside what the driver says it is."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.facts import JOB
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import parse_number

NAME = "stated-memory"
LONGEST = 400
_SIZE = r"(?P<size>[0-9]{1,4}(?:\.[0-9]{1,2})?)\s?(?P<unit>G(?:i?B)?|GBs?)\b"
_EXPECTED = (
    later(
        r"(?i)(?:data ?sheet|spec(?:s|ification|ified)?|advertised|sold|marketed|documented|product page|supposed "
        r"to (?:be|have)"
        rf"|should (?:be|have|show|report)|expect(?:ed|ing)?|instead of|rather than|not the|out of|of the|missing "
        rf"from)[^.\n]{{0,60}}?{_SIZE}"
    ),
    later(
        rf"(?i)\b{_SIZE}[^.\n]{{0,40}}?(?:in the data ?sheet|on paper|advertised|per (?:the )?spec|according to"
        rf"|but (?:only|nvidia-smi|it|i))"
    ),
)
_ALLOCATOR = later(r"(?i)\b(?:tried to allocate|allocated|reserved|requested|cached)\b")
_ABOUT = later(r"(?i)memory|vram|nvidia-smi|\bgi?b\b")


def scan(text: Text) -> Iterator[Extract]:
    """One extract with the largest size that a text says a card should have; it claims no line."""
    best: tuple[float, int, str] | None = None
    for line in text.lines:
        cut = line.text
        if len(cut) > LONGEST or "G" not in cut or "|" in cut or not _ABOUT.search(cut) or _ALLOCATOR.search(cut):
            continue
        for pattern in _EXPECTED:
            for found in pattern.finditer(cut):
                size = parse_number(found["size"])
                if size and 2 <= size <= 512 and (best is None or size > best[0]):
                    best = (size, line.number, cut.strip()[:200])
    if best is not None:
        yield Extract(NAME, (Reading("job.stated_gpu_memory_bytes", best[0] * 2**30, best[1], best[2], JOB),))


FORMAT = TextFormat(
    NAME,
    "Memory that a card is said to have",
    ("sheet", "spec", "advertised", "supposed", "should ", "expect", "instead of", "rather than", "on paper", "but ",
     "sold ", "marketed", "documented", "out of", "of the", "not the", "missing"),
    scan,
)  # fmt: skip
