"""Versions of driver, CUDA and framework, from whatever lists them: collect_env, pip, conda, nvcc, a kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import HOST, JOB, Entity, Value, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "software-versions"
_LONGEST = 400
_VERSION = r"(?P<version>[0-9]{1,4}(?:\.[0-9]{1,5}){1,4})"
_HINTS = ("torch", "cuda", "driver version", "kernel module", "cudnn", "release ", "gpu models and")


@dataclass(frozen=True)
class _Listed:
    """How one version is listed; `fact` takes it as it stands. `words` are in lower case in every such line."""

    words: str
    fact: str
    pattern: re.Pattern[str]
    entity: Entity = JOB


def _listed(words: str, fact: str, pattern: str, entity: Entity = JOB) -> _Listed:
    return _Listed(words, fact, later(pattern, re.IGNORECASE), entity)


_LISTED = (
    _listed("build pytorch", "job.cuda_build_version", rf"\bCUDA used to build PyTorch\s{{0,4}}:\s{{0,4}}{_VERSION}"),
    _listed(
        "torch.version.cuda",
        "job.cuda_build_version",
        rf"\btorch\.version\.cuda\b['\")]{{0,3}}\s{{0,4}}[:=,]?\s{{0,4}}['\"]?{_VERSION}",
    ),
    _listed(
        "nvidia-cuda-runtime",
        "job.cuda_build_version",
        rf"^\s{{0,8}}nvidia-cuda-runtime(?:-cu[0-9]{{2}})?(?:==|\s{{1,40}}){_VERSION}",
    ),
    _listed("pytorch-cuda", "job.cuda_build_version", rf"^\s{{0,8}}pytorch-cuda(?:=|\s{{1,40}}){_VERSION}"),
    _listed("cudatoolkit", "job.cuda_build_version", rf"^\s{{0,8}}cudatoolkit(?:=|\s{{1,40}}){_VERSION}"),
    _listed("nvidia-cudnn-cu", "job.cudnn_version", rf"^\s{{0,8}}nvidia-cudnn-cu[0-9]{{2}}(?:==|\s{{1,40}}){_VERSION}"),
    _listed("nvidia-nccl-cu", "comm.nccl_version", rf"^\s{{0,8}}nvidia-nccl-cu[0-9]{{2}}(?:==|\s{{1,40}}){_VERSION}"),
    _listed("compilation tools", "host.toolkit_version", rf"\bCuda compilation tools, release {_VERSION}", HOST),
    _listed("driver version", "host.driver_version", rf"\bNvidia driver version\s{{0,4}}:\s{{0,4}}{_VERSION}", HOST),
    *(
        _listed("kernel module", fact, rf"\bKernel Module(?:\s{{1,8}}for \S{{1,20}})?\s{{1,8}}{_VERSION}", HOST)
        for fact in ("host.kernel_module_version", "host.driver_version")
    ),
)
_TORCH = later(
    r"(?:^\s{0,8}(?:py)?torch(?:==|\s{1,40})|\bPyTorch version\s{0,4}:?\s{0,4}|\btorch(?:==|[- ]v?)|"
    r"\btorch\.__version__['\")]{0,3}\s{0,4}[:=,]?\s{0,4}['\"]?)"
    r"(?P<version>[0-9]{1,2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?(?:\.dev[0-9]{1,10}|a0|rc[0-9])?)(?:\+(?P<local>[a-z]{2,5}[0-9.]{0,8}))?",
    re.IGNORECASE,
)
_GPU = later(
    r"\s{0,4}(?P<head>GPU models and configuration:\s{0,4})?GPU (?P<index>[0-9]{1,2}): "
    r"(?P<name>[A-Za-z][^()\n]{2,70})\Z"
)
_CUDA_TAG = later(r"cu([0-9]{2,3})\Z")


def scan(text: Text) -> Iterable[Extract]:
    """One extract of all versions of a text; of several of one kind the first stays."""
    found: dict[str, Reading] = {}
    claimed: set[int] = set()
    listing = False
    for line in text.lines:
        device = _GPU.match(line.text[:_LONGEST]) if "GPU " in line.text else None
        listing = device is not None and (listing or device["head"] is not None)
        if device is not None and listing:
            name, where = device["name"].strip(), gpu(int(device["index"]))
            found.setdefault(where.path, Reading("gpu.name", name, line.number, line.text.strip()[:160], where))
            claimed.add(line.number)
        lowered = line.text[:_LONGEST].lower()
        if not any(hint in lowered for hint in (*_HINTS, "nvidia-")):
            continue
        for fact, value, entity in _versions(line, lowered):
            if fact not in found:
                found[fact] = Reading(fact, value, line.number, line.text.strip()[:160], entity)
                claimed.add(line.number)
    if found:
        yield Extract(NAME, tuple(found.values()), claimed=frozenset(claimed))


def _versions(line: Line, lowered: str) -> Iterator[tuple[str, Value, Entity]]:
    content = line.text[:_LONGEST]
    for one in _LISTED:
        match = one.pattern.search(content) if one.words in lowered else None
        if match is not None:
            yield one.fact, match["version"], one.entity
    torch = _TORCH.search(content)
    if torch is not None:
        yield from _torch(torch)


def _torch(match: re.Match[str]) -> Iterator[tuple[str, Value, Entity]]:
    local = (match["local"] or "").lower()
    yield "job.framework", "pytorch", JOB
    yield "job.framework_version", match["version"] + (f"+{local}" if local else ""), JOB
    tag = _CUDA_TAG.match(local)
    if tag is not None:
        digits = tag.group(1)
        yield "job.cuda_build_version", f"{digits[:-1]}.{digits[-1]}", JOB


FORMAT = TextFormat(NAME, "Versions of driver, CUDA and framework", (*_HINTS, "nvidia-"), scan)
