"""How the lines of an edge file are to be read: what the caller said, and what the first line shows.

The first line that is neither empty nor a comment decides, and nothing after it: a source that is still being written (a pipe)
is understood as soon as one line is there, and reading it again understands it the same way.

- *Separator*: a comma if the line has one, else a tab, else a semicolon, else runs of blanks.
- *Header*: the line is one if it names a source and a destination column (`HEADER_NAMES`), or, where ids are integers, if
  it has at least two fields and all begin with a letter. Without `columns` from the caller, recognised names decide the columns.
- Otherwise columns are `src,dst[,weight]`.
- Without `columns` from the caller, a line that has more columns than these is rejected: nobody said what the others mean.

A file of vertices has one id a line. Its first line is a header if it is one of `VERTEX_HEADERS` or, where ids are integers, begins
with a letter. A comma is its separator, so an id may have blanks inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Self

from ..errors import InvalidArgument
from ..records.operations import OPERATIONS, SYMBOLS
from .lines import BLANKS, LineLayout, split_fields

SEPARATORS: Final = {
    ",": ",",
    "\t": "\t",
    ";": ";",
    " ": " ",
    "comma": ",",
    "tab": "\t",
    "semicolon": ";",
    "space": " ",
}

HEADER_NAMES: Final[dict[str, str]] = {
    **dict.fromkeys(("src", "source", "from", "src_id", "source_id", "from_id", "fromnodeid"), "src"),
    **dict.fromkeys(
        ("dst", "dest", "destination", "target", "to", "dst_id", "target_id", "to_id", "tonodeid"), "dst"
    ),
    **dict.fromkeys(("weight", "w", "cost", "distance", "length", "rating"), "weight"),
    **dict.fromkeys(("op", "operation", "sign", "change"), "op"),
    **dict.fromkeys(("time", "timestamp", "t"), "time"),
}
"""Header names (in any case) and the columns they mean; a column of any other name is skipped."""

VERTEX_HEADERS: Final = frozenset({"id", "vertex", "vertex_id", "node", "node_id", "nodeid"})
"""Headers (in any case) of a file of vertices."""

COLUMN_NAMES: Final = ("src", "dst", "weight", "op", "time")
_ASSUMED_COLUMNS: Final = ("src", "dst", "weight")
_OP_WORD_LIMIT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """What the caller says about a text file; everything left out is detected from its first line.

    Attributes
    ----------
    columns : tuple of str, optional
        Column names in order, of `src`, `dst`, `weight`, `op`, `time`; `-` skips one. What follows them is ignored; without
        them a line with more columns than are known is rejected.
    separator : str, optional
        `,`, tab, `;` or a space (which means runs of spaces and tabs).
    header : bool, optional
        Whether the first line is one.
    undirected : bool
        Each line is an edge in both directions (a line from a vertex to itself is one edge).
    operations : mapping of str to int
        The words of the `op` column, in lower case, at most eight bytes each.
    max_line_bytes : int
        Longer lines are rejected, so that a file without line ends cannot fill the memory.
    key : str, optional
        A further name that `columns` may have, of what each record must have beside its edge; see `ParsedBatch.keys`.
    vertices : bool
        The file has vertices, not edges; `columns`, `separator`, `undirected`, `key` and `times` mean nothing then.
    times : bool
        Read the column `time`, and reject a record whose time is none (`times.py`). Otherwise it is let through unread: no edge is
        lost for a field that nobody uses.
    """

    columns: tuple[str, ...] | None = None
    separator: str | None = None
    header: bool | None = None
    undirected: bool = False
    operations: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(OPERATIONS))
    max_line_bytes: int = 65_536
    key: str | None = None
    vertices: bool = False
    times: bool = False

    def __post_init__(self) -> None:
        if self.columns is not None:
            _check_columns(self.columns, self.key)
        if self.separator is not None and self.separator not in SEPARATORS:
            raise InvalidArgument(
                f"separator is {self.separator!r}, but must be one of comma, tab, semicolon, space"
            )
        for word, code in self.operations.items():
            if (
                code not in SYMBOLS
                or not 0 < len(word.encode()) <= _OP_WORD_LIMIT
                or word != word.lower().strip()
            ):
                raise InvalidArgument(
                    f"operations has {word!r}: {code!r}, but needs words of 1 to {_OP_WORD_LIMIT} bytes in lower "
                    f"case and codes out of {sorted(SYMBOLS)}"
                )
        if not 1 <= self.max_line_bytes <= 1 << 24:
            raise InvalidArgument(f"max_line_bytes is {self.max_line_bytes}, but must be 1 to {1 << 24}")

    @staticmethod
    def parse_columns(text: str, *, key: str | None = None) -> tuple[str, ...]:
        """The value of `--columns`, such as `src,dst,-,op`, as a checked tuple.

        Raises
        ------
        InvalidArgument
            A name is unknown or given twice, or `src` or `dst` is missing.
        """
        parts = [part.strip() for part in text.split(",")]
        columns = tuple(part if part == key else part.lower() for part in parts)
        _check_columns(columns, key)
        return columns


def _check_columns(columns: Sequence[str], key: str | None) -> None:
    shown = ",".join(columns)
    known = (*COLUMN_NAMES, *([] if key is None or key in COLUMN_NAMES else [key]))
    for name in columns:
        if name != "-" and name not in known:
            raise InvalidArgument(
                f"columns is {shown!r} with {name!r}, but names are {', '.join(known)} and -"
            )
        if name != "-" and list(columns).count(name) > 1:
            raise InvalidArgument(f"columns is {shown!r} with {name!r} twice, but each can be there once")
    for name in ("src", "dst"):
        if name not in columns:
            raise InvalidArgument(f"columns is {shown!r}, but {name!r} must be among them")


@dataclass(frozen=True, slots=True)
class Layout:
    """What is known once the first line was seen.

    Attributes
    ----------
    line : LineLayout
        Where the fields of a line are.
    has_header : bool
        Whether that first line is a header, and so no record.
    """

    line: LineLayout
    has_header: bool

    @classmethod
    def detect(cls, first: bytes, wanted: TextFormat, *, string_ids: bool) -> Self:
        """Decide the layout by the first line that is neither empty nor a comment."""
        if wanted.vertices:
            return cls(*_vertex_layout(first, wanted, string_ids=string_ids))
        separator = wanted.separator and SEPARATORS[wanted.separator]
        if separator is None:
            separator = next((one for one in ",\t;" if one.encode() in first), " ")
        sep = 0 if separator == " " else ord(separator)
        names = _header_names(first, sep)
        recognised = [HEADER_NAMES.get(name, "-") for name in names]
        named = "src" in recognised and "dst" in recognised
        wordy = (
            not string_ids
            and len(names) >= 2
            and all(name[:1].isalpha() or name[:1] == "_" for name in names)
        )
        has_header = (named or wordy) if wanted.header is None else wanted.header
        columns = wanted.columns
        if columns is None and has_header and named:
            # A second column of the same meaning is one we do not know what to do with: the first one counts.
            columns = tuple(
                name if name not in recognised[:index] else "-" for index, name in enumerate(recognised)
            )
        line = LineLayout.of(
            sep,
            columns or _ASSUMED_COLUMNS,
            most_columns=None if wanted.columns is not None else len(columns or _ASSUMED_COLUMNS),
            weight_optional=columns is None,
            string_ids=string_ids,
            operations=wanted.operations,
            max_line_bytes=wanted.max_line_bytes,
            key=wanted.key,
            times=wanted.times,
        )
        return cls(line, has_header)


def _vertex_layout(first: bytes, wanted: TextFormat, *, string_ids: bool) -> tuple[LineLayout, bool]:
    separator = ord(",")
    line = LineLayout.of(
        separator,
        ("src",),
        most_columns=1,
        weight_optional=True,
        string_ids=string_ids,
        operations=wanted.operations,
        max_line_bytes=wanted.max_line_bytes,
    )
    [name, *_] = [*_header_names(first, separator), ""]
    is_word = not string_ids and (name[:1].isalpha() or name[:1] == "_")
    has_header = name in VERTEX_HEADERS or is_word
    # An edge from the vertex to itself, until it is read.
    return replace(line, dst=line.src, vertices=True), has_header if wanted.header is None else wanted.header


def _header_names(first: bytes, sep: int) -> list[str]:
    if b"\r" in first:  # lines that end in nothing else are one line, in which all records would be lost
        return []
    try:
        fields = split_fields(first, sep, limit=None)
    except ValueError:
        return []
    return [field.strip(BLANKS).decode("latin-1").lower() for field in fields]
