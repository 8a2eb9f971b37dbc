"""Figures about memory that model servers, TensorFlow, XLA and llama.cpp print while they run well or before they fail.

These are not failures: sizes of weights and key-value caches, limits and settings, the chunk table of TensorFlow's
allocator. The failures themselves are read elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from gpuwhy.kb.facts import JOB, Entity, Value, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import Words, certain_words, flat
from gpuwhy.probes.artefacts.quantities import SIZE, parse_number, parse_size

_Reader = Callable[[str], Value | None]


def _whole(text: str) -> int | None:
    value = parse_number(text)
    return None if value is None else int(value)


def _share(text: str) -> float | None:
    value = parse_number(text)
    return value if value is not None and 0.0 <= value <= 1.0 else None


@dataclass(frozen=True)
class _Figure:
    """A line that carries figures: the fact of each group, in order. `{}` in a fact is for group 1, a label.

    `outline` is the pattern as written; the words that it surely holds spare most lines the pattern itself.
    """

    pattern: re.Pattern[str]
    outline: str
    facts: tuple[tuple[str, _Reader], ...]

    def may_be_in(self, lowered: str) -> bool:
        """False if a text, given in lower case, has no match."""
        flattened = flat(lowered)
        return all(any(word in flattened for word in words) for words in _certain(self.outline))


@cache
def _certain(outline: str) -> tuple[Words, ...]:
    return certain_words(outline)


def _figure(pattern: str, *facts: tuple[str, _Reader]) -> _Figure:
    text = (
        pattern.replace("SIZE", f"({SIZE})")
        .replace("WHOLE", r"([0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12})")
        .replace("SHARE", r"([0-9.]{1,8})")
    )
    outline = pattern.replace("SIZE", ".").replace("WHOLE", ".").replace("SHARE", ".")
    return _Figure(re.compile(text.replace(" ", r"\s{1,8}"), re.IGNORECASE), outline, facts)


_SERVING = (
    _figure(r"# (?:GPU|cuda|CUDA) blocks: WHOLE", ("cache.gpu_block_count", _whole)),
    _figure(r"# CPU blocks: WHOLE", ("cache.cpu_block_count", _whole)),
    _figure(r"\bGPU KV cache size: WHOLE tokens", ("cache.capacity_tokens", _whole)),
    _figure(
        r"\bMaximum concurrency for WHOLE tokens per request: ([0-9.,]{1,12})x",
        ("cache.sequence_limit_tokens", _whole),
        ("cache.concurrency", parse_number),
    ),
    _figure(r"\bAvailable KV cache memory: SIZE", ("cache.available_bytes", parse_size)),
    _figure(r"\bavailable KV cache memory \(SIZE\)", ("cache.available_bytes", parse_size)),
    _figure(r"\bSIZE KV cache is needed", ("cache.needed_bytes", parse_size)),
    _figure(r"\bmax seq len \(WHOLE\)", ("cache.sequence_limit_tokens", _whole)),
    _figure(r"\btokens that can be stored in KV cache \(WHOLE\)", ("cache.capacity_tokens", _whole)),
    _figure(r"\bestimated maximum model length is WHOLE", ("cache.possible_sequence_tokens", _whole)),
    _figure(
        r"\bmax[_-](?:seq|model)[_-]len(?:gth)?(?:\s{0,3}[=:]\s{0,3}| )WHOLE",
        ("cache.sequence_limit_tokens", _whole),
    ),
    _figure(
        r"\bgpu[_-]memory[_-]utilization(?:\s{0,3}[=:]\s{0,3}| \(?)SHARE\b",
        ("job.gpu_memory_utilization_share", _share),
    ),
    _figure(r"\bdesired GPU memory utilization \(SHARE,", ("job.gpu_memory_utilization_share", _share)),
    _figure(
        r"\bmem[_-]fraction[_-]static(?:\s{0,3}[=:]\s{0,3}| )SHARE\b", ("job.gpu_memory_utilization_share", _share)
    ),
    _figure(
        r"\btensor[_-](?:model[_-])?parallel[_-]size(?:\s{0,3}[=:]\s{0,3}| )WHOLE", ("job.tensor_parallel_size", _whole)
    ),
    _figure(
        r"\bpipeline[_-](?:model[_-])?parallel[_-]size(?:\s{0,3}[=:]\s{0,3}| )WHOLE",
        ("job.pipeline_parallel_size", _whole),
    ),
    _figure(r"\bmax[_-]num[_-]seqs(?:\s{0,3}[=:]\s{0,3}| )WHOLE", ("cache.sequence_count_limit", _whole)),
    _figure(r"\bmax[_-]num[_-]batched[_-]tokens(?:\s{0,3}[=:]\s{0,3}| )WHOLE", ("cache.batch_limit_tokens", _whole)),
    _figure(
        r"\b(?:Loading model weights|Model loading|Loading weights) took SIZE(?: memory)?",
        ("model.weights_bytes", parse_size),
    ),
    _figure(r"\bModel loading took [^\n]{1,40}? and ([0-9.]{1,10}) sec", ("model.load_seconds", parse_number)),
    _figure(r"\bmodel weights take SIZE", ("model.weights_bytes", parse_size)),
    _figure(r"\bnon_torch_memory takes SIZE", ("cache.outside_framework_bytes", parse_size)),
    _figure(r"\bactivation peak memory takes SIZE", ("cache.activation_peak_bytes", parse_size)),
    _figure(r"\bmemory reserved for KV Cache is SIZE", ("cache.available_bytes", parse_size)),
    _figure(
        r"\btotal_gpu_memory \(SIZE\) x gpu_memory_utilization \([0-9.]{1,6}\) = SIZE",
        ("cache.device_bytes", parse_size),
        ("cache.instance_limit_bytes", parse_size),
    ),
    _figure(r"\bLoad weight end\b[^\n]{0,200}?\bmem usage=SIZE", ("model.weights_bytes", parse_size)),
    _figure(r"\bGraph capturing finished in [^\n]{1,30}? took SIZE", ("cache.graph_bytes", parse_size)),
)
_LLAMA = (
    _figure(
        r"\boffloaded WHOLE/WHOLE layers to GPU", ("model.offloaded_layers", _whole), ("model.layer_count", _whole)
    ),
    _figure(r"\b(?:Using ngl|n[_-]gpu[_-]layers\s{0,3}[=:]?|-ngl) WHOLE", ("model.requested_gpu_layers", _whole)),
    _figure(r"\bn_ctx\s{0,12}[=:]\s{0,12}WHOLE", ("cache.sequence_limit_tokens", _whole)),
    _figure(r"\bKV self size\s{0,4}= SIZE", ("cache.needed_bytes", parse_size)),
)
_PARTITIONS = (
    _figure(r"\bMIG [1-9]g\.([0-9]{1,3})gb\b", ("job.slice_memory_gigabytes", _whole)),
    _figure(r"\b(?:GRID|NVIDIA|Quadro|Tesla) (?:[A-Z]{0,4}[0-9]{1,4}[A-Z]{0,2}(?:-DC)?)-([0-9]{1,2})[QCBA]\b",
            ("job.slice_memory_gigabytes", _whole)),
)  # fmt: skip
_TENSORFLOW = (
    _figure(r"\bMaxAllocSize:\s{0,40}WHOLE", ("allocator.largest_request_bytes", parse_size)),
    _figure(r"\btotal_region_allocated_bytes_: WHOLE", ("allocator.reserved_bytes", parse_size)),
    _figure(r"\bmemory_limit_: WHOLE", ("allocator.limit_bytes", parse_size)),
)
_CREATED = re.compile(r"\bCreated (?:TensorFlow )?device [^\n]{0,120}?GPU:(\d{1,3}) with ([0-9]{1,9}) MB memory", re.I)
_LISTED = re.compile(r"\bFound device \d{1,2} with properties:")
_LISTED_MEMORY = re.compile(
    rf"\bTotal ?Memory: ({SIZE})(?:\s{{1,4}}|[^\n]{{0,60}}\n[^\n]{{0,60}})\bFree ?Memory: ({SIZE})", re.IGNORECASE
)
_LISTED_LINES = 8
_BUFFER = re.compile(
    rf"\b((?:CUDA|ROCm|CPU|Vulkan|CUDA_Host|[A-Za-z]{{1,10}})_?\w{{0,8}}\s{{1,3}}(?:model|KV|compute|output) buffer) "
    rf"size\s{{0,4}}=\s{{0,12}}({SIZE})",
    re.IGNORECASE,
)
_ALLOCATION = re.compile(
    rf"\b((?:parameter|constant|maybe_live_out|preallocated temp|total) allocation):\s{{0,12}}({SIZE})"
)
_LEFT_AFTER_WEIGHTS = re.compile(rf"\bLoad weight end\b[^\n]{{0,200}}?\bavail mem=({SIZE})")
_ENGINE_MEMORY = re.compile(r"\[MemUsageChange\][^\n]{0,200}?\bnow: CPU [0-9]{1,9}, GPU ([0-9]{1,9}) \(MiB\)")
_CHUNKS = re.compile(rf"\b(\d{{1,9}}) Chunks of size (\d{{1,15}}) totall?ing ({SIZE})")
_FREE_CHUNK = re.compile(r"\bFree\s{1,3}at\s{1,3}(?:0x)?[0-9a-f]{1,18} of size (\d{1,15})", re.IGNORECASE)
_PHASE_TOKENS = re.compile(r"\b(prompt processing|text generation) with (\d{1,9}) tokens", re.IGNORECASE)
_EXIT = re.compile(
    r"\bexit(?:ed|s)?[ _]{0,2}(?:with )?(?:return )?(?:code|status)[ :=(]{1,20}(-?\d{1,4})\b", re.IGNORECASE
)
_LABELS = ("buffer", "allocation", "created", "load weight", "memusage", "prompt processing", "text generation", "exit")
"""In lower case; one of them is in every line that one of the patterns above matches."""
_LARGEST_FILE_ROWS = 2000
_MOST_EARLIER = 100

_HINTS = (
    "blocks: ", "kv cache", "model length", "seq_len", "seq-len", "model_len", "model-len", "seq len", "utilization",
    "mem_fraction", "mem-fraction", "parallel_size", "parallel-size", "max_num_", "max-num-", "weights took",
    "loading took", "weights take", "graph capturing", "layers to gpu", "ngl ", "gpu_layers", "gpu-layers", "n_ctx",
    "kv self size", "buffer size", "mig ", "maxallocsize", "memory_limit_", "mb memory", "chunks of size",
    " allocation:", "grid ", "nvidia a", "nvidia l", "nvidia h", "nvidia r", "nvidia t", "quadro rtx", "tesla ",
    "free  at ", "exit", " tokens", "load weight end", "memusagechange", "with properties",
)  # fmt: skip


def _scan(text: Text) -> Iterable[Extract]:
    readings: list[Reading] = []
    whole = "\n".join(line.text for line in text.lines).lower()
    hints = [hint for hint in _HINTS if hint in whole]
    figures = [one for one in (*_SERVING, *_LLAMA, *_PARTITIONS, *_TENSORFLOW) if one.may_be_in(whole)]
    for line in text.lines:
        lowered = line.text.lower()
        if any(hint in lowered for hint in hints):
            readings.extend(_line_readings(line, lowered, figures))
    readings = [*_one_of_each(readings), *_chunk_readings(text.lines), *_listed_device(text.lines)]
    if readings:
        claimed = frozenset(reading.line for reading in readings if reading.line is not None and _is_ours(reading))
        yield Extract(FORMAT.name, tuple(readings), claimed=claimed)


def _one_of_each(readings: list[Reading]) -> Iterator[Reading]:
    """Of a fact with several values the last; earlier ones as plain readings. Slices of different sizes name none."""
    last = {(reading.fact, reading.entity): reading for reading in readings}
    earlier: dict[tuple[str, Value], Reading] = {}
    for reading in readings:
        kept = last[reading.fact, reading.entity]
        if reading is kept or reading.value == kept.value:
            continue
        if reading.entity == JOB:
            earlier.setdefault((reading.fact, reading.value), reading)
    ambiguous = {fact for fact, _ in earlier if fact == "job.slice_memory_gigabytes"}
    yield from (reading for reading in last.values() if reading.fact not in ambiguous)
    for number, reading in enumerate(list(earlier.values())[:_MOST_EARLIER], 1):
        if isinstance(reading.value, (int, float)):
            place = _measurement(f"{reading.fact}, earlier value {number}")
            yield Reading("reading.value", reading.value, reading.line, reading.text, place)


def _is_ours(reading: Reading) -> bool:
    """Lines that only mention a product or a setting are left for others to read as well."""
    return not reading.fact.startswith("job.") and reading.fact != "cache.sequence_limit_tokens"


def _line_readings(line: Line, lowered: str, figures: Iterable[_Figure]) -> Iterator[Reading]:
    text = line.text[:4000]
    for figure in figures:
        found = figure.pattern.search(text) if figure.may_be_in(lowered) else None
        if found is None:
            continue
        for (fact, read), printed in zip(figure.facts, found.groups(), strict=True):
            value = read(printed)
            if value is not None:
                yield Reading(fact, value, line.number, found[0][:200], JOB)
    if any(word in lowered for word in _LABELS):
        yield from _labelled(line.number, text)


def _labelled(number: int, text: str) -> Iterator[Reading]:
    for pattern in (_BUFFER, _ALLOCATION):
        for found in pattern.finditer(text):
            size = parse_size(found[2])
            if size is not None:
                yield Reading("reading.bytes", size, number, found[0][:200], _measurement(found[1]))
    created = _CREATED.search(text)
    if created is not None:
        limit = float(created[2]) * 1024.0 * 1024.0
        yield Reading("gpu.framework_limit_bytes", limit, number, created[0][:200], gpu(int(created[1])))
    left = _LEFT_AFTER_WEIGHTS.search(text)
    size = None if left is None else parse_size(left[1])
    if left is not None and size is not None:
        yield Reading("reading.bytes", size, number, left[0][:200], _measurement("free after loading the weights"))
    engine = _ENGINE_MEMORY.search(text)
    if engine is not None:
        size = float(engine[1]) * 1024.0 * 1024.0
        yield Reading("reading.bytes", size, number, engine[0][:200], _measurement("TensorRT memory on the GPU"))
    phase = _PHASE_TOKENS.search(text)
    if phase is not None:
        yield Reading("reading.count", int(phase[2]), number, phase[0], _measurement(f"{phase[1].lower()} tokens"))
    ended = _EXIT.search(text)
    if ended is not None:
        yield Reading("job.exit_code", int(ended[1]), number, ended[0], JOB)


def _listed_device(lines: Sequence[Line]) -> Iterator[Reading]:
    """The one device that TensorFlow 1 lists before it takes any memory: what the device has, and what is free."""
    listed = [at for at, line in enumerate(lines) if _LISTED.search(line.text[:400])]
    if len({lines[at].text[-40:] for at in listed}) != 1:
        return
    block = lines[listed[0] : listed[0] + _LISTED_LINES]
    found = _LISTED_MEMORY.search("\n".join(line.text[:200] for line in block))
    if found is None:
        return
    free = next((line for line in block if "free" in line.text.lower()), block[0])
    for fact, printed in zip(("total", "free"), found.groups(), strict=True):
        size = parse_size(printed)
        if size is not None:
            yield Reading(f"job.device_{fact}_at_start_bytes", size, free.number, free.text.strip()[:200], JOB)


def _measurement(label: str) -> Entity:
    return Entity("measurement", " ".join(label.split())[:80], JOB)


def _chunk_readings(lines: Iterable[Line]) -> Iterator[Reading]:
    rows: list[tuple[Line, re.Match[str]]] = []
    free: list[tuple[Line, int]] = []
    for line in lines:
        found = _CHUNKS.search(line.text[:1000])
        if found is not None:
            rows.append((line, found))
        freed = _FREE_CHUNK.search(line.text[:1000])
        if freed is not None:
            free.append((line, int(freed[1])))
    for line, found in rows[:_LARGEST_FILE_ROWS]:
        label = f"chunks of {found[2]} bytes"
        total = parse_size(found[3])
        yield Reading("reading.count", int(found[1]), line.number, found[0][:200], _measurement(label))
        if total is not None:
            yield Reading("reading.bytes", total, line.number, found[0][:200], _measurement(label))
    if rows:
        line = rows[0][0]
        yield Reading("reading.count", len(rows), line.number, None, _measurement("chunk sizes listed"))
    if free:
        line, largest = max(free, key=lambda one: one[1])
        yield Reading("allocator.largest_free_block_bytes", float(largest), line.number, None, JOB)
        yield Reading("allocator.free_blocks_bytes", float(sum(size for _, size in free)), line.number, None, JOB)


FORMAT = TextFormat("memory-figures", "Memory figures of a model server or framework", _HINTS, _scan)
