"""What the weights of a model take that a report names by its size (`Qwen2.5-32B`, `a 13B model`), on one GPU.

Only where the report tells of one GPU and of one size of model: spread over several GPUs, or partly kept in host
memory, a GPU holds less. A model is published in 16 bits; a quantisation that is told of is taken to be of the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.facts import JOB
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.flow import Flow
from gpuwhy.probes.artefacts.quantities import parse_number

NAME = "stated-model"
_FAMILIES = (
    "llama", "vicuna", "alpaca", "qwen", "qwq", "baichuan", "glm", "mistral", "falcon", "bloom", "gpt", "pythia",
    "deepseek", "internlm", "gemma", "starcoder", "wizard", "galactica", "llava", "minicpm", "hunyuan", "nemotron",
    "mamba", "rwkv", "olmo", "granite",
)  # fmt: skip
HINTS = (*_FAMILIES, "b model", "b-model", "b param", "b-param", "b llm", "b模型", "b参数")
_LONGEST = 100_000
_SIZE = r"(?<![\w.×*])(?P<{0}>[0-9]{{1,3}}(?:\.[0-9]{{1,2}})?) ?[Bb](?![A-Za-z0-9])"
_MODEL = (
    later(
        rf"(?i)(?:{'|'.join(_FAMILIES)})[a-z0-9.]{{0,12}}[-_ ](?:[a-z0-9.]{{1,10}}[-_ ]){{0,2}}" + _SIZE.format("count")
    ),
    later(
        r"(?i)" + _SIZE.format("count") + r"[- ]?(?:(?:chat|instruct|base|language|dense|llama|size)[- ])?"
        r"(?:model|param|llm|模型|参数)"
    ),
)
_CARDS = r"(?:A10G?|A30|A40|A100|A800|V100|T4|P4|P40|P100|L4|L20|L40S?|H20|H100|H800|H200|[2345]0[5-9]0)"
_ONE_GPU = later(
    r"(?i)\b(?:single|one|1 ?x|an?|my|the|this|on|with) "
    rf"(?:nvidia |geforce |tesla |rtx |gtx |titan |ecs\.?|quadro ){{0,3}}{_CARDS}\b"
    r"|\b(?:single|one) (?:\w{1,12} ){0,3}(?:GPU|card)\b|单卡|一张(?:显)?卡|单张"
)
_SEVERAL = later(
    r"(?i)parallel|\btp ?[=:]? ?[2-9]\b|device_?map|deepspeed|fsdp|zero[-_ ]?[123]\b|offload|accelerate|torchrun|"
    r"nproc|multi[- ]?(?:gpu|card|node)|\b(?:[2-9]|1[0-9]) ?(?:x|×|\*|张|卡|块|GPUs|cards)|\b(?:two|three|four|eight|"
    rf"both|all|multiple|several|many|more) (?:\w{{1,10}} ){{0,2}}(?:GPUs|cards|{_CARDS})|[双多两四八][卡张]|\bGPUs\b|"
    r"\bGPU ?[1-9]\b|cuda:[1-9]|n_?gpu_?layers|\bngl\b|layers to (?:the )?GPU|distributed|\brank ?[1-9]"
)
_FOUR_BITS = later(
    r"(?i)4[-_ ]?bits?\b|\bint4|\bawq|gptq|gguf|ggml|\bq[2-6]_|\bnf4|\bfp4|mxfp4|qlora|quanti[sz]|exl2|\bbnb|"
    r"bitsandbytes|量化"
)
_EIGHT_BITS = later(r"(?i)8[-_ ]?bits?\b|\bint8|\bfp8|\bq8_|w8a8|float8")
_BYTES = 1e9 / 8


def scan(text: Text) -> Iterator[Extract]:
    """One extract with what the weights take; it claims no line."""
    flow = Flow.of(text.lines)
    whole = flow.text[:_LONGEST]
    found = [match for pattern in _MODEL for match in pattern.finditer(whole)]
    sizes = {parse_number(one["count"]) for one in found}
    if len(sizes) != 1 or not _ONE_GPU.search(whole) or _SEVERAL.search(whole):
        return
    billions = sizes.pop()
    if billions:
        bits = 4 if _FOUR_BITS.search(whole) else 8 if _EIGHT_BITS.search(whole) else 16
        place = flow.number(found[0].start())
        quoted = f"{found[0][0].strip()}: {billions:g} billion parameters of {bits} bits"
        yield Extract(NAME, (Reading("said.weights_bytes", billions * bits * _BYTES, place, quoted, JOB, said=True),))


FORMAT = TextFormat(NAME, "The model that a report names", HINTS, scan)
