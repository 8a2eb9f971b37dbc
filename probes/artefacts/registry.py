"""The formats that are understood, with the literals that tell one may be present; modules are imported on need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import FileFormat, TextFormat


@dataclass(frozen=True)
class Entry:
    """One parser module: the formats it holds, and what must be there for one of them to be present.

    `hints` are lower-case literals of a text, `marks` are bytes in the beginning of a file; one of them is enough.
    """

    module: str
    hints: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()

    def formats(self) -> tuple[TextFormat | FileFormat, ...]:
        """The module's formats."""
        module = import_module(f"gpuwhy.probes.artefacts.{self.module}")
        several: tuple[TextFormat | FileFormat, ...] | None = getattr(module, "FORMATS", None)
        return several if several is not None else (module.FORMAT,)


# fmt: off
TEXT_ENTRIES: tuple[Entry, ...] = (
    Entry("allocator_settings", ("alloc_conf", "max_split_size_mb", "expandable_segments",
        "garbage_collection_threshold", "set_allocator_settings", "xla_python_client", "tf_force_gpu_allow_growth",
        "tf_gpu_allocator", "allow_growth", "set_memory_growth", "per_process_gpu_memory_fraction",
        "set_per_process_memory_fraction", "cachingallocator")),
    Entry("bandwidth_tests", ("bandwidthtest", "device bandwidth", "host bandwidth", "access peer device", "p2p=",
        "p2p connectivity", "peer access from", "peer-to-peer (p2p) access", "can_device_access_peer",
        "candeviceaccesspeer", "_by_dma", "_by_sm")),
    Entry("bare_rows", ("mib /", "mib/", "mb /", "mb/")),
    Entry("collective_timeouts", ("collective", "last enqueued", "lagging rank", "missing ranks",
        "_mismatch", "clients joined",
        "socket has timed out", "watchdog", "by peer", "by remote peer", "connection", "barrier", "store->get",
        "rendezvous", "c10d store", "broken pipe",
        "remote process exited", "net/ib", "application crash on rank 0", "timeout check failed",
        "connect to", "connecting to")),
    Entry("comparisons", ("gpu", "node", "torch", "+cu", "cudnn", "tensorflow", "mxnet", "driver", "graph",
        "dataloader", "num_threads", "cuda_visible_devices", "ms/iter")),
    Entry("dcgm_dmon", ("#entity", "# entity", "#  entity")),
    Entry("dcgm_messages", ("violations total", "pcie replay", "fail - gpu", "pass - gpu", "overall health",
        "health monitor report", "row remap", "page retirement", "nvlink error", "nvlink link",
        "\"test_categories\"", "dcgm")),
    Entry("env_messages", ("cuda", "nvidia", "nvrm", "nvml", "gpu", "torch", "driver", "libcu", "bf16", "fp8",
        "anomaly", "mps ", "jaxlib", "fabric manager", "nvlsm", "cudnn")),
    Entry("env_versions", ("torch", "cuda", "driver version", "kernel module", "cudnn", "release ", "gpu models and",
        "nvidia-")),
    Entry("fabric_manager", ("nvswitch", "fabric manager", "fabricmanager", "multicast team", "multicast group")),
    Entry("framework_log", ("servable version {", "savedmodel load for tags", "no warmup data file", "replica.py:",
        "proxy.py:")),
    Entry("framework_metrics", (":tensorflow:serving:", "serve_deployment_", "serve_http_request_latency",
        "serve_replica_")),
    Entry("framework_messages", ("gpu available", "ultralytics", "yolov", "device", " cpu", "launch_blocking",
        "offload", "mixed precision", "tensor cores", "grid size", "many workers", "cpuexecutionprovider",
        "tf32", "matmul_precision")),
    Entry("framework_versions", ("tensorflow", "jaxlib", "cudnn", "os platform", "windows 1", "wsl")),
    Entry("framework_oom", ("out of memory", "out_of_memory", "alloc_failed", "allocation_failed",
        "_status_not_initialized", "create cudnn handle", "create cublas handle", "cudaerrormemoryallocation",
        "hiperroroutofmemory", "bad_alloc", "memoryerror", "unable to allocate", "pinned host memory",
        "pinned memory", "cudahostalloc", "cudamallochost", "cudahostregister", "cannot allocate memory",
        "paging file is too small", "winerror 1455", "os error 1455", "out of gpu memory", "gpu memory usage",
        "allocator usage", "memory pool usage", "cuda error in", "error allocating", "leave no gpu memory",
        "that was not possible", "oom when allocating", "resource_exhausted", "in-use chunks", "maxinuse",
        "failed to allocate", "failed to cuda", "available memory of", "requested amount of gpu memory", "outofmemory",
        "no available memory for the cache blocks", "stored in kv cache", "kv cache is needed",
        "available kv cache memory", "free memory on device", "kv cache space", "kv cache pool is full",
        "not enough memory", "no enough gpu memory", "memory allocation of size", "ggml-cuda",
        "not enough space in the context", "out-of-memory", "of device memory", "of video memory", "of host memory",
        "of system memory", "of_device_memory", "of_host_memory", "outofdevicememory", "outofhostmemory",
        "cannot allocate", "can't allocate", "could not allocate", "couldn't allocate", "failed allocating",
        "failure allocating", "be allocated", "allocation", "alloc failed", "alloc fail", "malloc", "n't enough",
        "not enough", "insufficient", "exhausted", "more memory", "more vram", "more system memory",
        "more gpu memory", "oom")),
    Entry("gpu_burn", ("tested ",)),
    Entry("gpu_comparisons", ("a100", "h100", "h200", "v100", "p100", "t4", "a10", "l4", "rtx", "gtx", "k80", "3090",
        "4090", "2080", "a40", "b200", "a800", "h800", "a6000", "5090", "3080", "l20", "h20", "a30", "a16", "a2", "m60",
        "m40", "p4", "titan")),
    Entry("gpu_digest", ("kernels", "launches")),
    Entry("gpu_scaling", ("gpus", "node", "gpu ", "gpu\t", "gpu|", "gpu,", "ranks", "world", "speedup", "speed-up",
        "scaleup", "scale-up", "nodes", "devices", "单卡", "双卡", "多卡", "张卡", "加速比",
        "卡的")),
    Entry("gpu_metrics", ("dcgm_", "nvidia_smi_")),
    Entry("gpustat", ("mb |", "mb|", " mb")),
    Entry("hardware_messages", ("uncorrectable ecc", "eccuncorrectable", "ecc_uncorrectable", "ecc uncorrectable")),
    Entry("host_cpu", ("load average", "cpu(s)", "command", " cmd", "%iowait", "cpu(s):")),
    Entry("host_disk", ("/dev/shm", "filesystem", "mounted on", "% /", "avg-cpu", "device", "sysstat")),
    Entry("host_kills", ("killed process", "oom-kill", "oom_kill", "oomkilled", "invoked oom-killer",
        "out of memory: kill", "cgroup out of memory", "oom killer", "oom-killer", "exceeded job memory limit",
        "exceeded step memory limit", "exceeded memory limit", "slurm_script", "mem-per-cpu", "cpus-per-task",
        "#sbatch", "systemd-oomd", "out_of_me", "memory limit", "--memory")),
    Entry("host_limits", ("avg10=", "open files", "max locked memory", "max user processes", "real", "elapsed")),
    Entry("host_memory", ("buff/cache", "buffers", "memtotal:", "memavailable:", "memfree:", "swpd")),
    Entry("host_storage", ("iops=", "bw=", "\"fio version\"", "copied, ", "timing ")),
    Entry("kernel_log", ("xid", "fallen off the bus", "rminitadapter", "rm_init_adapter", "nvrm:")),
    Entry("kernel_pcie", ("pcie bus error", "aer:", "available pcie bandwidth")),
    Entry("latency_series", ("infer", "request", "latency", "predict", "response", "query", "throughput", "first",
        "warm", "sleep", "interval", "qps", "req ", "session.run", "took",
        " cost:")),
    Entry("llm_benchmark", ("ttft", "tpot", "time to first token", "inter token latency", "request throughput",
        "output token throughput")),
    Entry("llm_serving", ("avg generation throughput", "#running-req", "queue_time=", "eval time =", "preempt",
        "max_num_seqs", "max-num-seqs", "n_slots", "n_parallel", "max_running_requests", "graph capturing finished",
        "torch.compile takes", "init engine", "num_requests_", "num_running_reqs", "num_queue_reqs",
        "requests_processing", "requests_deferred", "tgi_batch_current_size", "tgi_queue_size", "cache_usage_perc")),
    Entry("load_report", ("latency", "percentile", "p99", "tp99", "99%", "http_req", "response time", "requests/sec",
        "requests per second", "qps", "p95", "p50", "p(95)", "latencies")),
    Entry("job_efficiency", ("gpu utilization", "gpu memory usage", "efficiency:", "gpu-util", "gpu-mem", "gpu_util",
        "gpu_mem", "(gpu ")),
    Entry("lspci", ("lnkcap", "lnksta", "_link_speed", "_link_width", "pcie gen", "nvidia corporation")),
    Entry("launcher_failures", ("exitcode", "noticed that process rank", "srun: error", "terminated with",
        "root cause (first", "killed")),
    Entry("loader_errors", ("dataloader", "bus error", "shared memory", "too many open files", "</torch_",
        "/dev/shm", "max number of worker", "shm-size", "received 0 items of ancdata")),
    Entry("machine_types", ("xlarge", ".large", ".metal", "ecs.", "gpu-", "g2-standard-", "standard_n")),
    Entry("memory_figures", ("blocks: ", "kv cache", "model length", "seq_len", "seq-len", "model_len",
        "model-len", "seq len", "utilization", "mem_fraction", "mem-fraction", "parallel_size", "parallel-size",
        "max_num_", "max-num-", "weights took", "loading took", "weights take", "graph capturing", "layers to gpu",
        "ngl ", "gpu_layers", "gpu-layers", "n_ctx", "kv self size", "buffer size", "mig ", "maxallocsize",
        "memory_limit_", "mb memory", "chunks of size", " allocation:", "grid ", "nvidia a", "nvidia l",
        "nvidia h", "nvidia r", "nvidia t", "quadro rtx", "tesla ", "free  at ", "exit", " tokens",
        "load weight end", "memusagechange", "with properties")),
    Entry("memory_log", ("ram", "mem", "vram", "allocated", "reserved", "mib")),
    Entry("memory_summary", ("memory summary", "gpu reserved memory", "non-releasable memory", "active memory",
        "allocated memory", ".all.", "large_pool.", "small_pool.", "num_alloc_retries", "num_ooms", "reserved_m",
        "reserved_g", "reserved_b", "allocated_m", "allocated_g", "allocated_b")),
    Entry("model_placement", ("cpu/gpu", "% gpu", "% cpu", "size_vram", "layers.offload", "inference compute")),
    Entry("nccl_log", ("nccl", "net/ib", "net/socket", "net/plugin")),
    Entry("nccl_tests", ("avg bus bandwidth", "busbw", "float", "half", "double", "uint8", "int8", "bfloat16",
        "out of bounds values", "# using devices")),
    Entry("ncu", ("gpu speed of light", "metric value", "__throughput.avg", "compute (sm) throughput", "sol sm",
        "gpu__time_duration", "achieved occupancy", "dram throughput")),
    Entry("network_links", ("carrier", "link is ", "link down", "link up", "ca '", "#bytes", " bw test", "bits/sec")),
    Entry("nsys_stats", ("total time (ns)", "total time (", "cuda_gpu_kern_sum", "gpukernsum", "cuda_api_sum",
        "cudaapisum", "mem_time_sum", "gpumemtimesum", "mem_size_sum", "gpumemsizesum", "osrt_sum", "osrtsum",
        "cuda kernel statistics", "cuda api statistics")),
    Entry("nvbandwidth", ("memcpy_ce", "memcpy_sm", "memcpy ce", "memcpy sm", "memcpy_read_", "memcpy_write_",
        "_to_all_", "all_to_")),
    Entry("nvprof", ("gpu activities:", "api calls:", "==profiling result", "profiling result:", "time(%)",
        "[cuda memcpy", "culaunchkernel", "cudalaunch")),
    Entry("perf_analyzer", ("request concurrency:", "request rate:", "infer/sec", "avg request latency",
        "inference count:", "execution count:", "inferences/second", "avg http time", "avg grpc time")),
    Entry("precision_table", ("fp32", "float32", "full precision", "tf32")),
    Entry("profiler_lightning", ("mean duration",)),
    Entry("python_traceback", ("traceback (most recent call last)", ", line ", "error: ", "exception: ",
        "keyboardinterrupt", "error\n")),
    Entry("pytorch_oom", ("tried to allocate", "total capac", "cuda out of memory", "hip out of memory",
        "xpu out of memory", "mps backend out of memory", "outofmemoryerror", "but unallocated",
        "would exceed allowed memory", "cudacachingallocator")),
    Entry("reported", ("busbw", "bus bandwidth",
        "load", "first", "initial", "wait", "data", "util", "memory", "vram", "epoch", "step",
        "iteration", "gpu", "nccl_p2p", "acs", "iommu", "hang", "stuck", "freez", "power cap", "power_cap", "mhz",
        "ram", "synchroni", "communicat", "allreduce", "all-reduce", "aggregation", "nccl", ".item(", ".cpu(",
        "exchange", "throttl", "hot", "overheat", "warm", "hung", "deadlock", "servers", "instances", "processes",
        "bf16", "fp8", "bfloat16", "float8",
        "slow", "train", "latenc", "p9", "inference", "response", "prompt", "ollama", "llm", "zero",
        "deepspeed", "fsdp", "offload", "node", "machines", "训练", "推理", "显存", "显卡", "掉卡", "驱动",
        "内存", "延迟", "卡住", "多卡")),
    Entry("serve_stages", ("preproc", "pre-proc", "pre_proc", "postproc", "post-proc", "post_proc", "download",
        "decode", "tokeniz", "| seconds", "seconds |", "startup", "start-up", "load time")),
    Entry("serve_tables", ("concurren", "batch", "clients", "slots", "users", "rate", "threads", "connections",
        "parallel", "in-flight", "in flight")),
    Entry("serving_log", ("loading:", "loaded '", "unloaded '", "pinned memory pool", "cuda memory pool",
        "pinned system memory",
        "model_control_mode", "model-control-mode", "repository-poll-secs", "ts_metrics", "model_metrics", "queuetime",
        "predictiontime", "building engine", "engine build", "tensorrt engine", "recompil", "executing 1 requests",
        "gpu metrics will not", "waiting time ns", "exceeds maximum queue size", "_limit", "ts_queue_latency")),
    Entry("smi_csv", ("--query-gpu", "--query-compute-apps", "utilization.", "memory.total", "memory.used",
        "memory.free", "memory.reserved", "temperature.", "clocks.", "clocks_event_reasons",
        "clocks_throttle_reasons", "power.", "pcie.link", "ecc.", "used_gpu_memory", "retired_pages.",
        "remapped_rows.", "driver_version", "pci.bus_id", "fan.speed", "mig.mode", "gpu_uuid")),
    Entry("smi_dmon", ("# gpu", "#gpu", "#time", "#date", "# time", "# date")),
    Entry("smi_errors", ("nvidia-smi", "nvml", "no devices were found", "unable to determine the device handle",
        "inforom", "valid field", "gpu is lost")),
    Entry("smi_list", ("(uuid: ",)),
    Entry("smi_nvlink", ("link 0:", "link 1:", "all links are inactive", ": <inactive>", "replay errors:",
        "recovery errors:")),
    Entry("smi_query", ("nvsmi log", "attached gpus", "event reasons", "throttle reasons", "memory usage",
        "ecc errors", "retired pages", "remapped rows", "power readings", "link width", "pcie generation",
        "utilization samples", "current temp", "slowdown temp", "t.limit temp", "max clocks",
        "applications clocks", "sw power cap", "hw slowdown", "hw thermal slowdown", "hw power brake slowdown",
        "sw thermal slowdown", "remapping failure occurred", "pending page blacklist", "replays since reset",
        "used gpu memory", "mig mode", "performance state", "power draw", "utilization", "clocks", "mig device",
        "process id", "power limit", "dram ", "bit ecc", "virtualization mode", "reset required", "recovery action")),
    Entry("smi_table", ("nvidia-smi ", "mib /", "mib |", "pwr:usage/cap", "gpu memory", "w /", "n/a |", "| n/a ",
        "disp.a", "off |", "on |")),
    Entry("smi_xml", ("<nvidia_smi_log", "<gpu id=")),
    Entry("stated_change", ("upgrad", "switch", "mov", "migrat", "changed", "replac", "swapped", "换", "升级", "迁移")),
    Entry("stated_figures", ("util", "usage", "cpu", "load", "worker", "batch", "step", "iter", "vram", "gpu mem",
        "nvidia-smi", "cores", "利用率", "使用率", "占用", "显存", "数据加载", "跑满", "打满")),
    Entry("stated_first_token", ("ttft", "first token", "first-token", "首token", "首字", "首 token")),
    Entry("stated_latency", ("queue", "queuing", "排队")),
    Entry("stated_link", ("x16", "x 16", "16 lanes", "x8 ", "8 lanes", "lanes instead", "×16")),
    Entry("stated_memory", ("sheet", "spec", "advertised", "supposed", "should ", "expect", "instead of", "rather than",
        "on paper", "but ", "sold ", "marketed", "documented", "out of", "of the", "not the", "missing")),
    Entry("stated_model", ("llama", "vicuna", "alpaca", "qwen", "qwq", "baichuan", "glm", "mistral", "falcon", "bloom",
        "gpt", "pythia", "deepseek", "internlm", "gemma", "starcoder", "wizard", "galactica", "llava", "minicpm",
        "hunyuan", "nemotron", "mamba", "rwkv", "olmo", "granite", "b model", "b-model", "b param", "b-param", "b llm",
        "b模型", "b参数")),
    Entry("step_log", ("epoch", "iter", "step", "batch", "it/s", "s/it", "data_time", "dataloader workers",
        "samples per second", "train_runtime", "gpu ram", "gpu mem", "free mem", "vram", "|net ", "eta:")),
    Entry("superbench_monitor", ('"gpu_usage:0"', '"gpu_temperature:0"', '"gpu_mem_used:0"')),
    Entry("topology_matrix", ("gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7", "cpu affinity")),
    Entry("torch_profiler_table", ("self cpu", "cpu total", "cuda total", "cpu time", "cuda time", "# of calls",
        "number of calls", "aten::", "autograd::", "profilerstep", "cudalaunchkernel", "evaluate_function",
        "enumerate(dataloader)")),
    Entry("triton_config", ("max_batch_size", "dynamic_batching", "sequence_batching", "ensemble_scheduling",
        "instance_group", "model_warmup", "model_transaction_policy", "response_cache", "version_policy",
        "\"max_batch_size\"", "\"dynamic_batching\"", "\"ensemble_scheduling\"", "\"instance_group\"")),
    Entry("triton_log", ("model_lifecycle", "successfully loaded '", "successfully unloaded '", "failed to load '",
        "model_control_mode", "tritonserver.cc", "infer_request.cc", "pinned memory pool", "model_repository_manager",
        "dcgm")),
    Entry("triton_metrics", ("nv_inference_",)),
    Entry("triton_statistics", ("\"model_stats\"", "\"inference_stats\"")),
    Entry("triton_trace", ("request_start", "queue_start", "compute_start", "compute_input_end")),
    Entry("trtexec", ("gpu compute", "enqueue time", "trtexec", "engine built in", "h2d latency", "host latency",
        "gpu latency")),
)
# fmt: on

FILE_ENTRIES: tuple[Entry, ...] = (
    Entry("bug_report", marks=(b"Start of NVIDIA bug report log file",)),
    Entry("fact_file", marks=(b'"gpuwhy-facts"',)),
    Entry("flight_recorder", marks=(b"collective_seq_id", b"pg_config")),
    Entry("kineto", marks=(b'"traceEvents"', b'"schemaVersion"', b'"ph"')),
    Entry("memory_snapshot", marks=(b"total_size", b"device_traces", b"segment_type")),
    Entry("nvbandwidth", marks=(b'"nvbandwidth"',)),
    Entry("nsys_sqlite", marks=(b"SQLite format 3",)),
    Entry(
        "superbench",
        marks=(
            b"kernel-launch",
            b"mem-bw",
            b"gemm-",
            b"copy-bw",
            b"ccl-bw",
            b"nvbandwidth",
            b"ib-",
            b"disk-benchmark",
            b"gpu-burn",
            b"_models",
            b"diagnosis/",
            b"monitor/gpu_",
            b"gpu-stream",
            b"-inference",
            b"matmul",
            b"cublas",
            b"cudnn",
            b"cpu-memory-bw",
        ),
    ),
    Entry("smi_xml", marks=(b"nvidia_smi_log", b"n\0v\0i\0d\0i\0a\0_\0s\0m\0i")),
    Entry("xprof_pages", marks=(b'"cols"',)),
)

FALLBACK_ENTRIES: tuple[Entry, ...] = (Entry("labelled"),)


def text_formats(lowered: str) -> Iterator[TextFormat]:
    """Formats that may be present in a text, given in lower case."""
    for entry in TEXT_ENTRIES:
        if any(hint in lowered for hint in entry.hints):
            for one in entry.formats():
                if isinstance(one, TextFormat) and any(hint in lowered for hint in one.hints):
                    yield one


def fallback_formats() -> Iterator[TextFormat]:
    """Formats that see only the lines nobody else understood."""
    for entry in FALLBACK_ENTRIES:
        yield from (one for one in entry.formats() if isinstance(one, TextFormat))


def file_format(head: bytes, name: str) -> FileFormat | None:
    """The whole-file format of a file with this beginning, if it is one of them."""
    for entry in FILE_ENTRIES:
        possible = not entry.marks or any(mark in head for mark in entry.marks)
        for one in entry.formats() if possible else ():
            if isinstance(one, FileFormat) and one.accepts(head, name):
                return one
    return None


def all_formats() -> Iterable[TextFormat | FileFormat]:
    """Every format, for listing."""
    for entry in (*FILE_ENTRIES, *TEXT_ENTRIES, *FALLBACK_ENTRIES):
        yield from entry.formats()
