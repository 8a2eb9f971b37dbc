"""Which ports of a host are Triton's: metrics and HTTP, from the one address that a person gave."""

from __future__ import annotations

from gpuwhy.kb.facts import SERVER
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Missing
from gpuwhy.probes.triton_http import Address, Reply, read

METRICS_PORT = 8002
HTTP_PORT = 8000
"""Triton's default ports: https://github.com/triton-inference-server/server/blob/main/docs/getting_started/quickstart.md"""

BETWEEN = METRICS_PORT - HTTP_PORT


@dataclass(frozen=True)
class Endpoints:
    """The services that answered; `missing` says why one did not."""

    metrics: Address | None
    http: Address | None
    missing: tuple[Missing, ...] = ()


def discover(given: Address, http: Address | None = None) -> Endpoints:
    """Finds metrics and HTTP service: at the address given, and at the distance that the default ports have."""
    reply = read(given, given.path or "/metrics")
    if reply.ok and "nv_" in reply.text:
        found = http or _http_near(given)
        return Endpoints(given, found[0], found[1]) if isinstance(found, tuple) else _with_http(given, found)
    if _is_triton(read(given, "/v2")):  # the HTTP port was given: the metrics are beside it
        return _beside(given)
    reason = reply.reason or f"{given.shown} answers, but not with metrics of Triton"
    lacking = [Missing("serve.metrics_answered", reason, entity=SERVER)]
    if http is None:
        return Endpoints(None, None, tuple(lacking))
    return _with_http(None, http, tuple(lacking))


def _with_http(metrics: Address | None, http: Address, lacking: tuple[Missing, ...] = ()) -> Endpoints:
    reply = read(http, "/v2")
    if _is_triton(reply):
        return Endpoints(metrics, http, lacking)
    reason = reply.reason or f"{http.shown} answers, but not as Triton does"
    return Endpoints(metrics, None, (*lacking, Missing("serve.statistics_answered", reason, entity=SERVER)))


def _http_near(metrics: Address) -> tuple[Address | None, tuple[Missing, ...]]:
    """The HTTP service of a server whose metrics are here."""
    tried: list[str] = []
    for port in dict.fromkeys((metrics.port - BETWEEN, HTTP_PORT)):
        if 0 < port < 65536 and port != metrics.port:
            at = metrics.at(port)
            reply = read(at, "/v2")
            if _is_triton(reply):
                return at, ()
            tried.append(reply.reason or f"{at.shown} answers, but not as Triton does")
    reason = "; ".join(tried) + "; give the HTTP port with --triton-http"
    return None, (Missing("serve.statistics_answered", reason, entity=SERVER),)


def _beside(http: Address) -> Endpoints:
    """The metrics of a server whose HTTP service is here."""
    for port in dict.fromkeys((http.port + BETWEEN, METRICS_PORT)):
        at = http.at(port)
        reply = read(at, "/metrics")
        if reply.ok and "nv_" in reply.text:
            return Endpoints(at, http)
    reason = f"{http.shown} is the HTTP port, and {http.at(http.port + BETWEEN).shown} has no metrics of Triton"
    return Endpoints(None, http, (Missing("serve.metrics_answered", reason, entity=SERVER),))


def _is_triton(reply: Reply) -> bool:
    document = reply.json() if reply.ok else None
    return isinstance(document, dict) and "extensions" in document and "version" in document
