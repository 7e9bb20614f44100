"""What one data line means: the definition, in plain Python.

The compiled tokenizer (`tokenizer.py`) parses the lines it is sure about to the same result and hands every other line to
`parse_line`, which alone decides what is rejected and why. So the rules stand here once:

- A field is what separators enclose, without blanks (spaces, tabs) around it. With a separator other than blanks a field may
  stand in double quotes, a quote inside doubled; blanks inside quotes belong to the field.
- An integer is an optional sign and ASCII digits; it must fit int64. A weight is a decimal number as Python's `float` reads it
  (ASCII, no underscores) and finite: `inf`, `infinity`, `nan` and what is too large for a float64 are faults. A string id is UTF-8 and not empty.
- An empty or missing weight: "any weight" of a removal; 1.0 where the weight column is only assumed (`src,dst[,weight]`) or
  there is none; otherwise a fault.
- A line may have no more columns than its header or, without one, than `src,dst,weight`, but for empty ones at its end: an
  operation that was passed over would be a wrong answer. Where the caller named the columns, the rest of a line is not looked at.
- A time is what `times.py` says; an empty or missing one is none.
- Faults are looked for in the order line length, quotes, columns, src, dst, op, weight, key, time: the first one is the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import RecordError
from ..records.operations import REMOVE

BLANKS: Final = b" \t"
_QUOTE: Final = ord('"')
_INTEGER: Final = re.compile(rb"[+-]?[0-9]+")
_NUMBER: Final = re.compile(
    rb"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)",
    re.IGNORECASE,
)
# int() refuses longer ones; the digits of any int64 are far fewer, but leading zeros are legal.
_INTEGER_DIGITS: Final = 4000


@dataclass(frozen=True, slots=True, eq=False)
class LineLayout:
    """Where the fields of a line are and how they are read.

    Attributes
    ----------
    separator : int
        The byte between fields; 0 means runs of blanks.
    src, dst, weight, op, key, time : int
        Field numbers from 0; -1 for a column that is not there, and for a time that is not read.
    key_name : str
        What messages call the key.
    most_columns : int or None
        A line with more of them is rejected; None is any number.
    weight_optional : bool
        An insertion without a weight has weight 1.0.
    string_ids : bool
        Ids are text, to be interned.
    operations : mapping of bytes to int
        The words of the op column, in lower case.
    op_words, op_codes : uint64[k], int8[k]
        The same for the kernel: the bytes of a word, the first one lowest.
    max_line_bytes : int
        The longest line that is looked at.
    vertices : bool
        The line has a vertex, as `src` and as `dst`.
    """

    separator: int
    src: int
    dst: int
    weight: int
    op: int
    key: int
    time: int
    key_name: str
    most_columns: int | None
    weight_optional: bool
    string_ids: bool
    operations: Mapping[bytes, int]
    op_words: NDArray[np.uint64]
    op_codes: NDArray[np.int8]
    max_line_bytes: int
    vertices: bool = False

    @classmethod
    def of(
        cls,
        separator: int,
        columns: Sequence[str],
        *,
        most_columns: int | None,
        weight_optional: bool,
        string_ids: bool,
        operations: Mapping[str, int],
        max_line_bytes: int,
        key: str | None = None,
        times: bool = False,
    ) -> Self:
        """Make a layout from column names in order."""

        def place(name: str) -> int:
            return columns.index(name) if name in columns else -1

        words = {word.encode(): code for word, code in operations.items()}
        return cls(
            separator,
            place("src"),
            place("dst"),
            place("weight"),
            place("op"),
            -1 if key is None else place(key),
            place("time") if times else -1,
            key or "",
            most_columns,
            weight_optional or "weight" not in columns,
            string_ids,
            words,
            np.array([int.from_bytes(word, "little") for word in words], np.uint64),
            np.array(list(words.values()), np.int8),
            max_line_bytes,
        )

    @property
    def needed(self) -> int:
        """Number of leading fields that have a meaning."""
        return max(self.src, self.dst, self.weight, self.op, self.key, self.time) + 1


class ParsedLine(NamedTuple):
    """The record of one line; `src` and `dst` are bytes where ids are strings, `key` is empty where none is looked for.

    `time` is text: what it means is found out of all lines at once (`times.py`). It is empty where there is none.
    """

    src: int | bytes
    dst: int | bytes
    weight: float
    op: int
    key: bytes = b""
    time: bytes = b""


def parse_line(line: bytes, layout: LineLayout) -> ParsedLine:
    """Parse one data line without its line end.

    Raises
    ------
    RecordError
        The line is malformed; `reason` says why.
    """
    if len(line) > layout.max_line_bytes:
        raise RecordError(f"line is longer than {layout.max_line_bytes} bytes")
    try:
        limit = layout.needed if layout.most_columns is None else None
        fields = split_fields(line, layout.separator, limit=limit)
    except ValueError as error:
        raise RecordError(str(error)) from None
    if layout.most_columns is not None and any(fields[layout.most_columns :]):
        raise RecordError(f"more than {layout.most_columns} columns: name the ones to use (--columns)")

    def text(place: int) -> bytes:
        return fields[place] if 0 <= place < len(fields) else b""

    read_id = parse_name if layout.string_ids else parse_integer
    src, dst = read_id(text(layout.src), "src"), read_id(text(layout.dst), "dst")
    op = 1 if layout.op < 0 else parse_operation(text(layout.op), layout.operations)
    weight = parse_weight(text(layout.weight), op, optional=layout.weight_optional)
    key = b"" if layout.key < 0 else parse_name(text(layout.key), layout.key_name)
    return ParsedLine(src, dst, weight, op, key, text(layout.time))


def split_fields(line: bytes, separator: int, *, limit: int | None) -> list[bytes]:
    """Split a line into at most `limit` leading fields, blanks and quotes taken off.

    Raises
    ------
    ValueError
        A quoted field among them does not end, or is followed by something else.
    """
    if separator == 0:
        # Not split(): that would also split at form feeds and the like.
        return [part for part in line.replace(b"\t", b" ").split(b" ") if part][:limit]
    fields: list[bytes] = []
    blanks = BLANKS.replace(bytes([separator]), b"")
    position: int | None = 0
    while position is not None and (limit is None or len(fields) < limit):
        start = position
        while start < len(line) and line[start] in blanks:
            start += 1
        if start < len(line) and line[start] == _QUOTE:
            field, position = _quoted_field(line, start + 1, separator, blanks)
        else:
            stop = line.find(bytes([separator]), start)
            field = line[start : stop if stop >= 0 else len(line)].rstrip(blanks)
            position = stop + 1 if stop >= 0 else None
        fields.append(field)
    return fields


def _quoted_field(line: bytes, start: int, separator: int, blanks: bytes) -> tuple[bytes, int | None]:
    stop = start
    while True:
        stop = line.find(b'"', stop)
        if stop < 0:
            raise ValueError("a quoted field does not end on its line")
        if line[stop + 1 : stop + 2] != b'"':
            break
        stop += 2
    after = stop + 1
    while after < len(line) and line[after] in blanks:
        after += 1
    if after < len(line) and line[after] != separator:
        raise ValueError("a quoted field is followed by text")
    return line[start:stop].replace(b'""', b'"'), after + 1 if after < len(line) else None


def parse_integer(text: bytes, name: str) -> int:
    """An int64 from its digits, exactly."""
    if not text:
        raise RecordError(f"{name} is missing")
    if not _INTEGER.fullmatch(text):
        raise RecordError(f"{name} is not an integer: {shown(text)}")
    digits = text.lstrip(b"+-").lstrip(b"0")
    value = int(digits or b"0") if len(digits) <= _INTEGER_DIGITS else 2**64
    value = -value if text[:1] == b"-" else value
    if not -(2**63) <= value < 2**63:
        raise RecordError(f"{name} is beyond 64 bits: {shown(text)}")
    return value


def parse_name(text: bytes, name: str) -> bytes:
    """A string id as valid UTF-8."""
    if not text:
        raise RecordError(f"{name} is missing")
    try:
        text.decode()
    except UnicodeDecodeError:
        raise RecordError(f"{name} is not UTF-8: {shown(text)}") from None
    return text


def parse_operation(text: bytes, operations: Mapping[bytes, int]) -> int:
    """The code of an operation word."""
    if not text:
        raise RecordError("op is missing")
    code = operations.get(text.lower())
    if code is None:
        raise RecordError(f"op is unknown: {shown(text)}")
    return code


def parse_weight(text: bytes, op: int, *, optional: bool) -> float:
    """The float64 that Python's `float` gives, or what a missing weight means."""
    if not text:
        if op == REMOVE:
            return float("nan")
        if optional:
            return 1.0
    return parse_number(text, "weight")


def parse_number(text: bytes, name: str) -> float:
    """The float64 that Python's `float` gives; what it is none of is no number here either."""
    if not text:
        raise RecordError(f"{name} is missing")
    if not _NUMBER.fullmatch(text):
        raise RecordError(f"{name} is not a number: {shown(text)}")
    return finite(text, name)


def finite(text: bytes | str, name: str = "weight") -> float:
    """The float64 of a number as it is written.

    Raises
    ------
    RecordError
        It is infinite, beyond a float64, or NaN.
    """
    number = float(text)
    if math.isnan(number):
        raise RecordError(f"{name} is NaN")
    if math.isinf(number):
        raise RecordError(
            f"{name} is not finite: {shown(text if isinstance(text, bytes) else text.encode())}"
        )
    return number


def shown(text: bytes) -> str:
    """A field as a message shows it: readable, quoted, short."""
    readable = text[:200].decode("utf-8", "backslashreplace")
    return repr(readable if len(readable) <= 40 else readable[:40] + "…")
