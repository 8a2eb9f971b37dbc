"""Logs of model servers, request traces, stages of a handler, start-up times."""

from __future__ import annotations

import pytest

from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts import serve_stages, serving_log, triton_trace
from gpuwhy.probes.artefacts.read import gather
from tests.probes.artefacts.helpers import scan, values

LOG = "server:this/model:this/load:log"
LIFE = """\
I0611 03:12:04.100000 1 model_lifecycle.cc:461] "loading: ranker:7"
I0611 03:12:09.600000 1 model_lifecycle.cc:838] "successfully loaded 'ranker'"
I0611 03:12:10.000000 1 grpc_server.cc:2463] "Started GRPCInferenceService at 0.0.0.0:8001"
I0611 03:41:10.000000 1 model_lifecycle.cc:461] loading: ranker:8
I0611 03:41:16.500000 1 model_lifecycle.cc:838] successfully loaded 'ranker'
I0611 03:41:16.600000 1 model_lifecycle.cc:622] successfully unloaded 'ranker' version 7
E0611 03:41:17.000000 1 model_lifecycle.cc:638] failed to load 'other' version 1: Internal: no such file
| model_control_mode               | MODE_POLL |
"""


def test_loads_and_reloads_are_counted_and_timed() -> None:
    read = values(scan(serving_log.FORMAT, LIFE))
    ranker = "server:this/model:ranker"
    assert read[("serve.load_count", ranker)] == 2
    assert read[("serve.reload_count", ranker)] == 1
    assert read[("serve.unload_count", ranker)] == 1
    assert read[("serve.load_seconds", ranker)] == 6.5  # 5.5 s and 6.5 s
    assert read[("serve.load_error", "server:this/model:other")] == "Internal: no such file"
    assert read[("serve.control_mode", "server:this")] == "poll"


def test_an_engine_built_after_the_server_was_ready_is_built_while_serving() -> None:
    built = "[TensorRT EP] TensorRT engine build for TRTKernel_0 took: 219780ms\n"
    this = "server:this/model:this"
    before = values(scan(serving_log.FORMAT, built))
    assert before[("serve.engine_build_seconds", this)] == 219.78
    assert ("serve.engine_built_while_serving", this) not in before
    after = values(scan(serving_log.FORMAT, "Started HTTPService at 0.0.0.0:8000\n" + built))
    assert after[("serve.engine_built_while_serving", this)] is True


@pytest.mark.parametrize(
    "line",
    [
        "[0/1] [__recompiles] Recompiling function forward in /app/model.py:88",
        "W0711 torch._dynamo hit config.recompile_limit (8)",
        "Building a new TensorRT engine for TRTEngineOp_0_0 with input shapes: [[4,224,224,3]]",
    ],
)
def test_compiling_again_for_a_shape_is_seen(line: str) -> None:
    assert values(scan(serving_log.FORMAT, line))[("serve.recompiled_for_shape", "server:this/model:this")] is True


def test_metrics_of_torchserve_are_averaged() -> None:
    text = (
        "2024-03-08T08:44:35,261 [INFO ] W-9003-m TS_METRICS - QueueTime.ms:0|#Level:Host|#hostname:h,timestamp:17\n"
        "2024-03-08T08:44:36,261 [INFO ] W-9003-m TS_METRICS - QueueTime.Milliseconds:300.0|#Level:Host|#hostname:h\n"
        "2024-03-08T08:44:36,261 [INFO ] W-9003-m MODEL_METRICS - PredictionTime.ms:50.0|#ModelName:m,Level:Model\n"
    )
    read = values(scan(serving_log.FORMAT, text))
    assert read[("serve.queue_seconds", LOG)] == 0.15
    assert read[("serve.queue_max_seconds", LOG)] == 0.3
    assert read[("serve.queue_min_seconds", LOG)] == 0
    assert read[("serve.compute_infer_seconds", LOG)] == 0.05
    assert read[("serve.server_latency_seconds", LOG)] == 0.2


def test_a_request_in_a_verbose_log_is_timed() -> None:
    text = (
        "I1215 17:35:48.603000 1 onnxruntime.cc:2325] model m, instance m, executing 1 requests\n"
        "2021-12-15 17:35:48.604000 [I:onnxruntime:, sequential_executor.cc:155 Execute] Begin execution\n"
        "I1215 17:35:48.608000 1 infer_response.cc:165] add response output: output: O, type: FP32, shape: [1,8]\n"
    )
    read = values(scan(serving_log.FORMAT, text))
    one = "server:this/model:this/load:verbose log"
    assert read[("serve.request_count", one)] == 1
    assert read[("serve.server_latency_seconds", one)] == pytest.approx(0.005)
    assert read[("serve.compute_infer_seconds", one)] == pytest.approx(0.004)


STAMPS = (
    ("HTTP_RECV_START", 1_000_000_000), ("REQUEST_START", 1_001_000_000), ("QUEUE_START", 1_002_000_000),
    ("COMPUTE_START", 1_005_000_000), ("COMPUTE_INPUT_END", 1_006_000_000), ("COMPUTE_OUTPUT_START", 1_026_000_000),
    ("COMPUTE_END", 1_028_000_000), ("REQUEST_END", 1_029_000_000), ("HTTP_SEND_END", 1_030_000_000),
)  # fmt: skip


@pytest.mark.parametrize("form", ["'{0}: {1}'", '{{"name":"{0}","ns":{1}}}'], ids=["list", "json"])
def test_a_traced_request_is_split_into_its_parts(form: str) -> None:
    read = values(scan(triton_trace.FORMAT, "[" + ", ".join(form.format(*stamp) for stamp in STAMPS) + "]"))
    trace = "server:this/model:this/load:trace"
    assert read[("serve.request_count", trace)] == 1
    assert read[("serve.queue_seconds", trace)] == 0.003
    assert read[("serve.compute_infer_seconds", trace)] == 0.02
    assert read[("serve.compute_output_seconds", trace)] == 0.002
    assert read[("serve.server_latency_seconds", trace)] == 0.028
    assert read[("serve.latency_mean_seconds", trace)] == 0.03


def test_stages_of_a_handler_are_compared() -> None:
    text = "handler timings\ndownload image: 412 ms\npreprocess: 88 ms\ninference: 100 ms\npostprocess: 400 ms\n"
    read = values(scan(serve_stages.FORMAT, text))
    handler = "server:this/model:this/load:handler"
    assert read[("serve.preprocess_seconds", handler)] == 0.5
    assert read[("serve.handler_share", handler)] == 0.9  # 900 of 1000 ms


def test_stages_of_a_training_run_are_none_of_a_handler() -> None:
    assert scan(serve_stages.FORMAT, "request Speed: 1.2ms preprocess: 4 ms, inference: 2 ms\n") == []
    assert scan(serve_stages.FORMAT, "preprocess: 4 ms, inference: 2 ms\n") == []


def test_start_up_times_per_version_are_read_with_what_their_title_says() -> None:
    text = (
        "| version | seconds | (onnx with TRT optimisation)\n| 22.05 | 205 |\n\n"
        "| version | seconds | (plans)\n| 22.05 | 4 |\n"
    )
    read = values(scan(serve_stages.FORMAT, text))
    assert read[("serve.load_seconds", "server:this/model:onnx with TRT optimisation 22.05")] == 205
    assert read[("serve.accelerator", "server:this/model:onnx with TRT optimisation 22.05")] == "tensorrt"
    assert ("serve.accelerator", "server:this/model:plans 22.05") not in read


def test_what_names_no_model_is_about_the_only_one_that_has_a_name() -> None:
    config = b'name: "bert"\nmax_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 5000 }\n'
    report = b"Request concurrency: 1\n  Server:\n    Inference count: 10\n    Execution count: 10\n"
    gathered = gather([("config.pbtxt", config), ("report.txt", report)], load().facts)
    assert {fact.entity.path for fact in gathered.facts if fact.id == "serve.execution_count"} == {
        "server:this/model:bert/load:concurrency 1"
    }


def test_the_pool_of_gpu_memory() -> None:
    line = (
        "I0121 22:12:18.27 1 cuda_memory_manager.cc:107] CUDA memory pool is created on device 2 with size 67108864\n"
    )
    found = {fact: value for (fact, _), value in values(scan(serving_log.FORMAT, line)).items()}
    assert found == {"serve.device_pool_bytes": 67108864, "serve.device_pool_gpu_index": 2}
