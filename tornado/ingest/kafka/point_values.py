"""Messages of a topic that are points: JSON as over HTTP, CSV of named columns, Arrow streams as they are pushed.

A point whose message gives no id has one of its partition and its offset (`point_ids`): so the same record is the same point however
often it is read. That needs a message of its own; a point without an id that shares its message with others is rejected.

Guarantee: what the features of a chunk take is bounded, whatever its messages are. A dense point takes room for all of its
features, also where its record is a short removal, so the wider points are the fewer are read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from ...errors import InvalidArgument
from ...records.point_schema import Points
from ...records.record_batch import RecordBatch
from ..arrow_bounds import Bounds
from ..assembly import Lines
from ..interner import Draft, Interner
from ..parsed import ParsedPoints, ParsedRecords
from ..point_arrow import parse_point_table
from ..point_json import MAX_OBJECT_BYTES, parse_object_points
from ..point_layout import ColumnRoles, PointFormat, PointLayout
from ..point_text import parse_point_lines
from .settings import KafkaSettings, ValueFormat
from .values import MESSAGE, MessageOrigin

# Of text, `0,` is the shortest feature, and takes eight bytes: no message of text that is taken at all is refused for its features.
_FEATURES_BYTES: Final = 4 * MESSAGE.size_bytes


class PointValues:
    """Records that are points; see `MessageValues`.

    Parameters
    ----------
    settings : KafkaSettings
        The format, and what belongs to it.
    points : Points
        What the stream declares.
    interner : Interner, optional
        Ids are strings; without it they are integers.

    Raises
    ------
    InvalidArgument
        The settings are those of edges, or their columns are not those of such points.
    """

    max_line_bytes = MAX_OBJECT_BYTES

    def __init__(self, settings: KafkaSettings, points: Points, interner: Interner | None) -> None:
        self._points = points
        self._interner = interner
        self._wanted = settings.point_format
        row_bytes = 0 if points.sparse else points.features * points.value_type.itemsize
        self.most_records = min(MESSAGE.records, max(1, _FEATURES_BYTES // max(1, row_bytes)))
        self._bounds = Bounds(_FEATURES_BYTES, MESSAGE.records)
        _require_points(settings)
        self._layout: PointLayout | None = None
        if settings.value_format is ValueFormat.CSV:
            source = f"topic {settings.topic}"
            roles = columns_of(settings).placed(points, source=source)
            self._layout = PointLayout(points, ord(","), roles, interner is not None, self.max_line_bytes)

    def draft(self) -> Draft | None:
        """See `MessageValues`."""
        return None if self._interner is None else Draft(self._interner)

    def of_lines(self, lines: Lines, origin: MessageOrigin, names: Draft | None) -> ParsedPoints:
        """See `MessageValues`."""
        if self._layout is None:
            return parse_object_points(
                lines, self._points, interner=names, source=origin.source, places=origin.places
            )
        return parse_point_lines(
            lines, self._layout, source=origin.source, interner=names, places=origin.places
        )

    def of_table(self, table: pa.Table, origin: MessageOrigin, names: Draft | None) -> ParsedPoints:
        """See `MessageValues`."""
        shares_place = bool((origin.places < 0).any())
        return parse_point_table(
            table,
            self._points,
            wanted=self._wanted,
            interner=names,
            source=None if shares_place else origin.source,
            places=origin.places,
            bounds=self._bounds,
        )

    def concat(self, parts: Sequence[ParsedRecords[RecordBatch]]) -> ParsedPoints:
        """See `MessageValues`."""
        moved: list[ParsedPoints] = []
        records = 0
        for part in parts:
            assert isinstance(part, ParsedPoints)
            moved.append(part.shifted(records) if records else part)
            records += part.records
        return ParsedPoints.joined(moved, self._points)


def columns_of(settings: KafkaSettings) -> ColumnRoles:
    """What the columns of CSV values are.

    Raises
    ------
    InvalidArgument
        They are not named, or cannot be those of points.
    """
    if settings.columns is None:
        raise InvalidArgument(
            f"CSV values of topic {settings.topic} have no header, so the columns of their points must be named",
            hint="For example --columns id,label,age,height,op: all but id, label, weight and op are features.",
        )
    return ColumnRoles.of(settings.columns, settings.point_format, source=f"topic {settings.topic}")


def declared_by_columns(settings: KafkaSettings) -> Points:
    """What named columns declare: a feature for each that is nothing else.

    Raises
    ------
    InvalidArgument
        See `columns_of`.
    """
    wanted: PointFormat = settings.point_format
    names = columns_of(settings).features
    return Points(len(names), dtype=wanted.dtype, names=names)


def _require_points(settings: KafkaSettings) -> None:
    if settings.undirected:
        raise InvalidArgument(f"topic {settings.topic} has points, which have no direction to leave out")
    if settings.dedup_key is not None:
        raise InvalidArgument(
            f"--dedup-key {settings.dedup_key}: topic {settings.topic} has points, which are recognised by their ids",
            hint="Leave it out: a point that is sent again takes its own place.",
        )
    if settings.times:
        raise InvalidArgument(
            f"topic {settings.topic} has points, whose times are not looked at",
            hint="Leave --check-times out.",
        )
