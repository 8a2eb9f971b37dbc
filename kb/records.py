"""Dataclasses whose methods are not compiled for each class: a module with ten of them is imported at once.

`dataclass`, `field` and `replace` are used as those of the standard library, and type checkers take them for those. The
standard library writes the source of `__init__`, `__eq__`, `__hash__`, … for each class and compiles it; of a program
that answers one question and ends, that was a quarter of the time. Here all classes share functions over the names of
their fields; only a class of which many are made gets an `__init__` of its own, which takes half the time.
`dataclasses.fields`, `asdict` and kin work on them too. Only what this product uses is there: no `InitVar`, `ClassVar`,
`init=False`, `slots` or `compare=False`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    import operator
    from inspect import get_annotations
    from reprlib import recursive_repr

    _MISSING = object()
    _set = object.__setattr__
    _MANY = 200  # compiling takes about as long as what it saves on so many

    class _Factory:
        """A default that is made anew for each instance."""

        def __init__(self, make):
            self.make = make

    def field(*, default_factory):
        """A field whose default is made anew for each instance."""
        return _Factory(default_factory)

    def dataclass(cls=None, /, *, frozen=False, kw_only=False, order=False):
        """The class with `__init__`, `__repr__` and `__eq__` over its annotated names; see `dataclasses.dataclass`."""

        def decorate(made):
            defaults, keyword_only = _inherited(made)
            for name in get_annotations(made):
                defaults[name] = _default(made, name)
                (keyword_only.add if kw_only else keyword_only.discard)(name)
            _equip(made, defaults, keyword_only, frozen, order)
            return made

        return decorate if cls is None else decorate(cls)

    def replace(instance, /, **changes):
        """A copy of an instance with some fields changed."""
        kept = {name: getattr(instance, name) for name in instance.__record_defaults__}
        return type(instance)(**(kept | changes))

    def _inherited(made):
        defaults, keyword_only = {}, set()
        for base in reversed(made.__mro__[1:]):
            if "__record_defaults__" in base.__dict__:
                defaults |= base.__record_defaults__
                keyword_only |= base.__record_keyword_only__
        return defaults, keyword_only

    def _default(made, name):
        default = made.__dict__.get(name, _MISSING)
        if isinstance(default, _Factory):
            delattr(made, name)
        elif default is not _MISSING and type(default).__hash__ is None:
            raise ValueError(f"mutable default {type(default)} for field {name} is not allowed: use default_factory")
        return default

    def _equip(made, defaults, keyword_only, frozen, order):
        names = tuple(defaults)
        values_of = _getter(names)
        made.__record_defaults__, made.__record_keyword_only__ = defaults, frozenset(keyword_only)
        made.__dataclass_fields__ = _Fields()
        made.__match_args__ = tuple(name for name in names if name not in keyword_only)
        methods = {"__init__": _init(made, defaults, made.__match_args__), "__repr__": _repr, "__eq__": _eq(values_of)}
        methods["__hash__"] = _hash(values_of) if frozen else None
        methods["__replace__"] = replace
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if order:
            methods |= {
                f"__{name}__": _ordered(values_of, getattr(operator, name)) for name in ("lt", "le", "gt", "ge")
            }
        for name, method in methods.items():
            if name not in made.__dict__ or (name == "__hash__" and made.__dict__[name] is None):
                setattr(made, name, method)

    def _getter(names):
        if len(names) > 1:
            return operator.attrgetter(*names)
        return lambda instance: tuple(getattr(instance, name) for name in names)

    def _init(made, defaults, positional):
        values_of, checks, so_far = _arguments(made, defaults, positional), hasattr(made, "__post_init__"), 0

        def __init__(self, *args, **given):
            nonlocal so_far
            values, so_far = values_of(args, given), so_far + 1
            if so_far == 1:  # those that follow share its names
                for name in defaults:
                    _set(self, name, values[name])
            else:
                self.__dict__.update(values)
            if so_far == _MANY and made.__dict__["__init__"] is __init__:
                made.__init__ = _compiled(defaults, positional, checks)
            if checks:
                self.__post_init__()

        return __init__

    def _arguments(made, defaults, positional):
        optional = {name: default for name, default in defaults.items() if default is not _MISSING}
        plain = {name: default for name, default in optional.items() if not isinstance(default, _Factory)}
        made_anew = {name: default.make for name, default in optional.items() if isinstance(default, _Factory)}
        count = len(defaults)

        def values_of(args, given):
            values = dict(zip(positional, args, strict=False))
            if given:
                if not (given.keys() <= defaults.keys() and values.keys().isdisjoint(given)):
                    raise TypeError(_complaint(made, args, given, defaults, positional))
                values.update(given)
            if len(args) > len(positional):
                raise TypeError(_complaint(made, args, given, defaults, positional))
            if len(values) != count:
                values = plain | values
                for name, make in made_anew.items():
                    if name not in values:
                        values[name] = make()
                if len(values) != count:
                    raise TypeError(_complaint(made, args, given, defaults, positional))
            return values

        return values_of

    def _compiled(defaults, positional, checks):
        """An `__init__` for fields with these defaults, of which those in `positional` need no name."""
        known = {"_set": _set, "_MISSING": _MISSING}
        head, body = [], []
        for name in (*positional, *(other for other in defaults if other not in positional)):
            default, made_anew = defaults[name], isinstance(defaults[name], _Factory)
            if len(head) == len(positional) and len(positional) < len(defaults):
                head.append("*")
            known[f"_of_{name}"] = default.make if made_anew else default
            head.append(name if default is _MISSING else f"{name}=_MISSING" if made_anew else f"{name}=_of_{name}")
            value = f"_of_{name}() if {name} is _MISSING else {name}" if made_anew else name
            body.append(f"    _set(self, {name!r}, {value})")
        if checks:
            body.append("    self.__post_init__()")
        exec("\n".join((f"def __init__(self, {', '.join(head)}):", *body, "    return None")), known)  # noqa: S102
        return known["__init__"]

    def _complaint(made, args, given, defaults, positional):
        start = f"{made.__qualname__}.__init__()"
        if len(args) > len(positional):
            return f"{start} takes {len(positional)} positional arguments but {len(args)} were given"
        taken = set(positional[: len(args)])
        for name in given:
            if name not in defaults:
                return f"{start} got an unexpected keyword argument {name!r}"
            if name in taken:
                return f"{start} got multiple values for argument {name!r}"
        lacking = [name for name, default in defaults.items() if default is _MISSING and name not in taken | set(given)]
        return f"{start} missing required arguments: {', '.join(map(repr, lacking))}"

    @recursive_repr()
    def _repr(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record_defaults__)
        return f"{type(self).__qualname__}({shown})"

    def _eq(values_of):
        def __eq__(self, other):
            if self is other:
                return True
            return values_of(self) == values_of(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(values_of):
        return lambda self: hash(values_of(self))

    def _ordered(values_of, compare):
        def method(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return compare(values_of(self), values_of(other))

        return method

    def _refuse_to_set(_self, name, _value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(_self, name):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    class _Fields:
        """The fields as the standard library describes them, made when it asks for them."""

        def __get__(self, _instance, owner):
            import dataclasses

            types = {}
            for base in reversed(owner.__mro__):
                types |= get_annotations(base)
            described = []
            for name, default in owner.__record_defaults__.items():
                options = {"kw_only": name in owner.__record_keyword_only__}
                if isinstance(default, _Factory):
                    options["default_factory"] = default.make
                elif default is not _MISSING:
                    options["default"] = default
                described.append((name, types[name], dataclasses.field(**options)))
            owner.__dataclass_fields__ = dataclasses.make_dataclass(owner.__name__, described).__dataclass_fields__
            return owner.__dataclass_fields__
