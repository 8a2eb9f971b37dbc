"""Ports of loopback for servers that tests start."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

BELOW_OUTGOING = (20_000, 32_000)
"""Linux takes the ports of outgoing connections from 32768 on. Between the choice of a port here and the server's own
`bind`, other tests open many of those."""

_given: set[int] = set()


def free_port() -> int:
    """A port that nothing listens at, and that was not given to another server of this process."""
    while True:
        port = random.randrange(*BELOW_OUTGOING)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port
