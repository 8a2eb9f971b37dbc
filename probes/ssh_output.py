"""Why a host could not be collected from, out of what `ssh` says on standard error. Its words are those of OpenSSH."""

from __future__ import annotations

import re
from enum import Enum

SSH_FAILED = 255
"""The exit status of `ssh` itself; any other is that of the remote command."""


class Reason(str, Enum):
    """Why nothing was collected, in a word for machines."""

    DOWN = "down"
    NAME_UNKNOWN = "name-unknown"
    TIMEOUT = "timeout"
    HOST_KEY_CHANGED = "host-key-changed"
    HOST_KEY_UNKNOWN = "host-key-unknown"
    AUTHENTICATION = "auth"
    CLOSED = "connection-closed"
    SSH_CONFIGURATION = "ssh-config"
    SSH_MISSING = "ssh-missing"
    SSH = "ssh-error"
    COLLECTOR = "collector-error"
    TRUNCATED = "truncated"
    INTERRUPTED = "interrupted"

    @property
    def says(self) -> str:
        """The reason for a person, and what to do."""
        return _SAYS[self]


_SAYS = {
    Reason.DOWN: "no connection: the host is down, refuses, or a firewall is in between",
    Reason.NAME_UNKNOWN: "the name does not resolve",
    Reason.TIMEOUT: "no answer in time; a longer --timeout may help",
    Reason.HOST_KEY_CHANGED: "the host key is not the known one: the host was reinstalled, or somebody is in between",
    Reason.HOST_KEY_UNKNOWN: "the host key is not known; connect once with ssh and check it",
    Reason.AUTHENTICATION: "permission denied; keys and agent are used, passwords are never asked for",
    Reason.CLOSED: "the host closed the connection before the login",
    Reason.SSH_CONFIGURATION: "ssh refuses its configuration or options",
    Reason.SSH_MISSING: "there is no ssh here, or it cannot be started",
    Reason.SSH: "ssh failed",
    Reason.COLLECTOR: "the login worked, and the collector did not run",
    Reason.TRUNCATED: "the answer was cut short or altered on its way",
    Reason.INTERRUPTED: "not asked, or not to the end: interrupted",
}

_WORDS: tuple[tuple[Reason, re.Pattern[str]], ...] = tuple(
    (reason, re.compile(pattern, re.MULTILINE))
    for reason, pattern in (
        (Reason.HOST_KEY_CHANGED, r"REMOTE HOST IDENTIFICATION HAS CHANGED|^Host key for [^\n]{1,300} has changed"),
        (Reason.HOST_KEY_CHANGED, r"REVOKED HOST KEY DETECTED|^Host key [^\n]{1,300} revoked"),
        (Reason.HOST_KEY_UNKNOWN, r"^No [^\n]{1,80}host key is known for|^Host key verification failed"),
        (Reason.TIMEOUT, r"timed out during banner exchange|^Timeout, server |^Connection to [^\n]{1,300} timed out"),
        (Reason.NAME_UNKNOWN, r"Could not resolve hostname"),
        (Reason.DOWN, r"connect to host [^\n]{1,300} port \d|open failed: connect failed|^stdio forwarding failed"),
        (
            Reason.AUTHENTICATION,
            r"^[^\n]{0,300}: Permission denied \(|Too many authentication failures|^Permission denied",
        ),
        (
            Reason.SSH_CONFIGURATION,
            r"[Bb]ad configuration option|^Can't open user config file|Bad owner or permissions|^command-line[: ]"
            r"|^[^\n]{1,300} line \d{1,6}: |^usage: ssh|unsupported option",
        ),
        (
            Reason.CLOSED,
            r"^kex_exchange_identification: |^Connection (?:closed|reset) by|Connection reset by peer"
            r"|^ssh_exchange_identification: |^Unable to negotiate",
        ),
    )
)


def reason_of(stderr: str) -> Reason:
    """Why ssh failed. What stands first in the list of causes counts, wherever it was said."""
    return next((reason for reason, pattern in _WORDS if pattern.search(stderr)), Reason.SSH)


def last_words(text: str, limit: int = 300) -> str:
    """The last line that says something, without control characters."""
    lines = [" ".join("".join(c if c.isprintable() else " " for c in line).split()) for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "")[:limit]
