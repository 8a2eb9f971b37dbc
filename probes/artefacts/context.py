"""Lines that carry no reading of their own: blank lines, headings, fences, rulers, shell prompts."""

from __future__ import annotations

import re

_CONTEXT = re.compile(
    r"\s*(?:"
    r"|#{1,6} [^\n]{0,200}"  # a Markdown heading
    r"|(?:```|~~~)[\w.+-]{0,30}"  # a fence
    r"|[-=_*+|.\s]{3,400}"  # a ruler
    r"|<?/?(?:details|summary|pre|code)>?"  # what trackers wrap pastes in
    r"|(?:[\w.@~:/\\\[\](){}<>-]{0,80}[$#>%] )?(?:sudo |watch [-\w. ]{0,20})?"
    r"(?:nvidia-smi|dmesg|free|df|iostat|vmstat|top|python3?|torchrun|docker|kubectl|cat|grep|tail|head|journalctl)\b[^|:=]{0,120}"
    r")\s*\Z"
)


def is_context(text: str) -> bool:
    """True for a line that no format needs to claim."""
    return bool(_CONTEXT.match(text))
