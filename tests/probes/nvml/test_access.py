"""The one way to NVML, whatever is installed under the name of the binding, and a driver that does not come back."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpuwhy.kb.facts import HOST, gpu
from gpuwhy.probes import nvml_host
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Answer, Code, Device, Nvml, load_binding, reason, text_of
from tests.probes.nvml.live import environment, probe

pynvml: Any = importlib.import_module("pynvml")


class Module(ModuleType):
    """A binding of a few functions."""

    NVMLError = pynvml.NVMLError
    NVMLLibraryMismatchError = pynvml.NVMLLibraryMismatchError

    def __init__(self, **functions: object) -> None:
        super().__init__("pynvml")
        self.calls: list[str] = []
        for name, does in functions.items():
            setattr(self, name, self._recorded(name, does))

    def _recorded(self, name: str, does: object) -> object:
        def call(*_: object) -> object:
            self.calls.append(name)
            if isinstance(does, Exception):
                raise does
            return does

        return call


def test_codes_are_told_by_number_and_in_words() -> None:
    nvml = Nvml(Module(a=pynvml.NVMLError(3), b=pynvml.NVMLError(4242), c=pynvml.NVMLLibraryMismatchError("old")))
    assert nvml.ask(("a",)) == Answer(code=3)
    assert nvml.ask(("b",)) == Answer(code=4242)
    assert nvml.ask(("c",)) == Answer(code=Code.FUNCTION_NOT_FOUND)
    assert nvml.ask(("not there",)) == Answer(code=Code.FUNCTION_NOT_FOUND)
    assert reason(3) == "not supported by this GPU, driver or mode (NVML 3)"
    assert reason(4242) == "the driver refused (NVML 4242)"


def test_success_without_samples_that_comes_as_an_error_is_code_0() -> None:
    assert Nvml(Module(a=pynvml.NVMLError(0))).ask(("a",)) == Answer(code=0)


@pytest.mark.parametrize("error", [TypeError("2 arguments"), AttributeError("no such")])
def test_an_old_binding_that_takes_other_arguments_lacks_the_function(error: Exception) -> None:
    assert Nvml(Module(a=error)).ask(("a",)).code == Code.FUNCTION_NOT_FOUND


def test_the_older_name_is_asked_where_the_newer_is_not_known_and_then_remembered() -> None:
    module = Module(new=pynvml.NVMLError(13), old=7)
    nvml = Nvml(module)
    assert nvml.ask(("new", "old")).value == 7
    assert nvml.ask(("new", "old")).value == 7
    assert module.calls == ["new", "old", "old"]


def test_an_answer_that_is_no_support_is_not_asked_again_by_an_older_name() -> None:
    module = Module(new=pynvml.NVMLError(3), old=7)
    assert Nvml(module).ask(("new", "old")).code == 3
    assert module.calls == ["new"]


@pytest.mark.parametrize("code", [15, 16])
def test_a_lost_device_is_asked_nothing_more_and_neither_are_its_slices(code: int) -> None:
    module = Module(bad=pynvml.NVMLError(code), good=1)
    nvml = Nvml(module)
    device = Device(object(), gpu(0))
    part = Device(object(), gpu(0), device)
    other = Device(object(), gpu(1))
    assert nvml.of(part, ("bad",)).code == code
    assert nvml.of(device, ("good",)).code == code
    assert nvml.of(part, ("good",)).code == code
    assert nvml.of(other, ("good",)).value == 1
    assert module.calls == ["bad", "good"]


@pytest.mark.parametrize("code", [9, 12, 17, 18, 999])
def test_nothing_is_asked_after_a_start_that_failed(code: int) -> None:
    module = Module(nvmlInit=pynvml.NVMLError(code), good=1, nvmlShutdown=None)
    nvml = Nvml(module)
    assert nvml.start().code == code
    assert nvml.ask(("good",)).code == code
    nvml.end()
    assert module.calls == ["nvmlInit"]


def test_texts_of_older_bindings_are_bytes() -> None:
    assert text_of(b"Tesla T4 ") == "Tesla T4"
    assert text_of(b"\xff") == "\ufffd"
    assert text_of("") is None


def test_the_installed_binding_is_found() -> None:
    binding = load_binding()
    assert binding.module is pynvml
    assert (binding.shadowed, binding.problem) == (False, None)
    assert binding.version is not None


# what may be installed in its place


def standing_in(folder: Path, content: str, package: bool = False) -> Path:
    """A folder whose module `pynvml` stands in front of the installed one."""
    target = folder / "pynvml" / "__init__.py" if package else folder / "pynvml.py"
    target.parent.mkdir(exist_ok=True)
    target.write_text(content)
    return folder


REAL = f"import pathlib\nexec(pathlib.Path({pynvml.__file__!r}).read_text())\n"


def test_a_binding_that_warns_is_used_also_where_warnings_are_errors(library: Path, tmp_path: Path) -> None:
    warns = "import warnings\nwarnings.warn('The pynvml package is deprecated', FutureWarning)\n"
    folder = standing_in(tmp_path, warns + REAL)
    seen = probe(library, "idle", 0.2, python=("-W", "error"), PYTHONPATH=str(folder))
    assert seen.value("gpu.name") == "NVIDIA A10"
    assert seen.host("host.nvml_binding_shadowed") is False


def test_an_old_package_in_front_of_the_binding_is_told_and_used(library: Path, tmp_path: Path) -> None:
    lacks = (
        "del nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetSupportedClocksEventReasons\n"
        "del NVMLLibraryMismatchError, nvmlMemory_v2, nvmlDeviceGetTemperatureV\n"
    )
    folder = standing_in(tmp_path, REAL + lacks, package=True)
    seen = probe(library, "idle", 0.2, PYTHONPATH=str(folder))
    assert seen.host("host.nvml_binding_shadowed") is True
    assert seen.value("gpu.event_idle") is True  # by the older name
    assert seen.value("gpu.temperature_celsius") == 31.0
    assert seen.value("gpu.memory_used_bytes") == 1048576 + 300000000  # by the older question


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("raise ImportError('not here')", "binding-missing"),
        ("x = 1", "binding-unusable"),
        ("print 'old'", "binding-unusable"),
    ],
)
def test_a_binding_that_cannot_be_used_is_told(library: Path, tmp_path: Path, content: str, problem: str) -> None:
    seen = probe(library, "idle", 0.2, PYTHONPATH=str(standing_in(tmp_path, content)))
    assert seen.host("host.nvml_error") == problem
    assert seen.status == 3


# a driver that does not come back, and one of another version


def run(code: str, library: Path, scenario: str) -> str:
    """What a fresh interpreter prints that watches a scenario."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment(library, scenario)
    )
    assert done.stderr == ""
    return done.stdout


def test_a_driver_that_hangs_is_not_waited_for_and_is_named(library: Path) -> None:
    code = (
        "from gpuwhy.probes.nvml_sampler import sample\n"
        "seen = sample(0.2, grace_seconds=0.5)\n"
        "print({one.id: one.value for one in seen.facts if one.entity.kind == 'gpu'})\n"
        "print({one.id: one.origin.text for one in seen.facts}['gpu.nvml_error'])\n"
    )
    known, told = run(code, library, "hangs").splitlines()
    facts = eval(known)  # noqa: S307 - what we printed ourselves
    assert facts["gpu.nvml_error"] == "no-answer"
    assert facts["gpu.name"] == "NVIDIA A100-PCIE-40GB"
    assert not {"gpu.lost", "gpu.xid_event_count", "gpu.utilization_share"} & set(facts)
    assert told == "the driver does not come back from nvmlDeviceGetUtilizationRates"


def test_a_watch_can_be_stopped_from_outside(library: Path) -> None:
    code = (
        "import threading\n"
        "from gpuwhy.probes.nvml_sampler import sample\n"
        "stop = threading.Event()\n"
        "seen = sample(600.0, lambda share: stop.set(), stop)\n"
        "values = {one.id: one.value for one in seen.facts}\n"
        "print(seen.interrupted, values['gpu.utilization_share'], seen.seconds < 300)\n"
    )
    assert run(code, library, "idle").split() == ["True", "0.0", "True"]


def test_versions_that_differ_are_both_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, maps = tmp_path / "version", tmp_path / "maps"
    module.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version: 12\n"
    )
    maps.write_text("7f00-7f01 r-xp 0000 08:01 42 /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15\n")
    monkeypatch.setattr(nvml_host, "MODULE_VERSION", module)
    monkeypatch.setattr(nvml_host, "OWN_MAPS", maps)
    readings = Readings("nvml")
    nvml_host.note_failure(18, readings)
    assert readings.get("host.nvml_error", HOST) == "version-mismatch"
    assert readings.get("host.driver_version", HOST) == "535.183.01"
    assert readings.get("host.nvml_library_version", HOST) == "550.54.15"


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021", "470.82.01"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build", "550.54.15"),
    ],
)
def test_the_version_of_a_loaded_module_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, version: str
) -> None:
    path = tmp_path / "version"
    path.write_text(line + "\n")
    monkeypatch.setattr(nvml_host, "MODULE_VERSION", path)
    readings = Readings("nvml")
    nvml_host.note_failure(999, readings)
    assert readings.get("host.driver_version", HOST) == version
