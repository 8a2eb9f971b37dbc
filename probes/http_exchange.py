"""One question to a server by HTTP: a connection of its own, no redirect followed, certificates checked, bounded."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwhy.kb.records import dataclass

if TYPE_CHECKING:
    from http.client import HTTPResponse

_PIECE = 1 << 16


@dataclass(frozen=True)
class Exchange:
    """What came back: status, body up to one byte more than the limit, and how many bytes of it did not come."""

    status: int
    body: bytes
    left: int
    retry_after: str | None


def exchange(
    host: str,
    port: int,
    path: str,
    headers: Mapping[str, str],
    post: bytes | None,
    timeout: float,
    most: int,
    tls: bool = False,
    ca_file: Path | None = None,
) -> Exchange:
    """Asks by GET, or by POST where there is something to `post`; certificates are checked.

    `timeout` bounds every wait and, in seconds, the whole answer: one that trickles in for ever ends too.
    Raises `OSError` (with it `ssl.SSLError` and `TimeoutError`), `ValueError`, or `http.client.HTTPException`.
    """
    from http.client import HTTPConnection, HTTPSConnection

    if tls:
        trusted = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        connection: HTTPConnection = HTTPSConnection(host, port, timeout=timeout, context=trusted)
    else:
        connection = HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("GET" if post is None else "POST", path, post, dict(headers))
        reply = connection.getresponse()
        told = reply.length
        body = _read(reply, most + 1, time.monotonic() + timeout)
        left = 0 if told is None else max(0, min(told, most + 1) - len(body))
        return Exchange(reply.status, body, left, reply.getheader("Retry-After"))
    finally:
        connection.close()


def _read(reply: HTTPResponse, most: int, until: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < most and (part := reply.read1(min(_PIECE, most - size))):
        parts.append(part)
        size += len(part)
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(parts)
