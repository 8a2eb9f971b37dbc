"""What was changed just before work became slower, or no faster, as a person says it in a sentence or two.

`After moving from T4 to A10 instances training is not faster`: the machine. Where both GPUs and software are named, or
nothing of either, it stays unknown what the change was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import JOB
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.flow import Flow
from gpuwhy.probes.artefacts.gpu_models import models
from gpuwhy.probes.artefacts.reported_sentences import observed, sentence_of

NAME = "stated-change"
HINTS = ("upgrad", "switch", "mov", "migrat", "changed", "replac", "swapped", "换", "升级", "迁移")
_LONGEST = 100_000
_CHANGED = later(
    r"(?i)\b(?:after|since|when|once)(?: (?:we|i|the team))?(?: have|'ve)?(?: just)? ?(?:an? |the |our |my )?"
    r"(?:upgrad(?:ing|ed?)|switch(?:ing|ed)?|mov(?:ing|ed?)|migrat(?:ing|ed?|ion)|chang(?:ing|ed)|replac(?:ing|ed)|"
    r"swapp(?:ing|ed))\b(?P<what>[^\n;!?]{3,120})"
    r"|\b(?:we|i)(?: have|'ve)?(?: just| recently)? (?:upgraded|switched|moved|migrated|changed|replaced|swapped)\b"
    r"(?P<done>[^\n;!?]{3,120})"
    r"|(?:升级|更换|换|迁移)(?:到|成|为|了)(?P<zh>[^\n；！？]{2,60})"
)
_SLOWER = later(
    r"(?i)\b(?:slower|just as slow|as slow as|takes (?:much |even )?longer|slowed down)\b|(?:变|更|反而|还)慢了?"
)
_NO_FASTER = later(
    r"(?i)\b(?:no|not(?: any| much)?|n't(?: any| much)?|hardly(?: any)?|barely(?: any)?|never)"
    r"(?: \w{1,8}){0,2} (?:faster|quicker|speed-?up|improvement|difference)"
    r"|\b(?:same speed|(?:speed|throughput|step time|training time) (?:is|was|stays?|remained|stayed) "
    r"(?:exactly |about |nearly )?the same)\b"
    r"|(?:没有?|并没有|没)(?:什么|明显|任何)?(?:变快|提速|提升|加速|更快|变化|区别)|一样慢|速度(?:一样|没变)"
)
"""Of a larger GPU or machine that is a complaint; newer software need not be faster."""
_WENT = later(
    r"(?i)\b(?:time|epochs?|steps?|iterations?|training|it)\b[^\n.;|]{0,40}?\b(?:went|goes|rose|increased|jumped|grew)"
    r"(?: up)? (?:from )?(?P<before>[0-9]{1,5}(?:\.[0-9]{1,2})?) ?(?P<unit>ms|s|sec|seconds|min|minutes|h|hours)"
    r"(?:/\w{1,6})? (?:to|->|→) (?P<after>[0-9]{1,5}(?:\.[0-9]{1,2})?) ?(?P=unit)\b"
)
_WITHIN = 200
"""Characters after the change in which the outcome must be told."""
_MACHINE = later(
    r"(?i)instance|\becs\b|\becs\.|machine|server|\bnode\b|\bbox\b|\bvm\b|cluster|实例|机器|服务器|云|主机"
)
_SOFTWARE = later(
    r"(?i)\b(?:(?:py)?torch|tensorflow|cuda|cudnn|drivers?|jax|transformers|vllm|deepspeed|tensorrt|triton|python|nccl)"
    r"(?![A-Za-z_])|驱动"
)


def scan(text: Text) -> Iterator[Extract]:
    """One extract with what was changed; it claims the lines of the sentence."""
    flow = Flow.of(text.lines)
    whole = flow.text[:_LONGEST]
    lowered = whole.lower()
    found = [(one, kind) for one in _CHANGED.finditer(whole) if (kind := _kind(one, whole, lowered))]
    if len({kind for _, kind in found}) == 1:
        change, kind = found[0]
        reading = Reading(
            "job.slower_after_upgrade", kind, flow.number(change.start()), sentence_of(whole, change), JOB, said=True
        )
        yield Extract(NAME, (reading,), claimed=flow.numbers(change.start(), change.end()))


def _kind(change: re.Match[str], whole: str, lowered: str) -> str:
    """What a sentence says was changed; empty where it does not say, or not that it became slower or no faster."""
    if "|" in change[0] or not observed(change, lowered, negative=True):
        return ""
    outcome = whole[change.start() : change.end() + _WITHIN].split("\n\n")[0]
    slower = _SLOWER.search(outcome) is not None or _longer(outcome)
    if not slower and _NO_FASTER.search(outcome) is None:
        return ""
    what = next(one for one in change.groups() if one)
    gpus, machine = {name for _, name in models(what)}, _MACHINE.search(what) is not None
    if _SOFTWARE.search(what):
        return "software" if slower and not gpus and not machine else ""
    if machine:
        return "machine"
    return "gpu" if gpus else ""


def _longer(outcome: str) -> bool:
    """Whether a time is told that grew: `epoch time went from 11 min to 47 min`."""
    found = _WENT.search(outcome)
    return found is not None and float(found["after"]) > float(found["before"])


FORMAT = TextFormat(NAME, "What was changed before it became slower", HINTS, scan)
