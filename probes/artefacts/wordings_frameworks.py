"""Failures as TensorFlow, JAX, ONNX Runtime, TensorRT, Paddle and MXNet word them."""

from __future__ import annotations

from gpuwhy.probes.artefacts.wordings import wording

TENSORFLOW = (
    wording(
        "tensorflow",
        r"\bran out of memory trying to allocate <request>(?:\s{0,3}\(rounded to <rounded>\))?"
        r"[^\n]{0,200}?\bnot a failure\b",
        recovered=True,
    ),
    wording(
        "tensorflow",  # the pool of page-locked memory that TensorFlow copies through
        r"\bAllocator \(\w{0,20}_host_\w{0,20}\) ran out of memory trying to allocate <request>"
        r"(?:\s{0,3}\(rounded to <rounded>\))?",
        host_allocation=True,
    ),
    wording(
        "other",
        r"\bAllocator \((?:mkl)?cpu\w{0,12}\) ran out of memory trying to allocate <request>"
        r"(?:\s{0,3}\(rounded to <rounded>\))?",
        host_allocation=True,
    ),
    wording(
        "tensorflow",
        r"\bran out of memory trying to allocate <request>(?:\s{0,3}\(rounded to <rounded>\))?"
        r"(?![^\n]{0,200}not a failure)",
    ),
    wording(
        "other",
        r"\bOOM when allocating tensor (?:with|of) shape\s{0,2}\[(?P<shape>[0-9,\x20]{0,120})\]"
        r"(?: and type (?P<dtype>[a-z_]{1,16}[0-9]{0,3}))? on [^\s]{0,100}?CPU:[0-9]{1,3} by allocator (?:mkl)?cpu",
        host_allocation=True,
    ),
    wording(
        "tensorflow",
        r"\bOOM when allocating tensor (?:with|of) shape\s{0,2}\[(?P<shape>[0-9,\x20]{0,120})\]"
        r"(?: and type (?P<dtype>[a-z_]{1,16}[0-9]{0,3}))?(?: on [^\s]{0,100}?(?:GPU:<device>|CPU:[0-9]{1,3}))?",
    ),
    wording("tensorflow", r"\bfailed to allocate [0-9.]{1,12}[KMGT]? \(<request>\) from device\b", preallocation=True),
    wording("tensorflow", r"\bfailed to allocate <request> from device\b", preallocation=True),
    wording(
        "tensorflow",
        r"\bSum Total of in-use chunks: <allocated>(?:[^\n]{0,80}?\brequest\w{0,3} <request>)?",
        detail=True,
    ),
    wording(
        "tensorflow",
        r"(?:^|\n|\] |\s)Limit:\s{0,40}<allowed>\s{1,4}(?:[^\n]{0,160}\] )?InUse:\s{0,40}<allocated>"
        r"\s{1,4}(?:[^\n]{0,160}\] )?MaxInUse:\s{0,40}<peak>"
        r"(?:\s{1,4}(?:[^\n]{0,160}\] )?NumAllocs:\s{0,40}<count>)?",
        detail=True,
    ),
    wording("tensorflow", r"\bin-use chunks by size\b", detail=True),
)

JAX = (
    wording(
        "jax",
        r"\bAttempting to (?:reserve|allocate) <request>(?: at the bottom of memory)?\. That was not possible\. "
        r"There are <free> free\b(?:[^\n]{0,200}\n){1,3}?[^\n]{0,40}HBM capacity <capacity>:"
        r"(?:[^\n]{0,200}\n){1,6}?[^\n]{0,60}Currently allocated: <allocated>",
    ),
    wording(
        "jax",
        r"\bAttempting to (?:reserve|allocate) <request>(?: at the bottom of memory)?\. That was not possible\. "
        r"There are <free> free\b",
    ),
    wording(
        "jax",
        r"\bRan out of memory in memory space (?:hbm|vmem|smem)\. Used <allocated> of <capacity> \w{3,5}\.",
    ),
    wording(
        "jax",
        r"\bRESOURCE_EXHAUSTED: [^\n]{0,120}?Out of memory "
        r"(?:while trying to allocate|allocating|when allocating) <request>",
    ),
    wording(
        "jax", r"\bOut of memory (?:while trying to allocate|allocating|when allocating) <request>(?! \(allocated)"
    ),
    wording(
        "jax",
        r"\bFailed to allocate request for [0-9.]{1,12}\s?[KMGT]i?B \(<request>\)(?: on device ordinal <device>)?",
    ),
    wording("jax", r"\bRESOURCE_EXHAUSTED: Out of memory\b"),
)

RUNTIMES = (
    wording(
        "onnxruntime",
        r"\bonnx\s{0,2}runtime\s{0,2}error\]?\s{0,2}:?\s{0,2}<code>\s{0,2}:"
        r"(?:[^\n]{0,700}?\bbfc_arena\.cc:<source_line>)?"
        r"[^\n]{0,400}?\bFailed to allocate memory for requested buffer of size <request>",
    ),
    wording(
        "onnxruntime",
        r"\b(?:bfc_arena|allocator)\.cc:<source_line>[^\n]{0,300}?"
        r"\bFailed to allocate memory for requested buffer of size <request>",
    ),
    wording("onnxruntime", r"\bFailed to allocate memory for requested buffer of size <request>"),
    wording(
        "onnxruntime",
        r"\bAvailable memory of <free> is smaller than requested bytes of <request>",
    ),
    wording("tensorrt", r"\bRequested amount of GPU memory \(<request>\) could not be allocated\b"),
    wording(
        "tensorrt",
        r"\bError Code <code>: (?:Cuda Runtime|OutOfMemory) "
        r"\((?:out of memory|Requested size was <request>[^\n)]{0,40})",
    ),
    wording("tensorrt", r"\bError Code <code>: OutOfMemory\b"),
    wording("tensorrt", r"\bCuda Error in [\w:]{0,100}allocate: (?P<code>2)\b(?![.0-9])(?: \(out of memory\))?"),
    wording("tensorrt", r"\bOutOfMemory Error in [\w:]{1,100}"),
    wording(
        "paddle",
        r"\bOut of memory error on GPU <device>\. Cannot allocate <request> memory on GPU [0-9]{1,3}, "
        r"(?:<allocated> memory has been allocated and )?available memory is only <free>",
    ),
    wording("mxnet", r"\bMXNetError: [^\n]{0,200}?\bcudaMalloc(?: retry)? failed: out of memory\b"),
    wording("mxnet", r"\bpooled_storage_manager\.h:<source_line>: cudaMalloc(?: retry)? failed: out of memory\b"),
)
