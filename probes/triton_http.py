"""Reading from a Triton server over HTTP: bounded in time and size, and every refusal is a reason in plain words."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.gathering import plain
from gpuwhy.probes.http_exchange import exchange

TIMEOUT_SECONDS = 5.0
MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class Address:
    """Where a service listens. `headers` go with every request (an authorisation, where one is needed)."""

    host: str
    port: int
    tls: bool = False
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The address as a person writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https://' if self.tls else ''}{host}:{self.port}"

    def at(self, port: int) -> Address:
        """The same host at another port."""
        return Address(self.host, port, self.tls, "", self.headers)


class AddressError(Exception):
    """Not an address; says what would be."""


def address(text: str, default_port: int, headers: Mapping[str, str] | None = None) -> Address:
    """An address from `host`, `host:port`, `:port`, or a URL. Raises `AddressError`."""
    whole = text.strip()
    if "://" not in whole:
        whole = f"http://{whole}"
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError as error:
        raise AddressError(f"{text!r} is no address: {error}; write host:port") from None
    if parts.scheme not in ("http", "https"):
        raise AddressError(f"{text!r}: {parts.scheme} is not spoken here; write host:port, or an http or https URL")
    if any(sign.isspace() for sign in parts.netloc) or "@" in parts.netloc:
        raise AddressError(f"{text!r} is no address; write host:port")
    host = parts.hostname or "localhost"
    tls = parts.scheme == "https"
    return Address(host, port or default_port, tls, parts.path.rstrip("/"), headers or {})


@dataclass(frozen=True)
class Reply:
    """What came back: the status, and the body as far as it was read. `reason` says why there is none."""

    status: int = 0
    body: bytes = b""
    reason: str = ""
    not_http: bool = False
    refused: bool = False

    @property
    def ok(self) -> bool:
        """True for a whole answer with status 200."""
        return self.status == 200 and not self.reason

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def read(at: Address, path: str, post: bytes | None = None, timeout: float = TIMEOUT_SECONDS) -> Reply:
    """One request. Never raises for what the other side does: the reply says what went wrong."""
    from http.client import HTTPException

    headers = {"Content-Type": "application/json", **at.headers} if post is not None else dict(at.headers)
    try:
        answer = exchange(at.host, at.port, path, headers, post, timeout, MAX_BYTES, at.tls)
    except HTTPException as error:
        words = plain(str(error)) or type(error).__name__
        return Reply(reason=f"{at.shown} does not speak HTTP ({words[:60]}): is it the gRPC port?", not_http=True)
    except (OSError, ValueError) as error:
        return _failed(at, error, timeout)
    if len(answer.body) > MAX_BYTES:
        return Reply(answer.status, b"", f"{at.shown}{path} answers with more than {MAX_BYTES >> 20} MiB")
    if answer.left:
        return Reply(answer.status, b"", f"{at.shown} ended its answer early, {answer.left} bytes before its end")
    return Reply(answer.status, answer.body, _status(at, path, answer.status))


def _failed(at: Address, error: OSError | ValueError, timeout: float) -> Reply:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Reply(reason=f"the certificate of {at.shown} is not trusted: {plain(error.verify_message)}")
    if isinstance(error, ssl.SSLError):
        return Reply(reason=f"{at.shown} does not speak TLS: leave out https://", not_http=True)
    if isinstance(error, TimeoutError):
        return Reply(reason=f"{at.shown} did not answer within {timeout:g} s")
    if isinstance(error, ConnectionRefusedError):
        return Reply(reason=f"nothing listens at {at.shown} (connection refused)", refused=True)
    if isinstance(error, socket.gaierror):
        return Reply(reason=f"the host {at.host} is not known here")
    if isinstance(error, ConnectionResetError):
        return Reply(reason=f"{at.shown} closed the connection: is it TLS (https://) or gRPC?", not_http=True)
    return Reply(reason=f"{at.shown} cannot be reached: {plain(str(error))}")


def _status(at: Address, path: str, status: int) -> str:
    if status == 200:
        return ""
    if status in (401, 403):
        return f"{at.shown} refuses access (status {status}): give the authorisation with --triton-header"
    if status in (301, 302, 303, 307, 308):
        return f"{at.shown} sends elsewhere (status {status}): give the address that it leads to"
    return f"{at.shown}{path} answers with status {status}"


def model_path(name: str, what: str) -> str:
    """The path of something about a model."""
    return f"/v2/models/{quote(name, safe='')}/{what}"
