"""Runs the collector on one host through the user's own `ssh`, and reads what comes back.

The user's configuration, jump hosts, agent and known hosts are honoured. Host keys are always checked; nothing is asked
on the terminal, nothing is written on the host, and no connection is left open.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from importlib.resources import files

from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.collected import Collected, facts_of
from gpuwhy.probes.collected_document import Damaged, Document, parse
from gpuwhy.probes.ssh_output import SSH_FAILED, Reason, last_words, reason_of

MAX_OUTPUT_BYTES = 16 << 20
MAX_ERROR_BYTES = 64 << 10
CONNECT_SECONDS = 10
RETURN_SECONDS = 5.0
"""The collector ends this long before the time of the host is over, so that its answer still comes through."""

EXIT_SECONDS = 5.0
"""How long ssh may take to end after it has closed its outputs."""

COLLECTORS: Mapping[str, tuple[str, str]] = {
    "python": ("remote_collector.py", "python3 -"),
    "sh": ("remote_collector.sh", "sh -s --"),
}
"""The file that is sent to the standard input of a command on the host, and that command."""

_FIXED = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "LogLevel=INFO",
    "RequestTTY=no",
    "RemoteCommand=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlMaster=no",
)
"""Of several values for an option ssh takes the first: these stand before the user's."""

_DEFAULTS = ("ServerAliveInterval=10", "ServerAliveCountMax=2")
_HOST = re.compile(r"[^\s\x00-\x1f\x7f-]\S{0,254}\Z")
_UNSAFE = re.compile(
    r"\s{0,40}(stricthostkeychecking)(?:\s{0,40}=\s{0,40}|\s{1,40})\"?([\w-]{1,40})\"?\s{0,40}\Z", re.IGNORECASE
)


@dataclass(frozen=True)
class Target:
    """How hosts are reached: ssh options as `KEY=VALUE`, a configuration file, seconds for each host in all."""

    options: tuple[str, ...] = ()
    configuration: str | None = None
    seconds: float = 60.0
    ssh: str = "ssh"

    def command(self, host: str, remote: str) -> list[str]:
        """The command line for a host."""
        connect = max(1, min(CONNECT_SECONDS, int(self.seconds)))
        options = [*_FIXED, *self.options, *_DEFAULTS, f"ConnectTimeout={connect}"]
        configuration = [] if self.configuration is None else ["-F", self.configuration]
        flags = [part for one in options for part in ("-o", one)]
        return [self.ssh, "-T", *configuration, *flags, "--", host, remote]


@dataclass(frozen=True)
class Outcome:
    """What became of one host: facts, or the reason why there are none.

    `collector` is the one that brought the facts; `sh` where the host has no usable Python. `python_failed` says why.
    """

    host: str
    seconds: float
    found: Collected | None = None
    collector: str = ""
    python_failed: str = ""
    reason: Reason | None = None
    detail: str = ""
    absent_sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Ended:
    """How one ssh ended. `status` None: it was killed, because of `why`."""

    status: int | None
    out: bytes
    err: str
    why: Reason | None = None


class Cancel:
    """Ends all collecting at once, from any thread."""

    def __init__(self) -> None:
        self.requested = threading.Event()

    def set(self) -> None:
        """Asks every ssh that runs to end; none is started any more."""
        self.requested.set()


def problem_with_host(host: str) -> str | None:
    """Why this is no name that ssh takes; None if it is one."""
    if _HOST.match(host) is None:
        return "no host name: it is empty, too long, begins with - or holds white space"
    return None


def problem_with_option(option: str) -> str | None:
    """Why an ssh option is refused; None if it is taken."""
    found = _UNSAFE.match(option)
    if found is not None and found[2].lower() not in ("yes", "ask"):
        return "host keys are always checked; add the key of the host to known_hosts instead"
    if not re.match(r"\s{0,40}[A-Za-z]\w{1,40}(?:\s{0,40}=|\s)", option):
        return "an option of ssh is written KEY=VALUE"
    return None


def collector_text(which: str) -> str:
    """The text of a collector (`python` or `sh`), byte for byte as it is sent."""
    return files("gpuwhy.probes").joinpath(COLLECTORS[which][0]).read_text("utf-8")


def collect(host: str, target: Target, specs: Mapping[str, FactSpec], cancel: Cancel) -> Outcome:
    """Collects from one host; where it has no usable Python, with the shell. Never raises for what a host does."""
    began = time.monotonic()
    python_failed = ""
    outcome = Outcome(host, 0.0, reason=Reason.INTERRUPTED)
    for which in COLLECTORS:
        left = target.seconds - (time.monotonic() - began)
        if cancel.requested.is_set():
            break
        if left < 1:
            return Outcome(host, time.monotonic() - began, reason=Reason.TIMEOUT, python_failed=python_failed)
        token = secrets.token_hex(8)
        ended = _run(host, target, which, token, left, cancel)
        outcome = _outcome(host, which, token, ended, specs, time.monotonic() - began, python_failed)
        if which != "python" or outcome.reason is not Reason.COLLECTOR or ended.status == SSH_FAILED:
            return outcome
        python_failed = outcome.detail
    return outcome


def _outcome(
    host: str,
    which: str,
    token: str,
    ended: _Ended,
    specs: Mapping[str, FactSpec],
    seconds: float,
    python_failed: str,
) -> Outcome:
    def failed(reason: Reason, detail: str) -> Outcome:
        if python_failed:
            detail = f"{detail} (without python3: {python_failed})"
        return Outcome(host, seconds, reason=reason, detail=detail, python_failed=python_failed)

    try:
        document = parse(ended.out, token)
    except Damaged as error:
        if ended.why is not None:
            return failed(ended.why, last_words(ended.err))
        if error.begun:
            return failed(Reason.TRUNCATED, str(error))
        if ended.status == SSH_FAILED:
            return failed(reason_of(ended.err), last_words(ended.err))
        said = last_words(ended.err) or last_words(ended.out.decode("utf-8", "replace"))
        return failed(Reason.COLLECTOR, said or f"exit status {ended.status}, and nothing was said")
    return _facts(host, which, document, specs, seconds, python_failed)


def _facts(
    host: str, which: str, document: Document, specs: Mapping[str, FactSpec], seconds: float, python_failed: str
) -> Outcome:
    found = facts_of(document, specs)
    return Outcome(host, seconds, found, which, python_failed, absent_sections=tuple(document.absent))


def _run(host: str, target: Target, which: str, token: str, seconds: float, cancel: Cancel) -> _Ended:
    """Runs ssh with a collector on its standard input, for so many seconds at most."""
    budget = max(1.0, seconds - RETURN_SECONDS)
    command = target.command(host, f"{COLLECTORS[which][1]} {token} {budget:.0f}")
    environment = os.environ | {"LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return _Ended(None, b"", f"{target.ssh}: {error.strerror}", Reason.SSH_MISSING)
    exchange = _Exchange(process, collector_text(which).encode("utf-8"))
    why: Reason | None = Reason.INTERRUPTED
    try:
        why = exchange.run(time.monotonic() + seconds, cancel)
    finally:
        _end(process, 0.0 if why is not None else EXIT_SECONDS)
    status = process.returncode if why is None else None
    return _Ended(status, bytes(exchange.out), exchange.err.decode("utf-8", "replace"), why)


class _Exchange:
    """Feeds a process and reads both its outputs, bounded in time and size."""

    def __init__(self, process: subprocess.Popen[bytes], script: bytes) -> None:
        self._process = process
        self._left = memoryview(script)
        self._open = 2
        self.out = bytearray()
        self.err = bytearray()

    def run(self, deadline: float, cancel: Cancel) -> Reason | None:
        """Why it was given up; None if the process closed both outputs."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        os.set_blocking(process.stdin.fileno(), False)
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdin, selectors.EVENT_WRITE)
            waiting.register(process.stdout, selectors.EVENT_READ, self.out)
            waiting.register(process.stderr, selectors.EVENT_READ, self.err)
            while self._open:
                left = deadline - time.monotonic()
                if cancel.requested.is_set():
                    return Reason.INTERRUPTED
                if left <= 0:
                    return Reason.TIMEOUT
                for key, _ in waiting.select(min(left, 0.2)):
                    if not self._step(key, waiting):
                        return Reason.TRUNCATED
        return None

    def _step(self, key: selectors.SelectorKey, waiting: selectors.BaseSelector) -> bool:
        """Moves some bytes; False if the host sends more than is read."""
        if key.data is None:
            self._write(waiting)
            return True
        piece = os.read(key.fd, 1 << 16)
        if not piece:
            waiting.unregister(key.fileobj)
            self._open -= 1
        elif key.data is self.err:
            self.err += piece[: max(0, MAX_ERROR_BYTES - len(self.err))]
        else:
            self.out += piece
        return len(self.out) <= MAX_OUTPUT_BYTES

    def _write(self, waiting: selectors.BaseSelector) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._left = self._left[os.write(pipe.fileno(), self._left[: 1 << 14]) :]
        except BlockingIOError:
            return
        except OSError:  # the other end is gone; why, it says itself
            self._left = self._left[:0]
        if not self._left:
            waiting.unregister(pipe)
            with contextlib.suppress(OSError):
                pipe.close()


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Waits for ssh, and ends it with all that it started where it does not end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    for number in (signal.SIGTERM, signal.SIGKILL) if process.returncode is None else ():
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1.0)
            break
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
