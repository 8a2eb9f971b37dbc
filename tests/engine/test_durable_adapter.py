"""What one must know of durable_rules 2.0.28, each run against the real library; and what the adapter makes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from gpuwhy.engine import durable_adapter
from gpuwhy.engine.durable_adapter import (
    ChainRule,
    Network,
    available,
    both,
    either,
    holds,
    holds_against,
    present,
    to_json,
)

pytestmark = pytest.mark.skipif(available() is not None, reason=str(available()))

LIBRARY = """
import json, os, sys
sys.setdlopenflags(os.RTLD_LAZY)
from durable import engine
class Host(engine.Host):
    def _run(self): pass
def one(pattern, run=lambda c: None, name="rules"):
    host = Host()
    host.register_rulesets({name: {"rule": {"all": [{"m": pattern}], "run": run}}})
    return host
"""


def library(code: str) -> subprocess.CompletedProcess[str]:
    """The bare library in a process of its own: some of this kills it. New memory is filled with rubbish, not zeros."""
    command = [sys.executable, "-W", "ignore", "-c", LIBRARY + code]
    environment = os.environ | {"MALLOC_PERTURB_": "165"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


class Heard:
    """Rules that only note that they fired."""

    def __init__(self) -> None:
        self.names: list[tuple[str, str]] = []

    def rule(self, name: str, *patterns: Any) -> ChainRule:
        return ChainRule(patterns, lambda state: self.names.append((name, state)))


def network(*patterns: Any) -> tuple[Network, list[tuple[str, str]]]:
    heard = Heard()
    return Network("tested", [heard.rule("fired", *patterns)]), heard.names


# The library alone ---------------------------------------------------------------------------------------------------


def test_a_batch_stops_at_the_first_fact_that_no_rule_reads() -> None:
    done = library("""
host = one({"x": 1}, lambda c: print("fired"))
try:
    host.assert_facts("rules", [{"sid": "1", "y": 1}, {"sid": "1", "x": 1}])
except engine.MessageNotHandledException:
    print("stopped")
host.assert_fact("rules", {"sid": "2", "x": 1})
""")
    assert done.stdout.split() == ["stopped", "fired"]


def test_dropping_a_state_in_which_no_rule_ever_fired_crashes_the_process() -> None:
    done = library("""
host = one({"x": 1})
try:
    host.assert_facts("rules", [{"sid": "1", "y": 1}, {"sid": "1", "x": 1}])
except engine.MessageNotHandledException:
    pass
host.delete_state("rules", "1")
print("survived")
""")
    assert done.returncode < 0
    assert "survived" not in done.stdout


def test_an_error_in_an_action_is_kept_on_the_state_and_not_raised() -> None:
    done = library("""
def fail(c): raise ValueError("boom")
print(one({"x": 1}, fail).assert_fact("rules", {"sid": "1", "x": 1})["exception"][:21])
""")
    assert done.stdout == "exception caught boom\n"


@pytest.mark.parametrize("number", [1e-05, 1e22])
def test_its_reader_refuses_exponents(number: float) -> None:
    done = library(f'one({{"$gt": {{"x": 0}}}}).assert_fact("rules", {{"sid": "1", "x": {number!r}}})')
    assert "error code: 204" in done.stderr


def test_it_compares_loosely() -> None:
    done = library("""
one({"$gt": {"x": 50}}, lambda c: print("a word above 50")).assert_fact("rules", {"sid": "1", "x": "51"})
one({"x": 1}, lambda c: print("true is 1")).assert_fact("rules", {"sid": "1", "x": True})
""")
    assert done.stdout.splitlines() == ["a word above 50", "true is 1"]


@pytest.mark.parametrize(("pattern", "code"), [('{"$mt": {"x": "(["}}', 501), ('{"x": [1]}', 102)])
def test_what_it_cannot_parse_fails_when_the_rules_are_made(pattern: str, code: int) -> None:
    assert f"Could not create ruleset, error code: {code}" in library(f"one({pattern})").stderr


def test_one_fact_does_not_match_twice_within_a_rule() -> None:
    done = library("""
host = Host()
host.register_rulesets({"rules": {"rule": {"all": [{"a": {"$gt": {"x": 1}}}, {"b": {"$gt": {"x": 2}}}],
                                           "run": lambda c: print("fired")}}})
host.assert_fact("rules", {"sid": "1", "x": 5})
host.assert_fact("rules", {"sid": "1", "x": 6})
""")
    assert done.stdout.splitlines().count("fired") == 2  # 5 with 6 and 6 with 5; never 5 with itself


def test_its_host_starts_two_threads() -> None:
    done = library("import threading\nengine.Host()\nprint(threading.active_count())")
    assert done.stdout == "3\n"


def test_512_alternatives_in_one_rule_set_never_return() -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
rules = {str(n): {"all": [{"m": {"$gt": {f"x{n}": 1.0}}}]} for n in range(512)}
core = engine.durable_rules_engine
core.assert_fact(core.create_ruleset("r", json.dumps(rules)), '{"sid": "1", "x1": 2.0}')
"""
    assert -library(code).returncode in (signal.SIGXCPU, signal.SIGKILL)
    assert library(code.replace("512", "511")).returncode == 0


def test_65_matches_of_one_message_are_too_many() -> None:
    code = """
rules = {str(n): {"all": [{"m": {"$gt": {"x": float(n)}}}]} for n in range(65)}
core = engine.durable_rules_engine
core.assert_fact(core.create_ruleset("r", json.dumps(rules)), '{"x": 99.0}')
"""
    assert "error code: 303" in library(code).stderr
    assert library(code.replace("65", "64")).returncode == 0


def test_17_joined_messages_are_too_many() -> None:
    code = """
core = engine.durable_rules_engine
made = core.create_ruleset("r", json.dumps({"r": {"all": [{f"m{n}": {"$ex": {f"x{n}": 1}}} for n in range(17)]}}))
for n in range(17):
    core.assert_fact(made, '{"x%d": 1}' % n)
"""
    assert "error code: 304" in library(code).stderr
    assert library(code.replace("17", "16")).returncode == 0


def test_1025_states_are_too_many() -> None:
    code = """
host = one({"x": 1})
for n in range(1025):
    host.assert_fact("rules", {"sid": str(n), "x": 1})
"""
    assert "MemoryError" in library(code).stderr
    assert library(code.replace("1025", "1024")).returncode == 0


# The adapter ---------------------------------------------------------------------------------------------------------


def test_loading_it_leaves_the_way_libraries_are_bound_as_it_was() -> None:
    code = "import sys; flags = sys.getdlopenflags(); import gpuwhy.engine.durable_adapter as a; "
    code += "print(a.available(), flags == sys.getdlopenflags())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "None True\n"


def test_without_the_library_the_reason_is_given_and_nothing_else_fails() -> None:
    code = "import sys; sys.modules['durable'] = None; import gpuwhy.engine.durable_adapter as a; print(a.available())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("durable_rules cannot be loaded: ")


def test_no_thread_is_started() -> None:
    before = threading.active_count()
    network(present("x"))
    assert threading.active_count() == before


def test_a_message_that_no_rule_reads_is_normal() -> None:
    made, heard = network(holds("x", "gt", 5.0))
    made.tell("a", "y", 1.0)
    made.tell("a", "x", 5.0)
    made.tell("a", "x", 6.0)
    assert heard == [("fired", "a")]


@pytest.mark.parametrize("number", [1e-05, 1.5e-300, 5e-324, 1e22, 1.7976931348623157e308, 0.1 + 0.2, -3e-7])
def test_numbers_keep_every_digit(number: float) -> None:
    assert "e" not in to_json(number)
    assert json.loads(to_json(number)) == number
    made, heard = network(holds("x", "eq", number))
    made.tell("a", "x", number)
    assert heard == [("fired", "a")]


def test_a_number_beside_the_bound_does_not_reach_it() -> None:
    made, heard = network(holds("x", "ge", 0.1 + 0.2))  # 0.30000000000000004, the next double above 0.3
    made.tell("a", "x", 0.3)
    assert heard == []


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_reading_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="no reading"):
        to_json(number)


def test_what_has_no_type_is_refused() -> None:
    with pytest.raises(TypeError):
        to_json(None)


@pytest.mark.parametrize(
    "word", ['say "hi"', "back\\slash", "it's", "ünï ✓ 漢", "\ud800", "{}[]:,", "a\nb\0c", "$m", ""]
)
def test_any_word_equals_itself_and_no_other(word: str) -> None:
    made, heard = network(holds("x", "eq", word))
    made.tell("a", "x", word + "x")
    made.tell("b", "x", word)
    assert heard == [("fired", "b")]


def test_negative_zero_is_zero() -> None:
    assert to_json(-0.0) == "0.0"


@pytest.mark.parametrize(
    ("op", "fires"), [("lt", "1"), ("le", "12"), ("eq", "2"), ("ne", "13"), ("ge", "23"), ("gt", "3")]
)
def test_operators(op: str, fires: str) -> None:
    made, heard = network(holds("x", op, 2.0))
    for number in "123":
        made.tell(number, "x", float(number))
    assert "".join(state for _, state in heard) == fires


def test_a_factor_against_another_message_whichever_comes_first() -> None:
    made, heard = network(present("y"), holds_against("x", "gt", "y", 2.0))
    made.tell("above", "x", 5.0)
    made.tell("above", "y", 2.4)
    made.tell("below", "y", 2.6)
    made.tell("below", "x", 5.0)
    assert heard == [("fired", "above")]


def test_both_and_either_are_about_one_message() -> None:
    made, heard = network(either([both([holds("x", "gt", 1.0), holds("x", "lt", 3.0)]), holds("y", "eq", True)]))
    made.tell("a", "x", 3.0)
    made.tell("b", "x", 2.0)
    made.tell("c", "y", False)
    made.tell("d", "y", True)
    assert [state for _, state in heard] == ["b", "d"]


def test_states_do_not_see_each_other() -> None:
    made, heard = network(present("x"), present("y"))
    made.tell("a", "x", 1.0)
    made.tell("b", "y", 1.0)
    assert heard == []
    made.tell("a", "y", 1.0)
    assert heard == [("fired", "a")]


def test_an_error_in_an_action_comes_out() -> None:
    def fail(state: str) -> None:
        raise LookupError(state)

    made = Network("tested", [ChainRule((present("x"),), fail)])
    with pytest.raises(LookupError, match="a"):
        made.tell("a", "x", 1.0)


def test_an_action_may_not_tell() -> None:
    made: list[Network] = []

    def act(state: str) -> None:
        made[0].tell(state, "y", 1.0)

    made.append(Network("tested", [ChainRule((present("x"),), act)]))
    with pytest.raises(RuntimeError, match="may not assert"):
        made[0].tell("a", "x", 1.0)


def test_a_state_can_be_dropped_whether_or_not_a_rule_fired_and_starts_empty_again() -> None:
    made, heard = network(present("x"), present("y"))
    for _ in range(300):
        made.tell("quiet", "x", 1.0)
        made.tell("unread", "z", 1.0)
        made.tell("loud", "x", 1.0)
        made.tell("loud", "y", 1.0)
        for state in ("quiet", "unread", "loud", "never told"):
            made.forget(state)
    assert len(heard) == 300


def test_more_states_than_there_is_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_adapter, "MAX_STATES", 2)
    made, _ = network(present("x"))
    made.tell("a", "x", 1.0)
    made.tell("b", "x", 1.0)
    with pytest.raises(MemoryError):
        made.tell("c", "x", 1.0)
    made.forget("a")
    made.tell("c", "x", 1.0)


def test_rules_that_the_library_would_not_survive_are_refused() -> None:
    heard = Heard()
    with pytest.raises(ValueError, match="joins 1 to 16"):
        Network("tested", [heard.rule("wide", *(present(f"x{n}") for n in range(17)))])
    with pytest.raises(ValueError, match="joins 1 to 16"):
        Network("tested", [heard.rule("empty")])
    for join in (both, either):
        against = [holds_against("x", op, "y", 2.0) for op in ("lt", "gt")]
        with pytest.raises(ValueError, match="one of several"):
            Network("tested", [heard.rule("joined", present("y"), join(against))])
    with pytest.raises(ValueError, match="501 alternatives"):
        Network("tested", [heard.rule("many", either([holds("x", "eq", float(n)) for n in range(501)]))])


def test_rules_can_be_freed() -> None:
    made, _ = network(present("x"))
    made.close()
