"""Model repositories of the lab: a model is a name, what its code does, and its scheduling."""

from __future__ import annotations

import py_compile
from dataclasses import dataclass
from pathlib import Path

CODE = (Path(__file__).parent / "model.py.txt").read_text("utf-8")
WARMUP = (
    'model_warmup [ { name: "w" batch_size: 1 inputs { key: "IN" '
    "value: { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true } } } ]"
)


@dataclass(frozen=True)
class LabModel:
    """One model; `does` are the parameters of its code, `config` further lines of its configuration."""

    name: str
    does: tuple[tuple[str, float | str], ...] = ()
    instances: int = 1
    max_batch_size: int = 0
    config: str = ""

    def pbtxt(self) -> str:
        """Its config.pbtxt."""
        parameters = "\n".join(
            f'parameters {{ key: "{name}" value: {{ string_value: "{value}" }} }}' for name, value in self.does
        )
        return (
            f'# a model of the lab\nname: "{self.name}"\nbackend: "python"\nmax_batch_size: {self.max_batch_size}\n'
            'input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } ]\n'
            'output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] } ]\n'
            f"instance_group [ {{ kind: KIND_CPU count: {self.instances} }} ]\n{self.config}\n{parameters}\n"
        )

    def write(self, repository: Path) -> None:
        """Puts it into a repository."""
        folder = repository / self.name / "1"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.py").write_text(CODE)
        py_compile.compile(str(folder / "model.py"))  # else the backend writes it, which the poller takes for a change
        (repository / self.name / "config.pbtxt").write_text(self.pbtxt())


def ensemble(name: str, steps: tuple[str, ...], repository: Path) -> None:
    """An ensemble that passes a tensor through models without batching."""
    names = ["IN", *(f"T{number}" for number in range(1, len(steps))), "OUT"]
    parts = ",\n".join(
        f'{{ model_name: "{step}" model_version: -1 input_map {{ key: "IN" value: "{names[at]}" }} '
        f'output_map {{ key: "OUT" value: "{names[at + 1]}" }} }}'
        for at, step in enumerate(steps)
    )
    folder = repository / name / "1"
    folder.mkdir(parents=True, exist_ok=True)
    (repository / name / "config.pbtxt").write_text(
        f'name: "{name}"\nplatform: "ensemble"\nmax_batch_size: 0\n'
        'input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } ]\n'
        'output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] } ]\n'
        f"ensemble_scheduling {{ step [\n{parts}\n] }}\n"
    )


def batching(delay_microseconds: int = 0, preferred: tuple[int, ...] = ()) -> str:
    """Lines that turn dynamic batching on."""
    sizes = f"preferred_batch_size: [ {', '.join(map(str, preferred))} ]" if preferred else ""
    return f"dynamic_batching {{ max_queue_delay_microseconds: {delay_microseconds} {sizes} }}"


POLLED = (
    LabModel("steady", (("infer_ms", 50),), instances=2),
    LabModel("delayed", (("infer_ms", 20),), max_batch_size=8, config=batching(300_000, (8,))),
    LabModel("saturated", (("infer_ms", 50),), max_batch_size=4, config=batching()),
    LabModel("unbatched", (("infer_ms", 50),), max_batch_size=8),
    LabModel("bursty", (("infer_ms", 15),)),
    LabModel("pre", (("infer_ms", 80),)),
    LabModel("net", (("infer_ms", 10),)),
    LabModel("handler", (("infer_ms", 120), ("calls", "net")), instances=2),
    LabModel("failing", (("infer_ms", 5), ("fails", 1))),
    LabModel("cached", (("infer_ms", 50),), config="response_cache { enable: true }"),
    LabModel("touched", (("infer_ms", 10),)),
)
"""Models of the server that polls its repository; `touched` is touched while it serves."""

EXPLICIT = (
    LabModel("reloaded", (("infer_ms", 10),)),
    LabModel("shaped", (("infer_ms", 10), ("shape_ms", 400))),
    LabModel("cold", (("infer_ms", 20), ("first_ms", 800))),
    LabModel("warmed", (("infer_ms", 20), ("first_ms", 800)), max_batch_size=4, config=WARMUP),
)
"""Models of the server that loads on request."""
