"""Compiling a selective program together with its kernel, once: the second start loads machine code from disk.

The functions of the program and the kernels are put into *one generated module*, named by the hash of its text. Numba's cache
watches only the file of the function that is called, so a program that reached the kernel in any other way would either be
compiled again at every start (a closure, a dispatcher argument) or stay as it was before it was edited (an imported global).
"""

import ast
import hashlib
import importlib.util
import inspect
import os
import platform
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from ..columns import pointer_constructor
from ..config import cache_dir
from ..errors import InvalidArgument
from ..protocol import session_kernel
from ..protocol.session_kernel import SessionColumns
from . import graph_kernel, queue_kernel, record_kernel, scan_kernel, selective_kernel, vertex_kernel
from .graph_columns import GraphColumns
from .loop_columns import LoopColumns

_ROOT = __package__.partition(".")[0]
_HEADER = f"""\
import math
import numba as nb
import numpy as np
from {_ROOT}.loops.graph_columns import *
from {_ROOT}.loops.loop_columns import *
from {_ROOT}.protocol.session_kernel import SessionColumns
from {_ROOT}.columns import *
"""
_PARTS = (
    session_kernel, graph_kernel, queue_kernel, vertex_kernel, scan_kernel, record_kernel, selective_kernel,
)  # fmt: skip
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
    definition.decorator_list = [ast.parse("nb.njit", mode="eval").body]
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


def _kernel_source(part: ModuleType) -> str:
    """Constants and functions of a kernel module; only its entry points (those without the interpreter lock) are cached."""
    body: list[ast.stmt] = []
    for statement in ast.parse(inspect.getsource(part)).body:
        if isinstance(statement, ast.FunctionDef):
            for decorator in statement.decorator_list:
                assert isinstance(decorator, ast.Call)
                if "nogil" in {keyword.arg for keyword in decorator.keywords}:
                    body += _entry_point(statement)
                else:
                    decorator.keywords = []
                    body.append(statement)
        elif isinstance(statement, ast.Assign):
            body.append(statement)
    return ast.unparse(ast.Module(body=body, type_ignores=[]))


_COLUMNS = {
    "graph": GraphColumns, "session": SessionColumns, "loop": LoopColumns, "branch_session": SessionColumns,
    "branch": LoopColumns,
}  # fmt: skip


def _entry_point(function: ast.FunctionDef) -> list[ast.stmt]:
    """A function that is called from Python: under its name it takes addresses of columns and makes pointers of them."""
    arguments = [argument.arg for argument in function.args.args]
    cached = function.decorator_list
    name = function.name
    if not _COLUMNS.keys() & set(arguments):
        return [function]
    function.name = f"_{name}"
    function.decorator_list = [ast.parse("nb.njit", mode="eval").body]
    passed = ", ".join(f"{_COLUMNS[a].__name__}_at({a})" if a in _COLUMNS else a for a in arguments)
    wrapper = ast.parse(f"def {name}({', '.join(arguments)}):\n    return _{name}({passed})").body[0]
    assert isinstance(wrapper, ast.FunctionDef)
    wrapper.decorator_list = cached
    return [function, wrapper]


def generated_source(functions: dict[str, Callable[..., object]], worst: float) -> str:
    """The text of the module that holds a program's loop."""
    worst_text = repr(float(worst)) if np.isfinite(worst) else f"float({str(float(worst))!r})"
    parts = [_HEADER, f"WORST = {worst_text}"]
    parts += [program_source(name, function) for name, function in functions.items()]
    parts += [pointer_constructor(columns) for columns in (GraphColumns, SessionColumns, LoopColumns)]
    parts += [_kernel_source(part) for part in _PARTS]
    return "\n\n".join(parts) + "\n"


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


def load_kernel(functions: dict[str, Callable[..., object]], worst: float) -> ModuleType:
    """The compiled loop of a selective program, from disk where it was compiled before.

    Parameters
    ----------
    functions
        ``offer(value, weight)``, ``better(value, other)``, ``priority(value)``, ``initial(vertex, *parameters)``; parameters as
        `compiled_arguments` makes them.
    worst
        The value of a vertex that no offer has reached.
    """
    return load_module(generated_source(functions, worst))


def load_module(text: str) -> ModuleType:
    """A generated module, from its text: compiled once on each machine."""
    versions = f"{numba.__version__} {np.__version__} {platform.python_version()} {_ROOT}"
    digest = hashlib.sha256(f"{versions}\n{text}".encode()).hexdigest()[:24]
    name = f"tornado_kernel_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache_dir() / "kernels" / f"{name}.py"
    if not path.exists():
        _write_atomically(path, text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _write_atomically(path: Path, text: str) -> None:
    """Two processes may compile the same program at once; each sees either no file or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    Path(temporary).replace(path)
