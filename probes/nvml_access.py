"""The one way to NVML: every call goes through `Nvml.ask` or `Nvml.of`, and answers a value or a return code.

No call raises. A device that is lost or needs a reset is asked nothing more; a driver that refused to start is not
asked at all. Functions are asked for by name, the newer name first: neither the binding nor the driver's library says
reliably what it can do.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import os
import time
import warnings
from collections.abc import Sequence
from enum import IntEnum
from types import ModuleType
from typing import Any

from gpuwhy.kb.facts import Entity
from gpuwhy.kb.records import dataclass


class Code(IntEnum):
    """Return codes of NVML that something is done about. Only numbers are compared: texts differ between versions."""

    SUCCESS = 0
    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    INSUFFICIENT_POWER = 8
    DRIVER_NOT_LOADED = 9
    TIMEOUT = 10
    INTERRUPT_PROBLEM = 11
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    CORRUPTED_INFOROM = 14
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    OPERATING_SYSTEM = 17
    VERSION_MISMATCH = 18
    IN_USE = 19
    HOST_MEMORY = 20
    ARGUMENT_VERSION_MISMATCH = 25
    UNKNOWN = 999


_WORDS = {
    0: "the driver answered with nothing",
    1: "NVML is not initialised",
    2: "the driver refused the question",
    3: "not supported by this GPU, driver or mode",
    4: "needs privilege, or this container may not open the GPU",
    6: "nothing to read",
    7: "the list grew while it was read",
    8: "the GPU's external power is not connected right",
    9: "the NVIDIA kernel module is not loaded",
    10: "the driver did not answer in time",
    11: "the kernel has a problem with the GPU's interrupts",
    12: "the driver's library libnvidia-ml.so.1 is missing",
    13: "the driver's library is older than this question",
    14: "the InfoROM is corrupted",
    15: "the GPU is lost",
    16: "the GPU needs a reset",
    17: "the operating system blocked access to the GPU",
    18: "the driver's library and its kernel module are of different versions",
    19: "the GPU is in use by another client",
    20: "the host has no memory left for it",
    21: "no data",
    25: "the driver's library does not know this version of the question",
    26: "the driver no longer answers this",
    27: "not ready",
    999: "unknown error of the driver",
}
UNAVAILABLE = frozenset({2, 3, 4, 6, 7, 10, 13, 21, 25, 26, 27})
"""Codes that say no more than that one reading is not to be had; any other failure tells something about the GPU."""

_ANOTHER_NAME = frozenset({Code.FUNCTION_NOT_FOUND, Code.ARGUMENT_VERSION_MISMATCH})
_LAST_WORDS = frozenset({Code.GPU_IS_LOST, Code.RESET_REQUIRED})
_MODULE = "pynvml"
_DISTRIBUTION = "nvidia-ml-py"

Names = tuple[str, ...]


def reason(code: int) -> str:
    """A return code in words, with its number."""
    return f"{_WORDS.get(code, 'the driver refused')} (NVML {code})"


@dataclass(frozen=True)
class Answer:
    """What a call gave: a value, or the return code with which it failed."""

    value: Any = None
    code: int | None = None

    @property
    def ok(self) -> bool:
        """True if there is a value."""
        return self.code is None


class Device:
    """A GPU or a MIG slice of one: its handle, what it is called, and how it stopped answering if it did."""

    def __init__(self, handle: Any, entity: Entity, owner: Device | None = None) -> None:
        self.handle = handle
        self.entity = entity
        self._owner = owner
        self._stopped: int | None = None
        self._stopped_at: float | None = None
        self._failures: list[int] = []

    @property
    def stopped(self) -> int | None:
        """The code after which nothing more is asked: the GPU is lost or needs a reset."""
        return self._owner.stopped if self._owner is not None else self._stopped

    @property
    def stopped_at(self) -> float | None:
        """When it stopped, on the monotonic clock."""
        return self._owner.stopped_at if self._owner is not None else self._stopped_at

    @property
    def silent_since(self) -> Sequence[int]:
        """Codes of the calls that failed hard since the last one that succeeded."""
        return self._owner.silent_since if self._owner is not None else self._failures

    def note(self, code: int | None) -> None:
        """Takes in how a call ended."""
        if self._owner is not None:
            self._owner.note(code)
        elif code is None:
            self._failures.clear()
        elif code in _LAST_WORDS:
            self._stopped = code
            self._stopped_at = time.monotonic()
        elif code not in UNAVAILABLE and code != Code.SUCCESS:
            self._failures.append(code)


@dataclass(frozen=True)
class Binding:
    """The Python binding: its module, the version of nvidia-ml-py, and what is wrong with it.

    `problem` is None, `binding-missing` or `binding-unusable`. `shadowed`: a deprecated package of the same module name
    was imported, which lacks newer functions.
    """

    module: ModuleType | None
    version: str | None
    shadowed: bool = False
    problem: str | None = None


def load_binding() -> Binding:
    """Imports the binding. Never raises and never warns, whatever stands in its place."""
    try:
        version = importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        version = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            module = importlib.import_module(_MODULE)
        except ImportError:
            return Binding(None, version, problem="binding-missing")
        except (Warning, SyntaxError):
            return Binding(None, version, problem="binding-unusable")
    if not hasattr(module, "nvmlInit") or not hasattr(module, "NVMLError"):
        return Binding(None, version, problem="binding-unusable")
    shadowed = os.path.basename(getattr(module, "__file__", None) or "") == "__init__.py"
    return Binding(module, version, shadowed)


class Nvml:
    """NVML through a binding. Not for several threads at once, except that `asking` may be read from any."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._chosen: dict[Names, str] = {}
        self._raised = (module.NVMLError, *_also_raised(module))
        self.stopped: int | None = None
        self.asking: tuple[str, Entity | None] | None = None

    def start(self) -> Answer:
        """Initialises NVML; where that fails nothing is asked any more."""
        answer = self.ask(("nvmlInit",))
        self.stopped = answer.code
        return answer

    def end(self) -> None:
        """Ends what `start` began."""
        if self.stopped is None:
            self.ask(("nvmlShutdown",))
            self.stopped = Code.UNINITIALIZED

    def has(self, name: str) -> bool:
        """True if the binding has this function, constant or structure."""
        return hasattr(self._module, name)

    def make(self, name: str) -> Any:
        """A new structure of the binding; None if it has no such structure."""
        found = getattr(self._module, name, None)
        return found() if callable(found) else None

    def constant(self, name: str) -> Any:
        """A constant of the binding; None if it has none of that name."""
        return getattr(self._module, name, None)

    def ask(self, names: Names, *arguments: Any) -> Answer:
        """The answer of the first of these functions that binding and library both have."""
        return self._ask(names, arguments, None)

    def of(self, device: Device, names: Names, *arguments: Any) -> Answer:
        """The same about a device. A device that is lost or waits for a reset is not asked again."""
        if device.stopped is not None:
            return Answer(code=device.stopped)
        answer = self._ask(names, (device.handle, *arguments), device.entity)
        device.note(answer.code)
        return answer

    def _ask(self, names: Names, arguments: tuple[Any, ...], entity: Entity | None) -> Answer:
        if self.stopped is not None:
            return Answer(code=self.stopped)
        chosen = self._chosen.get(names)
        answer = Answer(code=Code.FUNCTION_NOT_FOUND)
        for name in names if chosen is None else (chosen,):
            function = getattr(self._module, name, None)
            if function is None:
                continue
            self.asking = (name, entity)
            answer = self._call(function, arguments)
            self.asking = None
            if answer.code not in _ANOTHER_NAME:
                if answer.ok:
                    self._chosen[names] = name
                break
        return answer

    def _call(self, function: Any, arguments: tuple[Any, ...]) -> Answer:
        try:
            return Answer(function(*arguments))
        except self._raised as error:
            value = getattr(error, "value", None)
            return Answer(code=int(value) if isinstance(value, int) else int(Code.FUNCTION_NOT_FOUND))
        except UnicodeDecodeError:
            return Answer(code=int(Code.UNKNOWN))
        except (TypeError, AttributeError, ctypes.ArgumentError):  # an old binding that takes other arguments
            return Answer(code=int(Code.FUNCTION_NOT_FOUND))


def _also_raised(module: ModuleType) -> tuple[type[Exception], ...]:
    """What the getters of running processes raise where the library lacks them; it is no `NVMLError`."""
    mismatch = getattr(module, "NVMLLibraryMismatchError", None)
    return (mismatch,) if isinstance(mismatch, type) and issubclass(mismatch, Exception) else ()


def text_of(value: Any) -> str | None:
    """A text of the driver; older bindings give bytes. None if it is empty."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text.strip() or None
