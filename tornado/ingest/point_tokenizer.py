"""The compiled kernels that read points: one generated module, with what it shares with the tokenizer of edges."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..columns import addresses_of
from ..kernel_modules import load_module, module_text
from ..records.operations import OPERATIONS
from . import number_kernel, point_object_kernel, point_text_kernel, tokenizer
from .point_text_kernel import TextColumns

_SHARED: Final = frozenset(
    {"_field", "_has_more", "_integer", "_is_utf8", "_json_number", "_json_text", "_operation"}
)
_PARTS: Final = [number_kernel, point_text_kernel, point_object_kernel]

OPERATION_WORDS: Final = np.array([int.from_bytes(word.encode(), "little") for word in OPERATIONS], np.uint64)
OPERATION_CODES: Final = np.array(list(OPERATIONS.values()), np.int8)
"""The words of operations, the first byte lowest, and what they mean."""


@cache
def point_text_module() -> ModuleType:
    """The kernels, from disk where they were compiled before."""
    return load_module(
        module_text("the tokenizer of points", _PARTS, {"text": TextColumns}, functions=_shared_text())
    )


def _powers_of_five() -> NDArray[np.uint64]:
    """The first 128 bits of the powers of five, of which negative ones are rounded up and the others down.

    Returns
    -------
    uint64[2 n]
        The upper and the lower half of each; the first two are of the power `number_kernel.FIRST_POWER`.
    """
    rows: list[int] = []
    for power in range(number_kernel.FIRST_POWER, number_kernel.LAST_POWER + 1):
        five = 5 ** abs(power)
        if power >= 0:
            bits = five << 128 >> five.bit_length()
        else:
            # 128 bits of the quotient and one more than it: never less than the power itself.
            bits = (1 << (127 + (five - 1).bit_length())) // five + 1
        assert bits.bit_length() == 128
        rows += [bits >> 64, bits & (2**64 - 1)]
    return np.array(rows, np.uint64)


# Made once, for kernels read it by its address: made by each of two threads at their first texts, the one of the first was gone while it
# was read, and numbers of that text became others.
POWERS_OF_FIVE: Final = _powers_of_five()
"""See `_powers_of_five`; it lives as long as the process."""


def text_columns(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """What kernels read a text by: addresses of `TextColumns`, while the caller keeps the text alive."""
    return addresses_of(TextColumns(data, POWERS_OF_FIVE))


def _shared_text() -> str:
    """Constants and functions of the tokenizer of edges, as inner functions."""
    body: list[ast.stmt] = []
    for statement in ast.parse(inspect.getsource(tokenizer)).body:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            body.append(ast.Assign([statement.target], statement.value, lineno=0))
        elif isinstance(statement, ast.FunctionDef) and statement.name in _SHARED:
            statement.decorator_list = [ast.Name("inner", ast.Load())]
            statement.returns = None
            for argument in statement.args.args:
                argument.annotation = None
            body.append(statement)
    return ast.unparse(ast.Module(body=body, type_ignores=[]))
