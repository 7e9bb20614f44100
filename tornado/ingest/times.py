"""The time of a record: seconds since 1970 or ISO 8601 text, as microseconds since 1970 (UTC), a column at a time.

- *Seconds*: a number as a weight is written, with or without a fraction; finite, and within 64 bits of microseconds. What a float64
  holds of it counts: whole seconds exactly, microseconds until the year 2255.
- *Text*: ISO 8601 in its extended form, a year of four digits: `2026-01-31`, `2026-01-31T12:00`, `2026-01-31 12:00:00.25+01:00`,
  with `T` or a blank before the hour; a fraction has up to nine digits, of which six count; no leap seconds and no 24:00. The zone
  is `Z`, `+hh:mm`, `+hhmm` or `+hh`. *Without a zone it is UTC*: the same on every machine, and a whole source is moved alike. A
  date alone is its first instant.
- *Arrow*: timestamps of any unit (UTC where they have no zone), dates, integers and floats (seconds), and text as above.
- Left out, null or empty: the record has no time (`NO_TIME`), which is no fault.

Regular expressions decide what is a time. Arrow's parsers take less, give up a whole column at its first bad entry, and are ten
times as fast: so they are tried first, and then get good entries only.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import InvalidArgument

NO_TIME: Final = -(2**63)
"""Stands where a record has no time; `timed_edges.py` has the same."""

MALFORMED: Final = "time is neither seconds since 1970 nor ISO 8601"
BEYOND: Final = "time is beyond 64 bits of microseconds since 1970"

_MICROSECONDS: Final = 1_000_000
_MOST_SECONDS: Final = 2**63 // _MICROSECONDS
_NUMBER: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_LEAP_YEAR: Final = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DAY: Final = (
    r"(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    rf"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_HOUR: Final = r"(?:[01][0-9]|2[0-3])"
_ZONE: Final = rf"(?:Z|[+-]{_HOUR}(?::?[0-5][0-9])?)"
_CLOCK: Final = rf"[T ]{_HOUR}(?::[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{{1,9}})?)?)?{_ZONE}?"
_ISO: Final = rf"^{_DAY}(?:{_CLOCK})?$"
_DAY_LENGTH: Final = 10
_KINDS: Final = (pa.float64(), pa.timestamp("us", "UTC"), pa.timestamp("us"))
_SMALLER: Final = {"s": 1, "ms": 1_000, "us": _MICROSECONDS, "ns": 1_000 * _MICROSECONDS}  # units in a second


class Times(NamedTuple):
    """Times of records.

    Attributes
    ----------
    microseconds : int64[n]
        Since 1970, UTC; NO_TIME where there is none.
    malformed, beyond : bool[n]
        Where something stands that is no time, and one that is too far away.
    """

    microseconds: NDArray[np.int64]
    malformed: NDArray[np.bool_]
    beyond: NDArray[np.bool_]


def parse_times(texts: pa.Array) -> Times:
    """Parse a column of text.

    Parameters
    ----------
    texts : pyarrow.LargeStringArray[n]
        Empty and null entries are no times; bytes that are no UTF-8 are malformed.

    Examples
    --------
    >>> found = parse_times(pa.array(["1.5", "1970-01-01T01:00:00+01:00", "", "noon"], pa.large_string()))
    >>> found.microseconds.tolist()[:2], found.microseconds[2] == NO_TIME, found.malformed.tolist()
    ([1500000, 0], np.True_, [False, False, False, True])
    """
    given = _mask(pc.not_equal(texts, ""))
    if not given.all():
        texts = pc.if_else(pa.array(given), texts, pa.scalar(None, pa.large_string()))
    return _alike(texts) or _mixed(texts)


def _alike(texts: pa.Array) -> Times | None:
    """The times of a column whose entries are all written in one way; None where they are not, or one is at fault."""
    # Arrow goes through all of a column before it says that it cannot be read: the first entry says which kind it may be.
    some = texts.drop_null()[:1]
    kind = next((kind for kind in _KINDS if _cast(some, kind) is not None), None)
    found = None if kind is None else _cast(texts, kind)
    if found is None:
        return None
    null = found.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(kind):
        microseconds, beyond = _of_floats(found.fill_null(0.0).to_numpy(zero_copy_only=False))
        if beyond.any():  # Arrow reads `nan` and `inf` as well
            return None
    else:
        microseconds = found.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    nowhere = np.zeros(len(texts), np.bool_)
    return Times(np.where(null, NO_TIME, microseconds), nowhere, nowhere)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _mixed(texts: pa.Array) -> Times:
    """The times of a column entry by entry: the definition."""
    microseconds = np.full(len(texts), NO_TIME, np.int64)
    beyond = np.zeros(len(texts), np.bool_)
    given = _mask(texts.is_valid())
    numbers = _mask(pc.match_substring_regex(texts, _NUMBER))
    dates = _mask(pc.match_substring_regex(texts, _ISO))
    if numbers.any():
        seconds = texts.filter(pa.array(numbers)).cast(pa.float64()).to_numpy(zero_copy_only=False)
        microseconds[numbers], beyond[numbers] = _of_floats(seconds)
    if dates.any():
        microseconds[dates] = _of_dates(texts.filter(pa.array(dates)))
    return Times(microseconds, given & ~numbers & ~dates, beyond)


def times_of(column: pa.ChunkedArray) -> Times:
    """Read a column of an Arrow table, whatever its type says that it is.

    Parameters
    ----------
    column : pyarrow.ChunkedArray[n]
        Without dictionary.

    Raises
    ------
    InvalidArgument
        When its type is none of a time.
    """
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return parse_times(_whole(column.cast(pa.large_string())))
    null = column.is_null().to_numpy()
    if pa.types.is_null(kind):
        microseconds, beyond = np.full(len(column), NO_TIME, np.int64), np.zeros(len(column), np.bool_)
    elif pa.types.is_integer(kind):
        microseconds, beyond = _of_integers(column.fill_null(0).to_numpy(), 1)
    elif pa.types.is_floating(kind):
        microseconds, beyond = _of_floats(column.cast(pa.float64()).fill_null(0.0).to_numpy())
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        counts = column.cast(pa.timestamp("s") if pa.types.is_date(kind) else kind)
        smaller = _SMALLER[counts.type.unit]
        microseconds, beyond = _of_integers(counts.cast(pa.int64()).fill_null(0).to_numpy(), smaller)
    else:
        raise InvalidArgument(
            f"column 'time' has type {kind}, but a time is a timestamp, a date, a number of seconds since 1970 or text",
            hint="Convert it, or give it another name: other columns are not looked at.",
        )
    return Times(np.where(null, NO_TIME, microseconds), np.zeros(len(column), np.bool_), beyond & ~null)


def _of_floats(seconds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    # Not the comparison the other way round: NaN is beyond, too.
    beyond = ~(np.abs(seconds) < _MOST_SECONDS)
    seconds = np.where(beyond, 0.0, seconds)
    # Whole seconds first: the product of all of it would be rounded.
    whole = np.floor(seconds)
    fraction = np.rint((seconds - whole) * _MICROSECONDS)
    return whole.astype(np.int64) * _MICROSECONDS + fraction.astype(np.int64), beyond


def _of_integers(counts: NDArray[Any], in_a_second: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers of any integer type, so many of which make a second."""
    if in_a_second >= _MICROSECONDS:
        return counts.astype(np.int64) // (in_a_second // _MICROSECONDS), np.zeros(len(counts), np.bool_)
    most = _MOST_SECONDS * in_a_second
    beyond = (counts >= most) | (counts <= -most) if counts.dtype.kind == "i" else counts >= most
    kept = np.where(beyond, 0, counts).astype(np.int64)
    return kept * (_MICROSECONDS // in_a_second), beyond


def _of_dates(texts: pa.Array) -> NDArray[np.int64]:
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    # A date alone ends with what could be a zone.
    is_day = pc.equal(pc.binary_length(texts), _DAY_LENGTH)
    has_zone = pc.match_substring_regex(texts, rf"{_ZONE}$")
    ending = pc.if_else(is_day, "T00:00Z", pc.if_else(has_zone, "", "Z")).cast(pa.large_string())
    whole = pc.binary_join_element_wise(texts, ending, pa.scalar("", pa.large_string()))
    instants: NDArray[np.int64] = (
        whole.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy(zero_copy_only=False)
    )
    return instants


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays([pa.array([], column.type), *column.chunks])


def _mask(found: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = found.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
    return mask
