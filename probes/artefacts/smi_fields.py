"""Looks up what nvidia-smi calls a fact, and notes the value printed there.

One table (smi_names, smi_health_names) serves the text of `-q`, its XML and `--query-gpu`, so that a value means the
same wherever it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpuwhy.kb.facts import HOST, Entity
from gpuwhy.probes.artefacts import smi_values as v
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.smi_health_names import ECC_SUMS, HEALTH_FIELDS
from gpuwhy.probes.artefacts.smi_names import HOST_FIELDS, LOAD_FIELDS, Field

_FIELDS = (*HOST_FIELDS, *LOAD_FIELDS, *HEALTH_FIELDS)

_BY_PATH: dict[str, tuple[Field, int]] = {
    path: (field, rank) for field in _FIELDS for rank, path in enumerate(field.paths)
}
_BY_QUERY: dict[str, tuple[Field, int]] = {
    name: (field, rank) for field in _FIELDS for rank, name in enumerate(field.query)
}
_DEEPEST = max(path.count("/") for path in _BY_PATH) + 1

# Sections whose keys look like those of another section, but mean something else.
_FOREIGN = frozenset(
    {"default_applications_clocks", "deferred_clocks", "max_customer_boost_clocks", "supported_clocks"}
)


def normalised(name: str) -> str:
    """A label of `-q` in the form of the XML's tags: `FB Memory Usage` -> `fb_memory_usage`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower().replace(".", "")).strip("_")


def field_of(path: Sequence[str]) -> tuple[Field, int] | None:
    """The field at this place of the `-q` tree (normalised names, outermost first), with its rank among its names."""
    if any(section in _FOREIGN for section in path):
        return None
    for depth in range(min(_DEEPEST, len(path)), 0, -1):
        found = _BY_PATH.get("/".join(path[-depth:]))
        if found is not None:
            return found
    return None


_VAGUE = frozenset({"avg", "high", "low", "none", "partial", "reserved", "video"})


def _lone_paths() -> dict[str, tuple[str, ...]]:
    facts: dict[str, set[str]] = {}
    places: dict[str, str] = {}
    for path, (field, _) in sorted(_BY_PATH.items(), key=lambda item: item[1][1]):
        key = path.rsplit("/", 1)[-1]
        if not field.fact.startswith("gpu.module_") and field.convert is not v.words and key not in _VAGUE:
            facts.setdefault(key, set()).add(field.fact)
            places.setdefault(key, path)
    return {key: tuple(places[key].split("/")) for key, found in facts.items() if len(found) == 1}


_LONE_PATHS = _lone_paths()


def lone_path(key: str) -> tuple[str, ...] | None:
    """Where a key belongs that stands without its section (lines picked with grep), if that is not in doubt.

    A power reading is the GPU's: a module's comes after it.
    """
    return _LONE_PATHS.get(key)


def queried(name: str) -> tuple[Field, int] | None:
    """The field with this `--query-gpu` name, with its rank among its names."""
    return _BY_QUERY.get(name)


def sections() -> frozenset[str]:
    """Normalised names of all sections that a field stands in."""
    return frozenset(part for path in _BY_PATH for part in path.split("/")[:-1])


def keys() -> frozenset[str]:
    """Normalised names of all keys."""
    return frozenset(path.rsplit("/", 1)[-1] for path in _BY_PATH)


def put_field(gauges: Gauges, device: Entity, found: tuple[Field, int], printed: str, line: int | None) -> bool:
    """Notes one printed value of a GPU's (or the host's) field; False if it cannot be read as such a value."""
    field, rank = found
    entity = HOST if field in HOST_FIELDS else device
    reason = v.absence(printed)
    if reason is not None:
        gauges.lack(field.fact, entity, reason, line)
        put_condition(gauges, device, reason, line)
        return True
    value = field.convert(printed)
    if value is None:
        return False
    gauges.put(field.fact, entity, value, line, printed, rank)
    return True


def put_condition(gauges: Gauges, device: Entity, reason: str, line: int | None) -> None:
    """Notes that the GPU is lost or must be reset, where the reason for a missing value says so."""
    if v.says_lost(reason):
        gauges.put("gpu.lost", device, True, line, reason)
    if v.says_reset(reason):
        gauges.put("gpu.reset_required", device, True, line, reason, rank=-1)


def put_ecc_sums(gauges: Gauges, device: Entity, values: Mapping[str, int], line: int | None) -> None:
    """Notes the ECC totals that are printed only by part.

    Where some parts cannot be had, the sum of the others is given only if it is above zero: errors were counted, but
    their absence was not.
    """
    for total, alternatives in ECC_SUMS:
        if total in values:
            continue
        sums = [(sum(values.get(part, 0) for part in parts), set(parts) <= set(values)) for parts in alternatives]
        counted = max(amount for amount, _ in sums)
        if counted > 0 or any(found for _, found in sums):
            gauges.put(total, device, counted, line)
