"""What frameworks say where their build, the driver or the GPU do not fit."""

from __future__ import annotations

from gpuwhy.probes.artefacts.env_wordings import EnvWording, said

_TYPES = ("fp8", "float8", "fp4", "nvfp4", "mxfp4", "mxfp8", "bf16", "bfloat16", "tf32", "int4", "int8")
_CAPABILITY = {"capability": "said.gpu_capability", "needed": "said.needed_capability"}

BUILD: tuple[EnvWording, ...] = (
    *said(
        "cpu_only_build",
        r"\b(?:wasn't|isn't|weren't|was not|is not) (?:build|built|compiled) with (?:CUDA|GPU)\b(?! binaries| kernel)",
        r"\bCould not run 'aten::[\w.]{1,60}' with arguments from the 'CUDA' backend\b",
        r"\bTorch not compiled with CUDA enabled\b",
        r"\bPyTorch (?:is |was )?(?:not compiled with|compiled without) CUDA\b",
        r"\bCUDA used to build PyTorch: (?:None|N/?A)\b",
        r"\btorch(?:==|\s{1,40}|-| version:? |: )[0-9]{1,2}\.[0-9]{1,3}[.0-9a-z]{0,12}\+cpu\b",
        r"\btorch\.__version__['\")]{0,3}\s{0,4}(?:[:=,]{1,2}|"
        r"[-=]>)?\s{0,4}['\"]?[0-9]{1,2}\.[0-9]{1,3}[.0-9a-z]{0,12}\+cpu\b",
        r"\b(?:using|running|this is an?) CPU[- ](?:only )?build of\b",
        r"\bnot (?:compiled|built) with (?:GPU|CUDA|cuBLAS)(?: offload)?(?: support)?\b",
        r"\bcompiled without (?:GPU|CUDA)(?: support)?\b",
        r"\b(?:binary|package|library|version|build) (?:is|was) not (?:compiled|built) (?:with|for) (?:CUDA|GPU)\b",
        r"\bis_built_with_cuda(?:\(\))?\s{0,3}[:=,)]{0,3} False\b",
        r"\bCUDA-enabled jaxlib is not installed\b",
        r"\bspecified provider '?(?:CUDA|Tensorrt)ExecutionProvider'? is not in available provider names\b",
        r"\b(?:GPU|CUDA) Tree Learner was not enabled in this build\b",
        r"\bCannot use GPU because you have installed CPU version\b",
        r"\bCompile with USE_CUDA=1 to enable GPU\b",
        r"\bDevice API (?:cuda|gpu) is not enabled\b",
        r"\bCould not run '(?:torchvision|torch_scatter|torch_sparse|torch_cluster)::\w{1,60}' with arguments from "
        r"the 'CUDA' backend\b",
        r"\bmodule '?faiss'? has no attribute '?StandardGpuResources\b",
        r"\bno usable GPU found, --?(?:gpu-layers|n-gpu-layers|ngl) option will be ignored\b",
        r"\bpytorch\s{1,40}[0-9][.0-9]{2,12}\s{1,12}py[0-9._]{1,8}_cpu_[0-9]{1,3}\b",
        r"\bcpuonly\s{1,40}[0-9][.0-9]{0,8}\b",
        r"\b(?:flash.attn|xformers|apex|detectron2|mmcv|_C)[^\n]{0,80}?\bNot compiled with (?:GPU|CUDA) support\b",
    ),
    *said(
        "architecture_unsupported",
        r"\b(?:sm_[0-9]{2,3}|compute capability [0-9]{1,2}\.[0-9])\)? (?:is|are) not supported\b",
        r"\bwith CUDA capability sm_(?P<sm>[0-9]{2,3})a? is not compatible with the current PyTorch installation\b",
        r"\bPyTorch no longer supports this GPU because it is too old\b",
        r"\bMinimum and Maximum cuda capability supported by this version of PyTorch\b",
        r"\bIgnoring visible gpu device[^\n]{0,300}?\bminimum required Cuda capability is "
        r"(?P<needed>[0-9]{1,2}\.[0-9])",
        r"\bhas no device code compatible with CUDA arch (?P<sm>[0-9]{3,4})\b",
        r"\bggml was not compiled with any CUDA arch\b",
        r"\bUnsupported gpu architecture 'compute_(?P<sm>[0-9]{2,3})a?'",
        r"\bValue 'sm_(?P<sm>[0-9]{2,3})a?' is not defined for option 'gpu-name'",
        r"\bPTX \.version [0-9.]{1,6} does not support \.target sm_(?P<sm>[0-9]{2,3})\b",
        r"\b(?:Target )?(?:GPU )?SM ?(?P<sm>[0-9]{2,3}) is not supported by this (?:TensorRT|cuDNN|version)\b",
        r"\bengine plan file is (?:generated on an incompatible device|not compatible with this)\b",
        r"\bUnknown CUDA arch \([0-9.+A-Z]{1,12}\) or GPU not supported\b",
        r"\bunsupported (?:GPU|CUDA) arch(?:itecture)?:? ?(?:sm_)?(?P<sm>[0-9]{2,3})\b",
        r"'sm_(?P<sm>[0-9]{2,3})a?' is not a recognized processor\b",
        r"\bcompute capability (?P<capability>[0-9]{1,2}\.[0-9]) is not supported by (?:this|the) (?:build|binary|"
        r"wheel|installation|version)",
        groups={"sm": "said.gpu_sm", **_CAPABILITY},
    ),
    *said(
        "jit_from_ptx",
        r"\bnot built with CUDA kernel binaries compatible with compute capability (?P<capability>[0-9]{1,2}\.[0-9])",
        groups=_CAPABILITY,
    ),
    *said(
        "driver_insufficient",
        r"\bCUDA driver version[^\n]{0,40} (?:less|lower|older) than[^\n]{0,24} runtime\b",
        r"\bdriver [0-9]{3}\.[0-9.]{1,10} (?:does not|doesn.t|cannot) support cuda ?[0-9]",
        r"\bNVIDIA driver on your system is too old(?: \(found version (?P<driver_cuda>[0-9]{4,6})\))?",
        r"\bCUDA driver (?:version )?(?:[0-9.]{1,8} )?is (?:too old|older than)\b",
        r"\bdriver (?:version )?(?:is )?(?:too old|out of date)\b[^\n]{0,80}\bCUDA\b",
        r"\bplease (?:update|upgrade) your (?:GPU|NVIDIA|graphics) driver\b",
        r"\bNVIDIA driver is older than the CUDA version\b",
        r"\binstalled (?:NVIDIA |CUDA )?driver (?:version )?[^\n]{0,40}does not support CUDA (?:version )?[0-9]",
        groups={"driver_cuda": "said.driver_cuda"},
    ),
)

UNAVAILABLE: tuple[EnvWording, ...] = (
    *said(
        "no_device",
        r"\bspecifies invalid or unsupported gpu id [0-9]",
        r"\bonly 0 Devices available\b",
        r"\bTorch is not able to use GPU\b",
        r"\bNo CUDA GPUs are available\b",
        r"\bNo CUDA-capable device is available\b",
        r"\bno (?:compatible|supported|usable|nvidia) (?:GPUs?|devices?) (?:were |was )?(?:discovered|detected|"
        r"found)\b",
        r"\bno supported devices found for platform CUDA\b",
        r"\bNo visible GPU devices\b",
        r"\bUnable to initialize backend '(?:cuda|gpu)'",
        r"\bCUDA is not available\b(?! for MPS)",
        r"\bAttempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False\b",
        r"\bFailed to infer device type\b",
        r"\bcuda:?[0-9]{0,2}['\"]? (?:is )?requested,? but (?:CUDA|it|no (?:CUDA )?(?:GPU|device)s?) (?:is |are "
        r")?(?:not |un)?available\b",
        r"\bNo GPU/TPU found, falling back to CPU\b",
        r"\bRequires? (?:a )?CUDA-?(?:capable|enabled)? ?GPU,? but none\b",
        r"\bMisconfigurationException: [^\n]{0,100}?\bGPUs?\b[^\n]{0,80}?\b(?:aren't|not) available\b",
    ),
    *said(
        "driver_not_found",
        r"\bWSL environment detected but no adapters were found\b",
        r"\b(?:NVML_)?ERROR_LIBRARY_NOT_FOUND\b",
        r"\bNVMLError_LibraryNotFound\b",
        r"\bFound no NVIDIA driver on your system\b",
        r"\bCould not find cuda drivers on your machine\b",
        r"\bCould not load dynamic library '(?:libcuda\.so|nvcuda\.dll)",
        r"\blibcuda\.so(?:\.1)?:? cannot open shared object file\b",
        r"\bThe NVIDIA Driver was not detected\b",
        r"\b(?:failed call to )?cuInit: UNKNOWN ERROR \(303\)",
        r"\bkernel driver does not appear to be running on this host\b",
        r"\bCUDA driver library could not be found\b",
        r"\bunable to (?:load|find|locate) (?:the )?(?:libcuda|nvcuda|CUDA driver)\b",
        r"\bcould not (?:dlopen|load|find)[^\n]{0,20} libcuda\b",
        r"\blibnvidia-ml\.so(?:\.1)?:? cannot open shared object file\b",
        r"\b(?:could not|unable to|failed to) load (?:the )?NVML library\b",
        r"\bNo CUDA runtime is found, using CUDA_HOME\b",
    ),
    *said(
        "libraries_missing",
        r"\bCould not load dynamic library '(?:lib)?(?:cudart|cublas|cudnn|cufft|curand|cusolver|cusparse|nvrtc)",
        r"\bCannot dlopen some GPU libraries\b",
        r"\b(?:lib)?(?:cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink|"
        r"cupti)[\w.-]{0,24}\.so[.0-9]{0,12}:? cannot open shared object file\b",
        r"\bFailed to create (?:CUDA|Tensorrt)ExecutionProvider\b",
        r"\bCUDA Setup failed despite GPU being available\b",
        r"\bCould not (?:locate|load)(?: library)? (?:lib)?(?:cudnn|cudart|cublas|zlibwapi)[\w.-]{0,30}",
        r"\bUnable to load any of \{(?:lib)?cudnn",
        r"\bLoadLibrary failed with error 126\b[^\n]{0,200}?(?:cuda|tensorrt)",
        r"\b(?:not able to|unable to|cannot|can ?not|can't|could ?n[o']?t|fail(?:s|ed) to) (?:find|load|locate|open)\b"
        r"[^\n]{0,30}?\b(?:lib)?(?:cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nvrtc)"
        r"(?:64)?(?:_[0-9]{1,3})?(?: DSO\b|\.so\b|\.dll\b)",
    ),
    *said(
        "libraries_mismatched",
        r"\bLoaded runtime CuDNN library: [0-9.]{1,10}[^\n]{0,60}? but source was compiled with:? [0-9.]{1,10}",
        r"\bcuDNN version incompatibility: [^\n]{0,120}?\bfound runtime version\b",
        r"\bCUDNN_STATUS_(?:SUBLIBRARY_)?VERSION_MISMATCH\b",
        r"\bcuDNN library needs to have matching major version\b",
    ),
    *said(
        "cuda_init_failed",
        r"\bCUDA driver initialization failed\b",
        r"\bfailed call to cuInit\b(?!: (?:CUDA_ERROR_NO_DEVICE|UNKNOWN ERROR \(303\)))",
        r"\bError at driver init\b",
        r"\bunable to initialize CUDA\b",
    ),
    *said("forked", r"\bCannot re-initialize CUDA in forked subprocess\b"),
)

UNSUPPORTED_TYPES: tuple[EnvWording, ...] = (
    *said(
        "dtype_unsupported",
        r"\b(?:does not|doesn.t) support (?:bf16|bfloat16|fp8|float8|fp4|tf32)\b",
        r"\bcompute capability (?P<capability>[0-9]{1,2}\.[0-9]),? (?:but )?(?:the )?minimum (?:required )?(?:is "
        r")?(?P<needed>[0-9]{1,2}\.[0-9])",
        r"\bCUBLAS_STATUS_ARCH_MISMATCH\b",
        r"\bb?float16 is only supported on GPUs with compute capability of at least (?P<needed>[0-9]{1,2}\.[0-9])"
        r"(?:[^\n]{0,120}? has compute capability (?P<capability>[0-9]{1,2}\.[0-9]))?",
        r"\bFlash ?Attention(?:[- ]?[0-9])? (?:only |is only )?(?:supports?|supported on|requires?|works "
        r"with)[^\n]{0,60}?\b(?:Ampere|Turing|Hopper|Ada|Blackwell)\b",
        *(
            rf"\b{kind}\b[^\n]{{0,80}}?\b(?:only supported|not supported|requires?|needs?)\b[^\n]{{0,60}}?\b"
            r"(?:compute capability|devices? with|Ampere|Ada|Hopper|Blackwell|sm[_ ]?[0-9]{2,3}|A100|H100)\b"
            for kind in _TYPES
        ),
        r"\bcompute capability (?:of )?(?:at least )?(?P<needed>[0-9]{1,2}\.[0-9]) or (?:higher|above|newer) (?:is "
        r")?required\b",
        r"\bonly supported on (?:CUDA )?devices with compute capability ?>=? ?(?P<needed>[0-9]{1,2}\.[0-9])",
        r"\bFeature '[^'\n]{1,60}' requires \.target sm_[0-9]{2,3}a? or higher\b",
        r"\btype fp8e[0-9]\w{1,6} not supported in this architecture\b",
        r"\bsetup doesn't support bf16\b",
        r"\brequires device with capability > \([0-9]{1,2}, ?[0-9]\) but your GPU has capability\b",
        r"\bquantization method [\w.-]{1,40} is not supported for the current GPU\b",
        r"\bMinimum capability: ?[0-9]{2,3}\.? Current capability: ?[0-9]{2,3}\b",
        r"--(?:tf32|bf16)\b[^\n]{0,60}?\brequires? (?:Ampere|a GPU)\b",
        r"\bFound [^\n]{1,80}? which is too old to be supported by the triton GPU compiler\b",
        r"\bonly supports devices of CUDA Capability >= (?P<needed>[0-9]{1,2}\.[0-9]), but your device is of CUDA "
        r"capability (?P<capability>[0-9]{1,2}\.[0-9])",
        r"\bNo compiled cutlass_scaled_mm for a compute capability less than\b",
        r"\bFP8 (?:GEMM|execution|quantized models) [^\n]{0,80}?\b(?:unsupported|not supported|required|requires?)\b",
        r"\b(?:bf16|bfloat16)\b[^\n]{0,30}? (?:is )?not supported (?:on|by) (?:this|your|the current) (?:GPU|device|"
        r"hardware)\b",
        r"\bcompute capability < [0-9.]{1,4} is not supported by the V1 Engine\b",
        r"\brequires? (?:a )?GPUs? with (?:sm|SM)_?[0-9]{2,3} or (?:higher|above|newer)\b",
        r"\bPlatform (?:doesn't|does not) support (?:FP8|BF16|INT8|FP16|FP4)\b",
        groups=_CAPABILITY,
    ),
)

DEBUGGING: tuple[EnvWording, ...] = (
    *said(
        "debug_mode",
        r"\bAnomaly Detection has been enabled\b",
        r"\b(?:set_detect_anomaly|detect_anomaly)(?:\(\s{0,3}|=)True\b",
        r"(?:^|\n)=========\s{1,4}COMPUTE-SANITIZER\b",
        r"(?:^|\n)=========\s{1,4}CUDA-MEMCHECK\b",
        r"\bPYTORCH_NO_CUDA_MEMORY_CACHING\s{0,2}=\s{0,2}[\"']?1\b",
        r"\bTORCH_DISTRIBUTED_DEBUG\s{0,2}=\s{0,2}[\"']?DETAIL\b",
        r"\bJAX_(?:DISABLE_JIT|DEBUG_NANS)\s{0,2}=\s{0,2}[\"']?(?:1|True)\b",
    ),
)
