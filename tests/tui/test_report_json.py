"""The JSON report: the published schema holds for whatever comes in, and it is closed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator, ValidationError

from gpuwhy.tui.cli import main
from gpuwhy.tui.report_json import document, dump, proofs
from tests.conftest import ROOT
from tests.tui.pack import OOM, report

SCHEMA = json.loads((ROOT / "tui" / "schema" / "diagnosis-1.schema.json").read_text("utf-8"))
STEPS = "\n".join(f"step {n}: loss 2.{n} data_time 0.300 batch_time 0.400" for n in range(1, 40))
TABLE = "GPU 0: Tesla T4\nutilization.gpu [%], memory.used [MiB], temperature.gpu\n87 %, 1200 MiB, [N/A]\n"


def check(data: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(data)


def strict(text: str) -> Any:
    """JSON as the standard has it: NaN and Infinity are refused."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("artefact", "answers"),
    [
        ("", ()),
        ("nothing that anybody knows\n\n\n", ()),
        (OOM, ()),
        (OOM, ("tested.shapes_vary=true",)),
        (OOM, ("tested.shapes_vary=false", "tested.already_set=yes", "oom.free_bytes=9 GiB")),
        (f"{OOM}\n{STEPS}\n{TABLE}\n{OOM.replace('1.50', '3.25')}", ()),
        (STEPS, ()),
        (TABLE, ()),
    ],
    ids=["empty", "unknown", "oom", "confirmed", "contradiction", "mixed", "steps", "table"],
)
def test_the_report_holds_to_its_schema(rules: Path, artefact: str, answers: tuple[str, ...]) -> None:
    made = report(rules, artefact, *answers)
    data = strict(dump(document(made)))
    check(data)
    wrapped = {"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], "$ref": "#/$defs/proofs"}
    names = ["oom.fragmentation", "oom.leak", "slow.io-wall", "serve.queueing"]
    Draft202012Validator(wrapped).validate(
        strict(dump(proofs(made, [name for name in names if name in made.kb.conclusions])))
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.update(extra=1),
        lambda data: data.pop("gain"),
        lambda data: data["conclusions"][0].update(severity="high"),
        lambda data: data["conclusions"][0].update(status="certain"),
        lambda data: data["facts"][0].pop("unit"),
        lambda data: data["facts"][0].update(value=None),
    ],
)
def test_the_schema_notices_what_it_does_not_know(rules: Path, spoil: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(dump(document(report(rules, OOM))))
    check(data)
    spoil(data)
    with pytest.raises(ValidationError):
        check(data)


def test_a_conclusion_carries_its_readings_down_to_the_line(rules: Path) -> None:
    data = document(report(rules, f"first line\n{OOM}"))
    lead = data["conclusions"][0]
    assert (lead["id"], lead["status"], lead["rule"]) == ("oom.fragmentation", "likely", "sig.oom.pieces")
    covers = lead["proof"]["requires"]["parts"][0]
    assert covers["reading"]["value"] == 4.87 * 2**30
    assert covers["bound"] == 1.5 * 2**30
    assert covers["margin"] == pytest.approx(3.37 * 2**30)
    origin = {"kind": "artefact", "source": "oom.txt", "line": 2}
    assert origin.items() <= covers["reading"]["origin"].items()
    assert lead["proof"]["confirms"]["unknown"] == "not known"
    derived = next(fact for fact in data["facts"] if fact["id"] == "tested.unused_share")
    assert derived["value"] == pytest.approx(0.2135, abs=5e-5)  # 4.87 / (4.87 + 17.94)
    assert {one["id"] for one in derived["derived_from"]} == {"oom.reserved_unallocated_bytes", "oom.allocated_bytes"}


def test_places_that_were_not_read_are_named(rules: Path) -> None:
    data = document(report(rules, f"{OOM}\nfirst odd line\nsecond odd line\n"))
    assert data["not_understood"] == [
        {
            "artefact": "oom.txt",
            "first_line": 2,
            "last_line": 3,
            "reason": "no known format",
            "begins": "first odd line",
        }
    ]


def test_control_and_direction_characters_are_escaped_and_survive() -> None:
    text = dump({"name": "a\x1b[31mb\x9bc\u202ed\x7f"})
    assert not {"\x1b", "\x9b", "\u202e", "\x7f"} & set(text)
    assert json.loads(text)["name"] == "a\x1b[31mb\x9bc\u202ed\x7f"


@pytest.mark.parametrize(
    ("arguments", "name"), [((), "diagnosis"), (("diagnosis",), "diagnosis"), (("facts",), "facts")]
)
def test_the_schema_command_prints_a_schema(arguments: tuple[str, ...], name: str) -> None:
    done = CliRunner().invoke(main, ["schema", *arguments])
    assert done.exit_code == 0
    assert done.output == (ROOT / "tui" / "schema" / f"{name}-1.schema.json").read_text("utf-8")


def test_of_what_is_not_published_there_is_no_schema() -> None:
    done = CliRunner().invoke(main, ["schema", "rules"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "'diagnosis', 'facts'" in done.stderr
