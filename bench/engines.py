"""Rules over rows by other engines: `.venv/bin/python bench/engines.py [ROWS]` (10,000 by default).

A hundred rules of two or three comparisons each over twenty columns, a tenth of the values unknown. durable_rules,
CLIPS (clipspy), plain Python (one generated function) and the column reading judge the same rows; the pairs of row and
rule that hold must be the same, or nothing is printed. Times are processor time with the making of the rules, without
imports. All are given the rows as dictionaries; for the column reading it is also told what it takes of a frame.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

COLUMNS, RULES, SEED = 20, 100, 7
_SETS = itertools.count()
SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}

Test = tuple[str, str, float]
Row = dict[str, float | None]
Held = set[tuple[int, int]]


def rules() -> list[list[Test]]:
    """For each rule the comparisons that must all hold: column, operator, bound."""
    chance = random.Random(SEED)
    return [
        [(f"c{column}", chance.choice(list(SIGNS)), chance.randint(10, 90) / 100)
         for column in chance.sample(range(COLUMNS), chance.choice((2, 3)))]
        for _ in range(RULES)
    ]  # fmt: skip


def rows(number: int) -> list[Row]:
    """Values between 0 and 1, and unknown ones."""
    chance = random.Random(SEED + 1)
    return [
        {f"c{column}": None if chance.random() < 0.1 else round(chance.random(), 4) for column in range(COLUMNS)}
        for _ in range(number)
    ]


def frame_of(given: list[Row]) -> Any:
    """The rows as a Polars frame."""
    import polars

    return polars.DataFrame(given, schema={f"c{column}": polars.Float64 for column in range(COLUMNS)})


def judged(tests: list[list[Test]], frame: Any) -> Any:
    """The column reading: the frame with a column of truths for each rule."""
    from gpuwhy.engine.columns import truths
    from gpuwhy.kb.conditions import All, Comparison, FactRef, Operator
    from gpuwhy.kb.model import FactSpec

    specs = {f"c{column}": FactSpec(f"c{column}", "gpu", "number", "a value") for column in range(COLUMNS)}
    conditions = {
        f"rule {at}": All(tuple(Comparison(FactRef(name), Operator(op), bound) for name, op, bound in one))
        for at, one in enumerate(tests)
    }
    return truths(specs, frame, conditions)


def by_columns(tests: list[list[Test]], given: list[Row]) -> Held:
    """The column reading, with the frame made of the rows and the pairs taken out of it."""
    found = judged(tests, frame_of(given))
    return {(row, at) for at in range(len(tests)) for row in found[f"rule {at}"].fill_null(False).arg_true()}


def by_python(tests: list[list[Test]], given: list[Row]) -> Held:
    """One generated function that tests all rules of a row."""
    lines = ["def judge(number, row, held):"]
    lines += [f"    c{column} = row['c{column}']" for column in range(COLUMNS)]
    for at, one in enumerate(tests):
        condition = " and ".join(f"{name} is not None and {name} {SIGNS[op]} {bound!r}" for name, op, bound in one)
        lines += [f"    if {condition}:", f"        held.add((number, {at}))"]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - what is compared here is generated Python
    held: Held = set()
    for number, row in enumerate(given):
        names["judge"](number, row, held)
    return held


def by_clips(tests: list[list[Test]], given: list[Row]) -> Held:
    """CLIPS: a fact for each row, a rule for each rule."""
    import clips

    held: Held = set()
    environment = clips.Environment()
    environment.define_function(lambda row, rule: held.add((int(row), int(rule))), name="note")
    slots = " ".join(f"(slot c{column} (default nil))" for column in range(COLUMNS))
    environment.build(f"(deftemplate gpu (slot number) {slots})")
    for at, one in enumerate(tests):
        parts = " ".join(
            f"({name} ?{name}&:(and (numberp ?{name}) ({SIGNS[op]} ?{name} {bound!r})))" for name, op, bound in one
        )
        environment.build(f"(defrule rule{at} (gpu (number ?n) {parts}) => (note ?n {at}))")
    template = environment.find_template("gpu")
    for number, row in enumerate(given):
        template.assert_fact(number=number, **{name: value for name, value in row.items() if value is not None})
        environment.run()
        environment.reset()
    return held


def by_durable_rules(tests: list[list[Test]], given: list[Row]) -> Held:
    """durable_rules: a fact for each row, taken back before the next; each rule notes the row that it sees."""
    from durable import engine, lang

    held: Held = set()
    name_of_set = f"rows{next(_SETS)}"
    with lang.ruleset(name_of_set):
        for at, one in enumerate(tests):
            whole: Any = None
            for name, op, bound in one:
                field = getattr(lang.m, name)
                test = {"gt": field > bound, "ge": field >= bound, "lt": field < bound, "le": field <= bound}[op]
                whole = test if whole is None else whole & test
            _rule(lang, whole, at, held)
    for number, row in enumerate(given):
        message: dict[str, Any] = {name: value for name, value in row.items() if value is not None}
        message["number"] = number
        try:
            lang.assert_fact(name_of_set, message)  # an event is used up by the first rule that it fires; a fact stays
            lang.retract_fact(name_of_set, message)
        except engine.MessageNotHandledException:
            continue
    return held


def _rule(lang: Any, whole: Any, at: int, held: Held) -> None:
    @lang.when_all(whole)  # type: ignore[untyped-decorator]
    def note(context: Any) -> None:
        held.add((int(context.m.number), at))


ENGINES: dict[str, Callable[[list[list[Test]], list[Row]], Held]] = {
    "columns, of rows": by_columns,
    "plain Python": by_python,
    "CLIPS": by_clips,
    "durable_rules": by_durable_rules,
}


def measured(number: int) -> Iterator[tuple[str, float, Held]]:
    """Each engine with its time and what it holds."""
    tests, given = rules(), rows(number)
    for name, judge in ENGINES.items():
        try:
            judge(tests, given[:1])  # imports
        except ImportError as error:
            print(f"{name:15} not installed: {error}")
            continue
        begun = time.process_time()
        held = judge(tests, given)
        yield name, time.process_time() - begun, held


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    found = list(measured(number))
    first = found[0][2]  # of the columns
    for name, _, held in found[1:]:
        if held != first:
            raise SystemExit(f"{name}: other verdicts ({len(held)} pairs of row and rule hold, here {len(first)})")
    frame = frame_of(rows(number))
    begun = time.process_time()
    judged(rules(), frame)
    least = time.process_time() - begun
    print(f"{number:,} rows, {RULES} rules, {len(first):,} pairs hold, the same in all")
    for name, seconds in [("columns, of a frame", least), *((name, seconds) for name, seconds, _ in found)]:
        print(f"{name:20}{seconds:9.3f} s{seconds / number * 1e6:10.2f} us a row{seconds / least:10.1f} times")


if __name__ == "__main__":
    main()
