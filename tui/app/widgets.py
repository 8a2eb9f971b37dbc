"""Widgets that several screens use: the proof as a tree, and what a person may answer."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.text import Text
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from gpuwhy.engine.model import Conclusion, Status, Truth
from gpuwhy.kb.texts import say
from gpuwhy.tui.app.choices import Choices
from gpuwhy.tui.incident.session import Change
from gpuwhy.tui.proof_nodes import Node
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import status_label

MARKS = {Truth.TRUE: "✔ ", Truth.FALSE: "✘ ", Truth.UNKNOWN: "? "}
COLOURS = {Status.CONFIRMED: "ansi_red", Status.LIKELY: "ansi_yellow", Status.POSSIBLE: "ansi_cyan"}
"""Of the shape of a cause; what is as it should be is green."""
SHAPES = {Status.CONFIRMED: "●", Status.LIKELY: "◐", Status.POSSIBLE: "◌", Status.RULED_OUT: "✗"}
NOTICED_SECONDS = 0.5
"""What takes less is not told of: each telling travels over SSH."""
MOST_RULED_OUT = 12
LONGEST_NAME = 24  # columns of the list in the narrowest terminal; a longer name goes without its area


class ProofTree(Tree[str]):
    """The proof of one conclusion. The whole text of the line that is marked stands beneath the tree."""

    class Marked(Message):
        """A line was marked; `text` is the whole of it, empty if all of it is seen."""

        def __init__(self, tree: str, text: str) -> None:
            super().__init__()
            self.tree, self.text = tree, text

    def __init__(self, id: str) -> None:
        super().__init__("proof", id=id)
        self.show_root = False
        self.guide_depth = 2

    def show(self, nodes: Iterable[Node]) -> None:
        """Replace what is shown."""
        self.clear()
        for node in nodes:
            self._put(self.root, node)
        self.root.expand()
        if self.root.children:
            self.move_cursor(self.root.children[0])
            self._tell(self.root.children[0])

    def _put(self, parent: TreeNode[str], node: Node) -> None:
        text = (MARKS[node.truth] if node.truth is not None else "") + node.text
        label = Text(text)
        if node.below:
            made = parent.add(label, data=node.whole or text, expand=node.open)
            for below in node.below:
                self._put(made, below)
        else:
            parent.add_leaf(label, data=node.whole or text)

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[str]) -> None:
        """Tell the whole of it: a line of the tree is short, and may be cut at the edge."""
        self._tell(event.node)

    def _tell(self, node: TreeNode[str]) -> None:
        label, whole = str(node.label), node.data or ""
        seen = whole in label and self._indent(node) + cell_len(label) <= self.size.width
        self.post_message(self.Marked(str(self.id), "" if seen else whole))

    def _indent(self, node: TreeNode[str]) -> int:
        """Columns before the label: the guides of every level, and the arrow of what opens."""
        levels, above = 0, node.parent
        while above is not None and above is not self.root:
            levels, above = levels + 1, above.parent
        return self.guide_depth * (levels + 1)


class Conclusions(Choices):
    """Conclusions by status, root causes first, consequences beneath their cause; whether they are being `judged`."""

    judged: reactive[bool] = reactive(False, init=False)

    def __init__(self) -> None:
        super().__init__(id="conclusions", markup=False, classes="pane")
        self.border_title = "Conclusions"
        self._kinds: dict[str, str] = {}

    def watch_judged(self) -> None:
        """Tell it, where it takes a while."""
        self.set_timer(NOTICED_SECONDS if self.judged else 0.01, self._tell_judged)

    def _tell_judged(self) -> None:
        self.border_title = "Reading, judging ..." if self.judged else "Conclusions"

    def show(self, report: Report, changes: Iterable[Change]) -> None:
        """List the conclusions of a report; what was marked stays marked, unless its cause has become known."""
        changed = {one.conclusion for one in changes}
        marked = self.highlighted_option.id if self.highlighted_option is not None else None
        self.clear_options()
        self._kinds = {name: one.kind for name, one in report.kb.conclusions.items()}
        heading = ""
        for one in (*report.diagnosis.conclusions, *report.diagnosis.ruled_out[:MOST_RULED_OUT]):
            label = status_label(one)
            if label != heading and one.explained_by is None:
                heading = label
                self.add_option(Option(Content.styled(label, "bold"), disabled=True))
            self.add_option(Option(self._line(one, one.id in changed), one.id))
        ids = [option.id for option in self.options]
        causes = {one.id: one.explained_by for one in report.diagnosis.conclusions}
        marked = causes.get(marked or "") or marked
        first = next((index for index, name in enumerate(ids) if name), 0)
        self.highlighted = ids.index(marked) if marked and marked in ids else first

    def _line(self, one: Conclusion, changed: bool) -> Content:
        indent = "   " if one.explained_by is not None else ""
        note = "Δ" if changed else " "
        name = one.id if len(indent + one.id) <= LONGEST_NAME else one.id.partition(".")[2]
        return Content.assemble(indent, (SHAPES[one.status], colour_of(one, self._kinds.get(one.id, ""))), note, name)


class Headline(Static):
    """One line about the conclusion that is marked: what it says, and why."""

    def show(self, report: Report, name: str) -> None:
        """Write it for a conclusion."""
        found = next((o for o in (*report.diagnosis.conclusions, *report.diagnosis.ruled_out) if o.id == name), None)
        says = say(report.kb.conclusions[name].says, report.language)
        spec = report.kb.conclusions[name]
        text = says
        if found is not None and found.because and found.because != says:
            text += f" {found.because[:1].upper()}{found.because[1:]}."
        collect = say(spec.collect, report.language)
        if collect and spec.kind == "evidence":
            text += f" To collect: {collect}"
        if found is None:
            self.update(Content(text))
            return
        label = (status_label(found), f"bold {colour_of(found, spec.kind)}".rstrip())
        self.update(Content.assemble(label, " ", text))


def colour_of(one: Conclusion, kind: str) -> str:
    """The colour of its status, as a style; none for what is ruled out."""
    if kind == "normal" and one.status.asserted:
        return "ansi_green"
    return COLOURS.get(one.status, "")
