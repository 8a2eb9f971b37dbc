"""Failures as the CUDA runtime, its libraries and the host's allocators word them."""

from __future__ import annotations

from gpuwhy.probes.artefacts.wordings import wording

CUDA = (
    wording("cuda", r"\bTHCudaCheck FAIL [^\n]{0,300}?\bline=<source_line> error=<code> : out of memory\b"),
    wording("cuda", r"\bcuda runtime error \(<code>\)\s{0,3}: out of memory\b(?: at [^\s:]{1,200}:<source_line>)?"),
    wording("cuda", r"\bCUDA failure <code>: out of memory\b(?:\s{0,3};\s{0,3}GPU=<device>\b)?"),
    wording("cuda", r"\b(?:CUDA|HIP)(?: driver| runtime)? error(?: in [^\n]{1,120})?: out of memory\b"),
    wording("cuda", r"\b(?:CUDA|HIP) error <code>\b[^\n]{0,200}?: out of memory\b"),
    wording("cuda", r"\bCUDA error at [^\n]{1,200}?\b(?:cudaErrorMemoryAllocation|out of memory)\b"),
    wording(
        "cuda", r"\bOut of memory allocating <request> \(allocated so far: <allocated>(?:, limit set to: <allowed>)?"
    ),
    wording(  # XGBoost; inside a quoted exception its line breaks are escaped
        "cuda",
        r"\bcudaErrorMemoryAllocation: out of memory(?:\s|\\{1,4}n){1,6}- Free memory: <free>"
        r"(?:\s|\\{1,4}n){1,6}- Requested memory: <request>",
    ),
    wording("cuda", r"\bout of memory to allocate <request>(?: bytes)? \(total <allocated>(?: bytes)?\)"),
    wording(
        "cuda",
        r"\bError allocating <request>(?: bytes)? of device memory \(out of memory\)"
        r"(?:\. Driver report <free>(?: bytes)? free and <capacity>(?: bytes)? total)?",
    ),
    wording("other", r"\bOut of GPU memory trying to allocate <request>"),
    wording("other", r"\bEffective GPU memory usage: [0-9.]{1,8}% \([^/\n]{1,24}/<capacity>\)", detail=True),
    wording("other", r"\b(?:CUDA|CuArrays) allocator usage: <allocated>(?: \(capped at <allowed>\))?", detail=True),
    wording("other", r"\bMemory pool usage: <allocated> \(<reserved> reserved\)", detail=True),
    wording("other", r"\bout_of_memory: RMM failure at:[^\n]{1,300}?: Maximum pool size exceeded", limit_stated=True),
    wording("cuda", r"\bcu(?:da)?(?:Mem|Malloc)\w{0,20}(?: retry)? failed:? (?:CUDA error: )?out of memory\b"),
    wording("cuda", r"\b(?:CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|hipErrorOutOfMemory)\b"),
)

LIBRARIES = (
    wording("cublas", r"\b(?P<status>CUBLAS_STATUS_ALLOC_FAILED)\b"),
    wording(
        "cublas",
        r"\b(?:create cublas handle|cublasCreate\w{0,6})[^\n]{0,120}?\b(?P<status>CUBLAS_STATUS_NOT_INITIALIZED)\b",
        implied=True,
        during="handle-creation",
    ),
    wording("cublas", r"\b(?P<status>CUBLAS_STATUS_NOT_INITIALIZED)\b", implied=True),
    wording("cudnn", r"\b(?P<status>CUDNN_STATUS_ALLOC_FAILED)\b"),
    wording(
        "cudnn",
        r"\b(?:create cudnn handle|cudnnCreate)[^\n]{0,120}?\b(?P<status>CUDNN_STATUS_\w{1,40})\b",
        implied=True,
        during="handle-creation",
    ),
    wording("cudnn", r"\b(?P<status>CUDNN_STATUS_NOT_INITIALIZED)\b", implied=True),
    wording("other", r"\b(?P<status>(?:CUSOLVER_STATUS|CUSPARSE_STATUS|CUFFT|CURAND_STATUS)_ALLOC(?:ATION)?_FAILED)\b"),
    wording("nccl", r"\bNCCL WARN (?:[^\n]{0,40} )?(?:Cuda|HIP) failure (?:<code> )?'?(?:out of memory)'?"),
    wording("nccl", r"\bNCCL WARN [^\n]{0,60}?Failed to (?:CUDA|HIP) \w{1,20} <request>"),
)

HOST = (
    wording(
        "other",
        r"\bUnable to allocate <request> for an array with shape \((?P<shape>[0-9,\x20]{1,120})\)"
        r"(?: and data type (?P<dtype>[a-z]{1,12}[0-9]{0,3}))?",
        host_allocation=True,
    ),
    wording(
        "cuda", r"\bfailed to alloc(?:ate)? <request>(?: bytes)? (?:on host|of pinned memory)\b", host_allocation=True
    ),
    wording("cuda", r"\bcould not allocate pinned host memory of size: <request>", host_allocation=True),
    wording(
        "cuda",
        r"\b(?:cudaHostAlloc|cudaMallocHost|cuMemHostAlloc|cudaHostRegister|cuMemAllocHost)\w{0,4}\b[^\n]{0,120}?"
        r"(?:out of memory|failed|error)\b",
        host_allocation=True,
    ),
    wording("other", r"\bwhat\(\): std::bad_alloc\b", host_allocation=True),
    wording("other", r"\bMemoryError: std::bad_alloc\b(?!: out_of_memory)", host_allocation=True),
    wording("other", r"\[Errno 12\] Cannot allocate memory\b", host_allocation=True),
    wording("other", r"(?:^|\n)MemoryError(?::[^\n]{0,80})?(?=\n|$)", host_allocation=True),
    wording(
        "other",
        r"(?:\[WinError 1455\]|\bos error 1455\b)[^\n]{0,100}",  # Windows words the rest in its own language
        host_allocation=True,
        commit_limit=True,
    ),
    wording(
        "other",
        r"\bThe paging file is too small for this operation to complete\b[^\n]{0,60}",
        host_allocation=True,
        commit_limit=True,
    ),
)
