"""How the lines of a CSV file of points are to be read: what the caller said, and what its header says.

The first line that is neither empty nor a comment is the header. Its separator is a comma if it has one, else a tab, else a
semicolon, else runs of blanks. Columns are found by their names, exactly as they are written: the label (`label`, unless the caller
names another; a column of that name may be left out, one that the caller names may not), the id (`id`, in the same way), `weight`
and `op`; all others are features. So the header declares the points of a stream that has none yet; on one that has, the columns
must be those that it declares, in any order.

Guarantee: what the lines mean depends on the header and on nothing else, so a file that is read again means the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ..errors import InvalidArgument, RecordError
from ..records.operations import OPERATIONS
from ..records.point_schema import Points
from .layout import SEPARATORS
from .lines import BLANKS, parse_integer, parse_name, parse_number, parse_operation, split_fields
from .point_record import ParsedPoint, dense_values, parse_label, parse_point_weight, removal

LABEL: Final = -1
WEIGHT: Final = -2
OPERATION: Final = -3
ID: Final = -4
"""What a column is that is no feature."""

_FIXED: Final = {"weight": WEIGHT, "op": OPERATION}
_SHOWN_NAMES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFormat:
    """What the caller says about files of points.

    Attributes
    ----------
    label, id : str, optional
        The columns of labels and ids; left out, `label` and `id` where they are there. Without ids, see `point_ids`.
    dtype : float32 or float64
        Of features, where the file declares them.
    features : int, optional
        How many there are, where a libsvm file declares the points; left out, its greatest index.
    separator : str, optional
        Of columns: one of `SEPARATORS`; left out, it is detected.
    max_line_bytes : int
        Longer lines are rejected, so that a file without line ends cannot fill the memory.
    names_may_lack : bool
        Whether the columns that the caller names need not be there: points that are to be predicted have no labels.
    """

    label: str | None = None
    id: str | None = None
    dtype: npt.DTypeLike = np.float64
    features: int | None = None
    separator: str | None = None
    max_line_bytes: int = 1 << 22
    names_may_lack: bool = False

    def __post_init__(self) -> None:
        if self.separator is not None and self.separator not in SEPARATORS:
            raise InvalidArgument(
                f"separator is {self.separator!r}, but must be one of comma, tab, semicolon, space"
            )
        if not 1 <= self.max_line_bytes <= 1 << 26:
            raise InvalidArgument(f"max_line_bytes is {self.max_line_bytes}, but must be 1 to {1 << 26}")

    @property
    def label_name(self) -> str:
        """Where labels are, if there are any; empty where what is called `label` is something else."""
        return self.label or ("" if self.id == "label" else "label")

    @property
    def id_name(self) -> str:
        """As `label_name`, of ids."""
        return self.id or ("" if self.label == "id" else "id")


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """What the columns of a table of points are.

    Attributes
    ----------
    features : tuple of str
        The names of the features, in the order of the columns.
    roles : int64[columns]
        LABEL, WEIGHT, OPERATION, ID, or which feature of `features`.
    """

    features: tuple[str, ...]
    roles: NDArray[np.int64]

    @classmethod
    def of(cls, names: Sequence[str], wanted: PointFormat, *, source: str) -> Self:
        """Tell columns apart by their names.

        Raises
        ------
        InvalidArgument
            A name is empty or there twice, the caller names a column that is not there, or there are no features.
        """
        shown = f"{list(names[:_SHOWN_NAMES])}" + " and more" * (len(names) > _SHOWN_NAMES)
        if wanted.label is not None and wanted.label == wanted.id:
            raise InvalidArgument(
                f"the column {wanted.label!r} is to have the labels and the ids of points, but it has one of them",
                hint="Name two columns, or leave the ids out: points are known by their place then.",
            )
        known = {**_FIXED, wanted.label_name: LABEL, wanted.id_name: ID}
        for given, usual in ((wanted.label, "label"), (wanted.id, "id")):
            if given is not None and given not in names and not wanted.names_may_lack:
                raise InvalidArgument(
                    f"{source} has the columns {shown}, but {given!r} must be among them, which {usual}s are to come from"
                )
        seen: set[str] = set()
        features: list[str] = []
        roles: list[int] = []
        for place, name in enumerate(names):
            if not name or name in seen:
                what = "has no name" if not name else f"is {name!r}, as another column is"
                raise InvalidArgument(
                    f"column {place + 1} of {source} {what}: columns are {shown}",
                    hint="The first line names every column, each with a name of its own.",
                )
            seen.add(name)
            roles.append(known.get(name, len(features)))
            if roles[-1] >= 0:
                features.append(name)
        if not features:
            raise InvalidArgument(f"{source} has the columns {shown}, of which none is a feature")
        return cls(tuple(features), np.array(roles, np.int64))

    def has(self, role: int) -> bool:
        """Whether there is a column of this role."""
        return bool((self.roles == role).any())

    def placed(self, points: Points, *, source: str) -> NDArray[np.int64]:
        """The roles, with each feature at its place among those that a stream declares.

        Raises
        ------
        InvalidArgument
            The features are not those that are declared.
        """
        if points.sparse:
            raise InvalidArgument(
                f"{source} has a column for each feature, but its stream declares sparse points",
                hint="Write its points as libsvm, or give them a stream of their own.",
            )
        if len(self.features) != points.features:
            raise InvalidArgument(
                f"{source} has {len(self.features)} columns of features, but its stream declares {points.features} features"
            )
        if points.names is None:
            return self.roles
        places = {name: place for place, name in enumerate(points.names)}
        for name in self.features:
            if name not in places:
                raise InvalidArgument(
                    f"{source} has a column {name!r}, but its stream declares no feature of that name"
                )
        order = np.array([places[name] for name in self.features], np.int64)
        return np.where(self.roles < 0, self.roles, order[np.maximum(self.roles, 0)])


@dataclass(frozen=True, slots=True, eq=False)
class PointLayout:
    """Where the fields of a line are and how they are read.

    Attributes
    ----------
    points : Points
        What is declared.
    separator : int
        The byte between fields; 0 means runs of blanks.
    roles : int64[columns]
        Of each column LABEL, WEIGHT, OPERATION, ID, or which feature it is.
    string_ids : bool
        Ids are texts, to be interned.
    max_line_bytes : int
        The longest line that is looked at.
    operations : mapping of bytes to int
        The words of the column `op`, in lower case.
    """

    points: Points
    separator: int
    roles: NDArray[np.int64]
    string_ids: bool
    max_line_bytes: int
    operations: Mapping[bytes, int] = field(
        default_factory=lambda: MappingProxyType({word.encode(): code for word, code in OPERATIONS.items()})
    )

    @classmethod
    def of_header(
        cls,
        first: bytes,
        wanted: PointFormat,
        *,
        source: str,
        points: Points | None = None,
        string_ids: bool = False,
    ) -> Self:
        r"""Read the header.

        Parameters
        ----------
        points : Points, optional
            What the stream declares; left out, the header declares it.

        Raises
        ------
        InvalidArgument
            It is none, or its features are not those that are declared.

        Examples
        --------
        >>> PointLayout.of_header(b"age,label,height", PointFormat(), source="people.csv").points
        Points(features=2, sparse=False, dtype=dtype('float64'), names=('age', 'height'))
        """
        separator = wanted.separator and SEPARATORS[wanted.separator]
        if separator is None:
            separator = next((one for one in ",\t;" if one.encode() in first), " ")
        byte = 0 if separator == " " else ord(separator)
        names = _names(first, byte, source)
        columns = ColumnRoles.of(names, wanted, source=source)
        if points is None:
            points = Points(len(columns.features), dtype=wanted.dtype, names=columns.features)
        roles = columns.placed(points, source=source)
        return cls(points, byte, roles, string_ids, wanted.max_line_bytes)

    @property
    def has_ids(self) -> bool:
        """Whether a column has ids."""
        return bool((self.roles == ID).any())

    def parse(self, line: bytes) -> ParsedPoint:
        """Parse one data line without its line end: the definition.

        Faults are looked for in the order line length, quotes, columns that are too many, id, op, columns that are too few, label,
        weight, features: the first one is the reason.

        Raises
        ------
        RecordError
            The line is malformed.
        """
        if len(line) > self.max_line_bytes:
            raise RecordError(f"line is longer than {self.max_line_bytes} bytes")
        try:
            fields = split_fields(line, self.separator, limit=None)
        except ValueError as error:
            raise RecordError(str(error)) from None
        count = len(self.roles)
        if any(fields[count:]):
            raise RecordError(f"the line has {len(fields)} columns, but the header has {count}")
        texts = dict(zip(self.roles.tolist(), fields, strict=False))
        words = texts.get(OPERATION)
        has_operations = (self.roles == OPERATION).any()
        identifier: int | bytes | None = None
        if self.has_ids:
            read_id = parse_name if self.string_ids else parse_integer
            identifier = read_id(texts.get(ID, b""), "id")
        op = parse_operation(words or b"", self.operations) if has_operations else 1
        if op == -1:
            return removal(identifier, self.points)
        if len(fields) < count:
            raise RecordError(f"the line has {len(fields)} columns, but the header has {count}")
        label, weight = parse_label(texts.get(LABEL, b"")), parse_point_weight(texts.get(WEIGHT, b""))
        values = dense_values([texts[place] for place in range(self.points.features)], self.points)
        return ParsedPoint(identifier, label, weight, op, values)


def _names(first: bytes, separator: int, source: str) -> list[str]:
    if b"\r" in first:
        raise _no_header(
            first,
            source,
            "has carriage returns",
            hint="Lines end in a line feed, with or without a carriage return before it: save the file so.",
        )
    try:
        names = [part.strip(BLANKS).decode() for part in split_fields(first, separator, limit=None)]
    except ValueError as error:
        raise InvalidArgument(f"the header of {source} cannot be read: {error}") from error
    if all(_is_number(name) for name in names):
        raise _no_header(
            first,
            source,
            "has only numbers",
            hint="The first line of a CSV file of points names its columns.",
        )
    return names


def _no_header(first: bytes, source: str, why: str, *, hint: str) -> InvalidArgument:
    shown = first[:80].decode(errors="replace")
    return InvalidArgument(f"the first line of {source} is no header: {shown!r} {why}", hint=hint)


def _is_number(name: str) -> bool:
    try:
        parse_number(name.encode(), "name")
    except RecordError:
        return False
    return True
