"""A row of an Arrow table as people see it who have to mend it: JSON, whatever its columns hold.

A column that nobody asked for may be of any type, and a list may have as many entries as a body unpacks to, each of which would be an
object of Python. What is rejected is cut off after a thousand characters, so nothing looks at more entries than could be among these.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

# Each takes three characters at least, of the thousand that are kept.
_MOST_ENTRIES: Final = 500
_MOST_BYTES: Final = 1000
_REST: Final = "…"


def row_text(table: pa.Table, columns: Sequence[str], row: int) -> str:
    """Return a row as JSON of some columns, without the rest of what is very long; of those that nobody asked for, several may have one name."""
    names = table.column_names
    shown = _Shown()
    fields = {name: shown.at(table.column(names.index(name)), row) for name in columns if name in names}
    return json.dumps(fields, ensure_ascii=False)


class _Shown:
    """Turns entries into what JSON has, so many in all."""

    def __init__(self) -> None:
        self._left = _MOST_ENTRIES

    def at(self, entries: Any, place: int) -> Any:
        """Return the entry at a place, and what is in it."""
        self._left -= 1
        try:
            return self._of(entries[place])
        except NotImplementedError:  # an interval of months: there is no such scalar in Python
            return _REST

    def _of(self, entry: pa.Scalar) -> Any:
        kind = entry.type
        if not entry.is_valid:
            return None
        if pa.types.is_struct(kind):
            return self._fields(entry)
        if isinstance(entry, pa.ListScalar):  # of every kind of lists, and maps
            return self._entries(entry.values, pairs=pa.types.is_map(kind))
        if _stands_for_another(kind):
            return self._of(entry.value)
        if pa.types.is_floating(kind):
            return float(entry.as_py())  # those of 16 bits are NumPy's in some releases
        if _is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
            return entry.as_py()
        if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
            return entry.value  # Python has no instants of nanoseconds, nor beyond the year 9999
        if isinstance(entry, pa.BinaryScalar):
            return str(bytes(memoryview(entry.as_buffer())[:_MOST_BYTES]))
        return str(entry.as_py())

    def _entries(self, values: pa.Array, *, pairs: bool) -> list[Any]:
        shown: list[Any] = []
        for place in range(len(values)):
            if self._left <= 0:
                return [*shown, _REST]
            shown.append(list(self._fields(values[place]).values()) if pairs else self.at(values, place))
        return shown

    def _fields(self, entry: pa.StructScalar) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for place in range(entry.type.num_fields):
            if self._left <= 0:
                return shown | {_REST: _REST}
            # By its place, since several may have one name.
            shown[entry.type.field(place).name] = self.at(entry, place)
        return shown


def _stands_for_another(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_dictionary(kind)
        or pa.types.is_union(kind)
        or pa.types.is_run_end_encoded(kind)
        or isinstance(kind, pa.BaseExtensionType)
    )


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
