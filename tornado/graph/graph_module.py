"""The compiled kernel of evolving graphs: one generated module for all programs."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from ..kernel_modules import ROOT, load_module, module_text
from . import graph_kernel, page_kernel, rows_kernel
from .graph_columns import GraphColumns

_HEADER = f"""\
import numba as nb
import numpy as np
from {ROOT}.graph.graph_columns import *
from {ROOT}.columns import *
"""


@cache
def graph_module() -> ModuleType:
    """The kernel, from disk where it was compiled before."""
    return load_module(
        module_text(_HEADER, [rows_kernel, graph_kernel, page_kernel], {"graph": GraphColumns})
    )
