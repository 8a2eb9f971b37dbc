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
readings in the last digit. Only operations that Narwhals has for Polars and for PySpark are used.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from gpuwhy.engine.derive import target_of
from gpuwhy.engine.model import Status
from gpuwhy.engine.values import fitting, kind_of, typed
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import All, Comparison, Condition, FactRef, Not, Operator, Over, references
from gpuwhy.kb.expressions import Call, Expression, FactValue, Number, refs_of
from gpuwhy.kb.facts import Entity, FactBase
from gpuwhy.kb.model import Derivation, FactSpec, KnowledgeBase, Signature

if TYPE_CHECKING:
    import narwhals as nw

Specs = Mapping[str, FactSpec]
T = TypeVar("T")
_KINDS = (float, bool, str)


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


def add_derived(kb: KnowledgeBase, frame: Any, table_of: type[Table] | None = None) -> Any:
    """The frame with every fact that the derivations give; what is known already stays."""
    table = (table_of or Table)(kb.facts, frame)
    for derivation in kb.derivations.in_play(table.names):
        if derivation.status != "deprecated":
            table.add_aggregates((*refs_of(derivation.formula), *refs_of(derivation.when)))
            table.add_derived(derivation)
    return table.with_columns({})


class Table:
    """A frame, and the expressions of conditions and formulas over its columns."""

    def __init__(self, specs: Specs, frame: Any) -> None:
        import narwhals as nw

        self.specs = specs
        self.frame: Any = nw.from_native(frame)
        self.names = set(self.frame.collect_schema().names())
        self._add_nothing()
        self._check_types()

    def _check_types(self) -> None:
        """Numbers become doubles, and what is not finite becomes null; anything else must be of its fact's type."""
        import narwhals as nw

        schema = self.frame.collect_schema()
        made = {}
        for name in schema.names():
            kind = kind_of(self.specs, FactRef(name)) if name in self.specs else None
            dtype = schema[name]
            if kind is None:
                continue
            if dtype == nw.Unknown:
                made[name] = self.nothing(kind)
            elif kind is float and dtype.is_numeric():
                number = nw.col(name).cast(nw.Float64)
                made[name] = nw.when(number.is_finite()).then(number)
            elif dtype != {float: nw.Float64, bool: nw.Boolean, str: nw.String}[kind]:
                raise TypeError(f"column {name} holds {dtype}, but the fact is {self.specs[name].type}")
        self._add(made)

    def _add(self, columns: Mapping[str, nw.Expr]) -> None:
        if columns:
            self.frame = self.frame.with_columns(**columns)
            self.names |= set(columns)

    def with_columns(self, columns: Mapping[str, nw.Expr]) -> Any:
        self._add(columns)
        return self.frame.drop(*(f"_no_{kind.__name__}" for kind in _KINDS)).to_native()

    def _add_nothing(self) -> None:
        """A column of nulls for each type, of the length of the frame: a null literal is not broadcast everywhere."""
        import narwhals as nw

        some = nw.col(self.frame.collect_schema().names()[0])
        never = some.is_null() & ~some.is_null()
        values: dict[type, float | bool | str] = {float: 0.0, bool: False, str: ""}
        self._add({f"_no_{kind.__name__}": nw.when(never).then(nw.lit(values[kind])) for kind in _KINDS})

    def nothing(self, kind: type) -> nw.Expr:
        import narwhals as nw

        return nw.col(f"_no_{kind.__name__}")

    def on_scope(self, scope: str, value: nw.Expr) -> nw.Expr:
        import narwhals as nw

        return nw.when(nw.col("kind") == scope).then(value) if "kind" in self.names else value

    def judges(self, scope: str) -> bool:
        """True if rules of this scope have rows here."""
        return bool(scope)

    def in_scope(self, scope: str, make: Callable[[], T]) -> T:
        """What `make` gives for rules of a scope; tables without rows of their own for it show them something else."""
        assert scope
        return make()

    def column(self, name: str) -> nw.Expr:
        import narwhals as nw

        return nw.col(name) if name in self.names else self.nothing(kind_of(self.specs, FactRef(name)))

    def value(self, ref: FactRef) -> nw.Expr:
        """What a row sees of a reference. Aggregates are columns: see `add_aggregates`."""
        import narwhals as nw

        return nw.col(str(ref)) if ref.over is not None else self.column(ref.fact)

    def add_aggregates(self, refs: Iterable[FactRef]) -> None:
        """Columns for the aggregates among these references, over the readings of each host."""
        wanted = {str(ref): ref for ref in refs if ref.over is not None and str(ref) not in self.names}
        self._add({name: self.aggregate(ref) for name, ref in wanted.items()})

    def aggregate(self, ref: FactRef) -> nw.Expr:
        import narwhals as nw

        kind = kind_of(self.specs, FactRef(ref.fact))
        if ref.fact not in self.names or (kind is str and ref.over is not Over.COUNT):
            return self.nothing(float)
        own = self.on_scope(self.specs[ref.fact].entity, nw.col(ref.fact))
        readings = own.count().over("host").cast(nw.Float64)
        if ref.over is Over.COUNT:
            return nw.when(readings > 0).then(readings)
        own = own.cast(nw.Float64)
        made = {
            Over.MAX: own.max,
            Over.MIN: own.min,
            Over.MEAN: own.mean,
            Over.MEDIAN: own.median,
            Over.SUM: own.sum,
        }[ref.over or Over.MAX]().over("host")
        return nw.when((readings > 0) & made.is_finite()).then(made)

    def truth(self, tree: Condition) -> nw.Expr:
        """A condition as a boolean expression; null is unknown."""
        import narwhals as nw

        if isinstance(tree, Comparison):
            return self.comparison(tree)
        if isinstance(tree, Not):
            return ~self.truth(tree.part)
        join = nw.all_horizontal if isinstance(tree, All) else nw.any_horizontal
        return join([self.truth(part) for part in tree.parts], ignore_nulls=False)

    def comparison(self, tree: Comparison) -> nw.Expr:
        import narwhals as nw

        value = self.value(tree.ref)
        if tree.op is Operator.KNOWN:
            return nw.when(~value.is_null()).then(nw.lit(True))
        if tree.than is not None:
            return self.against(tree, tree.than)
        values = fitting(self.specs, tree.ref, tree.value)
        if tree.op.orders:
            if kind_of(self.specs, tree.ref) is not float or len(values) != 1:
                raise TypeError(f"{tree.ref} {tree.op.value} {tree.value!r}: only numbers have an order")
            return _ordered(tree.op, value, values[0])
        equal = [value == one for one in values]
        same = nw.any_horizontal(equal, ignore_nulls=False) if equal else nw.when(~value.is_null()).then(nw.lit(False))
        return ~same if tree.op is Operator.NE else same

    def against(self, tree: Comparison, than: FactRef) -> nw.Expr:
        import narwhals as nw

        value, other = self.value(tree.ref), self.value(than)
        kind = kind_of(self.specs, tree.ref)
        if kind is not kind_of(self.specs, than) or (tree.op.orders and kind is not float):
            if tree.op.orders:
                raise TypeError(f"{tree.ref} {tree.op.value} {than}: only numbers have an order")
            both = ~value.is_null() & ~other.is_null()
            return nw.when(both).then(nw.lit(tree.op is Operator.NE))
        bound = other * tree.times if kind is float else other
        if tree.op.orders:
            return _ordered(tree.op, value, bound)
        return value != bound if tree.op is Operator.NE else value == bound

    def formula(self, tree: Expression) -> nw.Expr:
        """A formula; null where a fact is unknown, a divisor is zero or a result is not finite."""
        import narwhals as nw

        if isinstance(tree, Number):
            return nw.lit(tree.value)
        if isinstance(tree, FactValue):
            kind = kind_of(self.specs, tree.ref)
            return self.nothing(float) if kind is str else self.value(tree.ref).cast(nw.Float64)
        result = self.call(tree, [self.formula(one) for one in tree.arguments])
        return nw.when(result.is_finite()).then(result)

    def call(self, tree: Call, arguments: list[nw.Expr]) -> nw.Expr:
        import narwhals as nw

        first = arguments[0]
        if tree.name in ("min", "max"):
            known = reduce(lambda left, right: left & right, [~one.is_null() for one in arguments])
            pick = nw.min_horizontal if tree.name == "min" else nw.max_horizontal
            return nw.when(known).then(pick(*arguments))
        if tree.name == "/":
            return nw.when(arguments[1] != 0).then(first / arguments[1])
        if len(arguments) == 2:
            return {"+": first + arguments[1], "-": first - arguments[1], "*": first * arguments[1]}[tree.name]
        return {"neg": lambda: -1.0 * first, "abs": first.abs, "ceil": first.ceil, "floor": first.floor}[tree.name]()

    def add_derived(self, derivation: Derivation) -> None:
        """The column of the fact that a derivation gives, filled where nothing is known yet."""
        import narwhals as nw

        spec = self.specs[derivation.gives]
        made = self.on_scope(derivation.scope, self.made(derivation))
        home, target = nw.col(f"home:{spec.entity}"), nw.col(f"target:{spec.entity}")
        if f"home:{spec.entity}" not in self.names:
            self._add({spec.id: nw.coalesce(self.column(spec.id), made)})
            return
        self._add({"_made": nw.when(~target.is_null()).then(made), "_key": nw.coalesce(target, home)})
        first = nw.when(~nw.col("_made").is_null()).then(nw.col("order"))
        self._add({"_first": first.min().over("host", "_key")})
        chosen = nw.when(nw.col("order") == nw.col("_first")).then(nw.col("_made"))
        self._add({"_made": chosen.max().over("host", "_key")})
        seen = nw.when(~home.is_null()).then(nw.col("_made"))
        self._add({spec.id: nw.coalesce(self.column(spec.id), seen)})
        self.frame = self.frame.drop("_made", "_key", "_first")
        self.names -= {"_made", "_key", "_first"}

    def made(self, derivation: Derivation) -> nw.Expr:
        """What a derivation gives in each row."""
        import narwhals as nw

        when = self.truth(derivation.when) if derivation.when is not None else nw.lit(True)
        if derivation.formula is not None:
            number = self.formula(derivation.formula)
            whole = self.specs[derivation.gives].type == "integer"
            return nw.when(_sure(when)).then(_rounded(number) if whole else number)
        kind = kind_of(self.specs, FactRef(derivation.gives))
        yes, no = (
            self.nothing(kind) if value is None else nw.lit(typed(self.specs, FactRef(derivation.gives), value))
            for value in (derivation.value, derivation.otherwise)
        )
        return nw.when(_sure(when)).then(yes).otherwise(nw.when(_sure(~when)).then(no))


def _ordered(op: Operator, value: nw.Expr, bound: nw.Expr | float | str) -> nw.Expr:
    if op in (Operator.LT, Operator.LE):
        return value < bound if op is Operator.LT else value <= bound
    return value > bound if op is Operator.GT else value >= bound


def _sure(truth: nw.Expr) -> nw.Expr:
    """True where it is true, else false, also where it is unknown."""
    return truth.fill_null(False)


def _rounded(number: nw.Expr) -> nw.Expr:
    """To the nearest whole number, halves to the even one, as Python rounds."""
    import narwhals as nw

    below = number.floor()
    odd: nw.Expr = (below / 2.0).floor() * 2.0 != below
    up = (number - below > 0.5) | ((number - below == 0.5) & odd)
    return nw.when(up).then(below + 1.0).otherwise(below)


def _conditions(signature: Signature) -> Iterator[Condition]:
    trees = (signature.given, signature.requires, signature.confirms)
    yield from (tree for tree in trees if tree is not None)
    yield from (one.when for one in signature.excludes)


def judged(table: Table, signature: Signature, names: Sequence[Any]) -> tuple[nw.Expr, nw.Expr]:
    """The status of a signature in each row, and whether an exclusion holds: decided as in `signatures.evaluate_one`.

    `names`: what stands for confirmed, likely, possible and ruled out.
    """
    import narwhals as nw

    requires, no = table.truth(signature.requires), nw.lit(False)
    sure, likely, possible, ruled_out = (nw.lit(one) for one in names)
    against = [table.truth(one.when) for one in signature.excludes]
    unsure = [truth.is_null() for one, truth in zip(signature.excludes, against, strict=True) if one.demotes]
    vetoed = reduce(lambda left, right: left | right, [_sure(one) for one in against], no)
    demoted = reduce(lambda left, right: left | right, unsure, no)
    confirmed = _sure(table.truth(signature.confirms)) if signature.confirms is not None else no
    held = nw.when(confirmed & ~demoted).then(sure).otherwise(likely)
    status = nw.when(requires.is_null()).then(possible).otherwise(held)
    status = nw.when(vetoed | _sure(~requires)).then(ruled_out).otherwise(status)
    if signature.given is None:
        return status, vetoed
    given = _sure(table.truth(signature.given))
    return nw.when(given).then(status), given & vetoed


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

    kinds = dict.fromkeys(spec.entity for spec in kb.facts.values())
    scopes = dict.fromkeys([*(one.scope for one in kb.derivations), *(one.scope for one in kb.signatures)])
    known = dict.fromkeys(
        fact.id for base in hosts.values() for fact in base.facts() if only is None or fact.id in only
    )
    types = {float: polars.Float64, bool: polars.Boolean, str: polars.String}
    schema: dict[str, Any] = {"host": polars.String, "kind": polars.String, "entity": polars.String}
    schema |= {"order": polars.Int64}
    schema |= {f"{role}:{kind}": polars.String for kind in kinds for role in ("home", "target")}
    schema |= {name: types[kind_of(kb.facts, FactRef(name))] for name in known}
    rows = [
        row
        for name, base in hosts.items()
        for row in _rows(World(kb.facts, base), name, list(kinds | scopes), list(kinds), list(known))
    ]
    return polars.DataFrame(rows, schema=schema, orient="row")


def _rows(world: World, host: str, kinds: list[str], homes: list[str], known: list[str]) -> Iterator[list[Any]]:
    example = {spec.entity: spec.id for spec in world.specs.values()}
    base, here = world.base, set(world.known)
    for kind in kinds:
        for order, entity in enumerate(world.entities(kind)):
            row: list[Any] = [host, kind, key_of(entity), order]
            seen = {one: world.home(example[one], entity) for one in homes}
            for one, home in seen.items():
                row += [None if found is None else key_of(found) for found in (home, target_of(one, entity))]
            for name in known:
                home = seen[world.specs[name].entity] if name in here else None
                fact = base.get(name, home) if home is not None else None
                row.append(None if fact is None else typed(world.specs, FactRef(name), fact.value))
            yield row
