"""What a filled form stands for: the same piece of work as the command line makes of the same words."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.selection import choose
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import gather
from gpuwhy.tui import choice_text
from gpuwhy.tui.choosing import WorkError, from_form
from gpuwhy.tui.cli import main
from gpuwhy.tui.diagnosed import Diagnosed, of, read


def test_the_form_and_the_command_line_choose_alike() -> None:
    written = {
        "task": "finetune", "params": "7B", "method": "lora", "sequence": "1024", "hours": "48", "interruptible": "yes",
    }  # fmt: skip
    words = "--task finetune --params 7B --method lora --sequence 1024 --hours 48 --interruptible"
    done = CliRunner().invoke(main, ["select", *words.split()])
    kb = load()
    assert choice_text.text(kb, choose(kb, from_form(load(), written, Diagnosed()))) == done.output


ARTEFACT = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 22.49 GiB "
    "of which 410.88 MiB is free. Process 4711 has 22.08 GiB memory in use. Of the allocated memory 17.94 GiB is "
    "allocated by PyTorch, and 127.00 MiB is reserved by PyTorch but unallocated.\n"
)


def test_a_diagnosis_carries_the_same_from_its_file_as_in_the_application(tmp_path: Path) -> None:
    document = CliRunner().invoke(main, ["diagnose", "--format", "json"], input=ARTEFACT).output
    (tmp_path / "d.json").write_text(document, encoding="utf-8")
    gathered = gather([("paste", ARTEFACT.encode())], load().facts)
    found = diagnose(load(), FactBase.of(gathered.facts, gathered.absent))
    carried = of((one.id for one in found.asserted), ((one.id, one.value) for one in found.facts))
    assert carried == read(tmp_path / "d.json")
    assert carried.bound_by == "memory"
    assert carried.measured_bytes == pytest.approx(19.44 * 2**30, rel=1e-3)  # 17.94 + 1.50 GiB


def test_all_that_a_diagnosis_tells_is_carried_over() -> None:
    found = of(
        ["slow.io-wall.workers", "oom.capacity"],
        [("job.kind", "training"), ("job.input_need_bytes_per_second", 6e8), ("oom.needed_bytes", 3e10)],
    )
    assert found == Diagnosed("input", 3e10, 6e8, "train")
    work = from_form(load(), {"task": "train", "params": "25M"}, found)
    assert (work.bound_by, work.measured_bytes, work.data_bytes_per_second) == ("input", 3e10, 6e8)
    assert any("27.94 GiB" in one for one in work.assumed)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"task": "train"}, "how large is the model"),
        ({"task": "train", "params": "big"}, "parameters: big is no number above 0"),
        ({"task": "train", "params": "7B", "hours": "-1"}, "hours: -1 is no number above 0"),
        ({"task": "train", "params": "7B", "batch": "1.5"}, "batch: 1.5 is no number above 0"),
        ({"task": "train", "params": "7B", "budget": "nan"}, "budget/h: nan is no number above 0"),
        ({"task": "serve", "params": "7B", "method": "lora"}, "does not go with"),
    ],
    ids=["size", "no-number", "negative", "fraction", "nan", "contradiction"],
)
def test_a_line_that_cannot_be_taken_is_told_with_what_could(written: dict[str, str], says: str) -> None:
    with pytest.raises(WorkError, match=says):
        from_form(load(), written, Diagnosed())


CONFIG = (
    '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, '
    '"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000, '
    '"torch_dtype": "bfloat16"}'
)


def test_a_form_takes_the_file_of_a_model_its_folder_machines_and_a_currency(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(CONFIG, encoding="utf-8")
    for path in (tmp_path, tmp_path / "config.json"):
        written = {"task": "train", "params": "7B", "config": str(path), "hosts": "2", "currency": "usd"}
        work = from_form(load(), written, Diagnosed())
        # embeddings and head 2 x 32,000 x 4,096; a layer 4 x 4,096 squared and 3 x 4,096 x 11,008: the file, not 7B
        expected = 2 * 32_000 * 4096 + 32 * (4 * 4096**2 + 3 * 4096 * 11_008)
        assert work.shape.parameters == pytest.approx(expected, rel=1e-3)
        assert (work.hosts, work.currency) == (2, "USD")


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("config", "nowhere.json", "model file: there is no file nowhere.json"),
        ("hosts", "two", "machines: two is no number above 0, like 2"),
        ("currency", "yuan", "is no code of a currency, like CNY or USD"),
        ("resolution", "1024", "is for the config.json of a diffusion model"),
    ],
)
def test_a_further_line_that_cannot_be_taken_is_named(field: str, text: str, told: str) -> None:
    with pytest.raises(WorkError) as error:
        from_form(load(), {"task": "train", "params": "7B", field: text}, Diagnosed())
    assert told in str(error.value)
