"""What a key of a training log means, judged by its words: step time, time waiting for data, rate, memory."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import parse_number


class Meaning(Enum):
    """What the number after a key is."""

    STEP = "time of a step"
    LAST_STEP = "time of the newest step, where another key gives a mean"
    DATA = "time waiting for data"
    LAST_DATA = "data wait of the newest step, where another key gives a mean"
    RATE = "steps per second"
    SAMPLES = "samples per second"
    TOKENS = "tokens per second"
    USED_MEMORY = "device memory in use"
    PEAK_MEMORY = "highest device memory in use"
    FREE_MEMORY = "device memory free"
    LOSS = "loss or score"
    OTHER = "anything else"


_CAMEL = later(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = later(r"[a-z]+")
_DATA = {"data", "dataloader", "dataloading", "loader", "load", "loading", "loaded", "fetch", "fetching", "reader"}
_DATA |= {"datatime", "dataload", "dataloadingtime", "input", "prefetch", "generator", "datawait", "wait", "waiting"}
_WAITS = {"wait", "waiting"}
_BESIDE_WAIT = {"time", "batch", "step", "iter", "mean", "avg", "average", "s", "ms", "sec", "secs", "seconds", "last"}
_TIME = {"time", "times", "cost", "timing", "elapsed", "duration", "seconds", "secs", "sec", "ms", "wait", "waiting"}
_TIME |= {"datatime", "dataloadingtime", "datawait", "steptime", "itertime", "batchtime", "generator", "dt"}
_STEP = {"batch", "iter", "iters", "iteration", "step", "steps", "it", "train", "training", "update", "per", "micro"}
_PHASE = {"eta", "remaining", "total", "wall", "epoch", "eval", "val", "valid", "validation", "test", "start", "end"}
_PHASE |= {"save", "saving", "checkpoint", "ckpt", "forward", "fwd", "backward", "bwd", "optim", "optimizer", "opt"}
_PHASE |= {"comm", "communication", "allreduce", "reduce", "gather", "infer", "inference", "nms", "preprocess"}
_PHASE |= {"postprocess", "compute", "gpu", "cpu", "cuda", "kernel", "model", "warmup", "uptime", "runtime", "decode"}
_PHASE |= {"left", "date", "log", "idle", "max", "min", "std", "first", "rank", "ranks", "build", "compile", "startup"}
_WHOLE = {"wall", "total", "epoch", "max", "min", "std", "gpu", "cpu", "cuda", "left", "log", "date", "rank", "eta"}
_SAMPLE_WORDS = {"samples", "sample", "images", "image", "imgs", "img", "examples", "example", "sequences", "sequence"}
_SAMPLE_WORDS |= {"seqs", "sentences", "records", "frames", "ips", "fps", "sps"}
_TOKEN_WORDS = {"tokens", "token", "tok", "words", "tps", "wps", "tgs"}
_RATE_WORDS = {"steps", "step", "iterations", "iteration", "iters", "iter", "it", "batches", "batch", "ups"}
_MEMORY = {"mem", "memory", "ram", "vram", "memallocated", "gb", "alloc", "allocated", "reserved"}
_HOST_MEMORY = {"cpu", "host", "rss", "system", "virtual", "swap", "shared", "proc", "process", "disk", "ratio"}
_PEAK = {"max", "peak", "maximum"}
_QUALITY = {"loss", "acc", "accuracy", "perplexity", "ppl", "err", "error", "lr", "prec", "bleu", "reward", "mfu"}


@lru_cache(maxsize=4096)
def words_of(key: str) -> tuple[str, ...]:
    """The lower-case words of a key: `DataLoadingTime`, `last_data_time` and `Data loading time` alike."""
    return tuple(_WORD.findall(_CAMEL.sub(" ", key).lower()))


@lru_cache(maxsize=4096)
def meaning(key: str) -> Meaning:
    """What the number after this key is."""
    words = words_of(key)
    kinds = set(words)
    if not kinds:
        return Meaning.OTHER
    for found in (_memory(kinds), _throughput(kinds, words), _duration(kinds, words)):
        if found is not None:
            return found
    return Meaning.LOSS if words[-1] in _QUALITY else Meaning.OTHER


def _memory(kinds: set[str]) -> Meaning | None:
    if not kinds & _MEMORY or kinds & (_HOST_MEMORY | _TIME):
        return None
    if kinds & {"gb", "alloc", "allocated", "reserved"} and not kinds & {"mem", "memory", "free", "gpu", "cuda"}:
        return None
    if "free" in kinds or "available" in kinds:
        return Meaning.FREE_MEMORY
    return Meaning.PEAK_MEMORY if kinds & _PEAK else Meaning.USED_MEMORY


def _throughput(kinds: set[str], words: tuple[str, ...]) -> Meaning | None:
    per_second = words[-1] in ("s", "sec", "second") or kinds & {"ips", "fps", "sps", "tps", "wps", "tgs", "ups"}
    if not per_second or kinds & {"eval", "val", "test"}:
        return None
    if kinds & _TOKEN_WORDS:
        return Meaning.TOKENS
    if kinds & _SAMPLE_WORDS:
        return Meaning.SAMPLES
    return Meaning.RATE if kinds & _RATE_WORDS and not kinds & _TIME - {"sec"} else None


def _duration(kinds: set[str], words: tuple[str, ...]) -> Meaning | None:
    if kinds & _DATA and not kinds & {"size", "parallel", "bytes", "workers", "total", "model", "checkpoint", "loss"}:
        waits_for_other = not kinds & (_DATA - _WAITS) and kinds - _WAITS - _BESIDE_WAIT
        if not waits_for_other and (kinds & _TIME or len(words) <= 2):
            return Meaning.LAST_DATA if "last" in kinds else Meaning.DATA
        return None
    if not kinds & _TIME or kinds & _PHASE or kinds & _QUALITY or kinds & _WAITS:
        return None
    if kinds & {"elapsed", "duration", "seconds", "secs", "sec", "ms", "cost"} and not kinds & _STEP:
        return None
    return Meaning.LAST_STEP if "last" in kinds else Meaning.STEP


def is_part(key: str) -> bool:
    """True if the key names a part of a step (`Forward`, `Data loading`, `Eval`), not the whole of it."""
    kinds = set(words_of(key))
    return bool(kinds & _DATA or kinds & _PHASE - _WHOLE) and "total" not in kinds


def says_time(key: str) -> bool:
    """True if the key itself says that its number is a duration (`data_time`, not `data`)."""
    return bool(set(words_of(key)) & _TIME)


def to_number(text: str) -> float | None:
    """The number, also where a comma is the decimal point (`0,35`); None if it is none."""
    value = parse_number(text)
    if value is None and text.count(",") == 1:
        value = parse_number(text.replace(",", "."))
    return value
