"""Pushed points as JSON: ``{"id": 7, "label": 1, "features": [0.1, 0.2]}`` a line (NDJSON), or all of them in one list.

`features` is a list of as many numbers as the stream declares, or of a sparse point an object ``{"3": 0.5}`` of indices from 0 and
values. `label`, `weight` and `op` may be left out or null; what they mean then, and all other rules, are those of `point_record`. A
removal needs its id only. A field `time` is let through unread; any other name is a fault: it would be a misspelt one.

Objects as most programs write them go through the compiled tokenizer, the others through Python's own JSON reader.

Guarantees: numbers keep their digits until they are an int64 or the nearest float64; a fault is one record's, never the body's, but
for a list that is not whole: where its records end is not known then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..config import BODY_LIMIT_RECORDS
from ..errors import BodyTooLarge, InvalidArgument, RecordError
from ..records.operations import REMOVE
from ..records.point_schema import MOST_FEATURES, Points
from .arrow_bounds import BODY
from .assembly import Lines
from .blocks import count_line_ends, pieces_of_lines
from .interner import Names
from .line_finder import find_lines
from .lines import shown
from .ndjson import NO_OBJECT, Digits, JsonObject, object_fields, operation_field, shown_value, vertex_field
from .parsed import ParsedPoints, Rejections
from .point_assembly import PointFields, assemble_points, most_records
from .point_record import (
    DENSE_ON_SPARSE,
    SPARSE_ON_DENSE,
    ParsedPoint,
    dense_values,
    feature_name,
    parse_label,
    parse_point_weight,
    removal,
    sparse_values,
)
from .point_tokenizer import OPERATION_CODES, OPERATION_WORDS, point_text_module, text_columns

MAX_OBJECT_BYTES: Final = 1 << 22
"""The longest object that is looked at."""

# What is parsed at once; of sparse points it has room for an entry of the shortest kind, `"1":1,`, in every six bytes.
_PIECE_BYTES: Final = 1 << 20
_ENTRY_BYTES: Final = 5
_WHITE_SPACE: Final = b" \t\r\n"
_FIELDS: Final = frozenset({"id", "label", "features", "weight", "op", "time"})
_NO_ELEMENT: Final = "not a JSON object"


def parse_json_points(
    body: bytes,
    points: Points,
    *,
    interner: Names | None = None,
    source: str | None = None,
    quoted_ids: bool = False,
    max_object_bytes: int = MAX_OBJECT_BYTES,
) -> ParsedPoints:
    r"""Parse a body, an object a line or one list of objects; bad ones are in `rejected`.

    Parameters
    ----------
    body : bytes
        A list begins with ``[``.
    points : Points
        What the stream declares.
    interner : Names, optional
        Ids are texts and become numbers here; without it they are integers.
    source : str, optional
        Whose points get an id of it and their position where they have none; left out, they must have one.
    quoted_ids : bool
        Integers may stand in quotes: for senders whose numbers are doubles.
    max_object_bytes : int
        Longer objects are rejected.

    Returns
    -------
    ParsedPoints
        Positions count the records of the body from 1 (`shifted` turns them into those of a source).

    Raises
    ------
    InvalidArgument
        It begins as a list and is no whole one: nothing of it was taken.
    BodyTooLarge
        It has more records than are taken at once, their features take more, or the rejected records do.

    Examples
    --------
    >>> body = b'[{"id": 7, "label": 1, "features": [0.5, 2]}, {"id": 8, "features": [0.5]}]'
    >>> parsed = parse_json_points(body, Points(features=2))
    >>> parsed.batch.features.tolist(), parsed.rejected[0].reason
    ([[0.5, 2.0]], 'features has 1 numbers, but points have 2 features')
    """
    rejected = Rejections()
    parts: list[ParsedPoints] = []
    size_bytes = 0
    is_list = body.lstrip(_WHITE_SPACE)[:1] == b"["
    pieces = _elements(body, max_object_bytes) if is_list else _lines(body, max_object_bytes)
    for piece in pieces:
        for lines in _pieces_of_records(piece, most_records(points)):
            parsed = parse_object_points(
                lines,
                points,
                interner=interner,
                source=source,
                quoted_ids=quoted_ids,
                rejected=rejected,
                no_object=_NO_ELEMENT if is_list else NO_OBJECT,
            )
            size_bytes += parsed.batch.size_bytes
            if size_bytes > BODY.size_bytes:
                raise BodyTooLarge(
                    f"the body is larger than the {BODY.size_bytes} bytes taken at once: its first "
                    f"{lines.positions[-1]} points take {size_bytes}"
                )
            parts.append(parsed)
    return ParsedPoints.joined(parts, points)


def parse_object_points(
    lines: Lines,
    points: Points,
    *,
    interner: Names | None = None,
    source: str | None = None,
    quoted_ids: bool = False,
    rejected: Rejections | None = None,
    no_object: str = NO_OBJECT,
    places: NDArray[np.int64] | None = None,
) -> ParsedPoints:
    """Parse objects that were found already; see `parse_json_points`.

    Parameters
    ----------
    lines : Lines
        Where they are; `lines.limit` is the longest that is looked at.
    rejected : Rejections, optional
        Where rejected records go; see `assemble_points`.
    no_object : str
        Why a record is rejected that is none.
    places : int64[len(lines)], optional
        See `assemble_points`.
    """
    size_bytes = int(lines.stops[-1] - lines.starts[0]) if len(lines) else 0
    room = size_bytes // _ENTRY_BYTES + 1 if points.sparse else 0
    fields = PointFields.for_records(len(lines), points, has_ids=source is None, room=room)
    point_text_module().parse_point_objects(
        text_columns(np.frombuffer(lines.block, np.uint8)),
        lines.starts,
        lines.stops,
        points.sparse,
        points.features,
        interner is not None,
        quoted_ids and interner is None,
        OPERATION_WORDS,
        OPERATION_CODES,
        lines.limit,
        fields.ids,
        fields.has_id,
        fields.label,
        fields.weight,
        fields.op,
        fields.spans,
        fields.features,
        fields.begins,
        fields.indices,
        fields.values,
        fields.status,
    )

    def define(text: bytes, _: int) -> ParsedPoint:
        return parse_point_object(
            text,
            points,
            string_ids=interner is not None,
            quoted_ids=quoted_ids,
            needs_id=source is None,
            max_object_bytes=lines.limit,
            no_object=no_object,
        )

    return assemble_points(
        lines,
        fields,
        define,
        points=points,
        source=source,
        interner=interner,
        rejected=rejected,
        places=places,
    )


def parse_point_object(
    text: bytes,
    points: Points,
    *,
    string_ids: bool = False,
    quoted_ids: bool = False,
    needs_id: bool = True,
    max_object_bytes: int = MAX_OBJECT_BYTES,
    no_object: str = NO_OBJECT,
) -> ParsedPoint:
    """Parse one object: the definition.

    Raises
    ------
    RecordError
        It is malformed; faults are looked for in the order JSON, field names, id, op, label, weight, features.
    """
    fields = object_fields(text, _FIELDS, max_object_bytes, no_object=no_object)
    given = fields.get("id")
    identifier: int | bytes | None = None
    if given is not None or needs_id:
        identifier = vertex_field(given, "id", string_ids=string_ids, quoted_ids=quoted_ids)
    op = operation_field(fields.get("op"))
    if op == REMOVE:
        return removal(identifier, points)
    label = parse_label(_digits(fields.get("label"), "label"))
    weight = parse_point_weight(_digits(fields.get("weight"), "weight"))
    features = fields.get("features")
    if features is None:
        raise RecordError("features are missing")
    if isinstance(features, JsonObject):
        if not points.sparse:
            raise RecordError(SPARSE_ON_DENSE)
        values, indices = sparse_values(map(_entry, features.pairs), points)
        return ParsedPoint(identifier, label, weight, op, values, indices)
    if not isinstance(features, list):
        raise RecordError(f"features are neither a list nor an object: {shown_value(features)}")
    if points.sparse:
        raise RecordError(DENSE_ON_SPARSE)
    if len(features) != points.features:
        raise RecordError(f"features has {len(features)} numbers, but points have {points.features} features")
    texts = [_digits(value, feature_name(points, place)) for place, value in enumerate(features)]
    return ParsedPoint(identifier, label, weight, op, dense_values(texts, points))


def _digits(value: Any, name: str) -> bytes:
    """The text of a number; empty where there is none."""
    if value is None:
        return b""
    if not isinstance(value, Digits):
        raise RecordError(f"{name} is not a number: {shown_value(value)}")
    return value.encode()


def _entry(pair: tuple[str, Any]) -> tuple[int, bytes]:
    name, value = pair
    if not (name.isascii() and name.isdigit()):
        raise RecordError(f"not the index of a feature: {shown(name.encode('utf-8', 'backslashreplace'))}")
    # int() refuses the longest ones; what has as many digits is beyond any width.
    index = int(name) if len(name) <= 19 else MOST_FEATURES
    return index, _digits(value, f"feature {index}")


def _lines(body: bytes, limit: int) -> Iterator[Lines]:
    _check_records(count_line_ends(body))
    records = 0
    for piece in pieces_of_lines(body, _PIECE_BYTES):
        starts, stops, _, _ = find_lines(np.frombuffer(piece, np.uint8), 1, limit, False)
        yield Lines(piece, starts, stops, np.arange(1, len(starts) + 1) + records, limit)
        records += len(starts)


def _elements(body: bytes, limit: int) -> Iterator[Lines]:
    text = text_columns(np.frombuffer(body, np.uint8))
    find = point_text_module().find_elements
    nothing = np.empty(0, np.int64)
    count = int(find(text, len(body), nothing, nothing))
    if count < 0:
        raise InvalidArgument("the body is no whole JSON list", hint="Send it again; none of it was taken.")
    _check_records(count)
    starts, stops = np.empty(count, np.int64), np.empty(count, np.int64)
    find(text, len(body), starts, stops)
    # As many at once as take about a piece.
    firsts = np.unique(np.searchsorted(starts, np.arange(0, len(body), _PIECE_BYTES)))
    for first, stop in zip(firsts, [*firsts[1:], count], strict=True):
        # Not a piece of the body: what is kept of each for its text would be the whole body once more.
        yield Lines(body, starts[first:stop], stops[first:stop], np.arange(first + 1, stop + 1), limit)


def _pieces_of_records(lines: Lines, most: int) -> Iterator[Lines]:
    for first in range(0, len(lines), most):
        part = slice(first, first + most)
        yield Lines(lines.block, lines.starts[part], lines.stops[part], lines.positions[part], lines.limit)


def _check_records(count: int) -> None:
    # Before anything is parsed: a name is given its number once and for all.
    if count > BODY_LIMIT_RECORDS:
        raise BodyTooLarge(
            f"the body is larger than the {BODY_LIMIT_RECORDS} records taken at once: it has {count}"
        )
