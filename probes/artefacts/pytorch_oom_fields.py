"""The sizes of PyTorch's out-of-memory messages, in the wordings of all versions since 1.0, found and grouped.

Wordings differ by version (`total capacity`, `total capacty of`, `cached`, `reserved in total`, `allowed`, private
pools), by backend (CUDA, HIP, XPU, cudaMallocAsync, MPS, CPU), and by who shortened the message before pasting it.
So each figure is found by its own words, and figures that stand close together make one message.
"""

from __future__ import annotations

import re

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.flow import Flow
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern, later
from gpuwhy.probes.artefacts.quantities import SIZE, parse_size

_W = r"\s{1,20}"
_FIGURE = rf"(?<![0-9.,])(?<![0-9]\n)(?<![0-9][.,]\n)({SIZE})"  # never the second half of a broken number
_LARGEST_GAP = 700  # characters between two figures of one message; the longest hint between them has about 300
_UNAVAILABLE = 2.0**60  # NVML's "not available" printed as a size


@dataclass(frozen=True)
class _Wording:
    field: str
    pattern: LazyPattern
    certain: bool


def _wording(name: str, pattern: str, *, certain: bool = True) -> _Wording:
    return _Wording(
        name, LazyPattern(pattern.replace(" ", _W).replace("SIZE", _FIGURE), pattern.replace("SIZE", ".")), certain
    )


_WORDINGS = (
    _wording("request", r"\btried to allocate (?:(?:more than|up to) )?SIZE"),
    _wording("capacity", r"\btotal capac(?:i?ty|ity) of SIZE"),
    _wording("capacity", r"SIZE total capac(?:i?ty|ity)\b"),
    _wording("free", r"\bof which SIZE is free"),
    _wording("free", r"SIZE free(?=\s{0,5}[;,)])", certain=False),
    _wording("own", r"\bthis process has SIZE (?:memory )?in use"),
    _wording("allocated", r"\bOf the allocated memory SIZE is allocated"),
    _wording("allocated", r"SIZE already allocated"),
    _wording("allocated", r"SIZE (?:is )?allocated(?! in private)", certain=False),
    _wording("private_pools", r"SIZE (?:is )?(?:allocated )?in private pools?\b"),
    _wording("unallocated", r"SIZE (?:is )?reserved (?:by PyTorch )?but (?:is )?unallocated"),
    _wording("reserved", r"SIZE reserved in total"),
    _wording("reserved", r"SIZE reserved(?=\s{0,5}[;,).])", certain=False),
    _wording("cached", r"SIZE cached(?=\s{0,5}[;,).])", certain=False),
    _wording("allowed", r"SIZE allowed(?=\s{0,5}[;,)])", certain=False),
    # cudaMallocAsync
    _wording("allocated", r"\bCurrently allocated\s{0,40}:\s{0,20}SIZE"),
    _wording("request", r"\bRequested\s{0,40}:\s{0,20}SIZE", certain=False),
    _wording("capacity", r"\bDevice limit\s{0,40}:\s{0,20}SIZE", certain=False),
    _wording("free", r"\bFree \(according to CUDA\)\s{0,40}:\s{0,20}SIZE"),
    _wording("allowed", r"\bPyTorch limit \([^)]{0,80}\)\s{0,80}:\s{0,20}SIZE"),
    # MPS
    _wording("allocated", r"\bMPS allocated:\s{0,20}SIZE"),
    _wording("other_allocations", r"\bother allocations:\s{0,20}SIZE"),
    _wording("allowed", r"\bmax allowed:\s{0,20}SIZE"),
)
_LISTED = _wording("listed", r"\bProcess (\d{1,10}) has SIZE (?:memory )?in use").pattern
_MORE_THAN_1EB = _wording("request", r"\btried to allocate more than 1\s?EB").pattern
_BEGINS = later(
    rf"(?:\b(?:CUDA|HIP|XPU|MPS{_W}backend){_W}out{_W}of{_W}memory\b|\bout{_W}of{_W}memory[.:]"
    rf"|\bAllocation{_W}on{_W}device\b)",
    re.IGNORECASE,
)
_REPORTS = later(r"out\s{1,20}of\s{1,20}memory|Error\b|Allocator\b|Exception\b", re.IGNORECASE)


@dataclass(frozen=True)
class Figure:
    """One size of a message, in bytes (None where the message itself says that it is not available)."""

    field: str
    size: float | None
    start: int
    end: int
    text: str
    certain: bool
    process: int | None = None


@dataclass
class Message:
    """Figures that belong to one message; `start` and `end` are its place in the running text."""

    figures: dict[str, Figure] = field(default_factory=dict)
    listed: list[Figure] = field(default_factory=list)
    start: int = 0
    end: int = 0
    certain: bool = False

    def size(self, name: str) -> float | None:
        """Bytes of a figure, or None where the message has no such figure or calls it unavailable."""
        figure = self.figures.get(name)
        return None if figure is None else figure.size

    def take(self, figure: Figure) -> None:
        """Add a figure; of two for one field the certain wording stays, else the first."""
        if not self.figures and not self.listed:
            self.start = figure.start
        self.end = max(self.end, figure.end)
        self.certain = self.certain or figure.certain
        if figure.field == "listed":
            self.listed.append(figure)
            return
        old = self.figures.get(figure.field)
        if old is None or (figure.certain and not old.certain):
            self.figures[figure.field] = figure

    @property
    def count(self) -> int:
        """How many figures were found."""
        return len(self.figures) + len(self.listed)


def _figures(text: str) -> list[Figure]:
    found: list[Figure] = []
    lowered = text.lower()
    for wording in _WORDINGS:
        for match in wording.pattern.finditer(text, lowered):
            found.append(_figure(wording.field, match[1], match, wording.certain))
    found.extend(_figure("listed", match[2], match, True, int(match[1])) for match in _LISTED.finditer(text, lowered))
    for match in _MORE_THAN_1EB.finditer(text, lowered):
        found.append(Figure("request", _UNAVAILABLE, match.start(), match.end(), match[0], True))
    return sorted(found, key=lambda figure: (figure.start, not figure.certain))


def _figure(name: str, printed: str, match: re.Match[str], certain: bool, process: int | None = None) -> Figure:
    size = parse_size(printed)
    if size is not None and size >= _UNAVAILABLE and name != "request":  # an absurd request is the overflow itself
        size = None
    return Figure(name, size, match.start(), match.end(), match[0], certain, process)


def messages(flow: Flow) -> list[Message]:
    """All messages of a running text that carry at least one figure in words that only PyTorch uses."""
    done: list[Message] = []
    current: Message | None = None
    for figure in _figures(flow.text):
        if current is None or _starts_anew(current, figure, flow.text):
            current = Message()
            done.append(current)
        current.take(figure)
    return [message for message in done if message.certain and _is_report(message, flow.text)]


def _is_report(message: Message, text: str) -> bool:
    """False for a lone "tried to allocate 2 GiB" in somebody's prose."""
    if message.count > 1 or "request" not in message.figures:
        return True
    before = text[max(0, message.start - 200) : message.start]
    return before.endswith("\n") or not before or _REPORTS.search(before) is not None


def _starts_anew(current: Message, figure: Figure, text: str) -> bool:
    if figure.start - current.end > _LARGEST_GAP:
        return True
    if not figure.certain:
        return False
    if _BEGINS.search(text, current.end, figure.start + 1):
        return True
    old = current.figures.get(figure.field)
    return old is not None and old.certain and old.end <= figure.start


@dataclass(frozen=True)
class Holders:
    """Who holds memory besides this process's allocator, as far as the message tells; bytes."""

    own: float | None
    listed: float | None
    count: int
    others: float | None


def holders(message: Message) -> Holders:
    """Tell this process from others among the listed ones.

    In containers PyTorch does not find its own PID among those that the driver lists, so it prints itself as
    `Process N`. A listed process is this one if it holds at least what this process's allocator holds and if
    counting both would exceed what is in use on the device (its capacity less what is free).
    """
    own = message.size("own")
    sizes = [figure.size for figure in message.listed]
    known = [size for size in sizes if size is not None]
    if not sizes or len(known) < len(sizes):
        return Holders(own, None, len(sizes), None)
    listed = sum(known)
    if own:
        return Holders(own, listed, len(known), listed)
    held = _held(message)
    if held is None:
        return Holders(own, listed, len(known), None)
    itself = _itself(message, known, held)
    return Holders(own if itself is None else itself, listed, len(known), listed - (itself or 0.0))


def _held(message: Message) -> float | None:
    allocated, reserved = message.size("allocated"), message.size("reserved")
    if reserved is not None:
        return reserved
    return None if allocated is None else allocated + (message.size("unallocated") or 0.0)


def _itself(message: Message, known: list[float], held: float) -> float | None:
    capacity = message.size("capacity")
    rounding = 0.01  # two decimals are printed
    candidates = [size for size in known if size >= held * (1 - rounding)]
    if capacity is None or not candidates:
        return None
    in_use = capacity - (message.size("free") or 0.0)
    if sum(known) + held <= in_use * (1 + rounding):
        return None
    return min(candidates)
