"""Generated modules of compiled code: the text of kernel modules put together, compiled once a machine, loaded ever after.

A module is named by the hash of its text and of the versions that compile it. Numba's own cache watches only the file of the
function that is called; what that function reaches in other files would be compiled again at every start, or stay as it was
before it was edited. In one module with the hash of all of it in its name, neither can happen. The text is whole: what it still
imports, Numba, NumPy and how columns and inner functions are compiled and named, is in the hash.
"""

import ast
import hashlib
import importlib.util
import inspect
import os
import platform
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import event

from . import columns as columns_module
from . import inner_functions, symbol_names
from .columns import NUMBERS, ValueLayout, columns_constructor
from .config import cache_dir

_PREFIX = "tornado_kernel_"
_loading = threading.RLock()
_INNER = ast.Name("inner", ast.Load())
_IMPORTS = f"""\
import math
import numba as nb
import numpy as np
from {__package__}.columns import columns_at, columns_like, prefetch
from {__package__}.inner_functions import inner
"""


class Compiling(NamedTuple):
    """How far the compilation of a generated module is.

    Attributes
    ----------
    title
        What the module is, see `module_text`.
    function
        The function whose turn it is.
    done, functions
        How many of the module's functions are compiled, and how many there are.
    """

    title: str
    function: str
    done: int
    functions: int


@contextmanager
def watch_compiling(show: Callable[[Compiling], None]) -> Iterator[None]:
    """Have `show` called for every function of a generated module that this process begins to compile meanwhile."""
    with event.install_listener("numba:compile", _Listener(show)):
        yield


class _Listener(event.Listener):
    def __init__(self, show: Callable[[Compiling], None]) -> None:
        self._show = show
        self._done: dict[str, set[str]] = {}  # modules -> functions

    def on_start(self, event: Any) -> None:
        module, function = self._place(event)
        if module.startswith(_PREFIX):
            parts = vars(sys.modules[module])
            functions = sum(isinstance(part, numba.core.dispatcher.Dispatcher) for part in parts.values())
            done = len(self._done.setdefault(module, set()))
            self._show(Compiling(parts["__doc__"], function, done, functions))

    def on_end(self, event: Any) -> None:
        module, function = self._place(event)
        self._done.setdefault(module, set()).add(function)

    def _place(self, event: Any) -> tuple[str, str]:
        function = event.data["dispatcher"].py_func
        return function.__module__, function.__name__


def module_text(
    title: str,
    parts: list[ModuleType],
    columns: Mapping[str, type],
    *,
    functions: str = "",
    layout: ValueLayout = NUMBERS,
) -> str:
    """The text of a generated module.

    Parameters
    ----------
    title
        What it is, for people.
    parts
        Modules of constants and kernels; a function may call those before it in this order.
    columns
        For a name of an argument, the tuple of columns that entry points get the addresses of under this name.
    functions
        Text that comes before the parts: functions and constants that they count on.
    layout
        How values are kept.
    """
    constructors = [columns_constructor(kind, layout=layout) for kind in dict.fromkeys(columns.values())]
    named = tuple(columns.items())
    with _loading:  # Python 3.11 counts the depth of syntax trees once for all threads
        kernels = [_kernel_text(part, named) for part in parts]
    return "\n\n".join([repr(title), _IMPORTS, functions, *constructors, *kernels]) + "\n"


def name_of(text: str) -> str:
    """Return what the module of a text is called."""
    digest = hashlib.sha256(f"{_compiler()}\n{text}".encode()).hexdigest()[:24]
    return f"{_PREFIX}{digest}"


def load_module(text: str) -> ModuleType:
    """A generated module, from its text: compiled once on each machine."""
    name = name_of(text)
    with _loading:  # while another thread executes it, a module has only some of its functions
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


def text_of(module: ModuleType) -> str:
    """The text of a generated module, which `load_module` makes it of on another machine."""
    return Path(str(module.__file__)).read_text()


@cache
def _compiler() -> str:
    """What a text is compiled by."""
    versions = f"{numba.__version__} {np.__version__} {platform.python_version()}"
    return "\n".join([versions, *map(inspect.getsource, (columns_module, inner_functions, symbol_names))])


@cache
def _kernel_text(part: ModuleType, named: tuple[tuple[str, type], ...]) -> str:
    """Constants and functions of a module; its entry points are those without the interpreter lock, all others inner functions.

    Once for all programs: it takes longer than all else at the start of a loop whose code is compiled.
    """
    columns = dict(named)
    body: list[ast.stmt] = []
    for statement in ast.parse(inspect.getsource(part)).body:
        if isinstance(statement, ast.FunctionDef):
            for decorator in statement.decorator_list:
                assert isinstance(decorator, ast.Call)
                if "nogil" in {keyword.arg for keyword in decorator.keywords}:
                    body += _entry_point(statement, columns)
                else:
                    statement.decorator_list = [_INNER]
                    body.append(statement)
        elif isinstance(statement, ast.Assign):
            body.append(statement)
    return ast.unparse(ast.Module(body=body, type_ignores=[]))


def _entry_point(function: ast.FunctionDef, columns: Mapping[str, type]) -> list[ast.stmt]:
    """A function that is called from Python: under its name it takes addresses of columns and makes pointers of them."""
    arguments = [argument.arg for argument in function.args.args]
    cached = function.decorator_list
    name = function.name
    if not columns.keys() & set(arguments):
        return [function]
    function.name = f"_{name}"
    function.decorator_list = [_INNER]
    passed = ", ".join(f"{columns[a].__name__}_at({a})" if a in columns else a for a in arguments)
    wrapper = ast.parse(f"def {name}({', '.join(arguments)}):\n    return _{name}({passed})").body[0]
    assert isinstance(wrapper, ast.FunctionDef)
    wrapper.decorator_list = cached
    return [function, wrapper]


def _write_atomically(path: Path, text: str) -> None:
    """Two processes may compile the same module at once; each sees either no file or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    Path(temporary).replace(path)
