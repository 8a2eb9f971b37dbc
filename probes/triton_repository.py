"""The model repository of a Triton server as it lies on disk: every config.pbtxt in it."""

from __future__ import annotations

from pathlib import Path

from gpuwhy.kb.facts import model
from gpuwhy.probes.artefacts.contract import Missing, Reading
from gpuwhy.probes.artefacts.triton_config import from_text
from gpuwhy.probes.artefacts.triton_config_facts import config_readings

MAX_MODELS = 500
MAX_BYTES = 1 << 20


def repository_readings(folder: Path) -> tuple[list[Reading], list[Missing]]:
    """Facts of the configurations in a repository, and what could not be read."""
    try:
        names = sorted(one.name for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    except OSError as error:
        reason = f"{folder} cannot be read: {error.strerror}"
        return [], [Missing("serve.max_batch_size", reason, entity=model())]
    readings: list[Reading] = []
    missing: list[Missing] = []
    for name in names[:MAX_MODELS]:
        path = folder / name / "config.pbtxt"
        if not path.exists():
            reason = "the model has no config.pbtxt: the server makes its configuration up"
            missing.append(Missing("serve.max_batch_size", reason, entity=model(name)))
            continue
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                config = from_text(file.read(MAX_BYTES), name)
        except OSError as error:
            missing.append(Missing("serve.max_batch_size", f"{path}: {error.strerror}", entity=model(name)))
            continue
        if config is None:
            missing.append(Missing("serve.max_batch_size", f"{path} holds no configuration", entity=model(name)))
        else:
            readings += config_readings(config)
            if config.trouble:
                missing.append(Missing("serve.warmup_configured", config.trouble, entity=model(name)))
    return readings, missing
