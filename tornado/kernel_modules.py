"""Generated modules of compiled code: the text of kernel modules put together, compiled once a machine, loaded ever after.

A module is named by the hash of its text and of the versions that compile it. Numba's own cache watches only the file of the
function that is called; what that function reaches in other files would be compiled again at every start, or stay as it was
before it was edited. In one module with the hash of all of it in its name, neither can happen.
"""

import ast
import hashlib
import importlib.util
import inspect
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numba
import numpy as np

from .columns import pointer_constructor
from .config import cache_dir

ROOT = __package__
"""The name that this package is imported by."""


def module_text(header: str, parts: list[ModuleType], columns: Mapping[str, type]) -> str:
    """The text of a generated module.

    Parameters
    ----------
    header
        Text that comes first: imports, constants, functions that the parts count on.
    parts
        Kernel modules; a function may call those before it in this order.
    columns
        For a name of an argument, the tuple of columns that entry points get the addresses of under this name.
    """
    constructors = [pointer_constructor(kind) for kind in dict.fromkeys(columns.values())]
    return "\n\n".join([header, *constructors, *(_kernel_text(part, columns) for part in parts)]) + "\n"


def load_module(text: str) -> ModuleType:
    """A generated module, from its text: compiled once on each machine."""
    versions = f"{numba.__version__} {np.__version__} {platform.python_version()} {ROOT}"
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


def _kernel_text(part: ModuleType, columns: Mapping[str, type]) -> str:
    """Constants and functions of a kernel module; only its entry points (those without the interpreter lock) are cached."""
    body: list[ast.stmt] = []
    for statement in ast.parse(inspect.getsource(part)).body:
        if isinstance(statement, ast.FunctionDef):
            for decorator in statement.decorator_list:
                assert isinstance(decorator, ast.Call)
                if "nogil" in {keyword.arg for keyword in decorator.keywords}:
                    body += _entry_point(statement, columns)
                else:
                    decorator.keywords = []
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
    function.decorator_list = [ast.parse("nb.njit", mode="eval").body]
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
