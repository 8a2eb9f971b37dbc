"""A piece of work from what a person said of it, whether on the command line or in a form; defaults are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy.kb.records import dataclass
from gpuwhy.tui import amounts
from gpuwhy.tui.cli_select import METHODS, TASKS, select, work_of
from gpuwhy.tui.cli_size import DTYPES

if TYPE_CHECKING:
    from gpuwhy.engine.workload import Work
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.tui.diagnosed import Diagnosed


class WorkError(ValueError):
    """What was said makes no piece of work; the text says why."""


@dataclass(frozen=True)
class Field:
    """One line of the form: what it is called, what it may be, what it is at first, and a hint where it is empty."""

    name: str
    label: str
    choices: tuple[str, ...] = ()
    default: str = ""
    hint: str = ""


FORM = (
    Field("task", "task", TASKS, "finetune"),
    Field("params", "parameters", default="7B", hint="7B"),
    Field("config", "model file", hint="config.json"),
    Field("method", "method", ("", *METHODS)),
    Field("dtype", "precision", ("", "tf32", *DTYPES)),
    Field("sequence", "tokens", hint="2048"),
    Field("resolution", "image side", hint="in pixels"),
    Field("batch", "batch", hint="1"),
    Field("concurrency", "at once", hint="1 request"),
    Field("p99_ms", "ms a token", hint="no limit"),
    Field("hours", "hours", hint="price only"),
    Field("hosts", "machines", hint="1"),
    Field("interruptible", "may stop", ("", "yes", "no")),
    Field("budget", "budget/h", hint="no limit"),
    Field("currency", "currency", hint="CNY"),
)
"""What the form of the application asks for; an empty line has the default of the command line."""
_FIELDS = {one.name: one for one in FORM}


def from_form(kb: KnowledgeBase, written: Mapping[str, str], found: Diagnosed) -> Work:
    """The work that a filled form describes, with what a diagnosis found.

    Raises `WorkError` with the line that cannot be taken, and what could.
    """
    said = {name: text.strip() for name, text in written.items() if text.strip()}

    def read(name: str, convert: Callable[[str], Any], like: str) -> Any:
        if name not in said:
            return None
        try:
            value = convert(said[name])
        except ValueError:
            value = None
        if value is None or not 0 < value < float("inf"):
            raise WorkError(f"{_FIELDS[name].label}: {said[name][:20]} is no number above 0, like {like}")
        return value

    config = _config(said["config"]) if "config" in said else None
    if config is not None and said.get("params") == _FIELDS["params"].default:
        del said["params"]  # as the form opens; the file tells it
    if "params" not in said and config is None:
        raise WorkError("parameters: how large is the model? like 7B or 350M")
    given: dict[str, Any] = select.make_context("select", [], resilient_parsing=True).params
    given |= {
        "task": said.get("task", "finetune"),
        "params": read("params", amounts.number, "7B or 350M"),
        "config": config,
        "resolution": read("resolution", int, "1024"),
        "hosts": read("hosts", int, "2") or 1,
        "currency": said.get("currency"),
        "method": said.get("method"),
        "dtype": said.get("dtype"),
        "sequence": read("sequence", int, "2048"),
        "batch": read("batch", int, "8") or 1,
        "concurrency": read("concurrency", int, "8"),
        "p99_ms": read("p99_ms", float, "100"),
        "hours": read("hours", float, "48"),
        "interruptible": {"yes": True, "no": False}.get(said.get("interruptible", "")),
        "budget": read("budget", float, "20"),
    }
    try:
        return work_of(kb, given, found)
    except click.UsageError as error:
        raise WorkError(error.message) from None


def _config(written: str) -> Path:
    path = Path(written).expanduser()
    path = path / "config.json" if path.is_dir() else path
    if not path.is_file():
        raise WorkError(f"model file: there is no file {path}")
    return path
