"""The diagnosis: conclusions, the proof of the one that is marked, and the next question, all in one view."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import DataTable, Footer, OptionList, Static, TabbedContent, TabPane

from gpuwhy.engine.model import Question
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui.app.screens.text import TextScreen
from gpuwhy.tui.app.screens.value import ValueScreen
from gpuwhy.tui.app.widgets import Conclusions, Headline, ProofTree
from gpuwhy.tui.incident.events import SYMPTOMS
from gpuwhy.tui.incident.session import Snapshot
from gpuwhy.tui.proof_nodes import missing, proof
from gpuwhy.tui.report import places
from gpuwhy.tui.wording import LABELS, where

MOST_FACTS = 400
TABS_OF_TREES = {"proof": "why", "missing": "not"}


class DiagnosisScreen(Screen[None]):
    """Shows a snapshot; what a person does with it goes to the application."""

    CSS_PATH = "diagnosis.tcss"
    HELP = (
        "Up and down mark a conclusion; Tab goes to its proof, where Enter opens and closes lines. 1 to 9 answer the "
        'question at the bottom, d is "don\'t know", t types an answer, w tells why it is asked, h how to find out. '
        "f shows what to do about the conclusion that is marked, a adds another artefact, l looks at this machine, "
        "u takes the last answer back; the triangle marks what the last step changed. e writes the report. Everything "
        "is kept as it happens; q leaves, and the incident can be taken up again."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"answer({number})", show=False) for number in range(1, 10)),
        Binding("d", "unknown", "Don't know"),
        Binding("t", "type", "Type", show=False),
        Binding("w", "why", "Why ask"),
        Binding("h", "how", "How"),
        Binding("f", "fixes", "Fixes"),
        Binding("a", "app.paste", "Add"),
        Binding("o", "app.open", "Open", show=False),
        Binding("l", "app.look", "Look"),
        Binding("u", "undo", "Undo", show=False),
        Binding("e", "app.report", "Report"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("escape", "app.leave", "Start", show=False),
        Binding("q", "app.quit", "Quit", show=False),
    ]
    snapshot: reactive[Snapshot | None] = reactive(None, init=False)

    def __init__(self, ascii_only: bool) -> None:
        super().__init__()
        self._ascii = ascii_only

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        with Horizontal(id="middle"):
            yield Conclusions(self._ascii)
            with Vertical(id="right"):
                yield Headline("", id="headline", markup=False)
                with TabbedContent(id="tabs"):
                    with TabPane("Why", id="why"):
                        yield ProofTree(self._ascii, "proof")
                    with TabPane("Why not", id="not"):
                        yield ProofTree(self._ascii, "missing")
                    with TabPane("Facts", id="facts"):
                        yield DataTable(id="table", cursor_type="row")
                    with TabPane("Log", id="log"):
                        yield Static("", id="told", markup=False)
                yield Static("", id="line", markup=False)
        yield Static("", id="question", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(Conclusions).border_title = "Conclusions"
        self.query_one("#question").border_title = "Next"
        self.query_one("#table", DataTable).add_columns("value", "fact", "from")
        self.query_one(Conclusions).focus()
        if self.snapshot is not None:
            self.watch_snapshot(self.snapshot)

    def watch_snapshot(self, snapshot: Snapshot | None) -> None:
        """Draw what a new snapshot says."""
        if snapshot is None or not self.is_mounted:
            return
        report = snapshot.report
        readings = sum(one.origin.kind.value != "derived" for one in report.diagnosis.facts)
        counts = f"{readings} readings, {len(snapshot.answers)} answers" + (
            f"  ! {snapshot.trouble}" if snapshot.trouble else ""
        )
        self.query_one("#title", Static).update(Content(f"{SYMPTOMS.get(snapshot.symptom, '')}   {counts}"))
        self.query_one(Conclusions).show(report, snapshot.changes)
        self._show_marked()
        self._show_facts(snapshot)
        self._show_log(snapshot)
        self.query_one("#question", Static).update(Content(self._question_text(self.question)))

    @property
    def question(self) -> Question | None:
        """The question that is asked now."""
        found = self.snapshot.questions if self.snapshot is not None else ()
        return found[0] if found else None

    @property
    def marked(self) -> str | None:
        """The conclusion that is marked."""
        option = self.query_one(Conclusions).highlighted_option
        return option.id if option is not None else None

    def on_option_list_option_highlighted(self, _: OptionList.OptionHighlighted) -> None:
        """Another conclusion is marked."""
        self._show_marked()

    def on_option_list_option_selected(self, _: OptionList.OptionSelected) -> None:
        """Enter goes on to the proof."""
        self.query_one("#proof").focus()

    def on_proof_tree_marked(self, event: ProofTree.Marked) -> None:
        """The whole of a line of the proof that is in view."""
        if self.query_one("#tabs", TabbedContent).active == TABS_OF_TREES[event.tree]:
            self.query_one("#line", Static).update(Content(event.text))

    def _show_marked(self) -> None:
        if self.snapshot is None or self.marked is None:
            return
        report = self.snapshot.report
        self.query_one(Headline).show(report, self.marked)
        self.query_one("#proof", ProofTree).show(proof(report, self.marked))
        self.query_one("#missing", ProofTree).show(missing(report, self.marked))

    def _show_facts(self, snapshot: Snapshot) -> None:
        table = self.query_one("#table", DataTable)
        table.clear()
        for one in snapshot.report.diagnosis.facts[:MOST_FACTS]:
            about = "" if one.entity.kind in ("host", "job") else f" ({one.entity.path})"
            table.add_row(Text(show(one.value, one.unit)), Text(one.id + about), Text(where(one)))

    def _show_log(self, snapshot: Snapshot) -> None:
        changed = [
            f"{one.conclusion}: {LABELS[one.before] if one.before else 'not in play'} -> "
            f"{LABELS[one.after] if one.after else 'not in play'}"
            for one in snapshot.changes
        ]
        lines = [f"read: {name}" for name in snapshot.sources]
        lines += [f"answered: {fact} = {value or chr(63)}" for fact, value in snapshot.answers]
        lines += [f"applied: {name}" for name in snapshot.applied]
        lines += [
            f"not read: {place}: {reason}" for place, reason in places(snapshot.report.gathered.not_understood)[:5]
        ]
        self.query_one("#told", Static).update(Content("\n".join([*changed, *lines])))

    def _question_text(self, one: Question | None) -> str:
        if one is None:
            return "No question would decide more. f: what to do; a: add an artefact; l: look at this machine."
        choices = "  ".join(f"({number}) {words}" for number, (_, words) in enumerate(self._choices(one), 1))
        return f"{one.ask}\n{choices or '(t) type the answer'}  (d) don't know"

    def _choices(self, one: Question) -> list[tuple[str, str]]:
        assert self.snapshot is not None
        spec = self.snapshot.report.kb.facts[one.fact]
        if one.answers:
            return [(_written(value), words) for value, words in one.answers][:9]
        if spec.type == "boolean":
            return [("true", "yes"), ("false", "no")]
        return [(word, word) for word in spec.choices][:9]

    def action_answer(self, number: int) -> None:
        """Answer with the choice of this number."""
        if self.question is not None and number <= len(choices := self._choices(self.question)):
            self.app.record_answer(self.question, choices[number - 1][0])  # type: ignore[attr-defined]

    def action_unknown(self) -> None:
        """Don't know: the next question comes."""
        if self.question is not None:
            self.app.record_answer(self.question, None)  # type: ignore[attr-defined]

    def action_type(self) -> None:
        """Type a value."""
        asked = self.question
        if asked is not None:
            check = self.app.checker(asked)  # type: ignore[attr-defined]
            self.app.push_screen(ValueScreen(asked.ask, check), lambda value: self._typed(asked, value))

    def _typed(self, asked: Question, value: str | None) -> None:
        if value is not None:
            self.app.record_answer(asked, value)  # type: ignore[attr-defined]

    def action_why(self) -> None:
        """Which conclusions the question sets apart."""
        if self.question is None or self.snapshot is None:
            return
        kb = self.snapshot.report.kb
        told = [f"{name}: {say(kb.conclusions[name].says)}" for name in self.question.separates]
        text = f"{self.question.fact}: {say(kb.facts[self.question.fact].says)}\n\nIt sets apart:\n" + "\n".join(told)
        self.app.push_screen(TextScreen("Why this is asked", text))

    def action_how(self) -> None:
        """How to find out."""
        if self.question is not None:
            how = self.question.how or "Nothing is known that would tell; you may say that you don't know."
            self.app.push_screen(TextScreen("How to find out", f"{self.question.ask}\n\n{how}", self.question.command))

    def action_fixes(self) -> None:
        """What to do about the conclusion that is marked."""
        if self.marked is not None:
            self.app.show_fixes(self.marked)  # type: ignore[attr-defined]

    def action_undo(self) -> None:
        """Take the last answer back."""
        if self.snapshot is not None and self.snapshot.answers:
            self.app.withdraw(self.snapshot.answers[-1][0])  # type: ignore[attr-defined]


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
