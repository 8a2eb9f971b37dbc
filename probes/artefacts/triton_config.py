"""Model configurations of Triton Inference Server: config.pbtxt, in whole or in part, and the same as JSON.

Fields and defaults: https://github.com/triton-inference-server/common/blob/main/protobuf/model_config.proto and
https://github.com/triton-inference-server/server/blob/main/docs/user_guide/model_configuration.md .
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from gpuwhy.probes.artefacts.contract import Extract, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.json_find import objects
from gpuwhy.probes.artefacts.text_proto import normal, parse
from gpuwhy.probes.artefacts.triton_config_facts import Config, config_readings

FIELDS = frozenset(
    {
        "name", "platform", "backend", "runtime", "default_model_filename", "version_policy", "max_batch_size", "input",
        "output", "batch_input", "batch_output", "optimization", "dynamic_batching", "sequence_batching",
        "ensemble_scheduling", "instance_group", "cc_model_filenames", "metric_tags", "parameters", "model_warmup",
        "model_operations", "model_transaction_policy", "model_repository_agents", "response_cache", "model_metrics",
    }
)  # fmt: skip
DISTINCTIVE = frozenset(
    {
        "max_batch_size", "dynamic_batching", "sequence_batching", "ensemble_scheduling", "instance_group",
        "model_warmup", "model_transaction_policy", "response_cache", "version_policy",
    }
)  # fmt: skip
"""Without one of these a text with `name:` and `input:` may be anything."""

_START = re.compile(rf"\s{{0,200}}({'|'.join(sorted(FIELDS))})\s{{0,20}}(?:[:{{\[<]|\Z)")
_NEVER = frozenset({"{", "["})
_QUOTE = re.compile(r"\s{0,20}>\s(?=\S|\s)")
_JSON_MARKS = ('"instance_group"', '"dynamic_batching"', '"ensemble_scheduling"', '"max_batch_size"')
MAX_CONFIGS = 200


def from_text(text: str, name: str | None = None) -> Config | None:
    """The configuration that a whole file holds; None if it holds none. `name` is the model's, if it does not say."""
    parsed = parse(text, 0, FIELDS)
    if not parsed.message.values:
        return None
    fields = parsed.message.plain()
    return Config(fields, name, whole=not (parsed.cut or parsed.wrong), trouble=_trouble(parsed.cut, parsed.wrong))


def from_json(document: Mapping[str, object]) -> Config:
    """The configuration that the server gives for a model, defaults filled in."""
    return Config(normal(document), None, whole=True)


def _scan(text: Text) -> Iterable[Extract]:
    lines = [_QUOTE.sub("", line.text, 1) if line.text.lstrip().startswith("> ") else line.text for line in text.lines]
    starts, at = [], 0
    for one in lines:
        starts.append(at)
        at += len(one) + 1
    whole = "\n".join(lines)
    index = found = 0
    patience = 4 * len(whole) + 100_000  # characters read in vain, so that time stays linear
    while index < len(lines) and found < MAX_CONFIGS and patience > 0:
        if not _START.match(lines[index]):
            index += 1
            continue
        parsed = parse(whole, starts[index], FIELDS)
        last = max(index, bisect_right(starts, max(starts[index], parsed.end - 1)) - 1)
        values = parsed.message.values
        if not DISTINCTIVE & set(values) or not _plausible(parsed.message.plain()):
            patience -= parsed.end - starts[index]
            index += 1
            continue
        found += 1
        numbers = {name: bisect_right(starts, place) - 1 for name, place in parsed.message.places.items()}
        config = Config(
            parsed.message.plain(),
            None,
            whole=not (parsed.cut or parsed.wrong) and {"input", "output"} <= set(values),
            trouble=_trouble(parsed.cut, parsed.wrong),
            lines={name: (text.lines[at].number, text.lines[at].text.strip()[:200]) for name, at in numbers.items()},
        )
        claimed = frozenset(line.number for line in text.lines[index : last + 1])
        troubles = (Trouble(text.lines[last].number, config.trouble),) if config.trouble else ()
        yield Extract(FORMAT.name, tuple(config_readings(config)), (), claimed, troubles)
        index = last + 1


def _plausible(fields: Mapping[str, list[object]]) -> bool:
    """True if the distinctive fields hold what they hold in a configuration."""
    sizes = fields.get("max_batch_size", [])
    if any(isinstance(one, (bool, str, dict)) for one in sizes):
        return False
    return all(isinstance(one, dict) for name in DISTINCTIVE - {"max_batch_size"} for one in fields.get(name, []))


def _trouble(cut: bool, wrong: str) -> str:
    if cut:
        return "this configuration is cut off: what it leaves out is not known"
    return f"this configuration cannot be read from here on: {wrong[:40]!r}" if wrong else ""


def _scan_json(text: Text) -> Iterator[Extract]:
    for found in objects(text, _JSON_MARKS):
        document = found.value
        if document is None or not DISTINCTIVE & set(document):
            continue
        fields = normal(document)
        if not _plausible(fields) or not ({"instance_group", "input", "dynamic_batching"} & set(fields)):
            continue
        line = next((one for one in text.lines if one.number == found.first), None)
        where = (found.first, line.text.strip()[:200] if line else None)
        config = Config(fields, None, whole=True, lines=dict.fromkeys(fields, where))
        claimed = frozenset(one.number for one in text.lines if found.first <= one.number <= found.last)
        yield Extract(JSON_FORMAT.name, tuple(config_readings(config)), (), claimed)


FORMAT = TextFormat(
    "triton-config",
    "Model configuration of Triton Inference Server (config.pbtxt)",
    tuple(sorted(DISTINCTIVE)),
    _scan,
)
JSON_FORMAT = TextFormat(
    "triton-config-json", "Model configuration of Triton Inference Server as JSON", _JSON_MARKS, _scan_json
)
FORMATS = (FORMAT, JSON_FORMAT)
