"""A pattern that is compiled only where it can match finds what it finds when it is always compiled."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts import env_messages, framework_oom, pytorch_oom_fields, reported_wordings
from gpuwhy.probes.artefacts.env_wordings import spaced
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern, certain_words, later

SHIPPED = [
    *(one.pattern for one in framework_oom._WORDINGS),
    *(one.pattern for one in pytorch_oom_fields._WORDINGS),
    *(pattern for one in reported_wordings.REPORTS for pattern in one.patterns),
    *(LazyPattern(spaced(one.written), one.written) for one in env_messages._WORDINGS),
    *env_messages._CODES,
]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\btried\s{1,20}to\s{1,20}allocate", "allocate tried to"),
        (r"CUDA(?: error)? out", "cuda out"),
        (r"colou?r", "colo"),
        (r"ab*cdx{0,3}", "cd"),
        (r"one|other", "one/other"),
        (r"one|[0-9]", ""),
        (r"(?:one|other) failure", "failure one/other"),
        (r"out of memory to (?:get|have) (?P<n>\d+) bytes", "out_of_memory_to bytes get/have"),
        (r"one word ?or two {0,3}", "one_word or_two"),
        (r"(?:very often|a(?:lways|ll days)|now) x", "now/ll_days/lways/very_often"),
        (r"(?:one|other)? (?:word|)", ""),
        (r"(?P<status>STATUS_FAILED)\b", "status_failed"),
        (r"(?:(?:inner) word){0,2} (?:(?:deep)er)", "deep er"),
        (r"(?=ahead)(?!not)after(?<!behind)", "after"),
        (r"(?i:mixed)", "mixed"),
        (r"[abc]xyz[^]a]uvw\w", "uvw xyz"),
        (r"\(word\)", "word"),
        (r"(?P<n>\d+)", ""),
        (r"(?P<word>ab+)(?P=word)", "ab"),
        (r"Error_CODE[\]x]z", "error_code"),
    ],
)
def test_the_words_are_in_every_match(pattern: str, words: str) -> None:
    expected = [set(each.replace("_", " ").split("/")) for each in words.split()]
    assert [{word.replace("_", " ") for word in each} for each in certain_words(pattern)] == expected


@given(st.data())
@settings(max_examples=300)
def test_the_words_of_every_shipped_pattern_are_in_texts_that_it_matches(data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(SHIPPED))
    text = data.draw(st.from_regex(re.compile(one.pattern, re.ASCII)))
    flat = " ".join(text.lower().split())
    assert all(any(word in flat for word in words) for words in one.words)


def test_most_shipped_patterns_have_a_word() -> None:
    assert sum(bool(one.words) for one in SHIPPED) > 0.8 * len(SHIPPED)


def test_a_pattern_for_later_is_the_pattern() -> None:
    pattern = later(r"(?P<word>[a-z]+)=(\d)", re.IGNORECASE)
    assert [one.groups() for one in pattern.finditer("A=1 b=2 c=")] == [("A", "1"), ("b", "2")]
    assert pattern.sub("x", "A=1") == "x"
    assert pattern.groupindex == {"word": 1}
    with pytest.raises(re.error):
        later("(").search("")


@given(st.text(alphabet="abAB |1", max_size=30))
def test_it_finds_what_the_pattern_finds(text: str) -> None:
    pattern = r"\bab(?:1|2)?"
    found = [match.span() for match in LazyPattern(pattern).finditer(text, text.lower())]
    assert found == [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
