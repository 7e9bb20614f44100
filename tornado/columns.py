"""Types of the columns that compiled kernels work on, and how a kernel gets at them.

An array costs seven words as an argument of a compiled function, a pointer one. Kernels that work on dozens of columns are
therefore given the *addresses* of the columns and turn them into a tuple of typed pointers at their entry.
"""

from typing import Annotated, Any, get_args

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Int8s = Annotated[NDArray[np.int8], "int8"]
Int32s = Annotated[NDArray[np.int32], "int32"]
Int64s = Annotated[NDArray[np.int64], "int64"]
Uint8s = Annotated[NDArray[np.uint8], "uint8"]
Uint64s = Annotated[NDArray[np.uint64], "uint64"]
Float64s = Annotated[NDArray[np.float64], "float64"]


def addresses_of(columns: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    """Where the columns begin. The caller keeps the columns alive."""
    return np.array([column.ctypes.data for column in columns], np.int64)


def pointer_constructor(columns: type) -> str:
    """The text of a compiled function that makes a tuple of pointers of an array of addresses."""
    fields = ", ".join(
        f"pointer_to_{get_args(annotation)[1]}(addresses[{place}])"
        for place, annotation in enumerate(columns.__annotations__.values())
    )
    name = columns.__name__
    return f"@nb.njit\ndef {name}_at(addresses):\n    return {name}({fields})"


def _pointer_to(item: types.Type) -> Any:
    @intrinsic
    def pointer(_typing_context: Any, _address: types.Integer) -> Any:
        def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(item)(types.int64), make  # type: ignore[no-untyped-call]

    return pointer


pointer_to_int8 = _pointer_to(types.int8)
pointer_to_int32 = _pointer_to(types.int32)
pointer_to_int64 = _pointer_to(types.int64)
pointer_to_uint8 = _pointer_to(types.uint8)
pointer_to_uint64 = _pointer_to(types.uint64)
pointer_to_float64 = _pointer_to(types.float64)
