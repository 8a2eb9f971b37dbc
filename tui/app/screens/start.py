"""The start: what is wrong, what is there already, the GPUs of this machine, and incidents to take up again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from gpuwhy.tui.app.choices import KEY, Choices
from gpuwhy.tui.app.messages import Glanced, IncidentsListed
from gpuwhy.tui.app.vitals import Vitals
from gpuwhy.tui.incident.events import SYMPTOMS
from gpuwhy.tui.incident.journal import Kept, listed

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase

MOST_INCIDENTS = 20

OTHERWISE = {
    "paste": ("p", "Paste a message, log or table"),
    "open": ("o", "Open a file or a folder"),
    "choose": ("c", "Choose an instance for a job"),
}
"""What can be done without saying what is wrong, by action."""


class StartScreen(Screen[None]):
    """Beneath every other screen: it tells the application what was chosen. Its style sheet is read with the app's."""

    INTERRUPT = "app.quit"
    KEYS = (
        ("1-5", "say what is wrong; this machine is looked at, or you are asked for what you have"),
        ("p  o", "paste or open what you have: messages, logs, tables, traces; it is read at once"),
        ("c", "which machine type a job should run on, and why not another"),
        ("r", "take up the incident that is marked, or the latest"),
        ("tab", "go to the incidents; Enter takes one up"),
        ("q", "quit"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"app.begin('{key}')", words, show=False)
            for number, (key, words) in enumerate(SYMPTOMS.items(), 1)
        ),
        Binding("p", "app.paste", "Paste", tooltip="Paste a message, log or table"),
        Binding("o", "app.open", "Open", tooltip="Open a file or a folder"),
        Binding("c", "app.choose", "Choose an instance"),
        Binding("r", "resume", "Resume", tooltip="Take up the incident that is marked, or the latest"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, headline: str) -> None:
        super().__init__()
        self._headline = headline
        self._rules = ""
        self._incidents: tuple[Kept, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(Content(self._headline), id="headline", classes="title")
        with Horizontal():
            with Vertical(id="left"):
                menu = Choices(id="menu", classes="pane", markup=False)
                menu.border_title = "What is wrong?"
                menu.add_options(_entries())
                yield menu
                incidents = Choices(id="incidents", classes="pane", markup=False)
                incidents.border_title = "Incidents"
                yield incidents
            machine = Vitals(id="machine")
            machine.border_title = "This machine"
            yield machine
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#headline", Static).update(Content(self._headline + self._rules), layout=False)
        menu = self.query_one("#menu", OptionList)
        menu.focus()
        menu.highlighted = 0

    def on_screen_resume(self) -> None:
        """An incident may have begun or moved on since; journals can be long, and are read beside the screen."""
        self.call_after_refresh(self.run_worker, self._list, thread=True, exclusive=True, exit_on_error=False)

    def _list(self) -> None:
        self.post_message(IncidentsListed(tuple(listed(most=MOST_INCIDENTS))))

    def on_incidents_listed(self, message: IncidentsListed) -> None:
        """Show them; the mark stays in its place."""
        self._incidents = message.incidents
        incidents = self.query_one("#incidents", OptionList)
        marked = incidents.highlighted
        incidents.clear_options()
        incidents.add_options([Option(Content(_kept(one)), one.name) for one in self._incidents])
        if not self._incidents:
            incidents.add_option(Option(Content("none yet; each is kept as it happens"), disabled=True))
        elif marked is not None:
            incidents.highlighted = min(marked, len(self._incidents) - 1)

    def show_rules(self, kb: KnowledgeBase) -> None:
        """Which rules are used."""
        beside = "".join(f", {one.name} {one.version}" for one in kb.packs[1:])
        self._rules = f"   rules {kb.version}{beside} ({kb.digest[:4]})"
        for shown in self.query("#headline").results(Static):  # none yet where rules are read before it stands
            shown.update(Content(self._headline + self._rules), layout=False)

    def on_option_list_option_selected(self, chosen: OptionList.OptionSelected) -> None:
        """Enter on a line does what its key does."""
        chose = str(chosen.option_id)
        if chosen.option_list.id == "incidents":
            action = f"app.resume('{chose}')"
        else:
            action = f"app.{chose}" if chose in OTHERWISE else f"app.begin('{chose}')"
        self.call_later(self.run_action, action)

    def action_resume(self) -> None:
        """Take up the incident that is marked, or the latest."""
        incidents = self.query_one("#incidents", OptionList)
        index = incidents.highlighted or 0
        if self._incidents:
            self.call_later(self.run_action, f"app.resume('{self._incidents[index].name}')")

    def on_glanced(self, message: Glanced) -> None:
        """Draw the GPUs as they are now, with the moments before."""
        self.query_one(Vitals).show(message.glance)


def _entries() -> list[Option]:
    """The menu: what is wrong, and what else can be done."""
    wrong = [(str(number), words, key) for number, (key, words) in enumerate(SYMPTOMS.items(), 1)]
    other = [(key, words, name) for name, (key, words) in OTHERWISE.items()]
    made = [Option(_entry(key, words), name) for key, words, name in wrong + other]
    return [*made[: len(wrong)], Option(Content(""), disabled=True), *made[len(wrong) :]]


def _entry(key: str, words: str) -> Content:
    return Content.assemble((key, KEY), "  ", words)


def _kept(one: Kept) -> str:
    return f"{one.began_at[5:16].replace('T', ' ')}  {one.title}  {one.state}"
