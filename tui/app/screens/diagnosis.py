"""The diagnosis: conclusions, the proof of the one that is marked, and the next question, all in one view."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static, TabbedContent, TabPane

from gpuwhy.engine.model import Question
from gpuwhy.tui.app import questions
from gpuwhy.tui.app.asked import Asked
from gpuwhy.tui.app.desk import desk
from gpuwhy.tui.app.panes import FactChosen, FactMarked, Facts, Steps, changed
from gpuwhy.tui.app.screens.text import TextScreen
from gpuwhy.tui.app.titles import title_of
from gpuwhy.tui.app.widgets import Conclusions, Headline, ProofTree
from gpuwhy.tui.incident.session import Snapshot
from gpuwhy.tui.proof_nodes import missing, proof

TABS_OF_TREES = {"proof": "why", "missing": "not"}


class DiagnosisScreen(Screen[None]):
    """Shows a snapshot; what a person does with it goes to the application."""

    CSS_PATH = "diagnosis.tcss"
    INTERRUPT = "app.quit"
    KEYS = (
        ("1-9 d t", "answer the question at the bottom: a choice, don't know, or type a value"),
        ("w  h", "why it is asked, and how to find out"),
        ("arrows enter", "mark a conclusion; go to its proof, where Enter opens and closes lines"),
        ("f", "what to do about the conclusion that is marked"),
        ("v  x", "why it holds, and why not"),
        ("/", "search the facts; Enter on one: what if it were otherwise"),
        ("s", "the steps so far; Enter on an answer: give another one"),
        ("u", "take the last answer or what-if back"),
        ("c", "which machine type this should run on, with what was found"),
        ("a o l j", "add a paste, a file, a look at this machine, or at a running job"),
        ("e  q", "write the report; leave: the incident is kept, and can be taken up again"),
        ("● ◐ ◌ ✗", "confirmed, likely, possible, ruled out; Δ: changed by the last step"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"answer({number})", show=False) for number in range(1, 10)),
        Binding("d", "unknown", "Don't know"),
        Binding("t", "type", "Type the answer", show=False),
        Binding("w", "why", "Why ask", tooltip="Why this is asked"),
        Binding("h", "how", "How", tooltip="How to find the answer out"),
        Binding("f", "fixes", "Fixes", tooltip="What to do about the conclusion that is marked"),
        Binding("a", "app.paste", "Add", tooltip="Add a message, log or table that you paste"),
        Binding("o", "app.open", "Open a file or a folder", show=False),
        Binding("l", "app.look", "Look", tooltip="Look at this machine"),
        Binding("j", "app.job", "Watch a running job", show=False),
        Binding("x", "tab('not')", "Why the conclusion may not hold", show=False),
        Binding("v", "tab('why')", "Why the conclusion holds", show=False),
        Binding("s", "tab('log')", "The steps so far; give another answer", show=False),
        Binding("slash", "tab('facts')", "Search the facts; what if one were otherwise", show=False),
        Binding("u", "undo", "Take the last answer or what-if back", show=False),
        Binding("c", "app.choose", "Choose an instance for the job", show=False),
        Binding("e", "app.report", "Report", tooltip="Write the report for the ticket"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("escape", "back", "Back; the incident is kept", show=False),
        Binding("q", "app.quit", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - as Textual declares it
    snapshot: reactive[Snapshot | None] = reactive(None, init=False)

    def compose(self) -> ComposeResult:
        yield Static("", id="title", classes="title", markup=False)
        with Horizontal(id="middle"):
            yield Conclusions()
            with Vertical(id="right", classes="pane"):
                yield Headline("", id="headline", markup=False)
                with TabbedContent(id="tabs"):
                    with TabPane("v Why", id="why"):
                        yield ProofTree("proof")
                    with TabPane("x Why not", id="not"):
                        yield ProofTree("missing")
                    with TabPane("/ Facts", id="facts"):
                        yield Facts("every-fact")
                    with TabPane("s Steps", id="log"):
                        yield Steps("steps")
                yield Static("", id="line", markup=False)
        yield Static("", id="changes", markup=False)
        yield Asked(id="question", classes="pane")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#question").border_title = "Next"
        self.query_one(Conclusions).focus()
        if self.snapshot is not None:
            self.watch_snapshot(self.snapshot)

    def watch_snapshot(self, snapshot: Snapshot | None) -> None:
        """Draw what a new snapshot says."""
        if snapshot is None or not self.is_mounted:
            return
        report = snapshot.report
        self.query_one("#title", Static).update(Content(title_of(snapshot)))
        self.query_one(Conclusions).show(report, snapshot.changes)
        self._show_marked()
        self.query_one(Facts).show(snapshot)
        self.query_one(Steps).show(snapshot)
        asked = self.query_one("#question", Asked)
        question = self.question
        asked.show(*(question.ask, questions.keys(report.kb.facts[question.fact], question)) if question else ("", ()))
        self.refresh_bindings()
        asked.border_subtitle = Content(questions.separates(self.question))
        note = self.query_one("#changes", Static)
        note.display = bool(snapshot.changes)
        note.update(Content(changed(snapshot.changes)))

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
            self._tell(event.text if self.query_one(f"#{event.tree}").has_focus else "")

    def on_fact_marked(self, event: FactMarked) -> None:
        """The whole of a fact that is in view."""
        if self.query_one("#tabs", TabbedContent).active == "facts":
            self._tell(event.text)

    def on_tabbed_content_tab_activated(self, _: TabbedContent.TabActivated) -> None:
        """What was told of a line of another tab goes."""
        self._tell("")

    def _tell(self, text: str) -> None:
        line = self.query_one("#line", Static)
        line.display = bool(text)
        line.update(Content(text))

    def _show_marked(self) -> None:
        if self.snapshot is None or self.marked is None:
            return
        report = self.snapshot.report
        self.query_one(Headline).show(report, self.marked)
        self.query_one("#proof", ProofTree).show(proof(report, self.marked))
        self.query_one("#missing", ProofTree).show(missing(report, self.marked))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Keys of a question are told only where there is one."""
        return self.question is not None or action not in ("answer", "unknown", "type", "why", "how")

    def action_answer(self, number: int) -> None:
        """Answer with the choice of this number."""
        if self.question is None or self.snapshot is None:
            return
        found = questions.choices(self.snapshot.report.kb.facts[self.question.fact], self.question)
        if number <= len(found):
            desk(self).record_answer(self.question, found[number - 1][0])

    def action_unknown(self) -> None:
        """Don't know: the next question comes."""
        if self.question is not None:
            desk(self).record_answer(self.question, None)

    def action_type(self) -> None:
        """Type a value."""
        asked = self.question
        if asked is not None and self.snapshot is not None:
            spec, check = self.snapshot.report.kb.facts[asked.fact], desk(self).checker(questions.named(asked))
            screen = questions.answering(asked.ask, spec, check, asked)
            self.app.push_screen(screen, lambda value: self._typed(asked, value))

    def _typed(self, asked: Question, value: str | None) -> None:
        if value is not None:
            desk(self).record_answer(asked, value)

    def action_why(self) -> None:
        """Which conclusions the question sets apart."""
        if self.question is None or self.snapshot is None:
            return
        self.app.push_screen(TextScreen("Why this is asked", questions.why(self.snapshot.report, self.question)))

    def action_how(self) -> None:
        """How to find out."""
        if self.question is not None:
            self.app.push_screen(TextScreen("How to find out", questions.how(self.question)))

    def action_fixes(self) -> None:
        """What to do about the conclusion that is marked."""
        if self.marked is not None:
            desk(self).show_fixes(self.marked)

    def action_undo(self) -> None:
        """Take the last what-if back, or the last answer."""
        standing = (self.snapshot.supposed or self.snapshot.answers) if self.snapshot is not None else ()
        if standing:
            desk(self).withdraw(standing[-1][0])

    async def action_back(self) -> None:
        """From the right to the conclusions; from there to the start, before another key opens something above."""
        if self.query_one(Conclusions).has_focus:
            await self.run_action("app.leave")
        else:
            self.query_one(Conclusions).focus()

    def action_tab(self, name: str) -> None:
        """Go to a tab."""
        self.query_one("#tabs", TabbedContent).active = name
        if name == "facts":
            self.query_one(Facts).search()
        else:
            self.query_one({"why": "#proof", "not": "#missing", "log": "#steps"}[name]).focus()

    def on_fact_chosen(self, chosen: FactChosen) -> None:
        """Ask for another value of a fact or an answer."""
        assert self.snapshot is not None
        title = f"Another answer for {chosen.name}" if chosen.answered else f"What if {chosen.name} were"
        spec = self.snapshot.report.kb.facts[chosen.name.rpartition("/")[2]]

        record = desk(self).record_change if chosen.answered else desk(self).suppose

        def given(value: str | None) -> None:
            if value is not None:
                record(chosen.name, value)

        title += f" (now {chosen.now or 'not known'})"
        self.app.push_screen(questions.answering(title, spec, desk(self).checker(chosen.name)), given)
