"""A table of GPUs judged: one row for each GPU, which carries the facts of its host and its job in its own row.

Such a table has no rows for hosts and jobs. Rules about them are judged in every row of the host, and see the facts of
a GPU only where it is the only one of its host, as in a diagnosis. Facts about anything else have no place in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from gpuwhy.engine.catalogue import described
from gpuwhy.engine.columns import Expr, Specs, Table, derive
from gpuwhy.engine.fleet import LABELS, conclusions, read_facts
from gpuwhy.engine.fleet_catalogue import Following, bind
from gpuwhy.engine.fleet_peers import add_peer_ranks, compared, medians, peer_facts
from gpuwhy.engine.peers import UTILIZATION, Peers
from gpuwhy.engine.sheet import Sheet
from gpuwhy.engine.sheet_nodes import Node
from gpuwhy.engine.sheet_values import CONSTANT, FALSE, OF_HOSTS, OF_ROWS, TRUE, UNKNOWN, Value, as_series, truth
from gpuwhy.engine.values import kind_of, typed
from gpuwhy.kb.conditions import FactRef, Over
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, gpu
from gpuwhy.kb.model import Derivation, KnowledgeBase
from gpuwhy.kb.ruleset import Outline, opens

T = TypeVar("T")
KINDS = ("host", "job", "gpu")
REGION = "host.region"
NAME, DEVICE, ORDER = "host", "gpu", "order"
"""Columns that are no facts: the machine, the GPU within it, and the place of the row."""
_ALSO_NAMED = ("gpu.xid_event_codes", "gpu.xid_first")


class GpuTable(Table):
    """The expressions of conditions over a table of GPUs."""

    def __init__(self, specs: Specs, frame: Any) -> None:
        self._above = False
        super().__init__(specs, frame)

    def judges(self, scope: str) -> bool:
        """True for rules about hosts, jobs and GPUs."""
        return scope in KINDS

    def in_scope(self, scope: str, make: Callable[[], T]) -> T:
        """What `make` gives; rules about a host or a job see a GPU's facts only where there is one GPU."""
        before, self._above = self._above, scope != "gpu"
        try:
            return make()
        finally:
            self._above = before

    def value(self, ref: FactRef) -> Expr:
        """What a row sees of a reference."""
        plain = super().value(ref)
        of_gpu = ref.over is None and ref.fact in self.names and self.specs[ref.fact].entity == "gpu"
        return self.sheet.of_only_row(plain) if self._above and of_gpu else plain

    def aggregate(self, ref: FactRef) -> Expr:
        """An aggregate over the GPUs of a host; of a fact of the host or the job there is one."""
        if ref.fact not in self.names or self.specs[ref.fact].entity == "gpu":
            return super().aggregate(ref)
        own = self.sheet.col(ref.fact)
        if ref.over is Over.COUNT:
            return self.sheet.choose(self.sheet.known(own), self.sheet.lit(1.0))
        is_word = self.specs[ref.fact].type in ("text", "choice")
        return self.sheet.nothing(float) if is_word else self.sheet.number(own)

    def add_derived(self, derivation: Derivation) -> None:
        """The column of the fact that a derivation gives, filled where nothing is known yet."""
        sheet, gives, scope = self.sheet, self.specs[derivation.gives], derivation.scope
        if not self.judges(scope) or not self.judges(gives.entity):
            return
        made = self.in_scope(scope, lambda: self.made(derivation))
        if scope == "gpu" and gives.entity != "gpu":  # of several GPUs, the first that gives something
            first = sheet.over("min", sheet.choose(sheet.known(made), sheet.col(ORDER)), (NAME,))
            sheet.bind({"_first": first, "_made": made})
            chosen = sheet.choose(sheet.col(ORDER) == sheet.col("_first"), sheet.col("_made"))
            made = sheet.over("max", chosen, (NAME,))
        sheet.bind({gives.id: sheet.first_known(self.column(gives.id), made)})
        if "_first" in self.names:
            sheet.drop("_first", "_made")


def read_columns(kb: KnowledgeBase, names: Iterable[str]) -> list[str]:
    """Which of these columns the rules that can be in play read, or reports name; all others need not be loaded."""
    columns = list(names)
    read = {*catalogue_keys(kb, columns), *LABELS.values(), REGION, *compared(kb, columns).values(), UTILIZATION}
    read.update(*(one.reads for one in rules_of(kb, columns)))
    return [one for one in columns if one in read and one in kb.facts and kb.facts[one].entity in KINDS]


def rules_of(kb: KnowledgeBase, names: Iterable[str]) -> list[Outline]:
    """The derivations and signatures that a table with these columns can bring into play."""
    known = set(names)
    known |= peer_facts(kb, known)
    known.update(_catalogue_facts(kb) if catalogue_keys(kb, known) else ())
    found = []
    for one in kb.derivations.outlines:
        if opens(one.gate, known):
            known.update(one.about)
            found.append(one)
    return found + [one for one in kb.signatures.outlines if opens(one.gate, known)]


class TableJudge:
    """Judges a table of GPUs, portion by portion: what is to be computed is worked out once, for the first of them.

    `peers` gives the medians of the fleet that its GPUs are compared with; it is asked when the first are looked up.
    Threads may judge several portions at a time.
    """

    def __init__(self, kb: KnowledgeBase, peers: Callable[[], Peers]) -> None:
        self._kb = kb
        self._peers = peers
        self._planned: tuple[Sheet, dict[str, int]] | None = None
        self._free: list[Sheet] = []
        self._planning = Lock()

    def plan(self, portion: Any) -> tuple[Sheet, dict[str, int]]:
        """What is to be computed for portions with the columns of this one, which may have no rows."""
        with self._planning:
            if self._planned is None:
                self._planned = self._plan(portion)
        return self._planned

    def judge(self, portion: Any) -> Judged:
        """A Polars frame with a column `order`; rows of one host stand together, all portions have the same columns."""
        planned, numbers = self.plan(portion)
        if self._free:
            sheet = self._free.pop()
            sheet.load(portion)
        else:
            sheet = planned.twin(portion)
        ranks = {name: sheet.evaluate(sheet.numbered(at)) for name, at in numbers.items()}
        sheet.forget()  # a portion computes ten times what it concludes: the next one takes that memory
        return Judged(portion, sheet, ranks)

    def forget(self, judged: Judged) -> None:
        """Lets go of the rows of a portion: nothing can be asked about it after that."""
        judged.sheet.load(judged.rows.clear())
        self._free.append(judged.sheet)

    def _plan(self, portion: Any) -> tuple[Sheet, dict[str, int]]:
        facts = self._kb.facts
        sheet = Sheet(portion.clear(), NAME, lambda name: name in facts and facts[name].entity != "gpu")
        table = GpuTable(facts, sheet)
        for one in following(self._kb, portion.columns, self._peers):
            bind(sheet, one)
        derive(self._kb, table)
        ranks: dict[str, Node] = conclusions(self._kb, table)
        add_peer_ranks(self._kb, table, portion.columns, ranks)
        return sheet, {name: node.number for name, node in ranks.items()}


class Judged:
    """The conclusions about a portion. `ranks`: by conclusion and scope, as `conclude_rows` names and numbers them."""

    def __init__(self, rows: Any, sheet: Sheet, ranks: Mapping[str, Value]) -> None:
        self.rows = rows
        self.ranks = ranks
        self.sheet = sheet
        self.groups = sheet.groups

    def where(self, name: str, low: int, high: int) -> Value:
        """Where a conclusion has a rank of these: a truth for all, for each host or for each row; never unknown."""
        rank = self.ranks[name]
        if rank.level == CONSTANT:
            return TRUE if rank.data is not None and low <= rank.data <= high else FALSE
        within = rank.data <= high
        within = within & (rank.data >= low) if low else within
        if within.null_count():
            within = within.zip_with(within, as_series(False, bool))
        return truth(rank.level, within)

    def label(self, name: str) -> Value:
        """What a fact is in each host; of several GPUs, in the first."""
        if name not in self.sheet.names:
            return UNKNOWN
        value = self.sheet.value(name)
        return Value(OF_HOSTS, self.groups.first(value.data)) if value.level == OF_ROWS else value

    def by_host(self, name: str) -> Any:
        """A text for each host; None where the rows of a host differ."""
        value = self.sheet.value(name) if name in self.sheet.names else UNKNOWN
        if value.level == CONSTANT:
            return as_series(value.data, str).new_from_index(0, self.groups.count)
        if value.level == OF_HOSTS:
            return value.data
        first = self.groups.first(value.data)
        return first if self.groups.spread(first).eq_missing(value.data).all() else None

    def column(self, name: str, kind: type) -> Any:
        """What a fact is in each row, as a column of this type."""
        value = self.sheet.value(name) if name in self.sheet.names else UNKNOWN
        return self.sheet.full(value, kind)

    def whole(self, value: Value) -> Any:
        """A value for each row."""
        return self.sheet.full(value, int)


def judge_table(kb: KnowledgeBase, frame: Any) -> tuple[Any, list[str]]:
    """A Polars frame of GPUs judged, each host by itself: its rows, with a column of ranks for each conclusion, and
    their names."""
    judged = TableJudge(kb, lambda: Peers(())).judge(frame)
    made = {name: judged.whole(value) for name, value in judged.ranks.items()}
    return judged.rows.with_columns(**made), list(made)


def following(kb: KnowledgeBase, columns: Collection[str], peers: Callable[[], Peers]) -> Iterator[Following]:
    """What follows from the values of columns: what the catalogue knows, and the medians of peers."""
    yield from _of_catalogue(kb, columns)
    yield from medians(kb, columns, peers)


def _of_catalogue(kb: KnowledgeBase, columns: Iterable[str]) -> Iterator[Following]:
    """What the catalogue knows: by names and versions first, then by event codes, which differ from GPU to GPU."""
    keys, wanted = catalogue_keys(kb, columns), _catalogue_facts(kb) & read_facts(kb)
    coded = {name for name in wanted if name.startswith("gpu.xid_")}
    by_code = [key for key in keys if key in _ALSO_NAMED]
    by_name = [key for key in keys if key not in _ALSO_NAMED]
    for some, names in ((by_name, wanted - coded), (by_code, coded)):
        if some:
            kinds = {name: kind_of(kb.facts, FactRef(name)) for name in names}
            yield Following(some, kinds, partial(_described_by, kb, kinds))


def _described_by(kb: KnowledgeBase, kinds: Mapping[str, type], key: Mapping[str, Any]) -> dict[str, Any]:
    """Which of these facts the catalogue gives for the values of its columns."""
    given = described(kb, base_of_rows(kb, [key], "table"))
    return {fact.id: typed(kb.facts, FactRef(fact.id), fact.value) for fact in given if fact.id in kinds}


def catalogue_keys(kb: KnowledgeBase, names: Iterable[str]) -> list[str]:
    """The columns by which the catalogue knows a GPU, a machine or a version."""
    ranged = [entry["of"] for entry in kb.catalogue.sections.get("versions", ())]
    keys = {*LABELS.values(), *ranged, *(of for of, _ in kb.catalogue.numbers()), *_ALSO_NAMED}
    return [one for one in names if one in keys]


def base_of_rows(kb: KnowledgeBase, rows: Iterable[Mapping[str, Any]], source: str) -> FactBase:
    """The facts of the rows of one host."""
    origin = Origin(OriginKind.MEASURED, source)
    facts: dict[tuple[str, Entity], Fact] = {}
    for number, row in enumerate(rows):
        device = gpu(str(row[DEVICE]) if row.get(DEVICE) is not None else number)
        for name, value in row.items():
            spec = kb.facts.get(name)
            if spec is None or spec.entity not in KINDS or value is None:
                continue
            if isinstance(value, float) and not math.isfinite(value):  # unknown, as in the columns
                continue
            entity = {"host": HOST, "job": JOB}.get(spec.entity, device)
            plain = int(value) if spec.type == "integer" and float(value).is_integer() else value
            facts.setdefault((name, entity), Fact(name, plain, spec.unit, entity, origin))
    return FactBase.of(facts.values())


def _catalogue_facts(kb: KnowledgeBase) -> set[str]:
    """Every fact that the catalogue may give."""
    found = {gives for _, gives in kb.catalogue.numbers()}
    found |= {name for name in kb.facts if name.startswith("gpu.xid_") and name != _ALSO_NAMED[0]}
    for section in ("chips", "gpus", "instances", "versions"):
        found.update(name for entry in kb.catalogue.sections.get(section, ()) for name in entry.get("values", ()))
    return {name for name in found if kb.facts[name].entity in KINDS}
