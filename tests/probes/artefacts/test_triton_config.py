"""config.pbtxt as people write it: comments, missing colons, lists, parts of a file, the same as JSON."""

from __future__ import annotations

import json

import pytest

from gpuwhy.probes.artefacts.text_proto import parse
from gpuwhy.probes.artefacts.triton_config import FIELDS, FORMAT, JSON_FORMAT, from_text
from tests.probes.artefacts.helpers import claimed, scan, values

WHOLE = """\
# made by hand { not a brace
name: "res" 'net'
platform: "tensorrt_plan"
max_batch_size : 16;
input [ { name: "IN" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] } ]
output: [ { name: "OUT" data_type: TYPE_FP32 dims: [ 1000 ] } ]
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 500   # half a millisecond
  default_queue_policy < timeout_action: REJECT, max_queue_size: 64 default_timeout_microseconds: 1000000 >
}
instance_group [ { count: 2 kind: KIND_GPU gpus: [ 0, 1 ] }, { count: 1 kind: KIND_GPU gpus: 3 } ]
optimization { execution_accelerators { gpu_execution_accelerator : [ { name : "tensorrt" } ] } }
model_warmup [ { name: "w" inputs { key: "IN" value: { zero_data: true dims: [ 3, 8, 8 ] } } } ]
"""
MODEL = "server:this/model:resnet"


def test_a_whole_configuration() -> None:
    extracts = scan(FORMAT, WHOLE)
    found = values(extracts)
    assert found["serve.backend", MODEL] == "tensorrt_plan"
    assert found["serve.max_batch_size", MODEL] == 16
    assert found["serve.dynamic_batching", MODEL] is True
    assert found["serve.max_queue_delay_seconds", MODEL] == pytest.approx(0.0005)
    assert found["serve.preferred_batch_size_min", MODEL] == 4
    assert found["serve.preferred_batch_size_max", MODEL] == 8
    assert found["serve.max_queue_size", MODEL] == 64
    assert found["serve.queue_timeout_seconds", MODEL] == 1
    assert found["serve.instance_count", MODEL] == 5  # 2 on each of two GPUs, and 1
    assert found["serve.instance_kind", MODEL] == "gpu"
    assert found["serve.accelerator", MODEL] == "tensorrt"
    assert found["serve.warmup_configured", MODEL] is True
    assert found["serve.variable_shapes", MODEL] is True
    assert found["serve.input_pinned", MODEL] is True
    assert found["serve.decoupled", MODEL] is False
    assert claimed(extracts) == set(range(2, 15))
    delay = next(one for one in extracts[0].readings if one.fact == "serve.max_queue_delay_seconds")
    assert delay.line == 7


def test_a_part_says_nothing_about_what_it_leaves_out() -> None:
    part = (
        "dynamic_batching {\npreferred_batch_size: [ 25, 50 ]\n}\nmax_batch_size: 25\ninstance_group [ { count: 3 }]\n"
    )
    found = values(scan(FORMAT, "our config:\n" + part + "it is slow\n"))
    of = "server:this/model:this"
    assert found["serve.preferred_batch_size_max", of] == 50
    assert found["serve.max_queue_delay_seconds", of] == 0  # a closed dynamic_batching without it: the default
    assert found["serve.instances_per_gpu", of] == 3
    assert ("serve.instance_count", of) not in found  # how many GPUs there are is not said
    assert ("serve.warmup_configured", of) not in found


def test_what_a_whole_configuration_leaves_out_has_its_default() -> None:
    text = 'name: "a"\nbackend: "python"\ninput [ { name: "I" dims: [ 4 ] } ]\noutput [ { name: "O" dims: [ 4 ] } ]\n'
    found = values(scan(FORMAT, text + "instance_group [ { kind: KIND_CPU } ]\n"))
    of = "server:this/model:a"
    assert found["serve.max_batch_size", of] == 0
    assert found["serve.dynamic_batching", of] is False
    assert found["serve.warmup_configured", of] is False
    assert found["serve.variable_shapes", of] is False
    assert found["serve.instance_count", of] == 1


@pytest.mark.parametrize("prefix", ["> ", "    "], ids=["quoted", "indented"])
def test_quoted_and_indented_configurations_are_read(prefix: str) -> None:
    text = "".join(f"{prefix}{line}\n" for line in WHOLE.splitlines())
    assert values(scan(FORMAT, text))["serve.max_batch_size", MODEL] == 16


def test_an_ensemble_names_its_steps() -> None:
    text = (
        'name: "all"\nplatform: "ensemble"\nmax_batch_size: 0\nensemble_scheduling {\n step [\n'
        '  { model_name: "pre" model_version: -1 input_map { key: "A" value: "B" } },\n  { model_name: "net" }\n ]\n}\n'
    )
    found = values(scan(FORMAT, text))
    assert found["serve.ensemble", "server:this/model:all"] is True
    assert found["serve.step_of_ensemble", "server:this/model:pre"] is True
    assert found["serve.step_of_ensemble", "server:this/model:net"] is True


def test_a_configuration_that_is_cut_off_gives_what_is_there_and_says_so() -> None:
    extracts = scan(FORMAT, WHOLE[: WHOLE.index("max_queue_delay")])
    found = values(extracts)
    assert found["serve.preferred_batch_size_max", MODEL] == 8
    assert ("serve.max_queue_delay_seconds", MODEL) not in found
    assert ("serve.warmup_configured", MODEL) not in found
    assert "cut off" in extracts[0].troubles[0].message


def test_several_configurations_in_one_paste() -> None:
    other = WHOLE.replace("\"res\" 'net'", '"other"').replace("max_batch_size : 16", "max_batch_size: 2")
    found = values(scan(FORMAT, WHOLE + "\n$ cat other/config.pbtxt\n" + other))
    assert found["serve.max_batch_size", MODEL] == 16
    assert found["serve.max_batch_size", "server:this/model:other"] == 2


@pytest.mark.parametrize(
    "text",
    ["name: job\ninput: data.csv\noutput: out.csv\n", "backend: nccl\n", "max_batch_size: auto\n", "parameters: 7e9\n"],
    ids=["yaml", "backend", "word", "parameters"],
)
def test_other_texts_with_the_same_words_are_left_alone(text: str) -> None:
    assert scan(FORMAT, text) == []


def test_the_configuration_that_the_server_gives_as_json() -> None:
    document = {
        "name": "resnet",
        "backend": "onnxruntime",
        "max_batch_size": 8,
        "input": [{"name": "IN", "dims": ["-1"]}],
        "output": [{"name": "OUT", "dims": ["-1"]}],
        "dynamic_batching": {"preferred_batch_size": [8], "max_queue_delay_microseconds": "20000"},
        "instance_group": [{"kind": "KIND_CPU", "count": 2, "gpus": []}],
        "model_warmup": [],
    }
    found = values(scan(JSON_FORMAT, "$ curl\n" + json.dumps(document)))
    assert found["serve.max_queue_delay_seconds", MODEL] == pytest.approx(0.02)
    assert found["serve.instance_count", MODEL] == 2
    assert found["serve.warmup_configured", MODEL] is False
    assert found["serve.variable_shapes", MODEL] is True


def test_a_file_is_named_by_its_folder_where_it_does_not_say() -> None:
    config = from_text("max_batch_size: 4\n", "folder")
    assert config is not None
    assert config.entity().path == "server:this/model:folder"
    assert config.whole
    assert from_text("nothing of the kind", "folder") is None


def test_deep_and_endless_messages_end() -> None:
    assert parse("input { " * 5000, 0, FIELDS).wrong or parse("input { " * 5000, 0, FIELDS).cut
    assert scan(FORMAT, "input [\n" * 20_000) == []
