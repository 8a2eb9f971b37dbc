"""`gpuwhy select` as a person and as a script use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuwhy.tui.cli import main

LORA = (
    "--task",
    "finetune",
    "--params",
    "7B",
    "--method",
    "lora",
    "--sequence",
    "1024",
    "--hours",
    "48",
    "--interruptible",
)


def run(*words: str, expected: int = 0) -> str:
    done = CliRunner().invoke(main, ["select", *words])
    assert done.exit_code == expected, done.output
    return done.output


def test_the_report_fits_80_columns_and_has_every_part() -> None:
    text = run(*LORA)
    assert max(map(len, text.splitlines())) <= 80
    for label in ("work", "needs", "assumed", "note", "first", "cost", "change", "start", "rejected"):
        assert f"\n{label} " in f"\n{text}"


def test_json_holds_every_machine_with_its_reasons() -> None:
    document = json.loads(run(*LORA, "--format", "json"))
    assert len(document["kept"]) + len(document["rejected"]) == 153
    assert all(one["rejected"] and one["rejected"][0]["because"] for one in document["rejected"])
    assert document["kept"][0]["cost"] == pytest.approx(48 * document["kept"][0]["price_per_hour"])
    assert document["kept"][0]["price_date"] == "2024-12-31"


def test_markdown_has_the_table_and_the_rejections() -> None:
    text = run(*LORA, "--format", "md")
    assert text.startswith("# Which machine")
    assert "## Rejected" in text


def test_all_shows_every_type_that_would_do() -> None:
    assert "--all shows them" in run(*LORA)
    assert "--all shows them" not in run(*LORA, "--all")


def test_defaults_are_told() -> None:
    text = run("--task", "serve", "--params", "7B")
    assert "--method inference" in text
    assert "one request at a time" in text


def test_nothing_that_fits_is_said_and_has_a_status_of_its_own() -> None:
    assert "no machine type of the catalogue does this" in run("--task", "train", "--params", "400B", expected=3)


def diagnosis(path: Path, name: str, status: str = "confirmed") -> str:
    path.write_text(json.dumps({"conclusions": [{"id": name, "status": status}]}))
    return str(path)


def test_a_diagnosis_of_waiting_for_data_is_heeded(tmp_path: Path) -> None:
    path = diagnosis(tmp_path / "d.json", "slow.io-wall.workers")
    assert "a bigger GPU waits" in " ".join(run("--task", "train", "--params", "25M", "--from", path).split())


def test_what_is_only_possible_is_not_heeded(tmp_path: Path) -> None:
    path = diagnosis(tmp_path / "d.json", "slow.io-wall", "possible")
    assert "the diagnosis found" not in run("--task", "train", "--params", "25M", "--from", path)


def test_a_file_that_is_no_diagnosis_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("[]")
    assert "is no diagnosis" in run(
        "--task", "train", "--params", "25M", "--from", str(tmp_path / "d.json"), expected=2
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--task and --params"),
        (("--task", "serve"), "--params"),
        (("--task", "serve", "--params", "7B", "--method", "lora"), "does not go with"),
        (("--task", "train", "--params", "7B", "--dtype", "int4"), "not trained as a whole"),
        (("--task", "train", "--params", "7B", "--data-rate", "fast"), "is no rate"),
    ],
    ids=["nothing", "size", "method", "format", "rate"],
)
def test_what_is_missing_or_contradicts_itself_is_told(words: tuple[str, ...], says: str) -> None:
    assert says in run(*words, expected=2)
