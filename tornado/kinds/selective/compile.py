"""Compiling a selective program together with its kernel: one generated module (`kernel_modules`), named by the hash of its text.

A program that reached the kernel in any other way would either be compiled again at every start (a closure, a dispatcher
argument) or stay as it was before it was edited (an imported global).
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ...graph import graph_columns, graves_kernel, rows_kernel
from ...graph.graph_columns import GraphColumns
from ...kernel_modules import load_module, module_text
from ...protocol import session_kernel
from ...protocol.session_kernel import SessionColumns
from ...value_types import Worst, entry_of
from .. import directions_kernel
from ..compiled_functions import program_source
from . import (
    gather_kernel,
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
    graph_columns, loop_columns, session_kernel, rows_kernel, graves_kernel, directions_kernel, queue_kernel, vertex_kernel,
    gather_kernel, scan_kernel, record_kernel, step_kernel,
]  # fmt: skip
_COLUMNS = {
    "graph": GraphColumns, "session": SessionColumns, "loop": LoopColumns, "branch_session": SessionColumns,
    "branch": LoopColumns,
}  # fmt: skip


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
