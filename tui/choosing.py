"""A piece of work from what a person said of it, whether on the command line or in a form; defaults are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """One line of the form: what it is called, what it may be, and what it is where nothing is said."""

    name: str
    label: str
    choices: tuple[str, ...] = ()
    default: str = ""


FORM = (
    Field("task", "task", TASKS, "finetune"),
    Field("params", "parameters", default="7B"),
    Field("method", "method", ("", *METHODS)),
    Field("dtype", "precision", ("", "tf32", *DTYPES)),
    Field("sequence", "tokens"),
    Field("batch", "batch"),
    Field("concurrency", "at once"),
    Field("p99_ms", "ms a token"),
    Field("hours", "hours"),
    Field("interruptible", "may stop", ("", "yes", "no")),
    Field("budget", "budget/h"),
)
"""What the form of the application asks for; an empty line has the default of the command line."""


def from_form(kb: KnowledgeBase, written: Mapping[str, str], found: Diagnosed) -> Work:
    """The work that a filled form describes, with what a diagnosis found.

    Raises `WorkError` with the line that cannot be taken, and what could.
    """
    said = {name: text.strip() for name, text in written.items() if text.strip()}
    labels = {one.name: one.label for one in FORM}

    def read(name: str, convert: Callable[[str], Any], like: str) -> Any:
        if name not in said:
            return None
        try:
            value = convert(said[name])
        except ValueError:
            value = None
        if value is None or not 0 < value < float("inf"):
            raise WorkError(f"{labels[name]}: {said[name][:20]} is no number above 0, like {like}")
        return value

    if "params" not in said:
        raise WorkError("parameters: how large is the model? like 7B or 350M")
    given: dict[str, Any] = select.make_context("select", [], resilient_parsing=True).params
    given |= {
        "task": said.get("task", "finetune"),
        "params": read("params", amounts.number, "7B or 350M"),
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
