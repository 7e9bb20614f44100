"""The compiled tokenizers: lines of edge files and of NDJSON, parsed where the result is beyond doubt.

Each kernel marks a line CLEAN (columns are filled), SLOW_WEIGHT (all filled but the weight, whose digits need more than one
correctly rounded operation; `spans` says where they are) or CAREFUL (the definition in plain Python decides: `lines.parse_line`,
`ndjson.parse_object`). Doubt costs speed, never exactness, so the kernels accept less than the definitions do.

Guarantees: ids never pass through a float; a weight that is filled is the float64 nearest to its digits: a mantissa below 2^53
times or divided by a power of ten up to 22 is one rounding of two exact numbers (Clinger, PLDI 1990).

All of them stand in one file because the compiler's cache notices edits only in the file of the function it compiled.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import compiled

CLEAN: Final = 0
CAREFUL: Final = 1
SLOW_WEIGHT: Final = 2


Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_TENS: Final = 10.0 ** np.arange(23)
_NEWLINE: Final = 10
_RETURN: Final = 13
_TAB: Final = 9
_SPACE: Final = 32
_QUOTE: Final = 34
_BACKSLASH: Final = 92
_MINUS: Final = 45
_PLUS: Final = 43
_ZERO: Final = 48

_EXACT: Final = 0
_INEXACT: Final = 1
_UNSURE: Final = 2


@compiled
def _integer(data: Bytes, low: int, high: int) -> tuple[bool, int]:
    """An int64 from sign and digits; not sure about anything else."""
    negative = False
    if low < high and (data[low] == _MINUS or data[low] == _PLUS):
        negative = data[low] == _MINUS
        low += 1
    # Without leading zeros, 18 digits fit whatever they are.
    while low + 1 < high and data[low] == _ZERO:
        low += 1
    digits = high - low
    if digits < 1 or digits > 19:
        return False, 0
    value = 0
    for at in range(low, high):
        digit: Any = np.int64(data[at]) - _ZERO
        if digit < 0 or digit > 9:
            return False, 0
        # The negative range is the larger one: build there, turn round at the end.
        if digits == 19 and at == high - 1:
            if value < -922337203685477580:
                return False, 0
            if value == -922337203685477580 and digit > (8 if negative else 7):
                return False, 0
        value = value * 10 - digit
    return True, value if negative else -value


@compiled
def _decimal(data: Bytes, low: int, high: int) -> tuple[int, float]:
    """A float64 from digits without a sign: (_EXACT, value), (_INEXACT, _) for well-formed others, or (_UNSURE, _)."""
    mantissa = 0
    digits = 0
    exponent = 0
    seen = False
    point = False
    overflow = False
    at = low
    while at < high:
        byte: Any = np.int64(data[at])
        if byte == 46:
            if point:
                return _UNSURE, 0.0
            point = True
        elif _ZERO <= byte <= 57:
            seen = True
            if point:
                exponent -= 1
            if digits > 0 or byte != _ZERO:
                digits += 1
                if digits <= 18:
                    mantissa = mantissa * 10 + (byte - _ZERO)
                else:
                    overflow = True
                    exponent += 1
        else:
            break
        at += 1
    if not seen:
        return _UNSURE, 0.0
    if at < high:
        if data[at] != 101 and data[at] != 69:
            return _UNSURE, 0.0
        at += 1
        minus = False
        if at < high and (data[at] == _MINUS or data[at] == _PLUS):
            minus = data[at] == _MINUS
            at += 1
        if at == high or high - at > 4:
            return _UNSURE, 0.0
        written = 0
        while at < high:
            digit: Any = np.int64(data[at]) - _ZERO
            if digit < 0 or digit > 9:
                return _UNSURE, 0.0
            written = written * 10 + digit
            at += 1
        exponent += -written if minus else written
    if mantissa == 0:
        return _EXACT, 0.0
    if not overflow and mantissa <= 9007199254740992 and -22 <= exponent <= 22:
        if exponent < 0:
            return _EXACT, float(mantissa) / _TENS[-exponent]
        return _EXACT, float(mantissa) * _TENS[exponent]
    # Near the ends of the range rounding has rules of its own: leave that to Python.
    if high - low > 400 or not -280 < digits + exponent < 290:
        return _UNSURE, 0.0
    return _INEXACT, 0.0


@compiled
def _is_utf8(data: Bytes, low: int, high: int) -> bool:
    """Whether bytes are UTF-8 as Unicode 15 table 3-7 has it (what `bytes.decode` accepts)."""
    at = low
    while at < high:
        byte = data[at]
        if byte < 0x80:
            at += 1
            continue
        if 0xC2 <= byte <= 0xDF:
            more = 1
        elif 0xE0 <= byte <= 0xEF:
            more = 2
        elif 0xF0 <= byte <= 0xF4:
            more = 3
        else:
            return False
        if at + more >= high:
            return False
        second = data[at + 1]
        if byte == 0xE0 and second < 0xA0:
            return False
        if byte == 0xED and second > 0x9F:
            return False
        if byte == 0xF0 and second < 0x90:
            return False
        if byte == 0xF4 and second > 0x8F:
            return False
        for follow in range(1, more + 1):
            if data[at + follow] & 0xC0 != 0x80:
                return False
        at += more + 1
    return True


@compiled
def _operation(data: Bytes, low: int, high: int, words: NDArray[np.uint64], codes: NDArray[np.int8]) -> int:
    """The code of an operation word in any case; 0 if it is none of `words`."""
    if high - low > 8:
        return 0
    key = np.uint64(0)
    for at in range(low, high):
        byte = np.uint64(data[at])
        if np.uint64(65) <= byte <= np.uint64(90):
            byte += np.uint64(32)
        key |= byte << np.uint64(8 * (at - low))
    for index in range(len(words)):
        if words[index] == key:
            return np.int64(codes[index])  # type: ignore[return-value]  # int() of a kernel may be unsigned
    return 0


@compiled
def _field(data: Bytes, position: int, stop: int, separator: int) -> tuple[int, int, int]:
    """The next field as (low, high, where the one after begins); low is -1 where only Python should look.

    A field past the end of the line is empty, as `lines.parse_line` takes a missing one.
    """
    if position > stop:
        return stop, stop, position
    low = position
    while low < stop and (data[low] == _SPACE or (data[low] == _TAB and separator != _TAB)):
        low += 1
    high = low
    if separator == 0:
        while high < stop and data[high] != _SPACE and data[high] != _TAB:
            high += 1
        return low, high, high
    if low < stop and data[low] == _QUOTE:
        low += 1
        high = low
        while high < stop and data[high] != _QUOTE:
            high += 1
        after = high + 1
        while after < stop and (data[after] == _SPACE or (data[after] == _TAB and separator != _TAB)):
            after += 1
        # Not closed, a doubled quote, or text behind it.
        if high == stop or (after < stop and data[after] != separator):
            return -1, -1, -1
        return low, high, after + 1
    while high < stop and data[high] != separator:
        high += 1
    after = high + 1
    while high > low and (data[high - 1] == _SPACE or (data[high - 1] == _TAB and separator != _TAB)):
        high -= 1
    return low, high, after


@compiled
def _has_more(data: Bytes, position: int, stop: int, separator: int) -> bool:
    """Whether the rest of a line is more than empty fields."""
    at = position
    while at < stop and (
        data[at] == _SPACE or data[at] == _TAB or (separator != 0 and data[at] == separator)
    ):
        at += 1
    return at < stop


@compiled
def _weight(data: Bytes, low: int, high: int, code: int, optional: bool) -> tuple[int, float, int]:  # noqa: FBT001
    """A weight field as (status, value, where its digits begin); of a SLOW_WEIGHT the value is its sign."""
    if low == high:
        if code == -1:
            return CLEAN, np.nan, low
        return (CLEAN if optional else CAREFUL), 1.0, low
    sign = 1.0
    if data[low] == _MINUS or data[low] == _PLUS:
        sign = -1.0 if data[low] == _MINUS else 1.0
        low += 1
    kind, value = _decimal(data, low, high)
    if kind == _EXACT:
        return CLEAN, sign * value, low
    return (SLOW_WEIGHT if kind == _INEXACT else CAREFUL), sign, low


@compiled
def parse_lines(
    data: Bytes,
    starts: Ints,
    stops: Ints,
    separator: int,
    places: Ints,
    most: int,
    optional: bool,  # noqa: FBT001
    string_ids: bool,  # noqa: FBT001
    words: NDArray[np.uint64],
    codes: NDArray[np.int8],
    limit: int,
    src: Ints,
    dst: Ints,
    weight: NDArray[np.float64],
    op: NDArray[np.int8],
    spans: NDArray[np.int64],
    status: NDArray[np.int8],
) -> None:
    """Parse the data lines from `starts` to `stops`.

    Parameters
    ----------
    separator, optional, string_ids, words, codes, limit
        As in `lines.LineLayout`.
    places : int64[5 or 6]
        Field numbers of src, dst, weight, op, key and, where times are read, time; -1 for none.
    most : int
        The most columns of a line; 0 is any number.
    src, dst, weight, op : written
        The columns; ids only where they are integers.
    spans : int64[k, 2 * len(places) - 2], written
        Where the texts of src and dst (string ids), the digits of a slow weight, the key and the time are: low and high of each.
    status : int8[k], written
        CLEAN, SLOW_WEIGHT or CAREFUL.
    """
    seen = max(places.max(), most - 1) + 1
    low = np.zeros(6, np.int64)
    high = np.zeros(6, np.int64)
    for line in range(len(starts)):
        status[line] = CAREFUL
        position = starts[line]
        stop = stops[line]
        if stop - position > limit:
            continue
        low[:] = stop
        high[:] = stop
        clear = True
        for number in range(seen):
            begin, end, position = _field(data, position, stop, separator)
            if begin < 0:
                clear = False
                break
            for which in range(len(places)):
                if places[which] == number:
                    low[which] = begin
                    high[which] = end
        if not clear or (most > 0 and _has_more(data, position, stop, separator)):
            continue
        if places[4] >= 0 and (low[4] == high[4] or not _is_utf8(data, low[4], high[4])):
            continue
        spans[line, 6], spans[line, 7] = low[4], high[4]
        if len(places) > 5:
            spans[line, 8], spans[line, 9] = low[5], high[5]
        if string_ids:
            if low[0] == high[0] or low[1] == high[1]:
                continue
            if not _is_utf8(data, low[0], high[0]) or not _is_utf8(data, low[1], high[1]):
                continue
            spans[line, 0], spans[line, 1], spans[line, 2], spans[line, 3] = low[0], high[0], low[1], high[1]
        else:
            clear, src[line] = _integer(data, low[0], high[0])
            if not clear:
                continue
            clear, dst[line] = _integer(data, low[1], high[1])
            if not clear:
                continue
        code = 1
        if places[3] >= 0:
            code = _operation(data, low[3], high[3], words, codes) if low[3] < high[3] else 0
            if code == 0:
                continue
        op[line] = code
        status[line], weight[line], spans[line, 4] = _weight(data, low[2], high[2], code, optional)
        spans[line, 5] = high[2]


@compiled
def gather(data: Bytes, low: Ints, high: Ints) -> tuple[Ints, Bytes]:
    """Copy the texts `low[i]:high[i]` behind each other; returns offsets int64[k + 1] and the bytes."""
    offsets = np.empty(len(low) + 1, np.int64)
    offsets[0] = 0
    for index in range(len(low)):
        offsets[index + 1] = offsets[index] + high[index] - low[index]
    packed = np.empty(offsets[-1], np.uint8)
    for index in range(len(low)):
        start = offsets[index]
        for at in range(high[index] - low[index]):
            packed[start + at] = data[low[index] + at]
    return offsets, packed


@compiled
def _skip_blanks(data: Bytes, at: int, stop: int) -> int:
    while at < stop and (data[at] == _SPACE or data[at] == _TAB or data[at] == _RETURN):
        at += 1
    return at


@compiled
def _json_text(data: Bytes, at: int, stop: int) -> int:
    """Where the text that begins behind a quote ends (its closing quote); -1 if it has escapes or control characters."""
    while at < stop and data[at] != _QUOTE:
        if data[at] == _BACKSLASH or data[at] < _SPACE:
            return -1
        at += 1
    return at if at < stop else -1


@compiled
def _json_number(data: Bytes, at: int, stop: int) -> tuple[int, bool]:
    """Where the number at `at` ends, and whether it is an integer; end -1 if it is none as JSON has it (RFC 8259)."""
    whole = True
    if at < stop and data[at] == _MINUS:
        at += 1
    first = at
    while at < stop and _ZERO <= data[at] <= 57:
        at += 1
    if at == first or (data[first] == _ZERO and at - first > 1):
        return -1, False
    if at < stop and data[at] == 46:
        whole = False
        at += 1
        first = at
        while at < stop and _ZERO <= data[at] <= 57:
            at += 1
        if at == first:
            return -1, False
    if at < stop and (data[at] == 101 or data[at] == 69):
        whole = False
        at += 1
        if at < stop and (data[at] == _MINUS or data[at] == _PLUS):
            at += 1
        first = at
        while at < stop and _ZERO <= data[at] <= 57:
            at += 1
        if at == first:
            return -1, False
    return at, whole


@compiled
def _json_key(data: Bytes, low: int, high: int) -> int:
    """Which field a key names: 0 src, 1 dst, 2 weight, 3 op, 5 time, -1 any other."""
    size = high - low
    if size == 4 and data[low] == 116 and data[low + 1] == 105:
        return 5 if data[low + 2] == 109 and data[low + 3] == 101 else -1
    if size == 3 and data[low + 1] == 114 and data[low] == 115 and data[low + 2] == 99:
        return 0
    if size == 3 and data[low + 1] == 115 and data[low] == 100 and data[low + 2] == 116:
        return 1
    if size == 2 and data[low] == 111 and data[low + 1] == 112:
        return 3
    if size == 6 and data[low] == 119 and data[low + 1] == 101 and data[low + 2] == 105:
        return 2 if data[low + 3] == 103 and data[low + 4] == 104 and data[low + 5] == 116 else -1
    return -1


@compiled
def _is_name(data: Bytes, low: int, high: int, name: Bytes) -> bool:
    """Whether a text is `name`, which is empty where no name is looked for."""
    if len(name) == 0 or high - low != len(name):
        return False
    for at in range(len(name)):  # noqa: SIM110  the compiler knows no generators
        if data[low + at] != name[at]:
            return False
    return True


@compiled
def parse_objects(
    data: Bytes,
    starts: Ints,
    stops: Ints,
    name: Bytes,
    string_ids: bool,  # noqa: FBT001
    quoted_ids: bool,  # noqa: FBT001
    words: NDArray[np.uint64],
    codes: NDArray[np.int8],
    limit: int,
    src: Ints,
    dst: Ints,
    weight: NDArray[np.float64],
    op: NDArray[np.int8],
    spans: NDArray[np.int64],
    status: NDArray[np.int8],
) -> None:
    """Parse flat JSON objects, one a line, with the fields src, dst, weight, op, time and `name`, which is the key.

    With `quoted_ids` an id that is an integer may stand in quotes. The two kinds of ids exclude each other.
    Other parameters as in `parse_lines`.
    """
    low = np.zeros(6, np.int64)
    high = np.zeros(6, np.int64)
    key_is_time = _json_key(name, 0, len(name)) == 5
    timed = spans.shape[1] > 8
    for line in range(len(starts)):
        status[line] = CAREFUL
        stop = stops[line]
        if stop - starts[line] > limit:
            continue
        low[:] = -1
        high[:] = -1
        at = _skip_blanks(data, starts[line], stop)
        if at == stop or data[at] != 123:
            continue
        closed = False
        while not closed:
            at = _skip_blanks(data, at + 1, stop)
            if at == stop or data[at] != _QUOTE:
                break
            end = _json_text(data, at + 1, stop)
            if end < 0:
                break
            key = 4 if _is_name(data, at + 1, end, name) else _json_key(data, at + 1, end)
            at = _skip_blanks(data, end + 1, stop)
            # A key twice, or one we do not know, is for the definition to judge. 58 is ':'.
            if key < 0 or low[key] >= 0 or at == stop or data[at] != 58:
                break
            begin = _skip_blanks(data, at + 1, stop)
            may_be_text = key > 2 or (key < 2 and (string_ids or quoted_ids))
            if begin < stop and data[begin] == _QUOTE and may_be_text:
                begin += 1
                end = _json_text(data, begin, stop)
                at = end + 1
            elif string_ids and key < 2:
                break
            else:
                end, whole = _json_number(data, begin, stop)
                at = end
                if (key < 2 or key == 3) and not whole:
                    break
            if end < 0:
                break
            low[key] = begin
            high[key] = end
            at = _skip_blanks(data, at, stop)
            # 44 is ',' and 125 is '}'.
            if at == stop or (data[at] != 44 and data[at] != 125):
                break
            closed = data[at] == 125
        if not closed or low[0] < 0 or low[1] < 0 or _skip_blanks(data, at + 1, stop) != stop:
            continue
        if key_is_time:
            low[5], high[5] = low[4], high[4]
        low[5], high[5] = max(low[5], 0), max(high[5], 0)
        if len(name) > 0 and (low[4] == high[4] or not _is_utf8(data, low[4], high[4])):
            continue
        spans[line, 6], spans[line, 7] = low[4], high[4]
        if timed:
            spans[line, 8], spans[line, 9] = low[5], high[5]
        if string_ids:
            if low[0] == high[0] or low[1] == high[1]:
                continue
            if not _is_utf8(data, low[0], high[0]) or not _is_utf8(data, low[1], high[1]):
                continue
            spans[line, 0], spans[line, 1], spans[line, 2], spans[line, 3] = low[0], high[0], low[1], high[1]
        else:
            clear, src[line] = _integer(data, low[0], high[0])
            if not clear:
                continue
            clear, dst[line] = _integer(data, low[1], high[1])
            if not clear:
                continue
        code = 1
        if low[3] >= 0:
            code = _operation(data, low[3], high[3], words, codes) if low[3] < high[3] else 0
            if code == 0:
                continue
        op[line] = code
        low[2], high[2] = max(low[2], 0), max(high[2], 0)
        status[line], weight[line], spans[line, 4] = _weight(data, low[2], high[2], code, True)
        spans[line, 5] = high[2]
