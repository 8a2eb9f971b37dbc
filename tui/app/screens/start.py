"""The start: what is wrong, what is there already, the GPUs of this machine, and incidents to take up again."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from gpuwhy.kb.units import show
from gpuwhy.probes.nvml_glance import Glance, Vital
from gpuwhy.tui.app.curves import curve
from gpuwhy.tui.app.messages import Glanced
from gpuwhy.tui.incident.events import SYMPTOMS
from gpuwhy.tui.incident.journal import Kept

CURVE = 12
MOST_GPUS = 8


class StartScreen(Screen[None]):
    """Dismisses nothing: it tells the application what was chosen."""

    CSS_PATH = "start.tcss"
    HELP = "Choose what is wrong with 1 to 5, or paste (p) or open (o) what you have: it is read at once. r takes up\
 the incident that is marked on the right."
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"app.begin('{key}')", words, show=False)
            for number, (key, words) in enumerate(SYMPTOMS.items(), 1)
        ),
        Binding("p", "app.paste", "Paste"),
        Binding("o", "app.open", "Open"),
        Binding("r", "resume", "Resume"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, headline: str, incidents: tuple[Kept, ...], ascii_only: bool) -> None:
        super().__init__()
        self._headline = headline
        self._incidents = incidents
        self._ascii = ascii_only
        self._seen: dict[int, dict[str, deque[float | None]]] = defaultdict(
            lambda: defaultdict(lambda: deque(maxlen=CURVE))
        )

    def compose(self) -> ComposeResult:
        yield Static(Content(self._headline), id="headline")
        with Horizontal():
            with Vertical(id="left"):
                symptoms = OptionList(id="symptoms", markup=False)
                symptoms.border_title = "What is wrong?"
                symptoms.add_options(
                    [Option(Content(f"{n}  {words}"), key) for n, (key, words) in enumerate(SYMPTOMS.items(), 1)]
                )
                yield symptoms
                have = OptionList(
                    Option(Content("p  Paste a message, log or table"), "paste"),
                    Option(Content("o  Open a file or a folder"), "open"),
                    id="have", markup=False,
                )  # fmt: skip
                have.border_title = "Have something already?"
                yield have
            with Vertical(id="right"):
                machine = Static(Content("looking for GPUs…"), id="machine")
                machine.border_title = "This machine"
                yield machine
                incidents = OptionList(id="incidents", markup=False)
                incidents.border_title = "Incidents"
                incidents.add_options([Option(Content(_kept(one)), one.name) for one in self._incidents[:20]])
                if not self._incidents:
                    incidents.add_option(Option(Content("none yet"), disabled=True))
                yield incidents
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#symptoms").focus()

    def on_option_list_option_selected(self, chosen: OptionList.OptionSelected) -> None:
        """Enter on a line does what its key does."""
        action = {
            "symptoms": f"app.begin('{chosen.option_id}')",
            "have": f"app.{chosen.option_id}",
            "incidents": f"app.resume('{chosen.option_id}')",
        }[str(chosen.option_list.id)]
        self.call_later(self.run_action, action)

    def action_resume(self) -> None:
        """Take up the incident that is marked, or the latest."""
        incidents = self.query_one("#incidents", OptionList)
        index = incidents.highlighted or 0
        if self._incidents:
            self.call_later(self.run_action, f"app.resume('{self._incidents[index].name}')")

    def on_glanced(self, message: Glanced) -> None:
        """Draw the GPUs as they are now, with the moments before."""
        self.query_one("#machine", Static).update(Content(self._machine(message.glance)))

    def _machine(self, glance: Glance) -> str:
        if glance.trouble:
            return f"No GPU to look at: {glance.trouble}. What you paste or open is diagnosed all the same."
        lines = [line for one in glance.gpus[:MOST_GPUS] for line in self._gpu(one, len(glance.gpus) > 2)]
        return "\n".join(lines)

    def _gpu(self, one: Vital, short: bool) -> list[str]:
        seen = self._seen[one.index]
        memory = _share(one.memory_used_bytes, one.memory_total_bytes)
        heat = _share(one.temperature_celsius, one.slowdown_celsius)
        for name, share in (("busy", one.utilization_share), ("mem", memory), ("temp", heat)):
            seen[name].append(share)
        if one.trouble:
            return [f"GPU {one.index}  {one.name}: {one.trouble}"]
        busy = "?" if one.utilization_share is None else f"{one.utilization_share:.0%}"
        used = "?" if one.memory_used_bytes is None else show(one.memory_used_bytes, "bytes")
        total = "" if one.memory_total_bytes is None else f" of {show(one.memory_total_bytes, 'bytes')}"
        warm = "?" if one.temperature_celsius is None else f"{one.temperature_celsius:.0f} °C"
        limit = "" if one.slowdown_celsius is None else f" (slows at {one.slowdown_celsius:.0f})"
        if short:
            drawn = curve(list(seen["busy"]), CURVE, self._ascii)
            return [f"{one.index} {drawn} {busy:>4}  {used} {warm}"]
        return [
            f"GPU {one.index}  {one.name}",
            f"busy {curve(list(seen['busy']), CURVE, self._ascii)} {busy}",
            f"mem  {curve(list(seen['mem']), CURVE, self._ascii)} {used}{total}",
            f"temp {curve(list(seen['temp']), CURVE, self._ascii)} {warm}{limit}",
        ]


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _kept(one: Kept) -> str:
    return f"{one.began_at[5:16].replace('T', ' ')}  {one.title}  {one.state}"
