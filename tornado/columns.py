"""Types of the columns that compiled kernels work on, and how a kernel gets at them.

An array costs seven words as an argument of a compiled function; dozens of them, or of pointers, in a tuple cost dozens at every
call, and in compiling again wherever the tuple is kept. Kernels that work on dozens of columns are therefore given one array with
the *addresses* of the columns, and compiled code passes on where that array is. It reads an address where it needs a column. The
optimiser is told that addresses do not change during a call, and keeps those that it needs again.
"""

import operator
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
)
from numpy.typing import NDArray

Int8s = Annotated[NDArray[np.int8], "int8"]
Int32s = Annotated[NDArray[np.int32], "int32"]
Int64s = Annotated[NDArray[np.int64], "int64"]
Uint8s = Annotated[NDArray[np.uint8], "uint8"]
Uint64s = Annotated[NDArray[np.uint64], "uint64"]
Float64s = Annotated[NDArray[np.float64], "float64"]
RECORD_BYTES = 64
"""Where columns are the fields of records, so many bytes lie between two items of one: a cache line has all fields of a record."""
RecordInt64s = Annotated[NDArray[np.int64], f"int64/{RECORD_BYTES}"]
RecordInt32s = Annotated[NDArray[np.int32], f"int32/{RECORD_BYTES}"]
RecordUint8s = Annotated[NDArray[np.uint8], f"uint8/{RECORD_BYTES}"]
# Of a loop: values of whichever type its values have, and the fields of records of whichever size its rows have.
Values = Annotated[NDArray[Any], "values"]
RowValues = Annotated[NDArray[Any], "values/row"]
RowInt64s = Annotated[NDArray[np.int64], "int64/row"]
RowInt32s = Annotated[NDArray[np.int32], "int32/row"]
RowUint8s = Annotated[NDArray[np.uint8], "uint8/row"]
RowUint16s = Annotated[NDArray[np.uint16], "uint16/row"]


def addresses_of(columns: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    """Where the columns begin. The caller keeps the columns alive."""
    return np.array([column.ctypes.data for column in columns], np.int64)


@dataclass(frozen=True, slots=True)
class ValueLayout:
    """How values are kept.

    Attributes
    ----------
    values
        The type of numbers in columns of `Values`.
    row_values
        The type of a column of `RowValues`, see `_Columns`.
    row_bytes
        What a row's record takes.
    """

    values: str
    row_values: str
    row_bytes: int

    def of(self, kind: str) -> str:
        """Return the type of a column by its annotation."""
        named = {"values": self.values, "values/row": self.row_values}
        return named.get(kind, kind.replace("/row", f"/{self.row_bytes}"))


NUMBERS = ValueLayout("float64", "float64/32", 32)
"""A value is one number."""
WHOLE_PAIRS = ValueLayout("int64", "int64", 64)
"""A value is a pair of whole numbers, one after the other; `pair_kernel` knows how far apart those of two rows are."""
FLOAT_PAIRS = ValueLayout("float64", "float64", 64)
"""Likewise, and of floats."""


def columns_constructor(columns: type, *, layout: ValueLayout = NUMBERS) -> str:
    """The text of a compiled function that makes columns of an array of addresses.

    It has their names and types in it: a module that is named by the hash of its text is another one where columns change.

    Parameters
    ----------
    columns
        A tuple of columns.
    layout
        How values are kept.
    """
    kinds = {name: get_args(annotation)[1] for name, annotation in columns.__annotations__.items()}
    text = " ".join(f"{name}:{layout.of(kind)}" for name, kind in kinds.items())
    name = columns.__name__
    return f"@inner\ndef {name}_at(addresses):\n    return columns_at(addresses, {text!r})"


class _Strided(types.CPointer):
    """A pointer to items that do not follow each other, but are so many bytes apart."""

    def __init__(self, item: types.Type, stride: int) -> None:
        super().__init__(item)  # type: ignore[no-untyped-call]
        self.stride = stride
        self.name = f"{item}/{stride}*"

    @property
    def key(self) -> Any:
        """By what two of them are the same."""
        return self.dtype, self.stride


register_model(_Strided)(models.PointerModel)


def _item(
    context: Any, builder: ir.IRBuilder, column: _Strided, pointer: ir.Value, index: ir.Value
) -> ir.Value:
    """Where an item is."""
    offset = builder.mul(index, ir.Constant(index.type, column.stride))
    first = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(first, [offset]), context.get_value_type(column))


@lower_builtin(operator.getitem, _Strided, types.Integer)  # type: ignore[no-untyped-call,untyped-decorator]
def _get_item(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
    return builder.load(_item(context, builder, signature.args[0], *arguments))


@lower_builtin(operator.setitem, _Strided, types.Integer, types.Any)  # type: ignore[no-untyped-call,untyped-decorator]
def _set_item(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
    pointer, index, value = arguments
    builder.store(value, _item(context, builder, signature.args[0], pointer, index))
    return context.get_dummy_value()


class _Columns(types.Type):
    """Columns, as compiled code has them: where their addresses begin.

    Parameters
    ----------
    layout
        ``name:type`` of each, in the order of the addresses; ``name:type/bytes`` where its items are so many bytes apart.
    """

    def __init__(self, layout: str) -> None:
        fields = [field.split(":") for field in layout.split()]
        self.places = {name: place for place, (name, _) in enumerate(fields)}
        self.pointers = {name: _pointer(kind) for name, kind in fields}
        super().__init__(f"Columns({layout})")


def _pointer(kind: str) -> types.CPointer:
    item, _, stride = kind.partition("/")
    if stride:
        return _Strided(getattr(types, item), int(stride))
    return types.CPointer(getattr(types, item))  # type: ignore[no-untyped-call]


register_model(_Columns)(models.OpaqueModel)


@infer_getattr
class _ColumnTypes(AttributeTemplate):
    key = _Columns

    def generic_resolve(self, columns: _Columns, name: str) -> Any:  # type: ignore[override]
        return columns.pointers.get(name)


@lower_getattr_generic(_Columns)  # type: ignore[no-untyped-call,untyped-decorator]
def _column(context: Any, builder: ir.IRBuilder, columns: _Columns, table: ir.Value, name: str) -> ir.Value:
    """A column by its name: a pointer to its first item."""
    word = ir.IntType(64)
    addresses = builder.bitcast(table, word.as_pointer())
    address = builder.load(builder.gep(addresses, [ir.Constant(word, columns.places[name])], inbounds=True))
    address.set_metadata("invariant.load", builder.module.add_metadata([]))
    return builder.inttoptr(address, context.get_value_type(columns.pointers[name]))


@intrinsic(prefer_literal=True)
def columns_at(_typing_context: Any, addresses: Any, layout: Any) -> Any:
    """Columns, of an int64 array with their addresses. `layout` is a literal, see `_Columns`."""

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.bitcast(array.data, context.get_value_type(signature.return_type))

    return _Columns(layout.literal_value)(addresses, layout), make


def _columns_like(_typing_context: Any, columns: Any, addresses: Any) -> Any:
    """Columns of the same names and types, of a column with their addresses."""

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        return builder.bitcast(arguments[1], context.get_value_type(signature.return_type))

    return columns(columns, addresses), make


columns_like: Any = intrinsic(_columns_like)


def _prefetch(_typing_context: Any, column: Any, index: Any) -> Any:  # noqa: ARG001  # any whole number
    """Have the cache line of an item fetched, which is to be read or written soon; any index will do.

    A column is one of a kernel's, or a contiguous array, whose items are counted through all of its dimensions.
    """

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        kind, pointer = signature.args[0], arguments[0]
        byte = ir.IntType(8).as_pointer()
        if isinstance(kind, _Strided):
            item = _item(context, builder, kind, pointer, arguments[1])
        else:
            if isinstance(kind, types.Array):
                pointer = context.make_array(kind)(context, builder, pointer).data
            item = builder.gep(pointer, [arguments[1]])
        number = ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        builder.call(function, [builder.bitcast(item, byte), number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.none(column, types.intp), make


prefetch: Any = intrinsic(_prefetch)
