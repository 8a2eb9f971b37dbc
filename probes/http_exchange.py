"""One question to a server by HTTP: a connection of its own, no redirect followed, certificates checked, bounded."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from gpuwhy.kb.records import dataclass


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
        body = reply.read(most + 1)
        return Exchange(reply.status, body, reply.length or 0, reply.getheader("Retry-After"))
    finally:
        connection.close()
