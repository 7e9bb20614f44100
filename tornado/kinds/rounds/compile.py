"""Compiling a program of rounds together with its kernel: one generated module (`kernel_modules`), named by the hash of its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from ...columns import ValueLayout
from ...graph import graph_columns, graves_kernel, rows_kernel
from ...graph.graph_columns import GraphColumns
from ...kernel_modules import load_module, module_text
from ...value_types import Worst, dtype_of
from .. import directions_kernel, list_kernel
from ..compiled_functions import program_source
from . import loop_columns, queue_kernel, record_kernel, scan_kernel, step_kernel, sum_kernel, tally_kernel
from .loop_columns import RoundsColumns

_Functions = Mapping[str, Callable[..., object]]
_COLUMNS = {"graph": GraphColumns, "loop": RoundsColumns, "branch": RoundsColumns}


def generated_source(functions: _Functions, worst: Worst, *, both_ways: bool) -> str:
    """The text of the module that holds a program's loop; see `load_kernel`."""
    shares = "coefficients" in functions
    sources = [program_source(name, function) for name, function in functions.items()]
    own = "\n\n".join([f"BOTH_WAYS = {both_ways and not shares}", f"COUNTS_OUT = {shares}", *sources])
    hearing = sum_kernel if shares else tally_kernel
    parts = [
        graph_columns, loop_columns, rows_kernel, graves_kernel, directions_kernel, queue_kernel, hearing, scan_kernel,
        list_kernel, record_kernel, step_kernel,
    ]  # fmt: skip
    value_type = str(dtype_of(worst))
    layout = ValueLayout(value_type, value_type, 8)
    return module_text("the program's loop", parts, _COLUMNS, functions=own, layout=layout)


def load_kernel(functions: _Functions, worst: Worst, *, both_ways: bool) -> ModuleType:
    """The compiled loop of a program of rounds, from disk where it was compiled before.

    Parameters
    ----------
    functions
        ``initial(vertex, *parameters)``, the value at round 0, and where vertices share ``coefficients(result, kept, vertices,
        *parameters)``, see `RoundsProgram`; parameters as `compiled_arguments` makes them.
    worst
        See `VertexProgram`; it says the type of values.
    both_ways
        Whether a vertex hears of those that its edges end at, too.
    """
    return load_module(generated_source(functions, worst, both_ways=both_ways))
