"""A sample of every format of model servers and their load generators, for fuzzing."""

from __future__ import annotations

SERVING = {
    "ray-serve-metrics": (
        'ray_serve_deployment_processing_latency_ms_sum{application="a",deployment="D",replica="r"} 5000.0\n'
        'ray_serve_deployment_processing_latency_ms_count{application="a",deployment="D",replica="r"} 100.0\n'
        'ray_serve_deployment_queued_queries{application="a",deployment="D"} 7.0\n'
        'ray_serve_http_request_latency_ms_sum{application="a",route="/"} 20000.0\n'
    ),
    "tensorflow-serving-metrics": (
        "# TYPE :tensorflow:serving:request_count counter\n"
        ':tensorflow:serving:request_count{model_name="m",status="OK"} 10\n'
        ':tensorflow:serving:request_latency_sum{model_name="m",API="Predict",entrypoint="GRPC"} 200000\n'
        ':tensorflow:serving:runtime_latency_sum{model_name="m",API="Predict",runtime="TF1"} 150000\n'
        ":tensorflow:serving:batching_session:queuing_latency_sum{} 50000\n"
    ),
    "serving-framework-log": (
        "2026-11-30 02:15:06.1: I tensorflow_serving/core/loader_harness.cc:95] Successfully loaded servable version "
        "{name: m version: 3}\n"
        "I external/org_tensorflow/tensorflow/cc/saved_model/loader.cc:301] SavedModel load for tags { serve }; "
        "Status: success: OK. Took 708801 microseconds.\n"
        "No warmup data file found at /models/m/3/assets.extra/tf_serving_warmup_requests\n"
        "INFO 2026-11-30 02:15:06,123 app_D abcd1234 0f-1 / replica.py:749 - __CALL__ OK 12.5ms\n"
        "INFO 2026-11-30 02:15:06,124 proxy 10.0.0.1 0f-1 / proxy.py:1128 - GET 200 20.5ms\n"
    ),
    "llm-serving": (
        "INFO 10-06 11:23:31 [loggers.py:127] Engine 000: Avg prompt throughput: 474.7 tokens/s, Avg "
        "generation throughput: "
        "9.8 tokens/s, Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 5.0%, Prefix cache hit rate: 0.0%\n"
        "[08:02:44 TP0] Decode batch, #running-req: 4, #token: 476, token usage: 0.90, gen throughput "
        "(token/s): 199.95, "
        "#queue-req: 6\n"
        'INFO generate{total_time="611.2ms" queue_time="127.337µs" inference_time="610.4ms" time_per_token="43.6ms"}\n'
        "llama_print_timings: prompt eval time = 2441.22 ms / 161 tokens (15.16 ms per token, 65.95 tokens "
        "per second)\n"
        "is preempted by PreemptionMode.RECOMPUTE total_cumulative_preemption_cnt=51 max_num_seqs=16\n"
    ),
    "llm-benchmark": (
        "============ Serving Benchmark Result ============\nSuccessful requests:     300\n"
        "Request throughput (req/s):    0.16\nMean TTFT (ms):    34710.68\nMedian TPOT (ms):   80.02\n"
        '{"mean_ttft_ms": 12.5, "request_throughput": 3.1}\n'
    ),
    "load-report": (
        "  12 threads and 400 connections\n    Latency   635.91us    0.89ms  12.92ms   93.69%\n"
        "  Latency Distribution\n     50%  250.00us\n     99%    5.80ms\nRequests/sec: 748.53\n"
        "http_req_duration....: avg=1.2s min=100ms med=1.1s max=3s p(90)=2s p(95)=2.5s\n"
        "Average Latency: 1947427us\nP99.9:   3921919us\nQPS:   100\n"
    ),
    "load-table": (
        "| Concurrency | Throughput (req/s) | p50 latency (ms) |\n|---|---|---|\n| 1 | 50 | 20 |\n| 8 | 100 | 80 |\n"
        "slots=1: agg_tok_per_s 94 ttft_p50_ms 4110.8 decode_p50 98\n"
    ),
    "latency-series": (
        "request 0: 5000 ms\nrequest 1: 52 ms\nrequest 2: 50 ms\nrequest 3: 51 ms\n"
        "first inference of a new shape: 20 s\nsecond inference of the same shape: 0.1 s\n"
        "interval 0.1 s: latency 2.1 ms\ninterval 1 s: latency 6.3 ms\nt=0 s throughput 1/s\nt=10 s throughput 2/s\n"
    ),
    "serving-log": (
        'I0611 03:12:04.120011 1 model_lifecycle.cc:461] "loading: ranker:7"\n'
        "I0611 03:12:09.880410 1 model_lifecycle.cc:838] \"successfully loaded 'ranker'\"\n"
        "I0611 03:41:16.501002 1 model_lifecycle.cc:838] \"successfully loaded 'ranker'\"\n"
        "[INFO ] W-9003 TS_METRICS - QueueTime.ms:19428|#Level:Host|#hostname:h,timestamp:1709887475\n"
        "[TensorRT EP] TensorRT engine build for TRTKernel_0 took: 219780ms\n"
        "[0/1] [__recompiles] Recompiling function forward in /app/model.py:88\n"
    ),
    "triton-trace": (
        '{"id":1,"timestamps":[{"name":"REQUEST_START","ns":2677179881078179},{"name":"REQUEST_END","ns":2677194957843118}]}'
        "\n['QUEUE_START: 2677179881099418', 'COMPUTE_START: 2677179881251532', 'COMPUTE_INPUT_END: "
        "2677179897650454',"
        " 'COMPUTE_OUTPUT_START: 2677189245581416', 'COMPUTE_END: 2677189252041470']\n"
    ),
    "serve-stages": (
        "handler timings\npreprocess: 96 ms\ninference: 18 ms\npostprocess: 7 ms\n"
        "| version | seconds | (onnx models with TRT optimisation)\n| 22.05 | 205 |\n"
    ),
    "triton-config": (
        'name: "resnet"\nplatform: "tensorrt_plan"\nmax_batch_size: 16  # of the engine\n'
        'input [ { name: "IN" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] } ]\n'
        "dynamic_batching {\n  preferred_batch_size: [ 4, 8 ]\n  max_queue_delay_microseconds: 500\n}\n"
        "instance_group [ { count: 2 kind: KIND_GPU gpus: [ 0, 1 ] } ]\n"
    ),
    "triton-config-json": (
        '{"name":"resnet","backend":"onnxruntime","max_batch_size":8,"input":[{"name":"IN","dims":[3,224,224]}],'
        '"dynamic_batching":{"max_queue_delay_microseconds":"100"},'
        '"instance_group":[{"kind":"KIND_GPU","count":1,"gpus":[0]}]}\n'
    ),
    "triton-metrics": (
        "# HELP nv_inference_request_success Number of successful inference requests, all batch sizes\n"
        "# TYPE nv_inference_request_success counter\n"
        'nv_inference_request_success{model="resnet",version="1"} 120\n'
        'nv_inference_request_failure{model="resnet",reason="REJECTED",version="1"} 3\n'
        'nv_inference_count{model="resnet",version="1"} 120\nnv_inference_exec_count{model="resnet",version="1"} 40\n'
        'nv_inference_request_duration_us{model="resnet",version="1"} 2400000\n'
        'nv_inference_queue_duration_us{model="resnet",version="1"} 1800000\n'
        'nv_inference_request_summary_us{model="resnet",version="1",quantile="0.99"} NaN\n'
        'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.25\nnv_gpu_power_usage{gpu_uuid="GPU-1"} 80.5\n'
    ),
    "triton-statistics": (
        '{"model_stats":[{"name":"resnet","version":"1","last_inference":1,"inference_count":12,"execution_count":4,'
        '"inference_stats":{"success":{"count":12,"ns":120000000},"fail":{"count":0,"ns":0},'
        '"queue":{"count":12,"ns":60000000},"compute_infer":{"count":12,"ns":50000000}},'
        '"batch_stats":[{"batch_size":3,"compute_infer":{"count":4,"ns":16000000}}]}]}\n'
    ),
    "perf-analyzer": (
        "perf_analyzer -m resnet\n  Batch size: 1\nRequest concurrency: 4\n  Client: \n    Request count: 99\n"
        "    Throughput: 19.8 infer/sec\n    Avg latency: 4512 usec (standard deviation 93 usec)\n    p50 "
        "latency: 4400 usec\n"
        "    Avg HTTP time: 4500 usec (send/recv 140 usec + response wait 4360 usec)\n  Server: \n    "
        "Inference count: 126\n"
        "    Avg request latency: 4100 usec (overhead 180 usec + queue 19 usec + compute input 72 usec + "
        "compute infer 34 usec)\n"
        "Concurrency: 4, throughput: 19.8 infer/sec, latency 4512 usec\n"
    ),
    "trtexec": (
        "[10/23/2024-07:55:37] [I] Throughput: 167.872 qps\n"
        "[10/23/2024-07:55:37] [I] Latency: min = 6.0 ms, max = 12 ms, mean = 6.3 ms, median = 6.1 ms, "
        "percentile(99%) = 11 ms\n"
        "[10/23/2024-07:55:37] [I] GPU Compute Time: min = 5.3 ms, max = 12 ms, mean = 5.5 ms, median = 5.4 ms\n"
        "[10/23/2024-07:55:37] [I] Total Host Walltime: 2.09 s\n"
        "[10/23/2024-07:55:37] [W] * GPU compute time is unstable, with coefficient of variance = 16.4%.\n"
    ),
    "triton-log": (
        'I1130 08:06:06.193812 8996 model_lifecycle.cc:472] "loading: echo:1"\n'
        "I1130 08:06:08.937053 8996 model_lifecycle.cc:839] \"successfully loaded 'echo'\"\n"
        "I1130 08:06:08.944530 8996 tritonserver.cc:2598] \n| model_control_mode | MODE_POLL |\n"
        'I1130 08:06:10.000000 8996 infer_request.cc:905] "[request id: 7] prepared: [0x0x7f] request id: 7, model: '
        'echo, requested version: -1, batch + shape: [1,3], shape: [3]\\noverride inputs:\\n"\n'
        'I1130 08:06:10.500000 8996 infer_response.cc:174] "add response output: output: OUT, shape: [1,3]"\n'
        "2024-05-20T12:00:01Z E 1 model_lifecycle.cc:621] failed to load 'bad' version 1: Internal: no such file\n"
    ),
}
