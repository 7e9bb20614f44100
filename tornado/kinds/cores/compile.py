"""Compiling the kernel of core numbers: one generated module (`kernel_modules`), the same for all programs of the kind."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from ...columns import ValueLayout
from ...graph import graph_columns, graves_kernel, rows_kernel
from ...graph.graph_columns import GraphColumns
from ...kernel_modules import load_module, module_text
from .. import directions_kernel, list_kernel
from . import loop_columns, queue_kernel, record_kernel, scan_kernel, step_kernel
from .loop_columns import CoreColumns

_PARTS = [
    graph_columns, loop_columns, rows_kernel, graves_kernel, directions_kernel, queue_kernel, scan_kernel, list_kernel,
    record_kernel, step_kernel,
]  # fmt: skip
_COLUMNS = {"graph": GraphColumns, "loop": CoreColumns, "branch": CoreColumns}
LAYOUT = ValueLayout("int32", "int32/16", 16)
"""A row's record has 16 bytes; see `CoreColumns`."""


def generated_source() -> str:
    """The text of the module."""
    return module_text("the program's loop", _PARTS, _COLUMNS, functions="BOTH_WAYS = True", layout=LAYOUT)


@cache
def core_kernel() -> ModuleType:
    """The compiled loop, from disk where it was compiled before."""
    return load_module(generated_source())
