"""Compiling an accumulative program together with its kernel: one generated module (`kernel_modules`), named by its text."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ...graph import graph_columns, graves_kernel, rows_kernel
from ...graph.graph_columns import GraphColumns
from ...kernel_modules import load_module, module_text
from ..compiled_functions import program_source
from . import loop_columns, push_kernel, row_kernel, sweep_kernel
from .loop_columns import SumColumns

_PARTS = [graph_columns, loop_columns, rows_kernel, graves_kernel, row_kernel, push_kernel, sweep_kernel]
_COLUMNS = {"graph": GraphColumns, "loop": SumColumns, "branch": SumColumns}


def generated_source(functions: dict[str, Callable[..., object]]) -> str:
    """The text of the module that holds a program's loop; see `load_kernel`."""
    own = "\n\n".join(program_source(name, function) for name, function in functions.items())
    return module_text("the program's loop", _PARTS, _COLUMNS, functions=own)


def load_kernel(functions: dict[str, Callable[..., object]]) -> ModuleType:
    """The compiled loop of an accumulative program, from disk where it was compiled before.

    Parameters
    ----------
    functions
        ``base(vertex, *parameters)``, ``divisor(out_weight, *parameters)``, ``factor(*parameters)``, and those of the norm
        (`norms.py`).
    """
    return load_module(generated_source(functions))
