"""Bytes of an artefact to lines of text: decoded, without control sequences, progress bars reduced to a few updates."""

from __future__ import annotations

import codecs
import re

from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Line

LINE_LIMIT = 20_000
"""Longest line kept, in characters; the rest is cut and the cut is said at its end."""

KEPT_UPDATES = 6
"""How many states of a line that overwrites itself are kept: the first, a few between, and the last."""

_SEQUENCES = later(
    r"(?:\x1b\[|\x9b|\^\[\[|␛\[)[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI, also as `cat -v` or a web page shows it
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\x9d\n]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC: titles and links
    r"|\x1b[PX^_][^\x1b\n]{0,4096}\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]{0,4}[0-~]?"
)
_SEQUENCE_STARTS = ("\x1b", "\x9b", "\x9d", "^[[", "␛[")
_COLOUR_REMAINS = later(r"\[(?:0|[0-9]{1,2}(?:;[0-9]{1,3}){1,5})m")  # the escape itself got lost in copying
_CONTROLS = later("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_CONTROL_BYTES = bytes(range(9)) + b"\x0b\x0c" + bytes(range(14, 32)) + b"\x7f"
_BACKSPACES = later("\x08{4,}")
_RAW_DEVICE = later(r"\bGPU ([\x00-\x08\x0b\x0c\x0e-\x1f]) has a total capac")


def decode(raw: bytes) -> str:
    """The text of an artefact: UTF-8 or UTF-16 (with or without a mark), else Windows-1252, which takes any byte.

    Where UTF-8 was damaged (a character cut in two at either end) replacement characters stand in.
    """
    if raw.startswith(codecs.BOM_UTF8):
        raw = raw[3:]
    elif raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", errors="replace")
    elif looks_utf16(raw):
        return raw.decode("utf-16-le", errors="replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", errors="replace")
    inside = text.strip("\ufffd").count("\ufffd")
    others = sum(1 for _ in re.finditer("[^\x00-\x7f\ufffd]", text)) if inside else 0
    return text if inside <= others // 4 else raw.decode("cp1252", errors="replace")


def looks_utf16(raw: bytes) -> bool:
    """True for UTF-16 text without a byte order mark, as far as its beginning tells."""
    head = raw[:512]
    odd = head[1::2]
    return len(head) >= 16 and odd.count(0) > 0.8 * len(odd) and head[::2].count(0) < 0.1 * len(odd)


def _without_controls(text: str) -> str:
    if "\x08\x08\x08\x08" in text:
        text = _BACKSPACES.sub("\r", text)
    if _has_controls(text):
        # Some PyTorch versions print the device index of a failure as a raw character.
        text = _RAW_DEVICE.sub(lambda found: f"GPU {ord(found[1])} has a total capac", text)
        if any(start in text for start in _SEQUENCE_STARTS):
            text = _SEQUENCES.sub("", text)
        text = _CONTROLS.sub("", text) if _has_controls(text) else text
    elif "^[[" in text:
        text = _SEQUENCES.sub("", text)
    if "[0m" in text or "[0;" in text:
        text = _COLOUR_REMAINS.sub("", text)
    return text


def _has_controls(text: str) -> bool:
    if not text.isascii():
        return _CONTROLS.search(text) is not None or "␛[" in text
    return len(text.encode("ascii").translate(None, _CONTROL_BYTES)) != len(text)


def _cut(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[:LINE_LIMIT]} … [cut: the line has {len(line)} characters]"


def _states(line: str) -> list[str]:
    """The states worth keeping of a line that a progress bar overwrote, oldest first."""
    states = [state for state in line.split("\r") if state.strip()]
    if len(states) <= KEPT_UPDATES:
        return states
    stride = (len(states) - 1) / (KEPT_UPDATES - 1)
    return [states[round(index * stride)] for index in range(KEPT_UPDATES)]


def numbered(raw: bytes, first: int = 1) -> tuple[Line, ...]:
    """The lines of an artefact with their numbers from `first`, as an editor counts them.

    A line that a progress bar overwrote (carriage returns) gives a few lines with one number. ANSI sequences, control
    and direction characters are gone, very long lines are cut. Where only carriage returns separate the text, they
    are the line ends.
    """
    text = _without_controls(decode(raw))
    if "\r" in text:
        text = re.sub("\r+\n", "\n", text)
        if "\n" not in text:
            text = text.replace("\r", "\n")
    lines: list[Line] = []
    for number, line in enumerate(text.split("\n"), first):
        if "\r" in line:
            lines.extend(Line(number, _cut(state)) for state in _states(line) or [""])
        else:
            lines.append(Line(number, _cut(line)))
    if lines and not lines[-1].text and len(lines) > 1:
        lines.pop()
    return tuple(lines)


def clean(raw: bytes) -> list[str]:
    """The lines of an artefact, one per line of the file: of a line that overwrites itself only the last state."""
    last: dict[int, str] = {}
    for line in numbered(raw):
        last[line.number] = line.text
    return list(last.values())
