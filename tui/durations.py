"""Lengths of time as people write them on the command line."""

from __future__ import annotations

from collections.abc import Callable

import click

from gpuwhy.kb.patterns import later

MIN_SECONDS = 0.1
MAX_SECONDS = 3600.0

_DURATION = later(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s?(ms|s|sec|m|min|h)?\s*\Z")
_UNITS = {None: 1.0, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def duration_up_to(most: float) -> Callable[[click.Context, click.Parameter, str | None], float | None]:
    """Reads seconds of a length of time as people write it: 20s, 2m, 500ms, 1.5min; a bare number is seconds."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
        del context, parameter
        if value is None:
            return None
        found = _DURATION.match(value)
        if not found:
            raise click.BadParameter(f"{value!r} is no length of time; write 20s or 2m")
        seconds = float(found.group(1)) * _UNITS[found.group(2)]
        if not MIN_SECONDS <= seconds <= most:
            raise click.BadParameter(f"{value!r} is not between {MIN_SECONDS:g} s and {most / 3600:g} h")
        return seconds

    return read


duration = duration_up_to(MAX_SECONDS)
"""Reads the length of a look, of an hour at most."""
