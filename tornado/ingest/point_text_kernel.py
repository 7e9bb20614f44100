"""Lines of points, parsed where the result is beyond doubt; a line that is not is left to the definition in Python."""

from typing import NamedTuple

import numba as nb
import numpy as np

from ..columns import Uint8s, Uint64s
from .number_kernel import read_number
from .tokenizer import _field, _has_more, _integer, _is_utf8, _operation

SURE = 0
DOUBTFUL = 1
REMOVE = -1
LABEL = -1
WEIGHT = -2
OPERATION = -3
MOST_INDEX = (1 << 31) - 1


class TextColumns(NamedTuple):
    """What kernels read texts by.

    Attributes
    ----------
    data
        The text.
    powers
        See `point_tokenizer.POWERS_OF_FIVE`.
    """

    data: Uint8s
    powers: Uint64s


@nb.njit(cache=True)
def is_blank(byte, separator):
    """Whether a byte is a blank that separates nothing."""
    return byte == 32 or (byte == 9 and separator != 9)


@nb.njit(cache=True)
def read_field(data, at, stop, separator, powers):
    """A field that is a number: where the next one begins, and its value, which is NaN where the field is empty.

    The place is -1 where only Python should look at the line, and -2 - place where only at the field, which is no number.
    """
    begin = at
    while at < stop and is_blank(data[at], separator):
        at += 1
    is_quoted = separator != 0 and at < stop and data[at] == 34
    at += 1 if is_quoted else 0
    end, value = read_number(data, at, stop, powers)
    if end >= 0 and is_quoted:
        end = end + 1 if end < stop and data[end] == 34 else -1
    if end >= 0:
        if separator == 0:
            if end == stop or is_blank(data[end], 0):
                return end, value
        else:
            while end < stop and is_blank(data[end], separator):
                end += 1
            if end == stop or data[end] == separator:
                return end + 1, value
    low, high, after = _field(data, begin, stop, separator)
    if low < 0:
        return -1, 0.0
    return (after if low == high else -2 - after), np.nan


@nb.njit(cache=True, nogil=True)
def parse_point_lines(
    text, starts, stops, separator, roles, string_ids, words, codes, limit,
    ids, label, weight, op, spans, features, status,
):  # fmt: skip
    """Parse lines of dense points.

    Parameters
    ----------
    text : TextColumns
        A block, and what numbers are read by.
    starts, stops : int64[k]
        Where its data lines are.
    separator : int
        The byte between fields; 0 means runs of blanks.
    roles : int64[columns]
        See `PointLayout`.
    string_ids : bool
        Ids are texts.
    words, codes : uint64[w], int8[w]
        The words of operations, the first byte lowest, and what they mean.
    limit : int
        The longest line that is looked at.
    ids, label, weight, op : int64[k], float64[k], float64[k], int8[k]
        Written.
    spans : int64[k, 2]
        Written: where the texts of ids are.
    features : float32[k, width] or float64[k, width]
        Written.
    status : int8[k]
        Written: SURE or DOUBTFUL.
    """
    data, powers = text.data, text.powers
    for line in range(starts.size):
        status[line] = DOUBTFUL
        at, stop = starts[line], stops[line]
        if stop - at > limit:
            continue
        label[line] = np.nan
        weight[line] = 1.0
        code = 1
        has_id = False
        is_whole = True  # all that a point needs and a removal does not
        for column in range(roles.size):
            role = roles[column]
            if separator == 0:
                while at < stop and is_blank(data[at], 0):
                    at += 1
            if at > stop or (separator == 0 and at == stop):
                is_whole = False
                if role < WEIGHT:
                    code = 0
                    break
                continue
            if role >= WEIGHT:
                at, value = read_field(data, at, stop, separator, powers)
                if at == -1:
                    code = 0
                    break
                if at < 0:
                    at = -2 - at
                    is_whole = False
                elif role >= 0:
                    features[line, role] = value
                    is_whole &= np.isfinite(features[line, role])
                elif role == LABEL:
                    label[line] = value
                elif not np.isnan(value):
                    weight[line] = value
                    is_whole &= value >= 0.0
                continue
            low, high, at = _field(data, at, stop, separator)
            if low < 0:
                code = 0
                break
            if role == OPERATION:
                code = _operation(data, low, high, words, codes) if low < high else 0
                if code == 0:
                    break
            elif string_ids:
                has_id = low < high and _is_utf8(data, low, high)
                spans[line, 0], spans[line, 1] = low, high
                if not has_id:
                    code = 0
                    break
            else:
                has_id, ids[line] = _integer(data, low, high)
                if not has_id:
                    code = 0
                    break
        if code == 0 or _has_more(data, at, stop, separator):
            continue
        if code == REMOVE:
            if not has_id:
                continue
            label[line] = np.nan
            weight[line] = 1.0
            features[line, :] = 0
        elif not is_whole:
            continue
        op[line] = code
        status[line] = SURE


@nb.njit(cache=True, nogil=True)
def parse_libsvm_lines(text, starts, stops, width, limit, label, begins, indices, values, status):
    """Parse lines of sparse points, ``label index:value …``.

    Parameters
    ----------
    text, starts, stops, limit, status
        As in `parse_point_lines`.
    width : int
        The greatest index; the least is 1.
    label : float64[k]
        Written.
    begins : int64[k + 1]
        Written: where the entries of each point begin.
    indices, values : int32[room], float32[room] or float64[room]
        Written: indices from 0, and values. Room is a quarter of the bytes of the block, and one.
    """
    data, powers = text.data, text.powers
    count = 0
    begins[0] = 0
    for line in range(starts.size):
        status[line] = DOUBTFUL
        begins[line + 1] = count
        at, stop = starts[line], stops[line]
        if stop - at > limit:
            continue
        while at < stop and is_blank(data[at], 0):
            at += 1
        at, value = read_number(data, at, stop, powers)
        if at < 0 or (at < stop and not is_blank(data[at], 0) and data[at] != 35):
            continue
        label[line] = value
        found = count
        before = 0
        is_first = True
        while True:
            while at < stop and is_blank(data[at], 0):
                at += 1
            # 35 is '#', 58 is ':'.
            if at == stop or data[at] == 35:
                count = found
                begins[line + 1] = found
                status[line] = SURE
                break
            if is_first and stop - at > 4 and data[at] == 113 and data[at + 1] == 105 and data[at + 2] == 100:
                is_first = False
                at += 3
                if data[at] != 58:
                    break
                at += 1
                low = at
                while at < stop and 48 <= data[at] <= 57:
                    at += 1
                if at == low or (at < stop and not is_blank(data[at], 0) and data[at] != 35):
                    break
                continue
            is_first = False
            index = 0
            low = at
            while at < stop and 48 <= data[at] <= 57 and at - low < 11:
                index = index * 10 + (data[at] - 48)
                at += 1
            if at in (low, stop) or data[at] != 58 or index <= before or index > width:
                break
            at, value = read_number(data, at + 1, stop, powers)
            if at < 0 or (at < stop and not is_blank(data[at], 0) and data[at] != 35):
                break
            values[found] = value
            if not np.isfinite(values[found]):
                break
            indices[found] = index - 1
            before = index
            found += 1


@nb.njit(cache=True, nogil=True)
def greatest_index(text, starts, stops, limit):
    """The greatest index of lines ``label index:value …``, 0 where there is none: digits before a colon, outside comments.

    Parameters
    ----------
    text, starts, stops, limit
        As in `parse_point_lines`; longer lines are left out, as they are rejected.
    """
    data = text.data
    greatest = 0
    for line in range(starts.size):
        at, stop = starts[line], stops[line]
        if stop - at > limit:
            continue
        while at < stop and data[at] != 35:
            if data[at] == 58:
                low = at
                index, unit = 0, 1
                while low > starts[line] and 48 <= data[low - 1] <= 57 and at - low < 10:
                    low -= 1
                    index += (data[low] - 48) * unit
                    unit *= 10
                if low > starts[line] and is_blank(data[low - 1], 0) and index <= MOST_INDEX:
                    greatest = max(greatest, index)
            at += 1
    return greatest
