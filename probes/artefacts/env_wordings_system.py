"""What driver, kernel, containers, schedulers and services say where a GPU cannot be used."""

from __future__ import annotations

from gpuwhy.probes.artefacts.env_wordings import KERNEL, EnvWording, said

_K = KERNEL
_DEVICE_FILE = r"(?<![\w/])/dev/nvidia(?:[0-9]{1,2}|ctl|-uvm|-uvm-tools|-modeset)"
_VERSIONS = {"library": "host.nvml_library_version", "module": "host.kernel_module_version"}

DRIVER: tuple[EnvWording, ...] = (
    *said(
        "version_mismatch",
        r"\bERROR_LIB_RM_VERSION_MISMATCH\b",
        r"\bdriver/library version mismatch\b",
        rf"\bthe client(?: \([^)\n]{{1,60}}\))? has the version "
        rf"(?P<library>[0-9]{{3}}\.[0-9.]{{1,12}}?),?{_K}"
        rf"(?:but|while){_K}this kernel module has(?: the)?{_K}(?:the )?version "
        rf"(?P<module>[0-9]{{3}}\.[0-9.]{{1,12}}?)\.?(?=[\s,;]|$)",
        r"\bAPI mismatch: the (?:client|NVIDIA kernel module) has\b",
        r"\bkernel version (?P<module>[0-9]{3}\.[0-9.]{1,12}) does not match DSO version "
        r"(?P<library>[0-9]{3}\.[0-9.]{1,12})\b",
        r"\bMismatch in versions between nvidia-smi and NVML\b",
        r"\bNVML_ERROR_LIB_RM_VERSION_MISMATCH\b",
        r"\bNVMLError_LibRmVersionMismatch\b",
        r"\bRM has detected an NVML/RM version mismatch\b",
        r"\bmodule/library version mismatch\b",
        groups=_VERSIONS,
    ),
    *said(
        "driver_requirement",
        r"\bunsatisfied condition: cuda ?>= ?(?P<cuda>[0-9]{1,2}\.[0-9]{1,2})",
        r"\bcontainer was built for NVIDIA Driver Release (?P<needs>[0-9]{3}\.[0-9.]{1,8}) or later,? but version "
        r"(?P<driver>[0-9]{3}\.[0-9.]{1,12}?) was detected"
        r"(?![^\n]{0,60}(?:\s[^\n]{0,60})?\bcompatibility mode is ENABLED)",
        r"\bthis container requires (?:NVIDIA )?driver(?: version)? >?=? ?[0-9]{3}",
        r"\bcompatibility mode is UNAVAILABLE\b",
        groups={"driver": "host.driver_version"},
    ),
    *said(
        "module_not_loaded",
        r"\b(?:NVML_)?ERROR_DRIVER_NOT_LOADED\b",
        r"\bNVMLError_DriverNotLoaded\b",
        r"\bnvml error: driver not loaded\b",
        r"\bcould not insert '?nvidia(?:[_-]\w{1,10})?'?: (?:Key was rejected by service|Required key not available|"
        r"Operation not permitted)",
        r"\bcould not insert '?nvidia(?:[_-]\w{1,10})?'?: (?:No such device|Invalid argument|Exec format error|"
        r"Unknown symbol)",
        r"\bmodule nvidia(?:[_-]\w{1,10})? not found in directory\b",
        r"\bnvidia: version magic\b",
        r"\bnvidia: disagrees about version of symbol\b",
        r"\bnvidia: Unknown symbol\b",
        r"\bnvidia: Loading of unsigned module is rejected\b",
        r"\bLoading of module with unavailable key is rejected\b",
        r"\bUnable to load the '?nvidia(?:-drm|-uvm)?'? kernel module\b",
        r"\bUnable to load the kernel module 'nvidia\.ko'",
        r"\bnvidia kernel module (?:is )?not loaded\b",
        r"\bNVIDIA driver is not loaded\b",
        r"\bBad return status for module build on kernel: [^\n]{0,80}\bnvidia\b",
        r"\bnvidia\b[^\n]{0,80}Bad return status for module build",
    ),
    *said(
        "device_file_missing",
        rf"{_DEVICE_FILE}['\"]?(?:: | )(?:No such (?:file or directory|device)|does not exist|not found|is missing)\b",
        rf"\b(?:lstat|stat|open|access|mknod|mount) ['\"`]?{_DEVICE_FILE}['\"`]?: "
        r"no such (?:file or directory|device)\b",
        rf"\b(?:can(?:not|'t)|could not|couldn't|failed to|unable to) (?:open|stat|access|find|create) "
        rf"(?:the )?(?:device )?(?:file )?['\"`]?{_DEVICE_FILE}\b",
    ),
    *said(
        "nouveau_conflict",
        r"\bNouveau kernel driver is currently in use\b",
        rf"\bNVIDIA probe routine was not called for [0-9]{{1,2}} device\(s\){_K}",
        r"\bnvidia probe routine was not called\b",
        r"\bconflicting(?: \w{1,12}){0,3} driver\b[^\n]{0,60}\b(?:nouveau|rivafb|nvidiafb)\b",
    ),
)

DEVICE: tuple[EnvWording, ...] = (
    *said(
        "init_failed",
        r"\bRmInitAdapter failed\b",
        r"\brm_init_adapter failed\b",
        r"\bnvidia(?: [0-9a-f:.]{7,12})?: probe of [0-9a-f:.]{7,16} failed with error (?P<error>-[0-9]{1,3})",
        r"\bnvidia [0-9a-f:.]{7,16}: probe with driver nvidia failed with error (?P<error>-[0-9]{1,3})",
        r"\bThe NVIDIA probe routine failed for (?P<count>[0-9]{1,2}) device\(s\)",
        r"\bNone of the NVIDIA (?:graphics )?(?:devices|adapters) were initialized\b",
        r"\bFailed to (?:initialize|start|load) (?:the )?GSP\b",
        r"\bkgspBootGspRm[\w]{0,12}:? [^\n]{0,80}?\b(?:unexpected WPR2 already up|failed|cannot proceed)\b",
        r"\bWPR2 (?:is )?already up, cannot proceed with booting gsp\b",
        r"\bDirect firmware load for nvidia/[^\s]{1,80} failed with error (?P<error>-[0-9]{1,3})",
        groups={"count": "driver.probe_failed_count", "error": "driver.probe_error_code"},
    ),
    *said(
        "gpu_unsupported",
        rf"\binstalled in this system{_K}is not supported by{_K}(?:the )?(?:NVRM: )?(?:NVIDIA )?[0-9a-z.]{{2,12}}",
        rf"\binstalled in this system{_K}requires{_K}use of the NVIDIA open kernel modules\b",
        rf"\binstalled in this system is{_K}supported through the NVIDIA{_K}[0-9.x]{{3,10}}{_K}Legacy drivers\b",
        r"\brequires use of the NVIDIA open kernel modules\b",
    ),
    *said(
        "pci_resources",
        r"\bPCI I/O region assigned to your NVIDIA device is invalid\b",
        r"\bCan't find an IRQ for your NVIDIA card\b",
        r"\bBAR ?[0-9]: no space for \[mem size 0x[0-9a-f]{4,16} 64bit pref\]",
    ),
    *said(
        "fell_off_bus",
        r"\bGPU has fallen off the bus\b",
        r"\bfallen off the bus\b",
        r"\bGPU is lost\b",
    ),
    *said("vm_passthrough", r"\bvfio[-_]pci\b[^\n]{0,60}\b10de\b", r"\bKernel driver in use: vfio-pci\b"),
)

FABRIC: tuple[EnvWording, ...] = (
    *said(
        "no_nvswitch",
        r"\bNV_WARN_NOTHING_TO_DO\b",
        r"\bno NVSwitch(?:es)? (?:devices? )?(?:were |was )?(?:found|detected)\b",
    ),
    *said(
        "fabric_manager_failed",
        r"\bfabric ?manager NVIDIA GPU driver interface version (?P<manager>[0-9.]{5,14}) d(?:on'?.{0,3}?t|"
        r"oesn.{0,3}?t) match with(?: the)? driver version (?P<driver>[0-9]{3}\.[0-9.]{1,12}?)(?=[\s.;,]|$)",
        r"\bnvidia-fabricmanager\.service: (?:Failed with result|Control process exited|Main process exited|Failed "
        r"to start|Start request repeated)\b",
        r"\bnvidia-fabricmanager(?:\.service)?[^\n]{0,120}?\n(?:[^\n]{0,160}\n){0,3}?[^\n]{0,40}Active: (?:failed|"
        r"inactive)\b",
        r"\bUnit nvidia-fabricmanager(?:\.service)? (?:could not be found|not found|is not loaded)\b",
        r"\bFailed to start (?:nvidia-fabricmanager|NVIDIA fabric manager)\b",
        r"\bfabric ?manager(?: service)? (?:is )?(?:not running|not started|not installed|has failed|failed to "
        r"start|isn't running)\b",
        r"\bnv-fabricmanager\[[0-9]{1,8}\]: [^\n]{0,120}?\b(?:[Ff]ailed|[Ee]rror|don't match|aborting)\b",
        r"\baborting fabric ?manager\b",
        r"\bfailed to configure all the available (?:GPUs or )?NVSwitches\b",
        r"\bnvlsm does not exist\b",
        r"\brequest to query NVSwitch device information from NVSwitch driver failed\b",
        r"\bfailed to (?:initialize|start) (?:the )?(?:nv|nvidia )?-?fabric ?manager\b",
        groups={"manager": "host.fabric_manager_version", "driver": "host.driver_version"},
    ),
)

CONTAINERS: tuple[EnvWording, ...] = (
    *said(
        "no_container_runtime",
        r"\bno runtime for \\?.?nvidia\\?.? is configured\b",
        r"\bcould not select device driver ['\"]{0,2}\w{0,10}['\"]{0,2} with capabilities: \[\[[^\]\n]{0,40}gpu",
        r"\bnvidia-container-cli: (?:initialization|container|detection|mount|ldcache|device) error:",
        r"\bunresolvable CDI devices? [^\n]{0,40}nvidia\b",
        r"\bunknown (?:or invalid )?runtime (?:name|specified):? ?['\"]?nvidia\b",
        r"\bUnknown runtime specified nvidia\b",
        r"\bIf this is a GPU node, did you (?:configure|set) the (?:NVIDIA Container Toolkit|docker default runtime)\b",
        r"\bDetected non-NVML platform\b",
        r"\bIncompatible (?:platform|strategy|device discovery)(?: detected)?\b",
        r"\bfailed to initialize NVML: (?:could not load NVML library|ERROR_LIBRARY_NOT_FOUND)\b",
        r"\bUse the NVIDIA Container Toolkit to start this container with GPU support\b",
        r"\bnvidia-container-runtime(?:-hook)?['\"]?:? (?:executable file not found|no such file)\b",
        r"\bNo devices found\. Waiting indefinitely\b",
    ),
    *said(
        "no_gpu_resource",
        r"\bInsufficient nvidia\.com/(?:gpu|mig-[\w.]{3,20})\b",
        r"\bAllocate failed due to [^\n]{0,120}nvidia\.com/\w{1,20}\b",
        r"\bNoDevFiles\b",
        r"\bRequested node configuration is not available\b[^\n]{0,80}\bgpu\b",
        r"\bInvalid generic resource \(gres\) specification\b",
    ),
    *said(
        "devices_hidden",
        r"(?:^|[\s;\"'$])(?:CUDA|NVIDIA)_VISIBLE_DEVICES['\"]?\]?\s{0,2}[=:]\s{0,2}(?:['\"]{2}|-1\b|['\"]-1['\"]|"
        r"void\b|none\b|NoDevFiles\b)",
        r"(?:^|[\n;])\s{0,8}(?:export )?CUDA_VISIBLE_DEVICES=[ \t]{0,4}(?:$|\n|;|python)",
    ),
    *said(
        "mig_without_instance",
        r"\bNo MIG devices found\b",
        r"\bMIG mode (?:is )?enabled[^\n]{0,60}\bno (?:GPU|compute|MIG) (?:instances?|devices?)\b",
    ),
    *said("blocked_by_os", r"\bGPU access blocked by the operating system\b"),
)

SHARING: tuple[EnvWording, ...] = (
    *said(
        "compute_prohibited",
        r"\bcompute[ -]?mode (?:is )?(?:set to )?['\"]?prohibited\b",
        r"\bdevice is (?:in|set to) (?:Compute )?Prohibited mode\b",
        r"\bunsupported device compute mode\b",
        r"\bno more than one (?:host )?process(?:es)? (?:is|are) able to use\b",
    ),
    *said(
        "mps_unreachable",
        r"\bCannot find MPS control daemon process\b",
        r"\bfailed to (?:connect to|contact|reach) (?:the )?MPS (?:control )?(?:daemon|server)\b",
        r"\bMPS (?:control )?(?:daemon|server) (?:is )?(?:not running|not started|isn't running|unavailable)\b",
        r"\bnvidia-cuda-mps-control\b[^\n]{0,60}\b(?:not running|no such file|command not found|failed)\b",
    ),
    *said(
        "vgpu_profile",
        r"(?-i:\b(?:NVIDIA |GRID |Tesla )?(?P<profile>(?:(?:A|L|V|T|P|M|H|B)[0-9]{1,3}[A-Z]{0,3}|RTX ?(?:PRO "
        r")?[A-Z]?[0-9]{4}[A-Z]{0,3})"
        r"-[0-9]{1,3}(?:-[0-9]{1,2})?[QCBA])\b)",
        groups={"profile": "said.vgpu_profile"},
    ),
    *said(
        "mps_expected",
        r"\bCUDA_MPS_(?:PIPE_DIRECTORY|LOG_DIRECTORY|ACTIVE_THREAD_PERCENTAGE|PINNED_DEVICE_MEM_LIMIT)\b",
    ),
    *said(
        "unlicensed",
        r"\b(?:vGPU|NVIDIA virtual|GRID|gridd|license)\b[^\n]{0,160}?\bUnlicensed\b",
        r"\bLicense Status\s{0,40}: Unlicensed\b",
        r"\bnvidia-gridd(?:\[[0-9]{1,8}\])?: [^\n]{0,200}?\b(?:Unable to|Failed to|[Ll]icense (?:denied|not "
        r"available|expired)|[Ii]nvalid license)\b",
        r"\bFailed to acquire(?:/renew)? licen[sc]e\b",
        r"\b(?:performance|clocks?) (?:is|are|has been|have been) (?:degraded|reduced|"
        r"restricted)[^\n]{0,80}\blicen[sc]e\b",
    ),
    *said(
        "profiling_virtual",
        r"\bCUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED\b",
        r"\bnot supported on (?:vGPU|virtualized GPU|virtual GPUs?)\b",
        r"\bUnified [Mm]emory is not supported on (?:this )?vGPU\b",
    ),
)
