"""Panes of the diagnosis: every fact, to search and to suppose otherwise; and the steps so far, to change answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.coordinate import Coordinate
from textual.message import Message
from textual.widgets import DataTable, Input, OptionList
from textual.widgets.option_list import Option

from gpuwhy.engine.model import Status
from gpuwhy.kb.facts import Fact
from gpuwhy.kb.units import show
from gpuwhy.tui.app.choices import Choices
from gpuwhy.tui.app.fields import Line
from gpuwhy.tui.incident.session import Change, Snapshot
from gpuwhy.tui.report import places
from gpuwhy.tui.wording import LABELS, where

MOST_FACTS = 400
FACT_COLUMNS, VALUE_COLUMNS = 27, 13


class FactChosen(Message):
    """A fact, or an answer given before, was chosen to be given another value. `now` is the value that it has."""

    def __init__(self, name: str, now: str, answered: bool) -> None:
        super().__init__()
        self.name, self.now, self.answered = name, now, answered


class FactMarked(Message):
    """A fact was marked; the whole of it as text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Facts(Vertical):
    """All facts, those that match what is searched for first in the order they became known."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "screen.back", "Back")]

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._snapshot: Snapshot | None = None
        self._shown: dict[str, Fact] = {}

    def compose(self) -> ComposeResult:
        yield Line(placeholder="search; then Enter on a fact: what if it were …", id="search", compact=True)
        table: DataTable[Text] = DataTable(id="table", cursor_type="row", show_header=False, cell_padding=0)
        yield table

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_column("fact", width=FACT_COLUMNS)
        table.add_column("value", width=VALUE_COLUMNS)
        table.add_column("from")

    def show(self, snapshot: Snapshot) -> None:
        """List the facts of a snapshot."""
        self._snapshot = snapshot
        self._draw()

    def search(self) -> None:
        """Go to the search."""
        self.query_one(Input).focus()

    def on_input_changed(self, _: Input.Changed) -> None:
        """List what matches."""
        self._draw()

    def on_input_submitted(self, _: Input.Submitted) -> None:
        """Go on to what was found."""
        table = self.query_one(DataTable)
        table.focus()
        if table.row_count:
            self._tell(str(table.coordinate_to_cell_key(Coordinate(table.cursor_row, 0)).row_key.value))

    def on_data_table_row_selected(self, chosen: DataTable.RowSelected) -> None:
        """Ask for another value."""
        fact = self._shown.get(str(chosen.row_key.value))
        if fact is not None:
            self.post_message(FactChosen(str(chosen.row_key.value), show(fact.value, fact.unit), False))

    def _draw(self) -> None:
        if self._snapshot is None:
            return
        report, table = self._snapshot.report, self.query_one(DataTable)
        wanted = self.query_one(Input).value.lower().split()
        table.clear()
        self._shown = {}
        for one in report.diagnosis.facts:
            text = f"{one.id} {show(one.value, one.unit)} {one.entity.path} {where(one)}".lower()
            name = named(one)
            if name not in self._shown and all(word in text for word in wanted) and len(self._shown) < MOST_FACTS:
                self._shown[name] = one
                cells = (_cut(one.id, FACT_COLUMNS), _cut(show(one.value, one.unit), VALUE_COLUMNS), Text(where(one)))
                table.add_row(*cells, key=name)

    def on_data_table_row_highlighted(self, marked: DataTable.RowHighlighted) -> None:
        """Tell the whole of a fact: the line of the table may be cut."""
        self._tell(str(marked.row_key.value))

    def _tell(self, name: str) -> None:
        fact = self._shown.get(name) if self.query_one(DataTable).has_focus else None
        if fact is not None:
            about = "" if fact.entity.kind in ("host", "job") else f" of {fact.entity.path}"
            self.post_message(FactMarked(f"{fact.id}{about} = {show(fact.value, fact.unit)} [{where(fact)}]"))


def _cut(text: str, width: int) -> Text:
    """The start of a text, with a gap to what stands beside it."""
    cell = Text(text)
    cell.truncate(width - 1, overflow="ellipsis")
    return cell


class Steps(Choices):
    """What the last step changed, and all steps so far; an answer can be chosen, to give another one."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._answers: list[tuple[str, str, bool]] = []

    def show(self, snapshot: Snapshot) -> None:
        """List the steps of a snapshot."""
        self._answers = [(fact, value or "", True) for fact, value in snapshot.answers]
        self._answers += [(fact, value, False) for fact, value in snapshot.supposed]
        marked = self.highlighted
        self.clear_options()
        lines = [f"changed  {_change(one)}" for one in snapshot.changes]
        lines += [f"read     {name}" for name in snapshot.sources]
        self.add_options([Option(Content(line), disabled=True) for line in lines])
        for number, (fact, value, answered) in enumerate(self._answers):
            word = "answered" if answered else "what if "
            self.add_option(Option(Content(f"{word} {fact} = {value or 'not known'}"), f"answer-{number}"))
        lines = [f"applied  {name}" for name in snapshot.applied]
        lines += [f"verified {name}: {outcome}" for name, outcome in snapshot.outcomes]
        unread = places(snapshot.report.gathered.not_understood)[:5]
        lines += [f"not read {place}: {reason}" for place, reason in unread]
        self.add_options([Option(Content(line), disabled=True) for line in lines])
        if marked is None or marked >= self.option_count:
            marked = next((at for at, one in enumerate(self.options) if not one.disabled), None)
        self.highlighted = marked

    def on_option_list_option_selected(self, chosen: OptionList.OptionSelected) -> None:
        """Ask for another answer."""
        chosen.stop()
        fact, value, answered = self._answers[int(str(chosen.option_id).removeprefix("answer-"))]
        self.post_message(FactChosen(fact, value, answered))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """It is none of the conclusions."""
        event.stop()


def named(fact: Fact) -> str:
    """A fact as answers name it: with its entity, unless that goes without saying."""
    if fact.entity.kind in ("host", "job"):
        return fact.id
    return f"{fact.entity.kind}:{fact.entity.name}/{fact.id}"


def changed(changes: Iterable[Change]) -> str:
    """`Δ oom.fragmentation: POSSIBLE -> CONFIRMED`; what is concluded now comes before what is not any more."""
    ordered = sorted(changes, key=lambda one: one.after.rank if one.after is not None else len(Status))
    return "Δ " + "; ".join(map(_change, ordered))


def _change(one: Change) -> str:
    before, after = (LABELS[status] if status else "not in play" for status in (one.before, one.after))
    return f"{one.conclusion}: {before} -> {after}"
