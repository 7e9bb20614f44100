"""Compiling a program of rounds together with its kernel: one generated module (`kernel_modules`), named by the hash of its text."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ...columns import ValueLayout
from ...graph import graph_columns, rows_kernel
from ...graph.graph_columns import GraphColumns
from ...kernel_modules import load_module, module_text
from ...value_types import Worst, dtype_of
from ..compiled_functions import program_source
from . import loop_columns, queue_kernel, record_kernel, scan_kernel, step_kernel, tally_kernel
from .loop_columns import RoundsColumns

_PARTS = [
    graph_columns, loop_columns, rows_kernel, queue_kernel, tally_kernel, scan_kernel, record_kernel, step_kernel,
]  # fmt: skip
_COLUMNS = {"graph": GraphColumns, "loop": RoundsColumns, "branch": RoundsColumns}


def generated_source(initial: Callable[..., object], worst: Worst, *, both_ways: bool) -> str:
    """The text of the module that holds a program's loop; see `load_kernel`."""
    own = "\n\n".join([f"BOTH_WAYS = {bool(both_ways)}", program_source("initial", initial)])
    value_type = str(dtype_of(worst))
    layout = ValueLayout(value_type, value_type, 8)
    return module_text("the program's loop", _PARTS, _COLUMNS, functions=own, layout=layout)


def load_kernel(initial: Callable[..., object], worst: Worst, *, both_ways: bool) -> ModuleType:
    """The compiled loop of a program of rounds, from disk where it was compiled before.

    Parameters
    ----------
    initial
        ``initial(vertex, *parameters)``, the value at round 0; parameters as `compiled_arguments` makes them.
    worst
        See `VertexProgram`; it says the type of values.
    both_ways
        Whether a vertex hears of those that its edges end at, too.
    """
    return load_module(generated_source(initial, worst, both_ways=both_ways))
