"""Time to the first token of a request alone and under load, in a sentence: `0.3 s with one user, 9 s at 64`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import load, model
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import parse_duration
from gpuwhy.probes.artefacts.reported_sentences import SUPPOSED, sentence_of

NAME = "stated-first-token"
HINTS = ("ttft", "first token", "first-token", "首token", "首字", "首 token")
LONGEST = 600
_ABOUT = later(r"(?i)\bTTFT\b|\b(?:time to )?first[- ]token\b|首 ?token|首字")
_TIME = r"(?P<value>[0-9]{1,5}(?:\.[0-9]{1,3})?) ?(?P<unit>ms|milliseconds?|s|secs?|seconds?|毫秒|秒)(?![A-Za-z/])"
_COUNT = r"(?P<count>[0-9]{1,5}|one|single)"
_WHO = r"(?:users?|requests?|clients?|streams?|connections?|sessions?|concurren\w{1,4}|callers?|at a time)"
_PAIRS = (
    later(
        rf"(?i){_TIME}[^.\n0-9;]{{0,24}}?\b(?:at|with|for|under|from|by)\s(?:a |only |just |concurrency (?:of |= ?)?)?"
        rf"{_COUNT}(?!\w|\.[0-9]| ?(?:ms|s|%|tokens?|k)\b)"
        rf"(?: (?:concurrent|parallel|simultaneous|active))?(?: {_WHO}\b)?"
    ),
    later(rf"(?i)(?:并发(?:数|度)?|concurrency|{_WHO})(?: ?(?:为|是|=|of|:))? ?{_COUNT}[^\n。;.0-9]{{0,20}}?{_TIME}"),
)
_LOAD = later(rf"(?i)\b{_WHO}\b|并发")
_TARGET = later(r"(?i)\b(?:should|expect\w{0,3}|target|goal|slo|sla|budget|want)\b|目标|应该|期望")
_LATER_TOKENS = later(r"(?i)\b(?:TPOT|ITL|inter|per token)\b")
_WORDS = {"one": 1, "single": 1}
_HEARD = load("as said", model())


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the first line that tells of both; it claims that line."""
    for line in text.lines:
        cut = line.text
        if len(cut) > LONGEST or "|" in cut or not (_ABOUT.search(cut) and _LOAD.search(cut)):
            continue
        if SUPPOSED.search(cut.lower()) or _TARGET.search(cut):
            continue
        both = [told for told in (_told(pattern, cut) for pattern in _PAIRS) if 1 in told and len(told) >= 2]
        if both:
            told = both[0]
            most = max(told)
            found = _ABOUT.search(cut)
            said = sentence_of(cut, found) if found else cut[:160]
            facts = {
                "serve.ttft_alone_seconds": told[1],
                "serve.ttft_mean_seconds": told[most],
                "serve.concurrency": most,
            }
            readings = [Reading(fact, value, line.number, said, _HEARD, said=True) for fact, value in facts.items()]
            yield Extract(NAME, tuple(readings), claimed=frozenset({line.number}))
            return


def _told(pattern: re.Pattern[str], cut: str) -> dict[int, float]:
    """Seconds for each number of requests; the first told of each counts. Times of later tokens are no first ones."""
    told: dict[int, float] = {}
    for found in pattern.finditer(cut):
        seconds = _seconds(found)
        if seconds and not _LATER_TOKENS.search(cut[max(0, found.start() - 30) : found.start()]):
            told.setdefault(_WORDS.get(found["count"].lower()) or int(found["count"]), seconds)
    return told


def _seconds(found: re.Match[str]) -> float | None:
    unit = found["unit"].lower()
    return parse_duration(f"{found['value']}{'ms' if unit in ('ms', '毫秒') or unit.startswith('mil') else 's'}")


FORMAT = TextFormat(NAME, "Time to the first token alone and under load, as said", HINTS, scan)
