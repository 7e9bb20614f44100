"""The compiled kernel of evolving graphs: one generated module for all programs."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from ..kernel_modules import load_module, module_text
from . import (
    apply_kernel,
    between_kernel,
    bulk_columns,
    bulk_kernel,
    graph_columns,
    graph_kernel,
    graves_kernel,
    page_kernel,
    rows_kernel,
)
from .bulk_columns import BulkColumns
from .graph_columns import GraphColumns

_PARTS = [
    graph_columns,
    rows_kernel,
    graves_kernel,
    graph_kernel,
    apply_kernel,
    bulk_columns,
    bulk_kernel,
    page_kernel,
    between_kernel,
]


@cache
def graph_module() -> ModuleType:
    """The kernel, from disk where it was compiled before."""
    return load_module(
        module_text("the graph's kernel", _PARTS, {"graph": GraphColumns, "bulk": BulkColumns})
    )
