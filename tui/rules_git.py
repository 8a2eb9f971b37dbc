"""A rule pack as it is in a git revision, without a checkout."""

from __future__ import annotations

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path


class GitError(ValueError):
    """What git answered where a revision, or the pack in it, cannot be had."""


def pack_at(folder: Path, revision: str, into: Path) -> Path | None:
    """The pack of a folder as it is in a revision, unpacked below `into`; None if the revision has none there.

    Raises `GitError` where there is no such revision, no checkout, or no git.
    """
    if not revision or revision.startswith("-") or "\0" in revision:
        raise GitError(f"`{revision}` is no git revision")
    where = git(folder, "rev-parse", "--show-prefix").decode().strip().rstrip("/")
    top = Path(git(folder, "rev-parse", "--show-toplevel").decode().strip())
    commit = git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    if where and not git(top, "ls-tree", "-d", commit, "--", where).strip():
        return None
    archive = git(top, "archive", "--format=tar", commit, "--", *([where] if where else []))
    into.mkdir(parents=True)
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        for member in tar:
            target = (into / member.name).resolve()
            if member.isfile() and target.is_relative_to(into.resolve()):
                content = tar.extractfile(member)
                assert content is not None
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
    return into / where if where else into


def git(folder: Path, *words: str) -> bytes:
    """What git prints, run in a folder. Raises `GitError` with its words where it fails."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise GitError(said or f"no revision `{words[-1].removesuffix('^{commit}')}`")
    return done.stdout
