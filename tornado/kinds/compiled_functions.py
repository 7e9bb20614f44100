"""Functions of compiled programs, and the arguments that they get: as text that a generated module is made of, and as types."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import InvalidArgument

_PROVIDED = {"np", "math"}


def program_source(name: str, function: Callable[..., object]) -> str:
    """The text of one of a program's functions, self-contained, as a function called `name`.

    Raises
    ------
    InvalidArgument
        When the source is not to be had, or the function uses a name that is neither its own, nor `np` or `math`, nor a
        number of its module.
    """
    definition = _definition(name, function)
    constants = []
    known = inspect.getclosurevars(function)
    for used, value in sorted({**known.globals, **known.nonlocals}.items()):
        if used in _PROVIDED:
            continue
        if not isinstance(value, int | float):
            raise InvalidArgument(
                f"{name} uses {used!r} ({type(value).__name__}), which does not compile: use its arguments, numbers of its "
                "module, np and math only"
            )
        constants.append(f"{used} = {value!r}" if np.isfinite(value) else f"{used} = float({str(value)!r})")
    return "\n".join([*constants, definition])


@lru_cache(maxsize=1 << 8)  # for each start of a loop and each identity of a program it is asked for again
def _definition(name: str, function: Callable[..., object]) -> str:
    """What of the text follows from the function alone: the numbers of its module are others tomorrow."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError) as error:
        raise InvalidArgument(
            f"the source of {function!r} is not to be had ({error}); a compiled program needs its functions in a file"
        ) from error
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise InvalidArgument(
            f"{name} must be a plain function written with def, found {type(definition).__name__}"
        )
    definition.name = name
    definition.decorator_list = [ast.Name("inner", ast.Load())]
    definition.returns = None
    for argument in [*definition.args.args, *definition.args.posonlyargs]:
        argument.annotation = None
    return ast.unparse(ast.fix_missing_locations(tree))


def compiled_arguments(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """A program's arguments as its compiled functions get them: a tuple of whole numbers becomes an int64 array.

    One of floats, which must not be empty, becomes a float64 array. So the type of an argument does not depend on how many numbers there are, and other parameters compile nothing.
    """
    return tuple(map(_compiled_argument, arguments))


def _compiled_argument(value: Any) -> Any:
    if isinstance(value, tuple | list):
        if all(isinstance(number, int | np.integer) for number in value):
            return np.array(value, np.int64)
        if all(isinstance(number, float) for number in value):
            return np.array(value, np.float64)
    return value
