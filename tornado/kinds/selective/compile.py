"""Compiling a selective program together with its kernel: one generated module (`kernel_modules`), named by the hash of its text.

A program that reached the kernel in any other way would either be compiled again at every start (a closure, a dispatcher
argument) or stay as it was before it was edited (an imported global).
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ...errors import InvalidArgument
from ...graph import graph_columns, rows_kernel
from ...graph.graph_columns import GraphColumns
from ...kernel_modules import load_module, module_text
from ...protocol import session_kernel
from ...protocol.session_kernel import SessionColumns
from ...value_types import Worst, entry_of
from . import (
    loop_columns,
    pair_kernel,
    queue_kernel,
    record_kernel,
    scan_kernel,
    step_kernel,
    value_kernel,
    vertex_kernel,
)
from .loop_columns import LoopColumns
from .value_layout import layout_of

_PARTS = [
    graph_columns, loop_columns, session_kernel, rows_kernel, queue_kernel, vertex_kernel, scan_kernel, record_kernel,
    step_kernel,
]  # fmt: skip
_COLUMNS = {
    "graph": GraphColumns, "session": SessionColumns, "loop": LoopColumns, "branch_session": SessionColumns,
    "branch": LoopColumns,
}  # fmt: skip
_PROVIDED = {"np", "math"}


def program_source(name: str, function: Callable[..., object]) -> str:
    """The text of one of a program's functions, self-contained, as a function called `name`.

    Raises
    ------
    InvalidArgument
        When the source is not to be had, or the function uses a name that is neither its own, nor `np` or `math`, nor a
        number of its module.
    """
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
    return "\n".join([*constants, ast.unparse(ast.fix_missing_locations(tree))])


def generated_source(
    functions: dict[str, Callable[..., object]], worst: Worst, *, both_ways: bool = False
) -> str:
    """The text of the module that holds a program's loop; see `load_kernel`."""
    sources = [program_source(name, function) for name, function in functions.items()]
    entry = entry_of(worst)
    own = "\n\n".join([f"WORST = {_text_of(entry.tolist())}", f"BOTH_WAYS = {bool(both_ways)}", *sources])
    parts = [pair_kernel if entry.ndim else value_kernel, *_PARTS]
    return module_text("the program's loop", parts, _COLUMNS, functions=own, layout=layout_of(entry))


def _text_of(numbers: Any) -> str:
    if isinstance(numbers, list):
        return f"({', '.join(map(_text_of, numbers))})"
    return repr(numbers) if np.isfinite(numbers) else f"float({str(numbers)!r})"


def compiled_arguments(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """A program's arguments as its compiled functions get them: a tuple of whole numbers becomes an int64 array.

    So the type of an argument does not depend on how many numbers there are, and other parameters compile nothing.
    """
    return tuple(
        np.array(value, np.int64)
        if isinstance(value, tuple | list) and all(isinstance(number, int | np.integer) for number in value)
        else value
        for value in arguments
    )


def load_kernel(
    functions: dict[str, Callable[..., object]], worst: Worst, *, both_ways: bool = False
) -> ModuleType:
    """The compiled loop of a selective program, from disk where it was compiled before.

    Parameters
    ----------
    functions
        ``offer(value, weight)``, ``better(value, other)``, ``priority(value)``, ``initial(vertex, *parameters)``; parameters as
        `compiled_arguments` makes them.
    worst
        The value of a vertex that no offer has reached: values are numbers, or pairs of them, as this is.
    both_ways
        Whether a vertex hears of those that its edges end at, too.
    """
    return load_module(generated_source(functions, worst, both_ways=both_ways))
