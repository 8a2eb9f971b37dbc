"""A pattern that is compiled only where it can match finds what it finds when it is always compiled."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts import framework_oom, pytorch_oom_fields
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern, certain_word

SHIPPED = [one.pattern.pattern for one in framework_oom._WORDINGS]
SHIPPED += [one.pattern.pattern for one in pytorch_oom_fields._WORDINGS]


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        (r"\btried\s{1,20}to\s{1,20}allocate", "allocate"),
        (r"CUDA(?: error)? out", "cuda"),
        (r"colou?r", "colo"),
        (r"ab*cdx{0,3}", "cd"),
        (r"one|other", ""),
        (r"(?:one|other) failure", "failure"),
        (r"[abc]xyz[^]a]uvw\w", "xyz"),
        (r"\(word\)", "word"),
        (r"(?P<n>\d+)", ""),
        (r"Error_CODE[\]x]z", "error_code"),
    ],
)
def test_the_word_is_in_every_match(pattern: str, word: str) -> None:
    assert certain_word(pattern) == word


@given(st.data())
@settings(max_examples=200)
def test_the_word_of_every_shipped_pattern_is_in_texts_that_it_matches(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(SHIPPED))
    text = data.draw(st.from_regex(re.compile(pattern, re.ASCII)))
    assert certain_word(pattern) in text.lower()


def test_most_shipped_patterns_have_a_word() -> None:
    assert sum(bool(certain_word(pattern)) for pattern in SHIPPED) > 0.8 * len(SHIPPED)


@given(st.text(alphabet="abAB |1", max_size=30))
def test_it_finds_what_the_pattern_finds(text: str) -> None:
    pattern = r"\bab(?:1|2)?"
    found = [match.span() for match in LazyPattern(pattern).finditer(text, text.lower())]
    assert found == [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
