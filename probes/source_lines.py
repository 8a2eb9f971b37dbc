"""Lines of the source files of a running program, as that process sees them."""

from __future__ import annotations

from gpuwhy.probes.host_tree import Tree
from gpuwhy.probes.stack_samples import Frame

MAX_FILE_BYTES = 4 << 20
MAX_FILES = 2000


class SourceLines:
    """Looks up lines; a file that cannot be read has empty ones."""

    def __init__(self, tree: Tree, pid: int) -> None:
        self._tree = tree
        self._pid = pid
        self._files: dict[str, list[str]] = {}

    def text(self, frame: Frame) -> str:
        """The line that a frame is at, or nothing."""
        lines = self._lines(frame.file)
        return lines[frame.line - 1] if 0 < frame.line <= len(lines) else ""

    def _lines(self, name: str) -> list[str]:
        if name not in self._files and len(self._files) < MAX_FILES:
            self._files[name] = self._read(name)
        return self._files.get(name, [])

    def _read(self, name: str) -> list[str]:
        """The file in the file system of the process, below its working folder where the name is relative."""
        if name.startswith("<"):
            return []
        folder = f"/proc/{self._pid}/root" if name.startswith("/") else f"/proc/{self._pid}/cwd/"
        for place in (f"{folder}{name}", name):
            try:
                with open(self._tree.path(place), "rb") as file:
                    return file.read(MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
            except (OSError, ValueError):
                continue
        return []
