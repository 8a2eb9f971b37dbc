"""Results of rule tests as JUnit XML, as continuous integration shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from gpuwhy.engine.rule_cases import Case


def document(results: Iterable[tuple[Case, list[str]]], front: str) -> str:
    """One suite for each rule; `front` is what stands in front of file names."""
    suites: dict[str, list[str]] = {}
    failures: dict[str, int] = {}
    for case, wrong in results:
        suite = suites.setdefault(case.rule.id, [])
        where = f"file={_attribute(front + case.location.path)} line={_attribute(str(case.location.line))}"
        start = f"<testcase classname={_attribute(case.rule.id)} name={_attribute(case.name)} {where}"
        if wrong:
            failures[case.rule.id] = failures.get(case.rule.id, 0) + 1
            suite.append(f"  {start}><failure message={_attribute('; '.join(wrong))}/></testcase>")
        else:
            suite.append(f"  {start}/>")
    tests = sum(map(len, suites.values()))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites name="gpuwhy rules" tests="{tests}" failures="{sum(failures.values())}">')
    for name, suite in suites.items():
        head = f'tests="{len(suite)}" failures="{failures.get(name, 0)}"'
        lines += [f" <testsuite name={_attribute(name)} {head}>", *suite, " </testsuite>"]
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _attribute(text: str) -> str:
    """A quoted attribute; characters that XML does not have are shown as a question mark."""
    return quoteattr("".join(one if one in "\t\n" or ord(one) >= 32 else "?" for one in text))
