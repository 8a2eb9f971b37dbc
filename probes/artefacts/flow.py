"""Lines of an artefact as one running text: for messages that a terminal or a logger has broken over several lines.

Prefixes that a launcher or a logger repeats on every line of one message are left out, and every position of the
running text leads back to the line it stands on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Line

_PREFIX = re.compile(
    r"(?:"
    r"(?:>\s?){1,8}"  # quoted mail or Markdown
    r"|\[rank\s?\d{1,6}\]\s?:?"  # torch.distributed
    r"|\[(?:default)?\d{1,6}\]\s?:"  # torchrun with tee
    r"|\[\d{1,6},\d{1,6}\]<std(?:err|out)>:?"  # mpirun --tag-output
    r"|\([A-Za-z_][^()\n]{0,60}\bpid=\d{1,10}[^()\n]{0,40}\)"  # Ray and vLLM workers
    r"|(?:ERROR|WARNING|INFO|DEBUG|CRITICAL)\s{1,4}\d\d-\d\d\s\d\d:\d\d:\d\d(?:\s\[[^\]\n]{1,80}\])?"  # vLLM
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.:+Z-]{0,20}\s(?:std(?:err|out)\s[FP]\s)?"  # container runtimes
    r")\s{0,4}"
)
_MOST_PREFIXES = 4
_WRAPPED_WIDTH = 60


def without_prefix(text: str) -> str:
    """The line without its indent and without the prefixes of launchers and loggers."""
    rest = text.strip()
    for _ in range(_MOST_PREFIXES):
        found = _PREFIX.match(rest)
        if found is None or found.end() == 0:
            break
        rest = rest[found.end() :]
    return rest


@dataclass(frozen=True)
class Flow:
    """Lines joined to one text; `starts` are the offsets at which each line begins in it."""

    text: str
    starts: tuple[int, ...]
    lines: tuple[Line, ...]

    @staticmethod
    def of(lines: Sequence[Line], *, glued: bool = False) -> Flow:
        """These lines as one text, a line break between them.

        With `glued` a long line runs straight on into the next, as where a terminal has cut words at its width.
        """
        parts: list[str] = []
        starts: list[int] = []
        position = 0
        widths = [len(line.text.rstrip()) for line in lines]
        for index, line in enumerate(lines):
            part = without_prefix(line.text)
            part = part if glued and _cut_at_width(widths, index) else part + "\n"
            starts.append(position)
            parts.append(part)
            position += len(part)
        return Flow("".join(parts), tuple(starts), tuple(lines))

    def index(self, position: int) -> int:
        """Index into `lines` of the line at a position of the text."""
        return max(0, bisect_right(self.starts, position) - 1)

    def number(self, position: int) -> int:
        """Number in the artefact of the line at a position of the text."""
        return self.lines[self.index(position)].number

    def numbers(self, start: int, end: int) -> frozenset[int]:
        """Numbers of all lines that the stretch from `start` up to `end` touches."""
        first, last = self.index(start), self.index(max(start, end - 1))
        return frozenset(line.number for line in self.lines[first : last + 1])


def _cut_at_width(widths: Sequence[int], index: int) -> bool:
    """True if a line may be full; one a little shorter than its neighbours has ended at a space, not in a word."""
    width = widths[index]
    nearby = widths[max(0, index - 2) : index + 3]
    return width >= _WRAPPED_WIDTH and not any(width < other <= width + 3 for other in nearby)


def neighbourhoods(lines: Sequence[Line], words: Iterable[str], before: int, after: int) -> list[tuple[Line, ...]]:
    """Runs of lines around those that hold one of the lower-case `words`; runs that touch are one."""
    wanted = tuple(words)
    runs: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        lowered = line.text.lower()
        if not any(word in lowered for word in wanted):
            continue
        start, end = max(0, index - before), min(len(lines), index + after + 1)
        if runs and start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [tuple(lines[start:end]) for start, end in runs]
