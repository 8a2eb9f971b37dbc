"""Which machine type a piece of work should run on: a form, and beside it what comes of it, at every change."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static, TabbedContent, TabPane
from textual.widgets.option_list import Option

from gpuwhy.engine.selection import Candidate, Choice, choose
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.tui import choice_text
from gpuwhy.tui.app.choices import Choices
from gpuwhy.tui.app.fields import FormLine, Pick
from gpuwhy.tui.app.messages import MachineChosen
from gpuwhy.tui.app.rows import Row, Rows
from gpuwhy.tui.choosing import FORM, WorkError, from_form
from gpuwhy.tui.diagnosed import Diagnosed

SETTLE_SECONDS = 0.2
FIRST = "What would do stands here, best first; each change of a line is judged anew. An empty line has its default."
_KEYS = (
    ("up down", "another line of the form; enter: the next"),
    ("left right", "another of the choices of a line"),
    ("f2", "what would do, best first; enter or tab goes there, up and down mark one"),
    ("f3", "what was rejected, and the rule that did it"),
    ("f4", "cost, driver, disk and pod of the type that is marked"),
    ("esc", "back to the form, then back to where you came from"),
    ("", "A line that is empty has the default of `gpuwhy select`; prices are list prices, with their date."),
)


class ChooseScreen(Screen[None]):
    """`found` is what a diagnosis tells of the work."""

    CSS_PATH = "choose.tcss"
    KEYS = _KEYS
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "tab('fits')", "Fits"),
        Binding("f3", "tab('rejected')", "Rejected"),
        Binding("f4", "tab('start')", "Cost, start"),
        Binding("f1", "app.help", "Help"),
        Binding("escape", "back", "Back"),
        # at once, so that what is typed after them goes to the line that they go to
        Binding("down", "line(1)", show=False, priority=True),
        Binding("up", "line(-1)", show=False, priority=True),
    ]

    def __init__(self, kb: KnowledgeBase, found: Diagnosed) -> None:
        super().__init__()
        self._kb, self._found = kb, found
        self.choice: Choice | None = None

    def compose(self) -> ComposeResult:
        yield Static(
            Content("Choose an instance   judging every type of the catalogue ..."), id="title", classes="title"
        )
        with Horizontal():
            with VerticalScroll(id="form", classes="pane", can_focus=False) as form:
                form.border_title = "Work"
                for one in FORM:
                    value = (self._found.task if one.name == "task" else None) or one.default
                    with Horizontal(classes="field"):
                        yield Static(Content(one.label), classes="label")
                        if one.choices:
                            yield Pick(one.choices, value, id=one.name)
                        else:
                            yield FormLine(value, placeholder=one.hint, id=one.name, compact=True)
            with TabbedContent(id="tabs", classes="pane"):
                with TabPane("f2 Fits", id="fits"):
                    yield Choices(id="kept", markup=False)
                    yield Rows(id="about", rows=[Row("", FIRST)])
                with TabPane("f3 Rejected", id="rejected"), VerticalScroll(id="why"):
                    yield Rows(id="reasons")
                with TabPane("f4 Cost, start", id="start"), VerticalScroll(id="how"):
                    yield Rows(id="steps")
        change = Rows(id="change", classes="pane")
        change.border_title = "Cheapest change"
        yield change
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#params").focus()
        self._settling = self.set_timer(SETTLE_SECONDS, self._judge)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Arrow keys go from line to line of the form; elsewhere they mean what they mean there."""
        return (
            isinstance(self.focused, FormLine | Pick) if action == "line" else super().check_action(action, parameters)
        )

    def action_line(self, step: int) -> None:
        """To the next line of the form, or the one before."""
        if step > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def on_input_changed(self, _: FormLine.Changed) -> None:
        """Judge again once typing has stopped for a moment."""
        self._later()

    def on_pick_changed(self, _: Pick.Changed) -> None:
        """Another choice."""
        self._later()

    def on_input_submitted(self, _: FormLine.Submitted) -> None:
        """Enter goes to the next line."""
        self.focus_next()

    def _later(self) -> None:
        if self.is_mounted:
            self._settling.stop()
            self._settling = self.set_timer(SETTLE_SECONDS, self._judge)

    def _judge(self) -> None:
        written = {one.id: one.value for one in (*self.query(Pick), *self.query(FormLine)) if one.id}
        self.run_worker(lambda: self._choose(written), thread=True, exclusive=True, exit_on_error=False)

    def _choose(self, written: dict[str, str]) -> None:
        try:
            found: Choice | str = choose(self._kb, from_form(self._kb, written, self._found))
        except (WorkError, ValueError) as error:
            found = str(error)
        self.post_message(MachineChosen(found))

    def on_machine_chosen(self, message: MachineChosen) -> None:
        """Show what came of the form, or what is wrong with it."""
        if isinstance(message.found, str):
            self.query_one("#title", Static).update(
                Content.assemble("Choose an instance   ", (message.found, "ansi_red"))
            )
            return
        choice = self.choice = message.found
        all_of_them = len(choice.kept) + len(choice.rejected)
        told = f"Choose an instance   {len(choice.kept)} of {all_of_them} types would do: "
        told += choice_text.summary(choice.work)
        self.query_one("#title", Static).update(Content(told))
        kept = self.query_one("#kept", Choices)
        kept.clear_options()
        wide = self.has_class("-wide")
        kept.add_options([Option(Content(choice_text.line(n, one, wide))) for n, one in enumerate(choice.kept, 1)])
        kept.highlighted = 0 if choice.kept else None
        self.query_one("#reasons", Rows).show([Row("✗", one) for one in choice_text.rejections(choice)])
        self._change(choice)
        self._about()

    def _change(self, choice: Choice) -> None:
        pane = self.query_one("#change", Rows)
        rows = [Row("note", choice_text.claimed(one)) for one in choice.notes]
        if choice.change is not None:
            rows.insert(1 if self._found.bound_by else 0, Row("change", choice_text.change(choice.change)))
        pane.display = bool(rows)
        pane.border_title = "Cheapest change" if choice.change is not None else "Note"
        pane.show(rows)

    @property
    def marked(self) -> Candidate | None:
        """The machine type that is marked."""
        at = self.query_one("#kept", Choices).highlighted
        return self.choice.kept[at] if self.choice is not None and at is not None and self.choice.kept else None

    def on_option_list_option_highlighted(self, _: OptionList.OptionHighlighted) -> None:
        """Another type is marked."""
        self._about()

    def on_option_list_option_selected(self, _: OptionList.OptionSelected) -> None:
        """Enter shows how to start on it."""
        self.action_tab("start")

    def _about(self) -> None:
        one, choice = self.marked, self.choice
        if choice is None:
            return
        if one is None:
            nothing = "No machine type of the catalogue does this; f3 tells why each was rejected."
            self.query_one("#about", Rows).show([Row("", nothing)])
            self.query_one("#steps", Rows).show([Row("", nothing)])
            return
        self.query_one("#about", Rows).show([Row(*pair) for pair in choice_text.brief(choice, one)])
        rows = [
            Row(label, "", text) if label == "pod" else Row(label, text) for label, text in self._steps(choice, one)
        ]
        self.query_one("#steps", Rows).show(rows)

    def _steps(self, choice: Choice, one: Candidate) -> list[tuple[str, str]]:
        needs = ("needs", choice_text.need(choice.work, one.machine.gpus))
        assumed = [("assumed", said) for said in choice.work.assumed]
        told = list(choice_text.about(choice.work, one))
        costs = [row for row in told if row[0] == "cost"]
        more = (*[row for row in told if row[0] != "cost"], *choice_text.start(self._kb, choice.work, one))
        notes = [("note", choice_text.claimed(said)) for said in choice.notes]
        return [("type", one.machine.name), needs, *costs, *assumed, *notes, *more]

    def action_tab(self, name: str) -> None:
        """Go to a tab."""
        self.query_one("#tabs", TabbedContent).active = name
        self.query_one({"fits": "#kept", "rejected": "#why", "start": "#how"}[name]).focus()

    def action_back(self) -> None:
        """From the results to the form; from there to where one came from."""
        if self.query_one("#form").has_focus_within:
            self.app.pop_screen()
        else:
            self.query_one("#params").focus()
