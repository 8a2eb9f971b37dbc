"""Metrics and logs of TensorFlow Serving and Ray Serve become the facts that other servers give."""

from __future__ import annotations

import pytest

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.framework_log import FORMAT as LOG
from gpuwhy.probes.artefacts.framework_metrics import FORMATS
from gpuwhy.probes.artefacts.read import gather
from tests.probes.artefacts.helpers import claimed, scan, values

TENSORFLOW, RAY = FORMATS
LOADED = "server:this/model:m/load:since the start"
SERVER = "server:this"


def tensorflow(requests: int, latency: int, run: int, queue: int = 0, batches: int = 0, rows: int = 0) -> str:
    lines = [
        "# TYPE :tensorflow:serving:request_count counter",
        f':tensorflow:serving:request_count{{model_name="m",status="OK"}} {requests}',
        ':tensorflow:serving:request_count{model_name="m",status="Unavailable"} 2',
        ':tensorflow:serving:request_latency_bucket{model_name="m",API="Predict",entrypoint="GRPC",le="10"} 1',
        f':tensorflow:serving:request_latency_sum{{model_name="m",API="Predict",entrypoint="GRPC"}} {latency}',
        f':tensorflow:serving:runtime_latency_sum{{model_name="m",API="Predict",runtime="TF1"}} {run}',
    ]
    if queue:
        lines.append(f":tensorflow:serving:batching_session:queuing_latency_sum{{}} {queue}")
        lines.append(f":tensorflow:serving:batching_session:processed_batch_size_sum{{}} {rows}")
        lines.append(f":tensorflow:serving:batching_session:processed_batch_size_count{{}} {batches}")
    return "\n".join(lines) + "\n"


def test_means_of_tensorflow_serving_are_in_seconds() -> None:
    """10 requests in 200 ms, of which the model ran 150 ms, 50 ms of that waiting for a batch."""
    found = values(scan(TENSORFLOW, tensorflow(10, 200_000, 150_000, queue=50_000, batches=4, rows=10)))
    assert found["serve.software", SERVER] == "tensorflow-serving"
    assert found["serve.request_count", LOADED] == 10
    assert found["serve.failed_count", LOADED] == 2
    assert found["serve.server_latency_seconds", LOADED] == pytest.approx(0.020)
    assert found["serve.queue_seconds", LOADED] == pytest.approx(0.005)
    assert found["serve.compute_infer_seconds", LOADED] == pytest.approx(0.010)
    assert found["serve.batch_size_mean", LOADED] == 2.5
    assert found["serve.cumulative", LOADED] is True


def test_without_batching_there_is_no_queue_to_tell_of() -> None:
    found = values(scan(TENSORFLOW, tensorflow(10, 200_000, 150_000)))
    assert found["serve.compute_infer_seconds", LOADED] == pytest.approx(0.015)
    assert ("serve.queue_seconds", LOADED) not in found


def test_two_reads_tell_of_the_time_between_them() -> None:
    text = f"{tensorflow(10, 200_000, 150_000)}$ sleep 20\n{tensorflow(30, 400_000, 250_000)}"
    found = values(scan(TENSORFLOW, text))
    window = "server:this/model:m/load:window"
    assert found["serve.requests_per_second", window] == 1.0  # 20 in 20 s
    assert found["serve.server_latency_seconds", window] == pytest.approx(0.010)  # 200 ms over 20


RAY_TEXT = """\
ray_serve_deployment_processing_latency_ms_sum{application="chat",deployment="Model",replica="a"} 4000.0
ray_serve_deployment_processing_latency_ms_count{application="chat",deployment="Model",replica="a"} 80.0
ray_serve_deployment_processing_latency_ms_sum{application="chat",deployment="Model",replica="b"} 1000.0
ray_serve_deployment_processing_latency_ms_count{application="chat",deployment="Model",replica="b"} 20.0
ray_serve_deployment_error_counter_total{application="chat",deployment="Model",replica="b"} 3.0
ray_serve_deployment_queued_queries{application="chat",deployment="Model",handle="h"} 7.0
ray_serve_http_request_latency_ms_sum{application="chat",route="/",method="POST",status_code="200"} 20000.0
"""
OF_RAY = "server:this/model:Model/load:since the start"


def test_replicas_of_ray_serve_are_added_up() -> None:
    """100 calls took 5 s in the replicas and 20 s at the proxy."""
    found = values(scan(RAY, RAY_TEXT))
    assert found["serve.software", SERVER] == "ray-serve"
    assert found["serve.request_count", OF_RAY] == 100
    assert found["serve.failed_count", OF_RAY] == 3
    assert found["serve.compute_infer_seconds", OF_RAY] == pytest.approx(0.050)
    assert found["serve.server_latency_seconds", OF_RAY] == pytest.approx(0.200)
    assert found["serve.pending_count", OF_RAY] == 7


def test_the_time_of_a_route_with_several_deployments_belongs_to_none() -> None:
    other = 'ray_serve_deployment_queued_queries{application="chat",deployment="Router",handle="h"} 0.0\n'
    assert ("serve.server_latency_seconds", OF_RAY) not in values(scan(RAY, RAY_TEXT + other))


LOADS = """\
2026-11-30 02:15:01.1: I tensorflow_serving/core/loader_harness.cc:71] Loading servable version {name: m version: 1}
2026-11-30 02:15:02.1: I external/tf/cc/saved_model/loader.cc:301] SavedModel load for tags { serve }; Status: success: OK. Took 708801 microseconds.
2026-11-30 02:15:02.2: I tensorflow_serving/servables/x.cc:60] No warmup data file found at /models/m/1/assets.extra/tf_serving_warmup_requests
2026-11-30 02:15:02.3: I tensorflow_serving/core/loader_harness.cc:95] Successfully loaded servable version {name: m version: 1}
2026-11-30 03:15:02.3: I tensorflow_serving/core/loader_harness.cc:95] Successfully loaded servable version {name: m version: 2}
"""  # noqa: E501


def test_a_log_of_tensorflow_serving_tells_loads_and_warm_up() -> None:
    extracts = scan(LOG, LOADS)
    found = values(extracts)
    model = "server:this/model:m"
    assert found["serve.load_count", model] == 2
    assert found["serve.reload_count", model] == 1
    assert found["serve.warmup_configured", model] is False
    assert found["serve.load_seconds", "server:this/model:this"] == pytest.approx(0.708801)
    assert claimed(extracts) == {1, 2, 3, 4, 5}


def test_a_log_of_ray_serve_tells_the_latency_at_proxy_and_replica() -> None:
    lines = [
        *(
            f"INFO 2026-11-30 02:15:0{n},100 chat_Model ab12cd34 0f-{n} / replica.py:749 - __CALL__ OK 10.0ms"
            for n in (1, 2)
        ),
        "INFO 2026-11-30 02:15:01,100 proxy 10.0.0.1 0f-1 / proxy.py:1128 - POST 200 20.0ms",
        "INFO 2026-11-30 02:15:02,100 proxy 10.0.0.1 0f-2 / proxy.py:1128 - POST 503 40.0ms",
    ]
    found = values(scan(LOG, "\n".join(lines)))
    of = "server:this/model:chat_Model/load:log"
    assert found["serve.compute_infer_seconds", of] == pytest.approx(0.010)
    assert found["serve.server_latency_seconds", of] == pytest.approx(0.030)
    assert (found["serve.request_count", of], found["serve.failed_count", of]) == (2, 1)


def test_a_queue_that_takes_most_of_the_time_is_found() -> None:
    text = tensorflow(100, 20_000_000, 19_000_000, queue=17_000_000, batches=100, rows=100)
    gathered = gather([("metrics", text.encode())], load().facts)
    found = diagnose(load(), FactBase.of(gathered.facts, gathered.absent), ask=False)
    assert "serve.queue-saturated" in {one.id for one in found.asserted}
