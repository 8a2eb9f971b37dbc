"""The one module that speaks to durable_rules: its quirks end here.

Each quirk has a test in tests/engine/test_durable_adapter.py that runs it against the real library.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from gpuwhy.kb.records import dataclass

Scalar = bool | float | str
Pattern = Mapping[str, Any]
"""What one message must look like: made by the functions below, read by durable_rules."""

MAX_STATES = 1000
"""The library has room for 1,024 states in one rule set; then it fails with a MemoryError."""
MAX_JOINED = 16
"""How many messages one rule can join; one more fails when the facts come (error 304)."""
MAX_MATCHES = 60
"""How many alternatives one message may satisfy: from 65 the library fails (error 303)."""
MAX_ALTERNATIVES = 500
"""How many alternatives a rule set may tell apart: from 512 the library never returns."""

_FAREWELL = "farewell"
"""Makes a rule fire in a state before it is dropped: where none ever fired, the library frees memory it never set."""

_OPERATORS = {"lt": "$lt", "le": "$lte", "gt": "$gt", "ge": "$gte", "ne": "$neq"}

_durable: Any = None
_missing: str | None = None
_BareHost: Any = object
_BareRuleset: Any = object


def _load() -> None:
    """Import the library. Its extension names a symbol that Python 3.13 dropped and only its storage callbacks use:
    bound lazily it loads all the same."""
    global _durable, _missing, _BareHost, _BareRuleset
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        from durable import engine as _durable
    except ImportError as error:
        _missing = f"durable_rules cannot be loaded: {error}"
        return
    finally:
        sys.setdlopenflags(flags)
    _BareHost, _BareRuleset = _durable.Host, _durable.Ruleset


_load()


def available() -> str | None:
    """None if durable_rules can be used, else the reason why not."""
    return _missing


def present(key: str) -> Pattern:
    """A message that has this key."""
    return {"$ex": {key: 1}}


def holds(key: str, op: str, value: Scalar) -> Pattern:
    """A message whose value for a key compares with a value of the same type: eq, ne, lt, le, gt, ge."""
    return {key: value} if op == "eq" else {_OPERATORS[op]: {key: value}}


def holds_against(key: str, op: str, other: str, times: float | None = None) -> Pattern:
    """A message whose value for a key compares with `other` (times a factor) of the first message of the same rule.

    Never part of `both` or `either`: there the library reads past its memory. Numbers are not compared by `eq` or `ne`:
    it hashes them through a text in which 0.0 and -0.0 differ.
    """
    bound: Any = {"m_0": other}
    if times is not None:
        bound = {"$mul": {"$l": bound, "$r": times}}
    return {key: bound} if op == "eq" else {_OPERATORS[op]: {key: bound}}


def both(patterns: Sequence[Pattern]) -> Pattern:
    """A message that satisfies every pattern."""
    return patterns[0] if len(patterns) == 1 else {"$and": list(patterns)}


def either(patterns: Sequence[Pattern]) -> Pattern:
    """A message that satisfies one pattern or more."""
    return patterns[0] if len(patterns) == 1 else {"$or": list(patterns)}


@dataclass(frozen=True)
class ChainRule:
    """A rule: when there is a message for every pattern, the action runs, with the state's name, once."""

    patterns: tuple[Pattern, ...]
    action: Callable[[str], None]


def to_json(value: Any) -> str:
    """JSON that the library's reader takes: numbers in plain decimal (it refuses `1e-05`), exact; text as ASCII.

    Raises ValueError for a number that is not finite, TypeError for anything but text, numbers, lists and mappings.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _plain_decimal(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{to_json(str(key))}:{to_json(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    raise TypeError(f"{value!r} is nothing that a rule can read")


def _plain_decimal(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError(f"{number} is no reading")
    text = repr(number + 0.0)  # adding zero turns -0.0 into 0.0
    if "e" not in text:
        return text
    plain = format(Decimal(text), "f")
    return plain if "." in plain else plain + ".0"


class _Host(_BareHost):  # type: ignore[misc]
    """The library's host without its two background threads: no rule here waits for a time."""

    def _run(self) -> None:
        pass


class _Ruleset(_BareRuleset):  # type: ignore[misc]
    """A rule set that writes its own JSON, and whose actions may fail: the library would keep the error to itself."""

    def __init__(self, name: str, host: Any, rules: Sequence[ChainRule]) -> None:
        self._name, self._host = name, host
        self._actions = [rule.action for rule in rules]
        self._definition = {
            str(number): {"all": [{f"m_{place}": pattern} for place, pattern in enumerate(rule.patterns)]}
            for number, rule in enumerate(rules)
        }
        self._core = _durable.durable_rules_engine
        self._handle = self._core.create_ruleset(name, to_json(self._definition))

    def assert_fact(self, fact: Mapping[str, Any]) -> Any:
        return self._handle_result(self._core.assert_fact(self._handle, to_json(fact)), fact)

    def do_actions(self, state: int, complete: Callable[[Any, Any], None]) -> None:
        found = self._core.start_action_for_state(self._handle, state)
        message = found[1] if found else None
        while message:
            ((number, matched),) = json.loads(message).items()
            first = next(iter(matched.values()))
            try:
                self._actions[int(number)](first["sid"])
            except BaseException:
                self._core.abandon_action(self._handle, state)
                raise
            message = self._core.complete_and_start_action(self._handle, state)
        complete(None, None)

    def close(self) -> None:
        self._core.delete_ruleset(self._handle)


class Network:
    """Rules over messages, kept apart by state (one state for each entity). Messages are only ever added."""

    def __init__(self, name: str, rules: Sequence[ChainRule]) -> None:
        """Raises ValueError for rules that the library would not survive."""
        if _missing is not None:
            raise RuntimeError(_missing)
        _check(rules)
        self._host = _Host()
        self._name = name
        self._rules = _Ruleset(name, self._host, (*rules, ChainRule((present(_FAREWELL),), lambda _: None)))
        self._host._ruleset_directory[name] = self._rules
        self._told: dict[str, int] = {}
        self._acting = False

    def tell(self, state: str, key: str, value: Scalar) -> None:
        """Add one message `{key: value}` to a state and run what it makes fire. Not to be called from an action.

        Raises what an action raises, and `MemoryError` beyond `MAX_STATES` states.
        """
        if self._acting:
            raise RuntimeError("an action may not assert: it would start on the state that it is part of")
        if state not in self._told and len(self._told) >= MAX_STATES:
            raise MemoryError(f"more than {MAX_STATES} entities for one rule set")
        number = self._told[state] = self._told.get(state, 0) + 1
        self._acting = True
        try:
            self._host.assert_fact(self._name, {"sid": state, "id": str(number), key: value})
        except _durable.MessageNotHandledException:
            pass  # a fact that no rule reads, or that satisfies none: normal
        finally:
            self._acting = False

    def forget(self, state: str) -> None:
        """Drop a state and its messages."""
        if state in self._told:
            self.tell(state, _FAREWELL, True)
            del self._told[state]
            self._rules.delete_state(state)

    def close(self) -> None:
        """Free the rules and all states; the network cannot be used any more."""
        for state in list(self._told):
            self.forget(state)  # the library frees only the rules
        self._rules.close()


def _check(rules: Iterable[ChainRule]) -> None:
    told_apart: set[str] = set()
    for rule in rules:
        if not 0 < len(rule.patterns) <= MAX_JOINED:
            raise ValueError(f"a rule joins 1 to {MAX_JOINED} messages, not {len(rule.patterns)}")
        for pattern in rule.patterns:
            if ("$and" in pattern or "$or" in pattern) and '"m_0"' in to_json(pattern):
                raise ValueError("a test against another message cannot be one of several")
            told_apart.update(_first_tests(pattern))
    if len(told_apart) > MAX_ALTERNATIVES:
        raise ValueError(f"{len(told_apart)} alternatives in one rule set; there may be {MAX_ALTERNATIVES}")


def _first_tests(pattern: Pattern) -> Iterable[str]:
    if "$or" in pattern:
        for one in pattern["$or"]:
            yield from _first_tests(one)
    elif "$and" in pattern:
        yield from _first_tests(pattern["$and"][0])
    else:
        yield to_json(pattern)
