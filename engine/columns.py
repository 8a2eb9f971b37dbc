"""The column reading: the same rules over a table with one row per entity, for a fleet of machines at once.

A column named by a fact id holds what that row's entity sees of the fact; null is unknown, and null follows the same
three-valued logic. Columns that say what a row is about:

* `host`: the machine; aggregates (`over`) are over its rows, unless a column named like the aggregate (`max(gpu.x)`)
  brings them;
* `kind`: the kind of the entity. Rules are evaluated on the rows of their scope. Without it every rule is evaluated on
  every row, as in a table of GPUs that carries the facts of their hosts;
* `entity`, `order`, `home:<kind>` (whose facts of that kind this row sees) and `target:<kind>` (whom facts of that kind
  that are derived in this row are about): with them what is derived for one entity shows in the rows of all that see
  it. `frame_of` makes them.

Numbers are doubles: whole numbers beyond 2^53 lose their last digits, and means and sums may differ from the other
readings in the last digit. Only operations that Narwhals has for lazy frames too are used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from gpuwhy.engine.derive import target_of
from gpuwhy.engine.model import Status
from gpuwhy.engine.narwhals_sheet import NarwhalsSheet
from gpuwhy.engine.sheet import Sheet
from gpuwhy.engine.values import as_kind, fitting, kind_of, typed
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import All, Comparison, Condition, FactRef, Not, Operator, Over, references
from gpuwhy.kb.expressions import Call, Expression, FactValue, Number, refs_of
from gpuwhy.kb.facts import Entity, FactBase
from gpuwhy.kb.model import Derivation, FactSpec, KnowledgeBase, Signature

Specs = Mapping[str, FactSpec]
T = TypeVar("T")
Expr = Any
"""What the functions of a sheet make: a node of a `Sheet`, an expression of Narwhals."""


def sheet_of(frame: Any) -> Sheet | NarwhalsSheet:
    """A Polars frame in memory is computed here; of any other kind of frame, Narwhals has its engine compute it."""
    import polars

    return Sheet(frame) if isinstance(frame, polars.DataFrame) else NarwhalsSheet(frame)


def statuses(kb: KnowledgeBase, frame: Any) -> Any:
    """The frame (of any kind that Narwhals takes, lazy ones stay lazy) with one more column for each signature.

    Named by its id: `confirmed`, `likely`, `possible` or `ruled out`; null where it is not in play, or not for this
    kind of entity. Derived facts must be there already: see `add_derived`.
    """
    table = Table(kb.facts, frame)
    signatures = [one for one in kb.signatures if one.status != "deprecated"]
    add_refs(table, signatures)
    names = [one.value for one in Status]
    return table.with_columns({one.id: table.on_scope(one.scope, judged(table, one, names)[0]) for one in signatures})


def truths(specs: Specs, frame: Any, conditions: Mapping[str, Condition]) -> Any:
    """The frame with one more boolean column for each condition; null is unknown."""
    table = Table(specs, frame)
    table.add_aggregates(ref for tree in conditions.values() for ref in references(tree))
    return table.with_columns({name: table.truth(tree) for name, tree in conditions.items()})


def add_derived(kb: KnowledgeBase, frame: Any) -> Any:
    """The frame with every fact that the derivations give; what is known already stays."""
    table = Table(kb.facts, frame)
    derive(kb, table)
    return table.sheet.native()


def derive(kb: KnowledgeBase, table: Table) -> None:
    """Adds every fact that the derivations give."""
    for derivation in kb.derivations.in_play(table.names):
        if derivation.status != "deprecated":
            table.add_aggregates((*refs_of(derivation.formula), *refs_of(derivation.when)))
            table.add_derived(derivation)


class Table:
    """A frame, and the expressions of conditions and formulas over its columns."""

    def __init__(self, specs: Specs, frame: Any) -> None:
        self.specs = specs
        self.sheet: Any = frame if isinstance(frame, (Sheet, NarwhalsSheet)) else sheet_of(frame)
        self._check_types()

    @property
    def names(self) -> Collection[str]:
        """The columns that there are."""
        names: Collection[str] = self.sheet.names
        return names

    def _check_types(self) -> None:
        """Numbers become doubles, and what is not finite becomes null; anything else must be of its fact's type."""
        made = {}
        for name in self.names:
            kind = kind_of(self.specs, FactRef(name)) if name in self.specs else None
            found = self.sheet.kind(name) if kind is not None else None
            if kind is None or found is None:
                continue
            if found is type(None):
                made[name] = self.sheet.nothing(kind)
            elif found is not kind:
                raise TypeError(
                    f"column {name} holds {self.sheet.type_says(name)}, but the fact is {self.specs[name].type}"
                )
            elif kind is float:
                made[name] = self.sheet.reading(name)
        self.sheet.bind(made)

    def with_columns(self, columns: Mapping[str, Expr]) -> Any:
        """The frame, with these columns and all that were made before."""
        self.sheet.bind(columns)
        return self.sheet.native()

    def on_scope(self, scope: str, value: Expr) -> Expr:
        return self.sheet.choose(self.sheet.col("kind") == scope, value) if "kind" in self.names else value

    def judges(self, scope: str) -> bool:
        """True if rules of this scope have rows here."""
        return bool(scope)

    def in_scope(self, scope: str, make: Callable[[], T]) -> T:
        """What `make` gives for rules of a scope; tables without rows of their own for it show them something else."""
        assert scope
        return make()

    def column(self, name: str) -> Expr:
        return self.sheet.col(name) if name in self.names else self.sheet.nothing(kind_of(self.specs, FactRef(name)))

    def value(self, ref: FactRef) -> Expr:
        """What a row sees of a reference. Aggregates are columns: see `add_aggregates`."""
        return self.sheet.col(str(ref)) if ref.over is not None else self.column(ref.fact)

    def add_aggregates(self, refs: Iterable[FactRef]) -> None:
        """Columns for the aggregates among these references, over the readings of each host."""
        wanted = {str(ref): ref for ref in refs if ref.over is not None and str(ref) not in self.names}
        self.sheet.bind({name: self.aggregate(ref) for name, ref in wanted.items()})

    def aggregate(self, ref: FactRef) -> Expr:
        """The aggregate over the rows of a host; unknown where none of them knows the fact."""
        sheet, kind = self.sheet, kind_of(self.specs, FactRef(ref.fact))
        assert ref.over is not None
        if ref.fact not in self.names or (kind is str and ref.over is not Over.COUNT):
            return sheet.nothing(float)
        own = self.on_scope(self.specs[ref.fact].entity, sheet.col(ref.fact))
        if ref.over is Over.COUNT:
            readings = sheet.over("count", own, ("host",))
            return sheet.choose(readings > 0.0, readings)
        made = sheet.finite(sheet.over(ref.over.value, sheet.number(own), ("host",)))
        if ref.over is not Over.SUM:
            return made
        return sheet.choose(sheet.over("count", own, ("host",)) > 0.0, made)

    def truth(self, tree: Condition) -> Expr:
        """A condition as a boolean expression; null is unknown."""
        if isinstance(tree, Comparison):
            return self.comparison(tree)
        if isinstance(tree, Not):
            return ~self.truth(tree.part)
        join = self.sheet.every if isinstance(tree, All) else self.sheet.some
        return join([self.truth(part) for part in tree.parts])

    def comparison(self, tree: Comparison) -> Expr:
        sheet, value = self.sheet, self.value(tree.ref)
        if tree.op is Operator.KNOWN:
            return sheet.choose(sheet.known(value), sheet.lit(True))
        if tree.than is not None:
            return self.against(tree, tree.than)
        values = fitting(self.specs, tree.ref, tree.value)
        if tree.op.orders:
            if kind_of(self.specs, tree.ref) is not float or len(values) != 1:
                raise TypeError(f"{tree.ref} {tree.op.value} {tree.value!r}: only numbers have an order")
            return _ordered(tree.op, value, values[0])
        equal = [value == one for one in values]
        same = sheet.some(equal) if equal else sheet.choose(sheet.known(value), sheet.lit(False))
        return ~same if tree.op is Operator.NE else same

    def against(self, tree: Comparison, than: FactRef) -> Expr:
        sheet, value, other = self.sheet, self.value(tree.ref), self.value(than)
        kind = kind_of(self.specs, tree.ref)
        if kind is not kind_of(self.specs, than) or (tree.op.orders and kind is not float):
            if tree.op.orders:
                raise TypeError(f"{tree.ref} {tree.op.value} {than}: only numbers have an order")
            return sheet.choose(sheet.known(value) & sheet.known(other), sheet.lit(tree.op is Operator.NE))
        bound = other * tree.times if kind is float and tree.times != 1.0 else other
        if tree.op.orders:
            return _ordered(tree.op, value, bound)
        return value != bound if tree.op is Operator.NE else value == bound

    def formula(self, tree: Expression) -> Expr:
        """A formula; null where a fact is unknown, a divisor is zero or a result is not finite."""
        if isinstance(tree, Number):
            return self.sheet.lit(tree.value)
        if isinstance(tree, FactValue):
            kind = kind_of(self.specs, tree.ref)
            return self.sheet.nothing(float) if kind is str else self.sheet.number(self.value(tree.ref))
        return self.sheet.finite(self.call(tree, [self.formula(one) for one in tree.arguments]))

    def call(self, tree: Call, arguments: list[Expr]) -> Expr:
        sheet, first = self.sheet, arguments[0]
        if tree.name in ("min", "max"):
            known = sheet.every([sheet.known(one) for one in arguments])
            return sheet.choose(known, (sheet.least if tree.name == "min" else sheet.greatest)(arguments))
        if tree.name == "/":
            return sheet.choose(arguments[1] != 0.0, first / arguments[1])
        if len(arguments) == 2:
            return {"+": first + arguments[1], "-": first - arguments[1], "*": first * arguments[1]}[tree.name]
        return {"neg": lambda: first * -1.0, "abs": first.abs, "ceil": first.ceil, "floor": first.floor}[tree.name]()

    def add_derived(self, derivation: Derivation) -> None:
        """The column of the fact that a derivation gives, filled where nothing is known yet."""
        sheet, spec = self.sheet, self.specs[derivation.gives]
        made = self.on_scope(derivation.scope, self.made(derivation))
        if f"home:{spec.entity}" not in self.names:
            sheet.bind({spec.id: sheet.first_known(self.column(spec.id), made)})
            return
        home, target = sheet.col(f"home:{spec.entity}"), sheet.col(f"target:{spec.entity}")
        sheet.bind({"_made": sheet.choose(sheet.known(target), made), "_key": sheet.first_known(target, home)})
        first = sheet.choose(sheet.known(sheet.col("_made")), sheet.col("order"))
        sheet.bind({"_first": sheet.over("min", first, ("host", "_key"))})
        chosen = sheet.choose(sheet.col("order") == sheet.col("_first"), sheet.col("_made"))
        sheet.bind({"_made": sheet.over("max", chosen, ("host", "_key"))})
        seen = sheet.choose(sheet.known(home), sheet.col("_made"))
        sheet.bind({spec.id: sheet.first_known(self.column(spec.id), seen)})
        sheet.drop("_made", "_key", "_first")

    def made(self, derivation: Derivation) -> Expr:
        """What a derivation gives in each row."""
        sheet = self.sheet
        when = self.truth(derivation.when) if derivation.when is not None else sheet.lit(True)
        if derivation.formula is not None:
            number = self.formula(derivation.formula)
            whole = self.specs[derivation.gives].type == "integer"
            return sheet.choose(sheet.sure(when), self.rounded(number) if whole else number)
        kind = kind_of(self.specs, FactRef(derivation.gives))
        yes, no = (
            sheet.nothing(kind) if value is None else sheet.lit(typed(self.specs, FactRef(derivation.gives), value))
            for value in (derivation.value, derivation.otherwise)
        )
        return sheet.choose(sheet.sure(when), yes, sheet.choose(sheet.sure(~when), no))

    def rounded(self, number: Expr) -> Expr:
        """To the nearest whole number, halves to the even one, as Python rounds."""
        below = number.floor()
        odd = (below / 2.0).floor() * 2.0 != below
        up = (number - below > 0.5) | ((number - below == 0.5) & odd)
        return self.sheet.choose(up, below + 1.0, below)


def _ordered(op: Operator, value: Expr, bound: Expr) -> Expr:
    if op in (Operator.LT, Operator.LE):
        return value < bound if op is Operator.LT else value <= bound
    return value > bound if op is Operator.GT else value >= bound


def _conditions(signature: Signature) -> Iterator[Condition]:
    trees = (signature.given, signature.requires, signature.confirms)
    yield from (tree for tree in trees if tree is not None)
    yield from (one.when for one in signature.excludes)


def judged(table: Table, signature: Signature, names: Sequence[Any]) -> tuple[Expr, Expr]:
    """The status of a signature in each row, and whether an exclusion holds: decided as in `signatures.evaluate_one`.

    `names`: what stands for confirmed, likely, possible and ruled out.
    """
    sheet = table.sheet
    requires, no = table.truth(signature.requires), sheet.lit(False)
    sure, likely, possible, ruled_out = (sheet.lit(one) for one in names)
    against = [table.truth(one.when) for one in signature.excludes]
    unsure = [~sheet.known(truth) for one, truth in zip(signature.excludes, against, strict=True) if one.demotes]
    vetoed = sheet.some([sheet.sure(one) for one in against]) if against else no
    demoted = sheet.some(unsure) if unsure else no
    confirmed = sheet.sure(table.truth(signature.confirms)) if signature.confirms is not None else no
    held = sheet.choose(confirmed & ~demoted, sure, likely)
    status = sheet.choose(sheet.known(requires), held, possible)
    status = sheet.choose(vetoed | sheet.sure(~requires), ruled_out, status)
    if signature.given is None:
        return status, vetoed
    given = sheet.sure(table.truth(signature.given))
    return sheet.choose(given, status), given & vetoed


def add_refs(table: Table, signatures: Iterable[Signature]) -> None:
    """The aggregates that these signatures read, as columns."""
    table.add_aggregates(ref for one in signatures for tree in _conditions(one) for ref in references(tree))


def key_of(entity: Entity) -> str:
    """A name for an entity, unique within one fact base."""
    return "/".join(f"{one.kind}:{one.name}" for one in entity.lineage())


def frame_of(kb: KnowledgeBase, hosts: Mapping[str, FactBase], only: Container[str] | None = None) -> Any:
    """A Polars frame of fact bases, one per host: one row for each entity, with what it sees of every known fact.

    `only`: the facts that are wanted; all by default.
    """
    import polars

    kinds = {spec.entity: spec.id for spec in kb.facts.values()}
    scopes = dict.fromkeys([*(one.scope for one in kb.derivations), *(one.scope for one in kb.signatures)])
    known = dict.fromkeys(
        fact.id for base in hosts.values() for fact in base.facts() if only is None or fact.id in only
    )
    types = {float: polars.Float64, bool: polars.Boolean, str: polars.String}
    schema: dict[str, Any] = {"host": polars.String, "kind": polars.String, "entity": polars.String}
    schema |= {"order": polars.Int64}
    schema |= {f"{role}:{kind}": polars.String for kind in kinds for role in ("home", "target")}
    kind_by_name = {name: kind_of(kb.facts, FactRef(name)) for name in known}
    schema |= {name: types[kind] for name, kind in kind_by_name.items()}
    rows = [
        row
        for name, base in hosts.items()
        for row in _rows(World(kb.facts, base), name, [*(kinds | scopes)], kinds, kind_by_name)
    ]
    return polars.DataFrame(rows, schema=schema, orient="row")


def _rows(
    world: World, host: str, kinds: list[str], homes: Mapping[str, str], known: Mapping[str, type]
) -> Iterator[list[Any]]:
    """The rows of a host. `homes`: for each kind of entity a fact that it has; `known`: facts and types, in order."""
    here = [(at, name, world.specs[name].entity) for at, name in enumerate(known) if name in world.known]
    there = [(at, one) for at, one in enumerate(homes) if world.entities(one)]
    no_places: list[str | None] = [None] * (2 * len(homes))
    no_values: list[Any] = [None] * len(known)
    key = cache(key_of)
    for kind in kinds:
        for order, entity in enumerate(world.entities(kind)):
            places, values = no_places.copy(), no_values.copy()
            seen: dict[str, Entity | None] = {}
            for at, one in there:
                seen[one] = home = world.home(homes[one], entity)
                target = target_of(one, entity)
                places[2 * at] = None if home is None else key(home)
                places[2 * at + 1] = None if target is None else key(target)
            for at, name, of in here:
                home = seen.get(of)
                fact = None if home is None else world.own(name, home)
                if fact is not None:
                    values[at] = as_kind(known[name], world.specs, name, fact.value)
            yield [host, kind, key(entity), order, *places, *values]
