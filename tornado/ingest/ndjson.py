"""Pushed edges as NDJSON: one flat object a line, `{"src": 1, "dst": 2, "weight": 3.5, "op": "+"}`.

Objects as most programs write them go through the compiled tokenizer; the others (escapes, nulls, unusual numbers) are parsed by
Python's own JSON reader. `weight` is 1 and `op` `+` where they are left out or null; a removal without a weight means the
oldest edge. A field `time` is a number of seconds or text (`times.py`), and let through unread where nobody asks for times; any
other name is a fault: it would be a misspelt one.

Guarantees: numbers keep their digits until they are an int64 or the nearest float64; a fault is one record's, never the body's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from ..config import BODY_LIMIT_RECORDS
from ..errors import BodyTooLarge, RecordError
from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT, OPERATIONS, REMOVE
from .assembly import KernelColumns, Lines, assemble
from .blocks import count_line_ends, pieces_of_lines
from .interner import Names
from .line_finder import find_lines
from .lines import ParsedLine, finite, parse_integer, parse_name, parse_operation, shown
from .parsed import ParsedBatch, Rejections, drafted
from .times import MALFORMED
from .tokenizer import parse_objects

MAX_LINE_BYTES: Final = 65_536

# What the kernels need for a line is some ten times as long as the shortest one: in pieces it is never there for all.
_PIECE_BYTES: Final = 256 << 10

_WORDS: Final = {word.encode(): code for word, code in OPERATIONS.items()}
_OP_WORDS: Final = np.array([int.from_bytes(word, "little") for word in _WORDS], np.uint64)
_OP_CODES: Final = np.array(list(_WORDS.values()), np.int8)
_FIELDS: Final = frozenset({"src", "dst", "weight", "op", "time"})
NO_OBJECT: Final = "not a JSON object on one line"


class Digits(str):
    """A number as it was written: Python's reader would round what a float64 cannot hold."""

    __slots__ = ()


class JsonObject(NamedTuple):
    """An object as it was written: names may repeat."""

    pairs: list[tuple[str, Any]]


def parse_ndjson(
    body: bytes,
    *,
    interner: Names | None = None,
    quoted_ids: bool = False,
    times: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> ParsedBatch:
    r"""Parse a body; bad lines are in `rejected`.

    Parameters
    ----------
    body : bytes
        Whole lines; empty ones are no records.
    interner : Names, optional
        Ids are strings and become numbers here; without it they are integers.
    quoted_ids : bool
        Integers may stand in quotes, as text that is read as in a file: for senders whose numbers are doubles.
    times : bool
        Read the times of the records, and reject those whose time is none.
    max_line_bytes : int
        Longer lines are rejected.

    Returns
    -------
    ParsedBatch
        Positions count the records of the body from 1 (`shifted` turns them into those of a source).

    Raises
    ------
    BodyTooLarge
        It has more lines than are taken at once, or its rejected records are too many or take too much; the lines behind those
        are not parsed then.

    Examples
    --------
    >>> parsed = parse_ndjson(b'{"src": 1, "dst": 2}\n{"src": 1.0, "dst": 2}\n')
    >>> parsed.batch.weight.tolist(), parsed.rejected[0].reason
    ([1.0], "src is not an integer: '1.0'")
    """
    _check_records(body)
    rejected = Rejections()
    parts: list[ParsedBatch] = []
    records = 0
    for piece in pieces_of_lines(body, _PIECE_BYTES):
        starts, stops, _, _ = find_lines(np.frombuffer(piece, np.uint8), 1, max_line_bytes, False)
        if not len(starts):
            continue
        positions = np.arange(1, len(starts) + 1) + records
        records += len(starts)
        lines = Lines(piece, starts, stops, positions, max_line_bytes)
        parts.append(
            parse_object_lines(
                lines, interner=interner, quoted_ids=quoted_ids, times=times, rejected=rejected
            )
        )
    return ParsedBatch.joined(parts)


def parse_vertices(
    body: bytes,
    *,
    interner: Names | None = None,
    quoted_ids: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> ParsedBatch:
    r"""Parse a body of vertices, `{"id": 7}` a line; bad lines are in `rejected`. Otherwise as `parse_ndjson`.

    Returns
    -------
    ParsedBatch
        Its records are `EdgeBatch.mentions`.

    Examples
    --------
    >>> parsed = parse_vertices(b'{"id": 7}\n{"id": 1.5}\n')
    >>> parsed.batch.src.tolist(), parsed.rejected[0].reason
    ([7], "id is not an integer: '1.5'")
    """
    _check_records(body)
    starts, stops, _, _ = find_lines(np.frombuffer(body, np.uint8), 1, max_line_bytes, False)
    lines = Lines(body, starts, stops, np.arange(1, len(starts) + 1), max_line_bytes)
    found: list[Any] = []
    positions: list[int] = []
    rejected = Rejections()
    for index in range(len(lines)):
        raw = lines.raw(index)
        try:
            given = object_fields(raw, {"id"}, max_line_bytes).get("id")
            vertex = vertex_field(given, "id", string_ids=interner is not None, quoted_ids=quoted_ids)
        except RecordError as error:
            rejected.add(index + 1, raw[:max_line_bytes], error.reason)
            continue
        found.append(vertex if isinstance(vertex, int) else vertex.decode())
        positions.append(index + 1)
    ids = np.array(found, np.int64) if interner is None else interner.intern(found)
    batch, count = EdgeBatch.mentions(ids), len(lines)
    return ParsedBatch(
        batch,
        count,
        count,
        np.array(positions, np.int64),
        rejected.since(0),
        lines.text_at,
        draft=drafted(interner),
    )


def parse_object_lines(
    lines: Lines,
    *,
    interner: Names | None = None,
    undirected: bool = False,
    key: str | None = None,
    rejected: Rejections | None = None,
    quoted_ids: bool = False,
    times: bool = False,
) -> ParsedBatch:
    """Parse lines that were found already, one object each; see `parse_ndjson`.

    Parameters
    ----------
    lines : Lines
        Where they are; `lines.limit` is the longest that is looked at.
    interner : Names, optional
        Ids are strings and become numbers here; without it they are integers.
    undirected : bool
        Whether each object is an edge in both directions.
    key : str, optional
        A further field, which each object must have; see `ParsedBatch.keys`.
    rejected : Rejections, optional
        Where rejected records go; see `assemble`.
    quoted_ids, times : bool
        See `parse_ndjson`.
    """
    columns = KernelColumns.for_lines(len(lines), timed=times)
    parse_objects(
        np.frombuffer(lines.block, np.uint8),
        lines.starts,
        lines.stops,
        np.frombuffer((key or "").encode(), np.uint8),
        interner is not None,
        quoted_ids and interner is None,
        _OP_WORDS,
        _OP_CODES,
        lines.limit,
        columns.src,
        columns.dst,
        columns.weight,
        columns.op,
        columns.spans,
        columns.status,
    )
    define = partial(
        parse_object,
        string_ids=interner is not None,
        quoted_ids=quoted_ids,
        max_line_bytes=lines.limit,
        key=key,
        times=times,
    )
    return assemble(
        lines,
        columns,
        define,
        interner=interner,
        undirected=undirected,
        keyed=key is not None,
        timed=times,
        rejected=rejected,
    )


def parse_object(
    line: bytes,
    *,
    string_ids: bool,
    quoted_ids: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
    key: str | None = None,
    times: bool = False,
) -> ParsedLine:
    """Parse one line: the definition.

    Raises
    ------
    RecordError
        The line is malformed; faults are looked for in the order JSON, field names, src, dst, op, weight, key; what the time
        means is looked at later.
    """
    fields = object_fields(line, _FIELDS if key is None else _FIELDS | {key}, max_line_bytes)
    src = vertex_field(fields.get("src"), "src", string_ids=string_ids, quoted_ids=quoted_ids)
    dst = vertex_field(fields.get("dst"), "dst", string_ids=string_ids, quoted_ids=quoted_ids)
    code = operation_field(fields.get("op"))
    given = fields.get("weight")
    if given is None:
        weight = math.nan if code == REMOVE else 1.0
    elif isinstance(given, Digits):
        weight = finite(given)
    else:
        raise RecordError(f"weight is not a number: {shown_value(given)}")
    text = b"" if key is None else _key(fields.get(key), key)
    return ParsedLine(src, dst, weight, code, text, _time(fields.get("time")) if times else b"")


def _check_records(body: bytes) -> None:
    # Before anything is parsed: a name is given its number once and for all.
    ends = count_line_ends(body)
    if ends > BODY_LIMIT_RECORDS:
        raise BodyTooLarge(
            f"the body is larger than the {BODY_LIMIT_RECORDS} records taken at once: it has {ends} lines"
        )


def object_fields(
    line: bytes, known: AbstractSet[str], max_line_bytes: int, *, no_object: str = NO_OBJECT
) -> dict[str, Any]:
    """The fields of an object, by their names; its numbers are `Digits`, and objects in it `JsonObject`.

    Raises
    ------
    RecordError
        It is none (`no_object` says so), is too long, or has a field that is not known, or one twice.
    """
    if len(line) > max_line_bytes:
        raise RecordError(f"line is longer than {max_line_bytes} bytes")
    try:
        found = _READ(line.decode())
    except (ValueError, RecursionError):
        raise RecordError(no_object) from None
    if not isinstance(found, JsonObject):
        raise RecordError(no_object)
    fields: dict[str, Any] = {}
    for name, value in found.pairs:
        if name not in known:
            raise RecordError(f"unknown field: {shown_value(name)}")
        if name in fields:
            raise RecordError(f"{name} is there twice")
        fields[name] = value
    return fields


def vertex_field(value: Any, name: str, *, string_ids: bool, quoted_ids: bool) -> int | bytes:
    """An id: an int, or bytes where ids are strings."""
    if value is None:
        raise RecordError(f"{name} is missing")
    if string_ids:
        if not isinstance(value, str) or isinstance(value, Digits):
            raise RecordError(f"{name} is not a string: {shown_value(value)}")
        return _encoded(value, name)
    if not isinstance(value, str if quoted_ids else Digits):
        raise RecordError(f"{name} is not an integer: {shown_value(value)}")
    return parse_integer(value.encode("utf-8", "backslashreplace"), name)


def operation_field(op: Any) -> int:
    """The code of an operation; that of an insertion where there is none."""
    if op is None:
        return INSERT
    if not isinstance(op, str) or not op:
        _unknown_op(op)
    # An op that is a number, 1 or -1, is spelt like the word.
    return parse_operation(op.encode("utf-8", "backslashreplace"), _WORDS)


def _key(value: Any, name: str) -> bytes:
    if value is None:
        raise RecordError(f"{name} is missing")
    # A number is compared as it is written.
    if not isinstance(value, str):
        raise RecordError(f"{name} is neither a string nor a number: {shown_value(value)}")
    return _encoded(value, name)


def _time(value: Any) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, str):
        raise RecordError(f"{MALFORMED}: {shown_value(value)}")
    return value.encode("utf-8", "backslashreplace")  # what is no UTF-8 is no time either


def _encoded(value: str, name: str) -> bytes:
    try:
        return parse_name(value.encode(), name)
    except UnicodeEncodeError:
        raise RecordError(f"{name} is not UTF-8: {shown_value(value)}") from None


def _unknown_op(op: object) -> NoReturn:
    raise RecordError(f"op is unknown: {shown_value(op)}")


def _refuse_constant(name: str) -> NoReturn:
    # NaN and Infinity are no JSON, though Python reads them.
    raise ValueError(name)


# Made once: with these hooks `json.loads` would make one for every line.
_READ: Final = json.JSONDecoder(
    parse_int=Digits, parse_float=Digits, parse_constant=_refuse_constant, object_pairs_hook=JsonObject
).decode


def shown_value(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, str):
        return shown(value.encode("utf-8", "backslashreplace"))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "an array or object"
