"""Failed allocations in the words of libraries that no pattern knows.

What counts is a line that says that an allocation failed, and sizes with their meanings in it or right next to it.
Advice, code, messages of something that goes on, and retellings of a failure that is known already do not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from gpuwhy.kb.facts import Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts import pytorch_oom
from gpuwhy.probes.artefacts.contract import Line, Text, TextFormat
from gpuwhy.probes.artefacts.flow import without_prefix
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.size_meanings import meanings

HINTS = (
    "out-of-memory", "of device memory", "of video memory", "of host memory", "of system memory", "of_device_memory",
    "of_host_memory", "outofdevicememory", "outofhostmemory", "cannot allocate", "can't allocate", "could not allocate",
    "couldn't allocate", "failed allocating", "failure allocating", "be allocated", "allocation",
    "alloc failed", "alloc fail", "malloc", "not enough", "n't enough", "insufficient", "exhausted", "more memory",
    "more vram", "more system memory", "more gpu memory", "oom",
)  # fmt: skip
"""Lower-case literals, one of which is in every text that has such a failure."""

_NO = r"(?:failed|failure|failing|unable|cannot|can not|can't|could not|couldn't|not able)"
_FAILED = later(
    r"out[\s_-]{0,2}of[\s_-]{0,2}(?:[a-z]{1,8}[\s_-]{1,2}|device|host)?memory"
    rf"|\b{_NO} (?:to |in )?(?:re)?alloc(?:at(?:e|ing))?\b|\b{_NO} be (?:re)?allocated\b|\bfailed allocations? of\b"
    r"|(?:alloc|allocation|allocating)\b[^\n]{0,80}?\b(?:fail(?:ed|ure|s)?|refused|denied|rejected|not possible)\b"
    r"|(?:\b|_)ALLOCATION_FAILURE\b|\bmemory(?: is|'s)?(?: not|n't) enough\b|\bmemory isn't enough\b"
    r"|(?<!if )\b(?:not enough|insufficient|too little)(?: (?:free|available|allocatable|gpu|device|video|graphics|card"
    r"|host|system|remaining|cpu|cuda|physical)){0,3} (?:memory|vram|ram)\b"
    r"|\b(?:memory|vram)(?: pool)?(?: is| was)? (?:exhausted|insufficient)\b"
    r"|\b(?:requires?|needs?) more (?:[a-z]{1,8} ){0,2}(?:memory|vram)\b(?=[^\n]{0,60}\b(?:available|free|left)\b)",
    re.IGNORECASE,
)
_FAILING = (
    "fail", "cannot", "can't", "can not", "could not", "couldn't", "unable", "not able", "out of", "out-of", "out_of",
    "outof", "not enough", "n't enough", "insufficient", "too little", "exhausted", "refused", "denied", "rejected",
    "not possible", "more ",
)  # fmt: skip
"""Lower-case words without one of which no line says that an allocation failed: looked for before any pattern."""
_SHORT = later(r"\bOOM\b")  # without error words or figures it is only talk
_ERROR = later(r"\b(?:\w{0,20}error|\w{0,20}exception|failed|fatal|abort\w{0,4}|panic\w{0,4}|crit\w{0,4})\b", re.I)
_MEMORY = later(r"memory|buffer|tensor|bytes|vram|pool|workspace|arena|heap", re.IGNORECASE)
_GPU = later(
    r"gpu|cuda|device|vram|\bhip|rocm|vulkan|\bvk|opencl|\bcl_|metal|sycl|\bxpu|\btpu|nvidia|\bhbm|d3d12|dxgi|video mem"
    r"|graphics|level.zero",
    re.IGNORECASE,
)
_HOST = later(
    r"\b(?:host|cpu|ram|heap|pinned|errno 12|enomem|mmap|fork|malloc|pageable|commit)\b|page.?locked|bad_alloc"
    r"|system memory|physical memory|hostmemory",
    re.IGNORECASE,
)
_SURELY_HOST = later(
    r"\b(?:host|cpu|system|physical|pinned|page-?locked)[ _-](?:memory|buffer|ram|alloc\w{0,6})|hostmemory|\bpinned\b"
    r"|page.?locked|java heap",
    re.IGNORECASE,
)
_TALK = later(  # before the words of the failure, in the same sentence
    r"\b(?:if|in case|unless|whenever|when (?:you|it|the)|avoid\w{0,3}|prevent\w{0,3}|may|might|would|should|will"
    r"|likely|risk|can (?:cause|lead|run|result|also)|could (?:cause|lead|result)|lead(?:s|ing)? to|result(?:s|ing)? in"
    r"|without|until|how to|why|never|no longer|I|we|you|your|my|does not|doesn't|did not|fix(?:e[sd]|ing)?"
    r"|handl\w{1,3}|due to potential|to (?:reduce|catch|debug)|no|not|in the event|on)\b[^.!?;]{0,160}$",
    re.IGNORECASE,
)
_TALK_AFTER = later(  # after the words of the failure, in the same sentence
    r"\W{0,3}\s{0,2}(?:if|when|whenever|indicates|is returned)\b"
    r"|[^.!?;:\n]{0,60}\b(?:usually|often|typically|sometimes|means?|occurs?|happens?|were found|was found)\b",
    re.IGNORECASE,
)
_CODE = later(
    r"^\s{0,40}(?:#|//|File \"|def |if |elif |else|while |return\b|raise\b|throw\b|assert\b|except\b|catch\b|print)"
    r"|\bin str\(|\b(?:raise|except|catch|throw) ?[\w(]|\bprintf?\(|\blog(?:ger)?\.\w{1,10}\(|\.html?\b|https?://|\bPASSED\b|::test_"
)
_COMPARES = later(r"==")  # code, unless an error quotes what it checked
_OTHER_MATTER = later(  # a server that sets requests aside schedules; it fails no allocation
    r"\bpreempted by PreemptionMode|\bpreempted\b[^\n]{0,80}\bKV cache|static TLS|\bshm\b"
    r"|shared memory|nodes? are available|failedscheduling|oom[ _-]?kill|oom[ _-]score|no space left"
    r"|out of resource|jetsam|\bcount\b|\bnum_ooms?\b",
    re.IGNORECASE,
)
_GOES_ON = later(
    r"not a failure|retrying|retry with|will (?:be )?(?:retr|try again|attempt)|trying (?:again|smaller|with)|"
    r"\bfall(?:ing|s)?[ -]?back|\bspill|evict|continuing|\bskipp(?:ing|ed)\b|preempt|\brecover(?:ed|ing)\b"
    r"|attempting to (?:free|recover|defrag)|in smaller (?:pieces|chunks)|clearing cache"
    r"|\b(?:using|switching to) (?:host|cpu|system|pageable|unified|managed|smaller)"
    r"|(?:reducing|reduced|lowering) [^\n]{0,40}(?:to|from) [0-9]",
    re.IGNORECASE,
)
_DEVICE = later(
    r"(?:\b(?:device|dev|gpu|card)(?:[ (](?:id|index|ordinal|number|no\.?))?\s?[:=#]?\s?#?|\bcuda:|\bgpu_?)([0-9]{1,2})"
    r"(?![\w%]|[.,][0-9]|\s?(?:[KMGT]i?B|bytes))",
    re.IGNORECASE,
)
_FACTS = {
    "request": "oom.request_bytes",
    "free": "oom.free_bytes",
    "capacity": "oom.capacity_bytes",
    "allocated": "oom.allocated_bytes",
    "reserved": "oom.reserved_bytes",
}
_BEFORE, _AFTER = 2, 4
_NEAR_KNOWN = 12
_LONGEST_LINE = 1200
_MOST = 50
_MOST_TRIED = 1000


@dataclass
class Guess:
    """One failure: indices of its first and last line in the text, its words, facts, and the lines understood."""

    first: int
    last: int
    words: str
    facts: dict[str, Value] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)


def guesses(text: Text, known: Collection[int]) -> list[Guess]:
    """Failures in this text beside those on the lines with the numbers `known`.

    Where any failure is known, one without figures of its own, or close to it, tells of that one again.
    """
    told = set(known)
    candidates = [at for at, line in enumerate(text.lines) if line.number not in told and _may_say(line.text)]
    candidates, told = _left(text, candidates, told, (pytorch_oom.FORMAT,))
    starts = list(islice((at for at in candidates if _says_failure(text.lines[at].text)), _MOST_TRIED))
    if not starts:
        return []
    from gpuwhy.probes.artefacts import host_kills, loader_errors

    starts, told = _left(text, starts, told, (host_kills.FORMAT, loader_errors.FORMAT))
    found: list[Guess] = []
    for index in starts:
        if found and index <= found[-1].last + _AFTER:
            continue
        guess = _guess(text.lines, index)
        if guess is not None and not (told and "oom.request_bytes" not in guess.facts):
            found.append(guess)
    return found[:_MOST]


def _left(
    text: Text, candidates: list[int], told: set[int], others: Iterable[TextFormat]
) -> tuple[list[int], set[int]]:
    """The lines that are not close to what is told already or by other formats, and all that is told."""
    if candidates:
        lowered = "\n".join(line.text for line in text.lines).lower()
        for one in others:
            if any(hint in lowered for hint in one.hints):
                told = told.union(*(extract.claimed for extract in one.scan(text)))
    return [at for at in candidates if not _near(text.lines, at, told)] if told else candidates, told


def _near(lines: Sequence[Line], at: int, told: set[int]) -> bool:
    return any(line.number in told for line in lines[max(0, at - _NEAR_KNOWN) : at + _NEAR_KNOWN + 1])


def _may_say(printed: str) -> bool:
    """A look for words, without which no line says that an allocation failed."""
    lowered = printed[:_LONGEST_LINE].lower()
    if not any(word in lowered for word in ("memory", "alloc", "oom", "vram")):
        return False
    return "OOM" in printed or any(word in lowered for word in _FAILING)


def _says_failure(printed: str) -> bool:
    text = without_prefix(printed[:_LONGEST_LINE])
    found = _FAILED.search(text)
    if found is None:
        found = _SHORT.search(text) if _ERROR.search(text) else None
    if found is None or _is_code(text) or _OTHER_MATTER.search(text) or _GOES_ON.search(text):
        return False
    if _TALK.search(text[: found.start()]) or _TALK_AFTER.match(text[found.end() :]):
        return False
    return bool(_MEMORY.search(text) or meanings(text))


def _is_code(text: str) -> bool:
    return bool(_CODE.search(text) or (_COMPARES.search(text) and not _ERROR.search(text)))


def _guess(lines: Sequence[Line], index: int) -> Guess | None:
    block = _block(lines, index)
    if any(_GOES_ON.search(line.text[:_LONGEST_LINE]) for line in lines[index : index + 3]):
        return None
    own = without_prefix(lines[index].text[:_LONGEST_LINE])
    joined = "\n".join(without_prefix(lines[at].text[:_LONGEST_LINE]) for at in block)
    figures = meanings(own)
    for role, size in meanings(joined).items() if len(block) > 1 else ():
        figures.setdefault(role, size)
    around = "\n".join(line.text[:400] for line in lines[max(0, index - 2) : index + 3])
    host = _is_host(own) if _HOST.search(own) or _GPU.search(own) else _is_host(around)
    if not figures and not host and not _GPU.search(around):
        return None  # neither whose memory nor how much: it could be anything
    facts: dict[str, Value] = {_FACTS[role]: size for role, size in figures.items()}
    devices = {int(one[1]) for one in _DEVICE.finditer(joined)}
    if host:
        facts["oom.host_allocation"] = True
    elif len(devices) == 1:
        facts["oom.device_index"] = devices.pop()
    words = " ".join(own.split())
    return Guess(block[0], block[-1], words[:200], facts, {lines[at].number for at in block})


def figures_at(
    text: Text, index: int, known: Collection[int], own: Collection[int]
) -> tuple[dict[str, Value], set[int]]:
    """Sizes with their meanings that the failure on this line tells of, and the numbers of the lines they stand on.

    Of the lines with the numbers `known`, which tell of some failure, only its `own` count.
    """
    numbers = ((at, text.lines[at].number) for at in _block(text.lines, index))
    block = [at for at, number in numbers if number in own or number not in known]
    joined = "\n".join(without_prefix(text.lines[at].text[:_LONGEST_LINE]) for at in block)
    figures = meanings(joined)
    return {_FACTS[role]: size for role, size in figures.items()}, {text.lines[at].number for at in block if figures}


def _is_host(text: str) -> bool:
    return bool(_SURELY_HOST.search(text) or (_HOST.search(text) and not _GPU.search(text)))


def _block(lines: Sequence[Line], index: int) -> list[int]:
    """Indices of the failure's line and of the lines next to it that say with sizes what was asked and what is left."""
    block = [index]
    for step, reach in ((-1, _BEFORE), (1, _AFTER)):
        for at in range(index + step, index + step * (reach + 1), step):
            if not 0 <= at < len(lines) or not meanings(lines[at].text[:_LONGEST_LINE]):
                break
            block.append(at)
    return sorted(block)
