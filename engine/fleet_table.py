"""A table of GPUs judged: one row for each GPU, which carries the facts of its host and its job in its own row.

Such a table has no rows for hosts and jobs. Rules about them are judged in every row of the host, and see the facts of
a GPU only where it is the only one of its host, as in a diagnosis. Facts about anything else have no place in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from gpuwhy.engine.catalogue import described
from gpuwhy.engine.columns import Specs, Table, add_derived
from gpuwhy.engine.fleet import LABELS, conclude_rows, read_facts
from gpuwhy.kb.conditions import FactRef, Over
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, gpu
from gpuwhy.kb.model import Derivation, KnowledgeBase
from gpuwhy.kb.ruleset import Outline, opens

if TYPE_CHECKING:
    import narwhals as nw

T = TypeVar("T")
KINDS = ("host", "job", "gpu")
NAME, DEVICE, ORDER = "host", "gpu", "order"
"""Columns that are no facts: the machine, the GPU within it, and the place of the row."""
_ONLY = "_only"
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

    def value(self, ref: FactRef) -> nw.Expr:
        """What a row sees of a reference."""
        import narwhals as nw

        plain = super().value(ref)
        of_gpu = ref.over is None and ref.fact in self.names and self.specs[ref.fact].entity == "gpu"
        if not self._above or not of_gpu:
            return plain
        if _ONLY not in self.names:
            self._add({_ONLY: nw.col(NAME).count().over(NAME) == 1})
        return nw.when(nw.col(_ONLY)).then(plain)

    def aggregate(self, ref: FactRef) -> nw.Expr:
        """An aggregate over the GPUs of a host; of a fact of the host or the job there is one."""
        import narwhals as nw

        if ref.fact not in self.names or self.specs[ref.fact].entity == "gpu":
            return super().aggregate(ref)
        own = nw.col(ref.fact)
        if ref.over is Over.COUNT:
            return nw.when(~own.is_null()).then(nw.lit(1.0))
        return own.cast(nw.Float64) if self.specs[ref.fact].type not in ("text", "choice") else self.nothing(float)

    def add_derived(self, derivation: Derivation) -> None:
        """The column of the fact that a derivation gives, filled where nothing is known yet."""
        import narwhals as nw

        gives, scope = self.specs[derivation.gives], derivation.scope
        if not self.judges(scope) or not self.judges(gives.entity):
            return
        made = self.in_scope(scope, lambda: self.made(derivation))
        if scope == "gpu" and gives.entity != "gpu":  # of several GPUs, the first that gives something
            self._add({"_made": made})
            first = nw.when(~nw.col("_made").is_null()).then(nw.col(ORDER)).min().over(NAME)
            self._add({"_first": first})
            made = nw.when(nw.col(ORDER) == nw.col("_first")).then(nw.col("_made")).max().over(NAME)
        self._add({gives.id: nw.coalesce(self.column(gives.id), made)})


def read_columns(kb: KnowledgeBase, names: Iterable[str]) -> list[str]:
    """Which of these columns the rules that can be in play read, or reports name; all others need not be loaded."""
    columns = list(names)
    read = {*catalogue_keys(kb, columns), *LABELS.values()}.union(*(one.reads for one in rules_of(kb, columns)))
    return [one for one in columns if one in read and one in kb.facts and kb.facts[one].entity in KINDS]


def rules_of(kb: KnowledgeBase, names: Iterable[str]) -> list[Outline]:
    """The derivations and signatures that a table with these columns can bring into play."""
    known = set(names)
    known.update(_catalogue_facts(kb) if catalogue_keys(kb, known) else ())
    found = []
    for one in kb.derivations.outlines:
        if opens(one.gate, known):
            known.update(one.about)
            found.append(one)
    return found + [one for one in kb.signatures.outlines if opens(one.gate, known)]


def judge_table(kb: KnowledgeBase, frame: Any) -> tuple[Any, list[str]]:
    """A Polars frame of GPUs judged: see `TableJudge`."""
    return TableJudge(kb).judge(frame)


class TableJudge:
    """Judges a table of GPUs, portion by portion: what is to be computed is worked out once, for the first of them."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._portion: Any = None
        self._plan: Any = None
        self._names: list[str] = []

    def judge(self, portion: Any) -> tuple[Any, list[str]]:
        """The names and labels of the rows, with a column of ranks for each conclusion as `conclude_rows` has them.

        A Polars frame with a column `order`; rows of one host stand together, and all portions have the same columns.
        """
        import polars

        whole = _with_catalogue(self._kb, portion)
        self._portion = whole.with_columns(polars.col(NAME).rle_id())  # numbers group faster than names
        if self._plan is None:
            self._plan = self._planned()
        kept = [one for one in (NAME, DEVICE, ORDER, *LABELS.values()) if one in whole.columns]
        return polars.concat([whole.select(kept), self._plan.collect()], how="horizontal"), self._names

    def _planned(self) -> Any:
        """The ranks of a portion, as a lazy frame that takes the rows of whatever portion there is."""
        from polars.io.plugins import register_io_source

        source = register_io_source(self._rows, schema=self._portion.schema)
        judged, self._names = conclude_rows(self._kb, add_derived(self._kb, source, GpuTable), GpuTable)
        return judged.select(self._names)

    def _rows(self, with_columns: list[str] | None, predicate: Any, n_rows: int | None, _: int | None) -> Iterator[Any]:
        found = self._portion if with_columns is None else self._portion.select(with_columns)
        found = found if predicate is None else found.filter(predicate)
        yield found if n_rows is None else found.head(n_rows)


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
            entity = {"host": HOST, "job": JOB}.get(spec.entity, device)
            plain = int(value) if spec.type == "integer" and float(value).is_integer() else value
            facts.setdefault((name, entity), Fact(name, plain, spec.unit, entity, origin))
    return FactBase.of(facts.values())


def _with_catalogue(kb: KnowledgeBase, frame: Any) -> Any:
    """The frame with what the catalogue knows; looked up once for each combination of names and versions."""
    import polars

    keys = catalogue_keys(kb, frame.columns)
    if not keys:
        return frame
    distinct = frame.select(keys).unique()
    found: list[dict[str, Any]] = []
    for row in distinct.iter_rows(named=True):
        base = base_of_rows(kb, [row], "table")
        given = {fact.id: fact.value for fact in described(kb, base)}
        found.append({name: value for name, value in given.items() if kb.facts[name].entity in KINDS})
    names = sorted(_catalogue_facts(kb) & read_facts(kb))
    types = {"boolean": polars.Boolean, "number": polars.Float64, "integer": polars.Float64}
    made = [
        polars.Series(
            f"_of {name}",
            [_plain(one.get(name)) for one in found],
            types.get(kb.facts[name].type, polars.String),
        )
        for name in names
    ]
    joined = frame.join(distinct.with_columns(made), on=keys, how="left", nulls_equal=True, maintain_order="left")
    has = set(frame.columns)
    columns = [
        polars.coalesce(polars.col(name).cast(types.get(kb.facts[name].type, polars.String)), f"_of {name}").alias(name)
        if name in has
        else polars.col(f"_of {name}").alias(name)
        for name in names
    ]
    return joined.with_columns(columns).drop(f"_of {name}" for name in names)


def _plain(value: Any) -> Any:
    """A value as a column holds it: numbers as doubles."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _catalogue_facts(kb: KnowledgeBase) -> set[str]:
    """Every fact that the catalogue may give."""
    found = {gives for _, gives in kb.catalogue.numbers()}
    found |= {name for name in kb.facts if name.startswith("gpu.xid_") and name != _ALSO_NAMED[0]}
    for section in ("chips", "gpus", "instances", "versions"):
        found.update(name for entry in kb.catalogue.sections.get(section, ()) for name in entry.get("values", ()))
    return {name for name in found if kb.facts[name].entity in KINDS}
