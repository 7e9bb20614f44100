"""Compiling the kernel of core numbers: one generated module (`kernel_modules`), the same for all programs of the kind."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from ...columns import ValueLayout
from ...graph import graph_columns, rows_kernel
from ...graph.graph_columns import GraphColumns
from ...kernel_modules import load_module, module_text
from . import loop_columns, queue_kernel, record_kernel, scan_kernel, step_kernel
from .loop_columns import CoreColumns

_PARTS = [graph_columns, loop_columns, rows_kernel, queue_kernel, scan_kernel, record_kernel, step_kernel]
_COLUMNS = {"graph": GraphColumns, "loop": CoreColumns, "branch": CoreColumns}
LAYOUT = ValueLayout("int32", "int32/16", 16)
"""A row's record has 16 bytes; see `CoreColumns`."""


def generated_source() -> str:
    """The text of the module."""
    return module_text("the program's loop", _PARTS, _COLUMNS, layout=LAYOUT)


@cache
def core_kernel() -> ModuleType:
    """The compiled loop, from disk where it was compiled before."""
    return load_module(generated_source())
