"""Failures as model servers and llama.cpp word them."""

from __future__ import annotations

from gpuwhy.probes.artefacts.wordings import wording

SERVING = (
    wording("vllm", r"\bNo available memory for the cache blocks\b", during="key-value-cache"),
    wording(
        "vllm",
        r"\bmax seq len \([0-9]{1,9}\) is larger than the maximum number of tokens that can be stored in KV cache\b",
        during="key-value-cache",
    ),
    wording(
        "vllm",
        r"\b<request> KV cache is needed, which is larger than the available KV cache memory \(<free>\)",
        during="key-value-cache",
    ),
    wording(
        "vllm",
        r"\bFree memory on device(?: (?:cuda:)?<device>)? \((?P<free_gib>[0-9.]{1,10})/<capacity>\) on startup "
        r"is less than desired GPU memory utilization \([0-9.]{1,6}, <request>\)",
        during="load",
    ),
    wording("vllm", r"\bCUDA out of memory occurred when warming up sampler\b", during="profiling"),
    wording(
        "other",
        r"\bNot enough memory\. Please try (?:to )?increas(?:e|ing) --mem-fraction-static\b",
        during="key-value-cache",
    ),
    wording("other", r"\bLoaded weights leave no GPU memory for the KV cache\b", during="key-value-cache"),
    wording("other", r"\bKV cache pool is full\. Retract requests\b", during="key-value-cache", recovered=True),
    wording("other", r"\bNot enough memory to handle [0-9]{1,9} (?:total|prefill) tokens\b", during="profiling"),
    wording("other", r"\bNo enough gpu memory for runtime\b", during="key-value-cache"),
)

GGML = (
    wording("ggml", r"\ballocating <request> on device <device>: cudaMalloc failed: out of memory\b"),
    wording("ggml", r"\bfailed to allocate (?:CUDA|ROCm|HIP|Vulkan|SYCL)<device> buffer of size <request>"),
    wording("ggml", r"\bfailed to allocate (?:CUDA|ROCm|HIP|Vulkan|SYCL)<device> buffer\b"),
    wording(
        "other",
        r"\bggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size <request>",
        host_allocation=True,
    ),
    wording("other", r"\bfailed to allocate CPU\w{0,12} buffer(?: of size <request>)?", host_allocation=True),
    wording("ggml", r"\bDevice memory allocation of size <request> failed\b"),
    wording("ggml", r"\bfailed to allocate <request> of pinned memory\b", host_allocation=True, recovered=True),
    wording(
        "ggml",
        r"\bCUDA error: out of memory\s{1,20}(?:[^\n]{0,80}\b)?current device: <device>, in function \w{1,60} at "
        r"[^\n]{1,200}?:<source_line>\b",
    ),
    wording("ggml", r"\bCUDA error <code> at [^\n]{1,200}?ggml-cuda[^\n:]{0,20}:<source_line>: out of memory\b"),
    wording(
        "ggml",
        r"\bggml-cuda[^\s:]{0,20}:<source_line>: CUDA error\b"
        r"(?=(?:[^\n]{0,300}\n){1,12}?[^\n]{0,300}ggml_cuda_pool_\w{1,12}alloc)",
        implied=True,
    ),
    wording("ggml", r"\bfailed to allocate (?:buffer )?for (?:the )?(?:kv|KV) ?cache\b", during="key-value-cache"),
    wording("ggml", r"\bfailed to allocate compute (?:pp )?buffers?\b"),
    wording(
        "ggml",
        r"\bnot enough space in the context's memory pool \(needed <request>, available <free>\)",
        host_allocation=True,
    ),
)
