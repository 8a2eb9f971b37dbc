"""The bytes of an artefact that may be gzip, no more of them than a limit: a small file can unpack to a huge one."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

_GZIP = b"\x1f\x8b"


class DamagedFile(ValueError):
    """The compression is damaged or cut off."""


def unpacked(source: Path | bytes, most: int) -> tuple[bytes, bool]:
    """The first `most` bytes of what a plain or gzip file holds, and whether that is all.

    Raises `DamagedFile`; `OSError` if the file cannot be opened.
    """
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        try:
            content = gzip.GzipFile(fileobj=file).read(most + 1) if packed else file.read(most + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DamagedFile(f"its compression is damaged ({error})") from error
    return (content, True) if len(content) <= most else (content[:most], False)
