"""Files of this user's cache: plain JSON with a checksum, believed only if nobody else could have written them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

KEPT_FILES = 16


def default_folder() -> Path:
    """`$XDG_CACHE_HOME/gpuwhy`, or `~/.cache/gpuwhy`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "gpuwhy"


def read(path: Path) -> tuple[Any, memoryview] | None:
    """The data and the bytes of a cache file; None if there is none, it is not surely ours, or its checksum fails."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return None
            content = file.read()
    except OSError:
        return None
    body = content.find(b"\n") + 1
    whole = memoryview(content)
    if hashlib.sha256(whole[body:]).hexdigest().encode() != whole[: max(0, body - 1)]:
        return None
    rest = content.find(b"\n", body) + 1
    return json.loads(content[body:rest]), whole[rest:]


def write(path: Path, data: Any, rest: bytes = b"") -> None:
    """Keep JSON data, and bytes beside it.

    Best effort: a read-only home or a full disk only costs the next start some time.
    """
    body = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" + rest
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        os.replace(temporary, path)
        _forget_old(path.parent)
    except OSError:
        with suppress(OSError):
            temporary.unlink()


def _forget_old(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda one: one.stat().st_mtime_ns, reverse=True)
    for old in files[KEPT_FILES:]:
        old.unlink()
