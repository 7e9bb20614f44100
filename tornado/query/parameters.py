"""Program parameters as people write them, and as programs take them.

A query may change the parameters of its branch. They come from outside, as JSON or as whatever a caller holds, and a compiled
program would be compiled anew for every type that it has not seen: so each value is checked against the type its field declares
before anything is forked. Where ids are strings, a parameter that is a vertex is given by its name.
"""

from __future__ import annotations

import dataclasses
import operator
import types
import typing
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument, UnknownField, UnknownVertex

if TYPE_CHECKING:
    # The command line asks what a vertex is before it loads anything that takes its time.
    from ..ingest.interner import Interner
    from .ids import IdCodec

MOST_IN_LIST = 1_000


def is_vertex(field: dataclasses.Field[Any]) -> bool:
    """Return whether a parameter names vertices: `field(metadata={"vertex": True})`, or it is called `source` or `sources`."""
    return bool(field.metadata.get("vertex", field.name in {"source", "sources"}))


def most_in(field: dataclasses.Field[Any]) -> int:
    """Return how many entries a parameter that is a list may have: `field(metadata={"most": 100_000})`, else 1,000."""
    return int(field.metadata.get("most", MOST_IN_LIST))


def check_parameters(program: Any, given: Mapping[str, Any], codec: IdCodec) -> None:
    """Check names, types and what the program says of values, not whether a named vertex was seen.

    Raises
    ------
    UnknownField
        For a parameter that the program does not have.
    InvalidArgument
        For a value of another type than its field, naming both; for a parameter that is fixed where the loop is started, or that
        the program refuses.
    """
    values = _converted(program, given, codec, look_up=False)
    fixed: frozenset[str] = getattr(program, "fixed_parameters", frozenset())
    if not fixed.isdisjoint(given):
        program.require_free(given)
    if values and hasattr(program, "check_parameters"):
        program.with_parameters(_with_numbers(program, values)).check_parameters()


def parameters_inside(program: Any, given: Mapping[str, Any], codec: IdCodec) -> dict[str, Any]:
    """Return checked parameters with every vertex as the number that the loop knows it by.

    Raises
    ------
    UnknownField, InvalidArgument
        See `check_parameters`.
    UnknownVertex
        For the name of a vertex that was never seen.
    """
    return _converted(program, given, codec, look_up=True)


def program_with(kind: type, given: Mapping[str, Any], codec: IdCodec) -> Any:
    """Return a program of a class with these parameters; the names of its vertices count as seen once it is started.

    Raises
    ------
    UnknownField, InvalidArgument
        See `check_parameters`; and where one is missing.
    """
    values = _converted(kind, given, codec, look_up=False)
    missing = [
        field.name
        for field in dataclasses.fields(kind)
        if field.init
        and field.name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise InvalidArgument(f"the program {kind.__name__} needs the parameter {missing[0]!r}")
    return kind(**values)


def with_interned_vertices(program: Any, interner: Interner) -> Any:
    """Return the program with every vertex that it names by a string as a number; the names count as seen from now on."""
    if not dataclasses.is_dataclass(program) or isinstance(program, type):
        return program
    numbers: dict[str, Any] = {}
    for field in dataclasses.fields(program):
        value = getattr(program, field.name)
        if not (field.init and is_vertex(field)):
            continue
        if isinstance(value, str):
            numbers[field.name] = int(interner.intern([value])[0])
        elif isinstance(value, tuple) and value and all(isinstance(vertex, str) for vertex in value):
            numbers[field.name] = tuple(map(int, interner.intern(list(value))))
    return dataclasses.replace(program, **numbers) if numbers else program


def _converted(program: Any, given: Mapping[str, Any], codec: IdCodec, *, look_up: bool) -> dict[str, Any]:
    if not given:
        return {}
    kind = program if isinstance(program, type) else type(program)
    fields = {field.name: field for field in dataclasses.fields(program) if field.init}
    unknown = sorted(given.keys() - fields.keys())
    if unknown:
        raise UnknownField(
            f"the program {kind.__name__} has no parameter {unknown[0]!r}; it has: {', '.join(fields) or 'none'}"
        )
    hints = _hints(kind)
    converted = {}
    for name, value in given.items():
        convert = partial(_vertex, codec=codec, look_up=look_up) if is_vertex(fields[name]) else _value
        hint, several = hints.get(name), typing.get_args(hints.get(name))
        if several[1:] != (...,):
            converted[name] = convert(name, value, hint)
        elif isinstance(value, list | tuple) and len(value) > most_in(fields[name]):
            raise InvalidArgument(
                f"parameter {name} has {len(value)} entries, more than {most_in(fields[name])}",
                hint="Every vertex looks at each of them when a loop or a branch begins.",
            )
        elif isinstance(value, list | tuple):
            converted[name] = tuple(
                convert(f"{name}[{index}]", item, several[0]) for index, item in enumerate(value)
            )
        else:
            raise InvalidArgument(f"parameter {name} is {value!r} but must be a list")
    return converted


def _with_numbers(program: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with some number for each name of a vertex, equal where names are: which one it has is not looked up yet."""
    numbers: dict[str, int] = {}

    def number(name: Any) -> Any:
        return numbers.setdefault(name, len(numbers)) if isinstance(name, str) else name

    of_vertices = {field.name for field in dataclasses.fields(program) if is_vertex(field)}
    return {
        name: value
        if name not in of_vertices
        else (tuple(map(number, value)) if isinstance(value, tuple) else number(value))
        for name, value in values.items()
    }


def _vertex(name: str, value: Any, _: Any, *, codec: IdCodec, look_up: bool) -> Any:
    if codec.kind == "int":
        return _value(name, value, int)
    if not isinstance(value, str):
        raise InvalidArgument(
            f"parameter {name} is {value!r}, but the ids of this loop are strings",
            hint="Put the id in quotes.",
        )
    if not look_up:
        return value
    numbers, known = codec.encode([value])
    if not known[0]:
        raise UnknownVertex(f"parameter {name} is {value!r}, which the input never named")
    return int(numbers[0])


def _value(name: str, value: Any, hint: Any) -> Any:
    """Return a value as exactly the type that is declared; other types than the plain ones are left to the program."""
    optional = typing.get_origin(hint) in {typing.Union, types.UnionType} and type(None) in typing.get_args(
        hint
    )
    if optional:
        if value is None:
            return None
        rest = [part for part in typing.get_args(hint) if part is not type(None)]
        hint = rest[0] if len(rest) == 1 else None
    if hint is int:
        number = _whole(value)
        if number is None:
            raise InvalidArgument(f"parameter {name} is {value!r} but must be a whole number")
        if not -(2**63) <= number < 2**63:
            raise InvalidArgument(
                f"parameter {name} is {number}, which does not fit a signed 64-bit integer",
                hint="Such numbers run from -(2^63) to 2^63 - 1.",
            )
        return number
    if hint is float:
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise InvalidArgument(f"parameter {name} is {value!r} but must be a number")
        try:
            return float(value)
        except OverflowError:
            raise InvalidArgument(
                f"parameter {name} is {value!r}, which is beyond what a float holds"
            ) from None
    if typing.get_origin(hint) is typing.Literal and value not in typing.get_args(hint):
        raise InvalidArgument(
            f"parameter {name} is {value!r} but must be one of {', '.join(map(str, typing.get_args(hint)))}"
        )
    if hint in {bool, str} and not isinstance(value, hint):
        raise InvalidArgument(
            f"parameter {name} is {value!r} but must be {'true or false' if hint is bool else 'a string'}"
        )
    return value


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except NameError:
        # Types that exist only for a type checker; the program itself is all that can judge its values then.
        return {}
