"""Loading: checked once per content; a cache that is not surely ours, or not surely whole, is not used."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwhy.kb import load as loading
from gpuwhy.kb.build import Words
from gpuwhy.kb.cache import default_folder
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.load import check_all, load, rule_files
from tests.kb.pack import write


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write(tmp_path / "pack")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def cached(cache: Path) -> Path:
    (path,) = cache.glob("*.json")
    return path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that were read and checked in full, rather than taken from the cache."""
    seen: list[Path] = []
    whole = loading._compile

    def noted(stack: tuple[Path, ...], *rest: object) -> object:
        seen.append(stack[-1])
        return whole(stack, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "_compile", noted)
    return seen


def test_what_comes_from_the_cache_is_what_was_checked(pack: Path, cache: Path, compiled: list[Path]) -> None:
    first, second = load(pack, cache), load(pack, cache)
    assert first == second
    assert compiled == [pack]
    assert (first.version, len(first.signatures), len(first.facts)) == ("1.0.0", 1, 9)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("signatures/oom/pieces.yaml", "10 %", "20 %"),
        ("facts/all.yaml", "Asked for.", "Wanted."),
        ("pack.yaml", "1.0.0", "1.0.1"),
    ],
)
def test_any_change_of_content_is_seen(
    pack: Path, cache: Path, compiled: list[Path], name: str, old: str, new: str
) -> None:
    before = load(pack, cache)
    path = pack / name
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=times)  # neither time nor size tells
    after = load(pack, cache)
    assert (before != after, before.digest != after.digest) == (True, True)
    assert compiled == [pack, pack]


def test_a_renamed_or_added_file_is_seen(pack: Path, cache: Path, compiled: list[Path]) -> None:
    load(pack, cache)
    (pack / "facts" / "more.yaml").write_text(
        'facts:\n  - {id: job.more, entity: job, type: text, says: "More."}\n', "utf-8"
    )
    assert "job.more" in load(pack, cache).facts
    (pack / "facts" / "more.yaml").rename(pack / "facts" / "other.yaml")
    load(pack, cache)
    assert compiled == [pack] * 3


def settle(pack: Path) -> None:
    """Give all files and folders a time long ago, as those of an installed pack have."""
    for path in (pack, *pack.rglob("*")):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def add(pack: Path) -> None:
    (pack / "facts" / "empty" / "more.yaml").write_text(
        'facts:\n  - {id: job.more, entity: job, type: text, says: "More."}\n', "utf-8"
    )


def rename(pack: Path) -> None:
    (pack / "facts" / "all.yaml").rename(pack / "facts" / "every.yaml")


def take_away(pack: Path) -> None:
    (pack / "fixes").rename(pack / "unused")


def put_another_in_its_place(pack: Path) -> None:
    path = pack / "facts" / "all.yaml"
    other = pack / "other"
    other.write_text(path.read_text().replace("Asked for.", "Wanted it."))
    os.utime(other, (1_700_000_000, 1_700_000_000))
    other.replace(path)  # as editors do; size and time are the same


def write_in_place(pack: Path) -> None:
    path = pack / "facts" / "all.yaml"
    path.write_text(path.read_text().replace("Asked for.", "Wanted it."))


@pytest.mark.parametrize("touch", [add, rename, take_away, put_another_in_its_place, write_in_place])
def test_files_untouched_for_long_are_not_read_again_until_they_are_touched(
    pack: Path, cache: Path, compiled: list[Path], monkeypatch: pytest.MonkeyPatch, touch: Callable[[Path], None]
) -> None:
    (pack / "facts" / "empty").mkdir()
    settle(pack)
    read: list[Path] = []
    whole = loading._contents

    def noted(folder: Path) -> dict[str, bytes]:
        read.append(folder)
        return whole(folder)

    monkeypatch.setattr(loading, "_contents", noted)
    first = load(pack, cache)
    assert load(pack, cache) == first
    assert read == [pack]
    touch(pack)
    assert load(pack, cache) != first
    assert compiled == [pack, pack]


def test_words_with_a_key_are_told_without_making_them(pack: Path, cache: Path) -> None:
    for _ in range(2):  # from the files, then from the cache
        facts = load(pack, cache).facts
        assert isinstance(facts, Words)
        assert facts.holding("choices") == ["job.kind"]
        assert facts.holding("areas") == []


def test_files_of_no_kind_and_tests_are_not_knowledge(pack: Path) -> None:
    for name in ("signatures/oom/pieces.test.yaml", "notes.yaml", "facts/readme.txt", "other/a.yaml"):
        (pack / name).parent.mkdir(exist_ok=True)
        (pack / name).write_text("- not: knowledge\n")
    assert check_all(pack) == []
    assert rule_files(pack)["signatures/oom/pieces.yaml"] == "signatures"
    assert not {"notes.yaml", "signatures/oom/pieces.test.yaml"} & set(rule_files(pack))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"0.1", b"0.2").replace(b"10 %", b"90 %"))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def group_may_write(path: Path) -> None:
    path.chmod(0o620)


def all_may_write(path: Path) -> None:
    path.chmod(0o602)


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def given_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 12345, -1)


def made_a_pickle(path: Path) -> None:
    body = b"\x80\x04\x95cos\nsystem\n"
    path.write_bytes(hashlib.sha256(b"x").hexdigest().encode() + b"\n" + body)


@pytest.mark.parametrize(
    "spoil", [cut, changed, emptied, group_may_write, all_may_write, made_a_folder, given_away, made_a_pickle]
)
def test_a_cache_that_cannot_be_trusted_is_not_used(
    pack: Path, cache: Path, compiled: list[Path], spoil: Callable[[Path], None]
) -> None:
    expected = load(pack, cache)
    spoil(cached(cache))
    assert load(pack, cache) == expected
    assert compiled == [pack, pack]


def test_the_cache_is_private_and_plain_json(pack: Path, cache: Path) -> None:
    load(pack, cache)
    path = cached(cache)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    checksum, _, body = path.read_bytes().partition(b"\n")
    assert checksum.decode() == hashlib.sha256(body).hexdigest()
    assert json.loads(body.partition(b"\n")[0]).keys() >= {"version", "facts", "signatures"}


def test_no_module_that_runs_what_it_reads_is_loaded(pack: Path, cache: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gpuwhy.kb.load import load\n"
        "for _ in range(2): load(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "sys.exit(bool({'pickle', 'shelve'} & set(sys.modules)))"
    )
    load(pack, cache)  # what checks the files may load anything; what reads the cache may not
    done = subprocess.run([sys.executable, "-c", code, str(pack), str(cache)], timeout=60)
    assert done.returncode == 0


def test_a_place_that_cannot_be_written_costs_only_time(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("")
    assert load(pack, blocked / "cache").version == "1.0.0"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert load(pack, tmp_path / "cache").version == "1.0.0"
    assert list((tmp_path / "cache").iterdir()) == []


def test_knowledge_with_problems_is_never_cached(pack: Path, cache: Path) -> None:
    path = pack / "signatures" / "oom" / "pieces.yaml"
    path.write_text(path.read_text().replace("source: guide", "source: gide"))
    for _ in range(2):
        with pytest.raises(KnowledgeError, match="no reference `gide`"):
            load(pack, cache)
    assert not cache.exists()


def test_a_folder_without_a_pack_says_what_is_missing(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(KnowledgeError, match=r"pack\.yaml is missing"):
            load(folder, tmp_path / "cache")


def test_the_cache_is_where_the_desktop_standard_puts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "gpuwhy"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_folder() == Path("/home/someone/.cache/gpuwhy")
