"""Out-of-memory failures of everything but PyTorch's own allocator: CUDA and its libraries, frameworks, servers."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from gpuwhy.kb.facts import JOB, Entity, Value, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts import wordings
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.failure_context import activity_before, goes_on, rank_of
from gpuwhy.probes.artefacts.flow import Flow, neighbourhoods
from gpuwhy.probes.artefacts.generic_oom import HINTS as GENERIC_HINTS
from gpuwhy.probes.artefacts.generic_oom import figures_at, guesses
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.wordings import GROUPS, Wording, facts_of
from gpuwhy.probes.artefacts.wordings_cuda import CUDA, HOST, LIBRARIES
from gpuwhy.probes.artefacts.wordings_frameworks import JAX, RUNTIMES, TENSORFLOW
from gpuwhy.probes.artefacts.wordings_serving import GGML, SERVING

_WORDINGS: tuple[Wording, ...] = (*SERVING, *GGML, *TENSORFLOW, *JAX, *RUNTIMES, *LIBRARIES, *HOST, *CUDA)
"""In order of preference: of two that overlap, the one that says more comes first."""

_HINTS = (
    "out of memory",
    "out_of_memory",
    "alloc_failed",
    "allocation_failed",
    "_status_not_initialized",
    "create cudnn handle",
    "create cublas handle",
    "cudaerrormemoryallocation",
    "hiperroroutofmemory",
    "bad_alloc",
    "memoryerror",
    "unable to allocate",
    "pinned host memory",
    "pinned memory",
    "cudahostalloc",
    "cudamallochost",
    "cudahostregister",
    "cannot allocate memory",
    "paging file is too small",
    "winerror 1455",
    "os error 1455",
    "out of gpu memory",
    "gpu memory usage",
    "allocator usage",
    "memory pool usage",
    "cuda error in",
    "error allocating",
    "that was not possible",
    "leave no gpu memory",
    "oom when allocating",
    "resource_exhausted",
    "in-use chunks",
    "maxinuse",
    "failed to allocate",
    "failed to cuda",
    "available memory of",
    "requested amount of gpu memory",
    "outofmemory",
    "no available memory for the cache blocks",
    "stored in kv cache",
    "kv cache is needed",
    "available kv cache memory",
    "free memory on device",
    "kv cache space",
    "kv cache pool is full",
    "not enough memory",
    "no enough gpu memory",
    "memory allocation of size",
    "ggml-cuda",
    "not enough space in the context",
)
_UNKNOWN = wordings.wording("other", r"\bmemory\b")  # stands for whatever words a library without a pattern uses
_LINES_BEFORE, _LINES_AFTER = 1, 16
_NEAR_LINES = 4
_LONGEST = 200  # characters of a message that are kept
_REPORT_LINES = 4000  # TensorFlow prints its whole chunk table between the two messages of one failure
_PINNED = later(r"\bpin_memory\b|CachingHostAllocator|\bpinned\b|\bcudaHostAlloc\b|\bhost_alloc\b", re.IGNORECASE)
_ITEM_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "float64": 8, "float32": 4, "float16": 2, "int": 4, "int32": 4,
    "int64": 8, "int16": 2, "int8": 1, "uint8": 1, "bool": 1, "complex64": 8, "complex128": 16, "qint8": 1,
}  # fmt: skip
_TOKENS = later(r"\b(?:n_)?(?:tokens|ctx|seq_len|max_seq_len|context)\s{0,3}[=:]\s{0,3}(\d{1,9})\b", re.IGNORECASE)
_LAYER = later(r"\b(?:at |in )?layer[ _=:]{1,3}(\d{1,5})\b", re.IGNORECASE)


@dataclass
class _Failure:
    wording: Wording
    allocator: str
    first: int  # index of its first and last line in the text
    last: int
    words: str
    detail: bool
    facts: dict[str, Value] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)
    repeats: int = 1


def _scan(text: Text) -> Iterable[Extract]:
    positions = {line.number: index for index, line in enumerate(text.lines)}
    found: list[_Failure] = []
    for lines in neighbourhoods(text.lines, _HINTS, _LINES_BEFORE, _LINES_AFTER):
        found.extend(_found_in(lines, positions))
    merged = _merged(found)
    known = {number for failure in merged for number in failure.claimed}
    for failure in merged:
        _add_figures(failure, text, known)
    failures = _without_repeats(sorted([*merged, *_guessed(text, known)], key=lambda one: one.first), text)
    if not failures:
        return
    readings: list[Reading] = []
    claimed: set[int] = set()
    counts: dict[str, int] = {}
    for failure in failures:
        counts[failure.allocator] = counts.get(failure.allocator, 0) + 1
        device = failure.facts.get("oom.device_index")
        parent = gpu(device) if isinstance(device, int) else JOB
        entity = Entity("failure", f"{failure.allocator}-{counts[failure.allocator]}", parent)
        others = {number for one in failures if one is not failure for number in one.claimed}
        _add_context(failure, text, others - failure.claimed)
        readings.extend(_readings(failure, text, entity))
        claimed |= failure.claimed
    readings.extend(_warnings(failures, text))
    yield Extract(FORMAT.name, tuple(readings), claimed=frozenset(claimed))


def _add_figures(failure: _Failure, text: Text, known: set[int]) -> None:
    """What a failure whose words are known says of sizes in words that are not; `known` lines tell of some failure."""
    if any(fact.endswith("_bytes") for fact in failure.facts):
        return
    facts, claimed = figures_at(text, failure.first, known, failure.claimed)
    failure.facts |= facts
    failure.claimed |= claimed
    failure.lines |= dict.fromkeys(facts, text.lines[failure.first].number)


def _guessed(text: Text, known: set[int]) -> Iterator[_Failure]:
    for one in guesses(text, known):
        lines = dict.fromkeys(one.facts, text.lines[one.first].number)
        yield _Failure(_UNKNOWN, "other", one.first, one.last, one.words, False, one.facts, lines, one.claimed)


def _warnings(failures: Sequence[_Failure], text: Text) -> Iterator[Reading]:
    """How many failures each allocator calls no failure."""
    for allocator in dict.fromkeys(failure.allocator for failure in failures):
        recovered = [one for one in failures if one.allocator == allocator and one.facts.get("oom.recovered")]
        if recovered:
            count = sum(failure.repeats for failure in recovered)
            place = Entity("measurement", f"{allocator} warnings of too little memory", JOB)
            yield Reading("reading.count", count, text.lines[recovered[0].first].number, None, place)


def _found_in(lines: Sequence[Line], positions: dict[int, int]) -> list[_Failure]:
    """Failures in these lines, and those that only show where lines cut inside a word are put together."""
    flow = Flow.of(lines)
    found = _matches(flow, positions)
    glued = Flow.of(lines, glued=True)
    if glued.text != flow.text:
        known = {number for failure in found for number in failure.claimed}
        found += [failure for failure in _matches(glued, positions) if not failure.claimed & known]
    return sorted(found, key=lambda failure: failure.first)


def _matches(flow: Flow, positions: dict[int, int]) -> list[_Failure]:
    taken = bytearray(len(flow.text))
    found: list[_Failure] = []
    lowered = flow.text.lower()
    for wording in _WORDINGS:
        for match in wording.pattern.finditer(flow.text, lowered):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            taken[start:end] = b"\x01" * (end - start)
            found.append(_failure(wording, match, flow, positions))
    return found


def _failure(wording: Wording, match: re.Match[str], flow: Flow, positions: dict[int, int]) -> _Failure:
    first = flow.index(match.start() + len(match[0]) - len(match[0].lstrip()))
    last = flow.index(max(match.start(), match.end() - 1))
    facts: dict[str, Value] = {**wording.facts, **facts_of(match)}
    numbers = {fact: flow.number(match.start(name)) for name, fact in _group_facts(match)}
    words = " ".join(flow.text[flow.starts[first] : match.end()].split())
    return _Failure(
        wording,
        wording.allocator,
        positions[flow.lines[first].number],
        positions[flow.lines[last].number],
        words if len(words) <= _LONGEST else "… " + words[2 - _LONGEST :],
        wording.detail,
        facts,
        numbers,
        set(flow.numbers(match.start(), match.end())),
    )


def _group_facts(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    for name, printed in match.groupdict().items():
        if printed is not None:
            yield name, GROUPS[name][0]


def _merged(found: Sequence[_Failure]) -> list[_Failure]:
    """Failures, those that tell of one event put together: close by, of one allocator, without a contradiction."""
    kept: list[_Failure] = []
    for failure in found:
        for earlier in reversed(kept[-8:]):
            if _tell_of_one_event(earlier, failure):
                _add(earlier, failure)
                break
        else:
            kept.append(failure)
    return kept


def _tell_of_one_event(earlier: _Failure, later: _Failure) -> bool:
    related = earlier.allocator == later.allocator or "cuda" in (earlier.allocator, later.allocator)
    reach = _REPORT_LINES if earlier.allocator == later.allocator == "tensorflow" else _NEAR_LINES
    if not related or later.first - earlier.last > reach:
        return False
    if later.detail or later.first == earlier.first:
        return True
    if earlier.facts.get("oom.recovered") != later.facts.get("oom.recovered"):
        return False
    shared = earlier.facts.keys() & later.facts.keys() - {"oom.during", "oom.source_line", "oom.error_code"}
    if earlier.wording is later.wording:  # one wording rounds alike, so two values are two requests
        return all(earlier.facts[fact] == later.facts[fact] for fact in shared)
    return all(_agree(earlier.facts[fact], later.facts[fact]) for fact in shared)


def _agree(one: Value, other: Value) -> bool:
    if isinstance(one, (bool, str)) or isinstance(other, (bool, str)):
        return one == other
    return abs(one - other) <= 0.01 * max(abs(one), abs(other))


def _add(earlier: _Failure, later: _Failure) -> None:
    if earlier.allocator == "cuda" and later.allocator != "cuda":
        earlier.allocator = later.allocator
    for fact, value in later.facts.items():
        old = earlier.facts.get(fact)
        exact = isinstance(value, float) and value.is_integer()
        if old is None or (exact and _agree(old, value)):
            earlier.facts[fact] = value
            if fact in later.lines:
                earlier.lines[fact] = later.lines[fact]
    earlier.last = max(earlier.last, later.last)
    earlier.claimed |= later.claimed
    if earlier.detail and not later.detail:
        earlier.words, earlier.detail = later.words, False


def _without_repeats(failures: Sequence[_Failure], text: Text) -> list[_Failure]:
    first: dict[tuple[object, ...], _Failure] = {}
    for failure in failures:
        rank = rank_of(text.lines[failure.first].text)
        if rank is not None:
            failure.facts["oom.rank"] = rank
        identity = (failure.allocator, *sorted((fact, str(value)) for fact, value in failure.facts.items()))
        known = first.setdefault(identity, failure)
        if known is not failure:
            known.repeats += 1
            known.claimed |= failure.claimed
    return list(first.values())


def _add_context(failure: _Failure, text: Text, others: Container[int]) -> None:
    activity = activity_before(text.lines, failure.first)
    if activity is not None:
        failure.facts.setdefault("oom.during", activity)
    if goes_on(text.lines, failure.first, failure.last, others) and not failure.detail:
        failure.facts.setdefault("oom.recovered", True)
    if failure.repeats > 1:
        failure.facts["oom.repeat_count"] = failure.repeats
    _add_tensor(failure)
    _add_surroundings(failure, text)
    around = text.lines[max(0, failure.first - 12) : failure.last + 8]
    if failure.allocator == "cuda" and any(_PINNED.search(line.text[:400]) for line in around):
        failure.facts.setdefault("oom.host_allocation", True)
    if not any(fact.endswith("_bytes") for fact in failure.facts):
        failure.facts["oom.no_figures"] = True


def _add_surroundings(failure: _Failure, text: Text) -> None:
    """Context length and layer, where the lines next to the failure name them; the nearest line counts."""
    before = reversed(text.lines[max(0, failure.first - 3) : failure.first + 1])
    after = text.lines[failure.first : failure.last + 3]
    for fact, pattern, lines in (("oom.context_tokens", _TOKENS, before), ("oom.layer", _LAYER, after)):
        for line in lines:
            found = pattern.search(line.text[:400])
            if found is not None:
                failure.facts.setdefault(fact, int(found[1]))
                failure.lines.setdefault(fact, line.number)
                break


def _add_tensor(failure: _Failure) -> None:
    shape = failure.facts.get("oom.tensor_shape")
    if not isinstance(shape, str):
        return
    elements = 1
    for part in shape.replace(",", " ").split()[:16]:
        elements *= int(part[:12])
    failure.facts["oom.tensor_elements"] = elements
    item = _ITEM_BYTES.get(str(failure.facts.get("oom.tensor_type", "")).lower())
    if item is not None:
        failure.facts["oom.tensor_bytes"] = float(elements * item)
        failure.facts.setdefault("oom.request_bytes", float(elements * item))


def _readings(failure: _Failure, text: Text, entity: Entity) -> Iterator[Reading]:
    line = text.lines[failure.first].number
    yield Reading("oom.event", True, line, failure.words, entity)
    yield Reading("oom.allocator", failure.allocator, line, failure.words, entity)
    yield Reading("oom.message", failure.words, line, failure.words, entity)
    for fact, value in failure.facts.items():
        yield Reading(fact, value, failure.lines.get(fact, line), failure.words, entity)


FORMAT = TextFormat(
    "framework-oom",
    "Out-of-memory failure of CUDA, a framework or a model server",
    (*_HINTS, *GENERIC_HINTS),
    _scan,
)
