"""Packs side by side: each in its namespace, rules of others set aside by id and reason, versions that must fit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gpuwhy.kb import load as loading
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.load import load, load_stack, rules_folder, stack_of, user_folder, users_stack
from gpuwhy.kb.model import SetAside, pack_of
from gpuwhy.kb.ranges import satisfies
from tests.kb.team_pack import write


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packs") / "cache"


def test_the_words_of_a_pack_are_its_own_and_those_of_the_shipped_rules_are_there(tmp_path: Path, cache: Path) -> None:
    shipped, kb = load(), load(write(tmp_path / "acme"), cache)
    for known in (kb, load(tmp_path / "acme", cache)):  # checked now, then from the cache
        added = {one.id for one in known.signatures.outlines} - {one.id for one in shipped.signatures.outlines}
        assert added == {"acme:sig.oom.pieces", "acme:sig.oom.queued"}
        assert set(known.facts) - set(shipped.facts) == {"acme.queue_seconds"}
        assert "acme:runbook" in known.references
        (rule,) = known.signatures.about("acme.queued")
        assert (rule.id, pack_of(rule.id), rule.file) == ("acme:sig.oom.queued", "acme", "signatures/oom/queued.yaml")
        base, own = known.packs
        assert (base.name, base.namespace, base.digest) == ("gpuwhy", "", shipped.digest)
        assert (own.name, own.version, own.namespace) == ("acme", "1.2.0", "acme")
        assert known.digest not in (base.digest, own.digest)


def test_rules_of_others_are_set_aside_by_id_and_reason(tmp_path: Path, cache: Path) -> None:
    kb = load(write(tmp_path / "acme"), cache)
    ids = {one.id for one in kb.signatures.outlines}
    assert not ids & {"sig.oom.capacity-of-card", "sig.oom.fragmentation-from-message"}
    assert kb.packs[1].set_aside == (
        SetAside("sig.oom.capacity-of-card", "our cards are partitioned by a scheduler of our own"),
        SetAside("sig.oom.fragmentation-from-message", "our allocator counts slack otherwise", "acme:sig.oom.pieces"),
    )


MANIFEST = "pack.yaml"


@pytest.mark.parametrize(
    ("spoilt", "place", "told"),
    [
        pytest.param((MANIFEST, ">=0.1,<1", ">=90"), "pack.yaml:4:9", "it is for gpuwhy >=90, and this is",
                     id="engine"),
        pytest.param((MANIFEST, "capacity-of-card", "capacity-of-crd"), "pack.yaml:6:10",
                     "no rule `sig.oom.capacity-of-crd` of another pack (did you mean `sig.oom.capacity-of-card`?)",
                     id="disables what is not there"),
        pytest.param((MANIFEST, "with: sig.oom.pieces", "with: sig.oom.piece"), "pack.yaml:8:52",
                     "no rule `sig.oom.piece` in this pack (did you mean `sig.oom.pieces`?)",
                     id="overrides with nothing"),
        pytest.param((MANIFEST, "sig.oom.fragmentation-from-message", "fix.oom.empty-cache"), "pack.yaml:8:37",
                     "a signature cannot stand for a fix", id="overrides another kind"),
        pytest.param((MANIFEST, "sig.oom.fragmentation-from-message", "sig.oom.capacity-of-card"), "pack.yaml:8:10",
                     "`sig.oom.capacity-of-card` is set aside twice", id="set aside twice"),
        pytest.param((MANIFEST, "name: acme", "name: acme-2"), "pack.yaml:1:7",
                     "`acme-2` cannot be a namespace (add `namespace:`, 2 to 20 small letters)", id="no namespace"),
        pytest.param((MANIFEST, "name: acme", "name: gpu"), "pack.yaml:1:7", "another pack has words of `gpu`",
                     id="namespace of the shipped words"),
        pytest.param(("facts/queue.yaml", "acme.queue_seconds", "job.queue_seconds"), "facts/queue.yaml:2:9",
                     "`job.queue_seconds` is not in the namespace of the pack (write acme.job_queue_seconds)",
                     id="fact outside"),
        pytest.param(("conclusions/queue.yaml", "acme.queued", "oom.queued"), "conclusions/queue.yaml:2:10",
                     "`oom.queued` is not in the namespace of the pack (write acme.oom-queued)",
                     id="conclusion outside"),
        pytest.param(("signatures/oom/queued.yaml", "source: runbook", "source: runbok"),
                     "signatures/oom/queued.yaml:6:69", "no reference `runbok` (did you mean `runbook`?)",
                     id="reference"),
        pytest.param(("signatures/oom/queued.yaml", "id: sig.oom.queued", "id: sig.oom.waited"),
                     "signatures/oom/queued.yaml:1:5", "does not follow the path (write sig.oom.queued)", id="path"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_pack_is_told_at_its_place(
    spoilt: tuple[str, str, str], place: str, told: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "acme", spoilt)
    with pytest.raises(KnowledgeError) as raised:
        load(folder, tmp_path / "cache")
    assert any(str(one).startswith(f"{folder}/{place}: ") and told in str(one) for one in raised.value.problems), str(
        raised.value
    )


def test_a_folder_of_packs_is_all_of_them_and_two_cannot_have_one_namespace(tmp_path: Path, cache: Path) -> None:
    team = write(tmp_path / "packs/acme")
    other = tmp_path / "packs/lab"
    other.mkdir()
    manifest = (
        "name: lab\nversion: 2.0.0\nextends: gpuwhy\n"
        "disable: [{id: 'acme:sig.oom.queued', reason: the lab has no queue}]\n"
    )
    (other / "pack.yaml").write_text(manifest)
    assert stack_of(tmp_path / "packs") == (rules_folder(), team, other)
    kb = load(tmp_path / "packs", cache)
    assert [one.name for one in kb.packs] == ["gpuwhy", "acme", "lab"]
    assert "acme:sig.oom.queued" not in {one.id for one in kb.signatures.outlines}
    (other / "pack.yaml").write_text(manifest.replace("name: lab", "name: lab\nnamespace: acme"))
    with pytest.raises(KnowledgeError, match="another pack has words of `acme`"):
        load(tmp_path / "packs", cache)
    (other / "pack.yaml").write_text("name: lab\nversion: 2.0.0\n")
    with pytest.raises(KnowledgeError, match="write `extends: gpuwhy` on a line of its own"):
        load(tmp_path / "packs", cache)


def test_a_change_of_any_pack_is_seen_and_the_cache_serves_both(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "acme")
    base = tmp_path / "rules"
    shutil.copytree(rules_folder(), base)
    before = load_stack((base, folder), cache)
    path = folder / "signatures/oom/queued.yaml"
    path.write_text(path.read_text().replace("10 s", "12 s"))
    after = load_stack((base, folder), cache)
    assert before.digest != after.digest
    path = base / "references/oom.yaml"
    path.write_text(path.read_text() + "# looked at again\n")
    last = load_stack((base, folder), cache)
    assert last.digest != after.digest
    monkeypatch.setattr(loading, "_compile", lambda *_: pytest.fail("the cache was not used"))
    assert load_stack((base, folder), cache).digest == last.digest


def test_packs_of_a_person_lie_where_the_desktop_standard_puts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "gpuwhy" / "rules"
    assert users_stack() == (rules_folder(),)
    folder = write(tmp_path / "gpuwhy" / "rules")
    assert users_stack() == (rules_folder(), folder)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert user_folder() == Path("/home/someone/.config/gpuwhy/rules")


@pytest.mark.parametrize(
    ("version", "wanted", "holds"),
    [("0.1.0", ">=0.1,<1", True), ("1.0.0", ">=0.1,<1", False), ("0.1.0", ">0.1", False), ("0.10.0", ">=0.9", True),
     ("1.2.3", "==1.2.3", True), ("1.2.3", "==1.2", False), ("0.2.0.dev1", ">=0.2", True), ("2", "<= 2.0", True)],
)  # fmt: skip
def test_ranges_of_versions(version: str, wanted: str, holds: bool) -> None:
    assert satisfies(version, wanted) is holds


@pytest.mark.parametrize(("version", "wanted"), [("1.0", "1.0"), ("1.0", ">=x"), ("x", ">=1"), ("1.0", "")])
def test_what_is_no_range(version: str, wanted: str) -> None:
    with pytest.raises(ValueError, match=r"no (range|version)"):
        satisfies(version, wanted)
