"""Questions to a Prometheus server, by its HTTP API: bounded in time and size, asked again where that can help.

What the server says when it cannot answer is told apart: too much at once (ask for less), not able now, or never.
The API: https://prometheus.io/docs/prometheus/latest/querying/api/ .
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from enum import Enum
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.gathering import plain
from gpuwhy.probes.http_exchange import Exchange, exchange

TIMEOUT_SECONDS = 60.0
MAX_BYTES = 64 << 20
TRIES = 3
CUT_TRIES = 2
"""How often a question is asked whose answer is cut off."""
MOST_HANGS = 8
"""After so many questions in a row without an answer in time a server is given up, not asked for less."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
BEARER, BASIC = "GPUWHY_PROMETHEUS_BEARER", "GPUWHY_PROMETHEUS_BASIC"
"""Environment variables with a token, and with `user:password`."""


_LOG_IN = "--bearer-file takes a token, --basic-auth-file user:password"


class Kind(str, Enum):
    """What a failure means for whoever asks: ask for less, ask later, ask otherwise, or do not ask at all."""

    TOO_MUCH = "too much"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    REFUSED = "refused"


class QueryError(Exception):
    """A question without an answer, and why, in words for a person."""

    def __init__(self, kind: Kind, says: str) -> None:
        super().__init__(says)
        self.kind = kind
        self.says = says


class AddressError(ValueError):
    """Not an address that can be asked, or a secret that cannot be read; says what would do."""


@dataclass(frozen=True)
class Series:
    """One series of an answer: its labels, and its samples as (seconds since the epoch, value)."""

    labels: Mapping[str, str]
    samples: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """The last value; may be NaN or infinite."""
        return self.samples[-1][1]


@dataclass(frozen=True)
class Answer:
    """Series, and what the server says about them: an answer with a warning may lack some."""

    series: tuple[Series, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Server:
    """Where Prometheus listens, and what goes with every question."""

    host: str
    port: int
    tls: bool
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    ca_file: Path | None = None

    @property
    def shown(self) -> str:
        """The address as a person writes it, without any secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.path}"


def server(text: str, headers: Mapping[str, str] | None = None, ca_file: Path | None = None) -> Server:
    """The server at a URL, with a path where it is behind a proxy. Raises `AddressError`."""
    whole = text.strip() if "://" in text else f"http://{text.strip()}"
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError as error:
        raise AddressError(f"{text!r} is no address: {error}; write http://host:9090") from None
    if parts.username is not None or parts.password is not None:
        raise AddressError(f"no password in the address, where others can see it: set {BASIC}, or name a file")
    if parts.scheme not in ("http", "https") or not parts.hostname or any(sign.isspace() for sign in parts.netloc):
        raise AddressError(f"{text!r} is no address; write http://host:9090")
    tls = parts.scheme == "https"
    path = parts.path.rstrip("/").removesuffix("/api/v1").removesuffix("/graph")
    return Server(parts.hostname, port or (443 if tls else 9090), tls, path, headers or {}, ca_file)


def authorization(bearer_file: Path | None = None, basic_file: Path | None = None) -> dict[str, str]:
    """The header that proves who asks: from a file, else from the environment; none where neither says anything.

    Raises `AddressError` where a file cannot be read or holds nothing.
    """
    if bearer_file is not None or (basic_file is None and os.environ.get(BEARER)):
        return {"Authorization": f"Bearer {_secret(bearer_file, BEARER)}"}
    if basic_file is not None or os.environ.get(BASIC):
        secret = _secret(basic_file, BASIC)
        if ":" not in secret:
            raise AddressError(f"{basic_file or BASIC} holds no `user:password`")
        return {"Authorization": "Basic " + base64.b64encode(secret.encode("utf-8")).decode("ascii")}
    return {}


def _secret(path: Path | None, variable: str) -> str:
    try:
        found = (os.environ.get(variable, "") if path is None else path.read_text("utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AddressError(f"{path}: {error}") from None
    if not found or any(ord(sign) < 32 for sign in found):
        raise AddressError(f"{path or variable} holds no secret of one line")
    return found


@dataclass
class Client:
    """Asks one server. `pause` waits between tries; `hangs` counts questions without an answer in a row."""

    server: Server
    timeout: float = TIMEOUT_SECONDS
    tries: int = TRIES
    pause: Callable[[float], None] = time.sleep
    hangs: int = 0

    def instant(self, expression: str, at: float) -> Answer:
        """The value of an expression at a moment. Raises `QueryError`."""
        return _answer(self._ask("query", {"query": expression, "time": f"{at:.3f}"}), "value")

    def range(self, expression: str, start: float, end: float, step: float) -> Answer:
        """The values of an expression at moments that lie `step` seconds apart. Raises `QueryError`."""
        asked = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return _answer(self._ask("query_range", asked), "values")

    def values(self, label: str, match: str, start: float, end: float) -> tuple[list[str], tuple[str, ...]]:
        """The values of a label among series of a time, and warnings. Raises `QueryError`."""
        data, warnings = self._ask(f"label/{label}/values", _window(match, start, end), post=False)
        if not isinstance(data, list):
            raise QueryError(Kind.FAILED, "an answer without a list of values")
        return [one for one in data if isinstance(one, str)], warnings

    def series(self, match: str, start: float, end: float) -> tuple[list[dict[str, str]], tuple[str, ...]]:
        """The labels of all series of a time, and warnings. Raises `QueryError`."""
        data, warnings = self._ask("series", _window(match, start, end))
        if not isinstance(data, list):
            raise QueryError(Kind.FAILED, "an answer without a list of series")
        return [_labels(one) for one in data], warnings

    def _ask(self, what: str, asked: Mapping[str, str], post: bool = True) -> tuple[Any, tuple[str, ...]]:
        for number in range(self.tries):
            try:
                return self._once(what, asked, post)
            except _Again as error:
                is_cut = error.kind is Kind.TOO_MUCH  # asking for less helps more than waiting
                if number + 1 == (min(self.tries, CUT_TRIES) if is_cut else self.tries):
                    raise QueryError(error.kind, error.says) from None
                if is_cut:
                    continue
                self.pause(min(error.after or FIRST_PAUSE_SECONDS * 2**number, LONGEST_PAUSE_SECONDS))
        raise AssertionError("tries is at least one")

    def _once(self, what: str, asked: Mapping[str, str], post: bool) -> tuple[Any, tuple[str, ...]]:
        form = urlencode(asked)
        path = f"{self.server.path}/api/v1/{what}" + ("" if post else f"?{form}")
        headers = {"Accept": "application/json", **self.server.headers}
        if post:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        at = self.server
        try:
            reply = exchange(
                at.host,
                at.port,
                path,
                headers,
                form.encode("ascii") if post else None,
                self.timeout,
                MAX_BYTES,
                at.tls,
                at.ca_file,
            )
        except (HTTPException, OSError, ValueError) as error:
            raise self._failure(error) from None
        self.hangs = 0
        return self._understood(reply)

    def _failure(self, error: Exception) -> Exception:
        where = self.server.shown
        if isinstance(error, ssl.SSLCertVerificationError):
            why = plain(error.verify_message)
            return QueryError(
                Kind.REFUSED, f"the certificate of {where} is not trusted ({why}): --ca-file names its CA"
            )
        if isinstance(error, ssl.SSLError):
            return QueryError(Kind.REFUSED, f"{where} does not speak TLS, or the file of the CA is none")
        if isinstance(error, TimeoutError):
            self.hangs += 1
            says = f"no answer within {self.timeout:g} s"
            return QueryError(Kind.TOO_MUCH if self.hangs < MOST_HANGS else Kind.UNAVAILABLE, says)
        if isinstance(error, (HTTPException, ValueError)):
            return _Again(Kind.TOO_MUCH, "the answer ended before its end")
        return _Again(Kind.UNAVAILABLE, f"{where} cannot be reached: {plain(str(error))}")

    def _understood(self, reply: Exchange) -> tuple[Any, tuple[str, ...]]:
        status, body = reply.status, reply.body
        if len(body) > MAX_BYTES:
            raise QueryError(Kind.TOO_MUCH, f"an answer of more than {MAX_BYTES >> 20} MiB")
        if status in (401, 403):
            raise QueryError(Kind.REFUSED, f"{self.server.shown} refuses access (status {status}): {_LOG_IN}")
        if 300 <= status < 400:
            raise QueryError(
                Kind.REFUSED, f"{self.server.shown} sends elsewhere (status {status}), as a log-in does: {_LOG_IN}"
            )
        if reply.left:
            raise _Again(Kind.TOO_MUCH, "the answer ended before its end")
        document = _document(body)
        if document is None and status == 200 and b"<html" in body[:2000].lower():
            raise QueryError(
                Kind.REFUSED, f"{self.server.shown} answers with a web page: not Prometheus, or a log-in: {_LOG_IN}"
            )
        if status == 200 and document is None:
            raise _Again(Kind.TOO_MUCH, "an answer that is no JSON")
        if document is not None and document.get("status") == "success":
            found = document.get("warnings")
            return document.get("data"), tuple(_said(one) for one in found) if isinstance(found, list) else ()
        raise _error(status, document or {}, reply.retry_after)


class _Again(Exception):
    """A failure after which the same question may be answered; `after`: seconds that the server asks for."""

    def __init__(self, kind: Kind, says: str, after: float = 0.0) -> None:
        super().__init__(says)
        self.kind, self.says, self.after = kind, says, after


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _said(words: object) -> str:
    return plain(str(words))[:300]


_MUCH = ("too many samples", "timed out", "timeout", "maximum resolution", "too large", "limit", "canceled")


def _error(status: int, document: Mapping[str, Any], retry_after: str | None) -> Exception:
    """What a refusal means. 422: could not be executed; 503: timed out, aborted, or overloaded."""
    none = "an answer that is not of the API of Prometheus" if status < 300 else f"an answer with status {status}"
    says = _said(document.get("error") or none)
    much = document.get("errorType") == "timeout" or any(one in says.lower() for one in _MUCH)
    if status == 404:
        return QueryError(Kind.REFUSED, "there is no Prometheus API at this address (status 404)")
    if much and status in (200, 400, 422, 503):
        return QueryError(Kind.TOO_MUCH, says)
    if status == 429 or status >= 500:
        after = float(retry_after) if retry_after and retry_after.isdecimal() and len(retry_after) < 5 else 0.0
        return _Again(Kind.UNAVAILABLE, says, after)
    return QueryError(Kind.FAILED, says)


def _window(match: str, start: float, end: float) -> dict[str, str]:
    return {"match[]": match, "start": f"{start:.3f}", "end": f"{end:.3f}"}


def _answer(told: tuple[Any, tuple[str, ...]], key: str) -> Answer:
    data, warnings = told
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        raise QueryError(Kind.FAILED, "an answer without a result")
    return Answer(tuple(found for one in result if (found := _series(one, key)) is not None), warnings)


def _series(one: object, key: str) -> Series | None:
    """A series as it stands in an answer; None for histograms and what is none."""
    if not isinstance(one, dict) or key not in one:
        return None
    points = [one[key]] if key == "value" else one[key]
    try:
        samples = tuple((float(at), float(value)) for at, value in points)
    except (TypeError, ValueError):
        return None
    return Series(_labels(one.get("metric")), samples) if samples else None


def _labels(found: object) -> dict[str, str]:
    if not isinstance(found, dict):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, str)}
