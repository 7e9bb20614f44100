"""The compiled kernel of evolving points: a generated module for each type of features."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from ..columns import ValueLayout
from ..kernel_modules import load_module, module_text
from . import cell_kernel, point_columns, point_kernel, reading_kernel, shard_kernel
from .point_columns import PointColumns

_PARTS = [point_columns, shard_kernel, cell_kernel, point_kernel, reading_kernel]


@cache
def point_module(value_type: str) -> ModuleType:
    """The kernel for features of a type, from disk where it was compiled before.

    Parameters
    ----------
    value_type
        ``float32`` or ``float64``.
    """
    layout = ValueLayout(value_type, value_type, 0)
    title = f"the kernel of points of {value_type}"
    return load_module(module_text(title, _PARTS, {"points": PointColumns}, layout=layout))
