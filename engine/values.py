"""Types of values: what a reference gives, strictly. The readings that compare loosely must never see a wrong type."""

from __future__ import annotations

from collections.abc import Mapping

from gpuwhy.kb.conditions import FactRef
from gpuwhy.kb.facts import Value
from gpuwhy.kb.model import FactSpec


def kind_of(specs: Mapping[str, FactSpec], ref: FactRef) -> type:
    """The type of the values that a reference gives: float (also for whole numbers), bool or str."""
    if ref.over is not None or specs[ref.fact].is_number:
        return float
    return bool if specs[ref.fact].type == "boolean" else str


def is_a(kind: type, value: object) -> bool:
    """True if a value is of this kind; a boolean is no number."""
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is kind


def typed(specs: Mapping[str, FactSpec], ref: FactRef, value: Value) -> bool | float | str:
    """The value, numbers as float. Raises TypeError if it is not of the type of its fact."""
    return as_kind(kind_of(specs, ref), specs, ref.fact, value)


def as_kind(kind: type, specs: Mapping[str, FactSpec], fact: str, value: Value) -> bool | float | str:
    """The value of a fact whose values are of this kind, numbers as float. Raises TypeError if it is of another one."""
    if not is_a(kind, value):
        raise TypeError(f"{fact}: {value!r} is no {specs[fact].type}")
    return float(value) if kind is float else value


def fitting(
    specs: Mapping[str, FactSpec], ref: FactRef, values: Value | tuple[Value, ...] | None
) -> list[bool | float | str]:
    """Of the values that a fact is compared with, those that it can equal at all."""
    listed = values if isinstance(values, tuple) else () if values is None else (values,)
    return [typed(specs, ref, one) for one in listed if is_a(kind_of(specs, ref), one)]
