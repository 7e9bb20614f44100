"""Points as JSON objects, parsed where the result is beyond doubt; one that is not is left to the definition in Python."""

import numba as nb
import numpy as np

from .number_kernel import read_number
from .point_text_kernel import DOUBTFUL, REMOVE, SURE
from .tokenizer import _integer, _is_utf8, _json_number, _json_text, _operation

ID_FIELD = 0
LABEL_FIELD = 1
FEATURES_FIELD = 2
WEIGHT_FIELD = 3
OP_FIELD = 4
TIME_FIELD = 5
FIELDS = 6
NAMES = np.frombuffer(
    b"id\0\0\0\0\0\0label\0\0\0featuresweight\0\0op\0\0\0\0\0\0time\0\0\0\0", np.uint64
).copy()
QUOTE = 34
COMMA = 44
COLON = 58
OPENED_LIST = 91
CLOSED_LIST = 93
OPENED_OBJECT = 123
CLOSED_OBJECT = 125


@nb.njit(cache=True)
def skip_space(data, at, stop):
    """Where a text goes on behind white space."""
    while at < stop and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@nb.njit(cache=True)
def field_of(data, low, high):
    """Which field a name is; -1: none."""
    if high - low > 8:
        return -1
    name = np.uint64(0)
    for at in range(low, high):
        name |= np.uint64(data[at]) << np.uint64(8 * (at - low))
    for field in range(FIELDS):
        if NAMES[field] == name:
            return field
    return -1


@nb.njit(cache=True)
def read_json_number(data, at, stop, powers):
    """The number at a place, as JSON writes it: where it ends, -1 where only Python should look, and its value."""
    end, _ = _json_number(data, at, stop)
    if end < 0:
        return -1, 0.0
    found, value = read_number(data, at, end, powers)
    return (end if found == end else -1), value


@nb.njit(cache=True)
def read_dense(data, at, stop, powers, row):
    """The numbers of a list that begins at a place: where it ends, and how many they are; -1 where only Python should look."""
    at = skip_space(data, at + 1, stop)
    count = 0
    if at < stop and data[at] == CLOSED_LIST:
        return at + 1, count
    while True:
        at, value = read_json_number(data, at, stop, powers)
        if at < 0 or count == row.size:
            return -1, 0
        row[count] = value
        if not np.isfinite(row[count]):
            return -1, 0
        count += 1
        at = skip_space(data, at, stop)
        if at < stop and data[at] == CLOSED_LIST:
            return at + 1, count
        if at == stop or data[at] != COMMA:
            return -1, 0
        at = skip_space(data, at + 1, stop)


@nb.njit(cache=True)
def read_sparse(data, at, stop, powers, width, indices, values, count):
    """The entries of an object that begins at a place: where it ends, and up to where they are; -1 where only Python should look."""
    at = skip_space(data, at + 1, stop)
    before = -1
    if at < stop and data[at] == CLOSED_OBJECT:
        return at + 1, count
    while True:
        if at == stop or data[at] != QUOTE:
            return -1, 0
        at += 1
        low = at
        index = 0
        while at < stop and 48 <= data[at] <= 57 and at - low < 11:
            index = index * 10 + (data[at] - 48)
            at += 1
        if at in (low, stop) or data[at] != QUOTE or index <= before or index >= width:
            return -1, 0
        at = skip_space(data, at + 1, stop)
        if at == stop or data[at] != COLON:
            return -1, 0
        at, value = read_json_number(data, skip_space(data, at + 1, stop), stop, powers)
        if at < 0:
            return -1, 0
        values[count] = value
        if not np.isfinite(values[count]):
            return -1, 0
        indices[count] = index
        before = index
        count += 1
        at = skip_space(data, at, stop)
        if at < stop and data[at] == CLOSED_OBJECT:
            return at + 1, count
        if at == stop or data[at] != COMMA:
            return -1, 0
        at = skip_space(data, at + 1, stop)


@nb.njit(cache=True, nogil=True)
def parse_point_objects(
    text, starts, stops, is_sparse, width, string_ids, quoted_ids, words, codes, limit,
    ids, has_id, label, weight, op, spans, features, begins, indices, values, status,
):  # fmt: skip
    """Parse objects of points.

    Parameters
    ----------
    text, starts, stops, string_ids, words, codes, limit, ids, label, weight, op, spans, features, status
        As in `parse_point_lines`; features of sparse points have no rows.
    is_sparse : bool
        Whether features are objects, not lists.
    width : int
        How many features a point has.
    quoted_ids : bool
        Whether ids that are integers may stand in quotes.
    has_id : bool[k]
        Whether ids must be there; written: whether they are.
    begins, indices, values : int64[k + 1], int32[room], float32[room] or float64[room]
        Written for sparse points, as in `parse_libsvm_lines`; room is a fifth of the bytes, and one.
    """
    data, powers = text.data, text.powers
    low = np.empty(FIELDS, np.int64)
    high = np.empty(FIELDS, np.int64)
    count = 0
    begins[0] = 0
    for record in range(starts.size):
        status[record] = DOUBTFUL
        begins[record + 1] = count
        needs_id = has_id[record]
        stop = stops[record]
        if stop - starts[record] > limit:
            continue
        at = skip_space(data, starts[record], stop)
        if at == stop or data[at] != OPENED_OBJECT:
            continue
        low[:] = -1
        found = count
        entries = -1
        label[record] = np.nan
        weight[record] = 1.0
        is_closed = False
        while not is_closed:
            at = skip_space(data, at + 1, stop)
            if at == stop or data[at] != QUOTE:
                break
            end = _json_text(data, at + 1, stop)
            if end < 0:
                break
            field = field_of(data, at + 1, end)
            at = skip_space(data, end + 1, stop)
            # A name twice, or one we do not know, is for the definition to judge.
            if field < 0 or low[field] >= 0 or at == stop or data[at] != COLON:
                break
            at = skip_space(data, at + 1, stop)
            if at == stop:
                break
            low[field] = at
            if field == FEATURES_FIELD:
                if is_sparse and data[at] == OPENED_OBJECT:
                    at, found = read_sparse(data, at, stop, powers, width, indices, values, count)
                    entries = width
                elif not is_sparse and data[at] == OPENED_LIST:
                    at, entries = read_dense(data, at, stop, powers, features[record])
                else:
                    break
            elif field in (LABEL_FIELD, WEIGHT_FIELD):
                at, value = read_json_number(data, at, stop, powers)
                if field == LABEL_FIELD:
                    label[record] = value
                else:
                    weight[record] = value
            elif data[at] == QUOTE:
                if field == ID_FIELD and not (string_ids or quoted_ids):
                    break
                low[field] = at + 1
                high[field] = _json_text(data, at + 1, stop)
                at = high[field] + 1 if high[field] >= 0 else -1
            else:
                if field == ID_FIELD and string_ids:
                    break
                at, is_whole = _json_number(data, at, stop)
                if field != TIME_FIELD and not is_whole:
                    break
                high[field] = at
            if at < 0:
                break
            at = skip_space(data, at, stop)
            if at == stop or (data[at] != COMMA and data[at] != CLOSED_OBJECT):
                break
            is_closed = data[at] == CLOSED_OBJECT
        if not is_closed or skip_space(data, at + 1, stop) != stop:
            continue
        has_id[record] = low[ID_FIELD] >= 0
        code = 1
        is_clear = has_id[record] or not needs_id
        if has_id[record]:
            if string_ids:
                begin, end = low[ID_FIELD], high[ID_FIELD]
                is_clear = begin < end and _is_utf8(data, begin, end)
                spans[record, 0], spans[record, 1] = begin, end
            else:
                is_clear, ids[record] = _integer(data, low[ID_FIELD], high[ID_FIELD])
        if low[OP_FIELD] >= 0:
            begin, end = low[OP_FIELD], high[OP_FIELD]
            code = _operation(data, begin, end, words, codes) if begin < end else 0
        if not is_clear or code == 0:
            continue
        if code == REMOVE:
            if not has_id[record]:
                continue
            label[record] = np.nan
            weight[record] = 1.0
            found = count
            if not is_sparse:
                features[record, :] = 0
        elif entries != width or weight[record] < 0.0:
            continue
        count = found
        begins[record + 1] = count
        op[record] = code
        status[record] = SURE


@nb.njit(cache=True, nogil=True)
def find_elements(text, size, starts, stops):
    """Find the elements of a list.

    Parameters
    ----------
    text : TextColumns
        A list as JSON writes it, with white space around.
    size : int
        How many bytes it has.
    starts, stops : int64[room]
        Written, as far as there is room: where each element begins and ends.

    Returns
    -------
    How many there are; -1 where the list is not whole.
    """
    data = text.data
    at = skip_space(data, 0, size)
    if at == size or data[at] != OPENED_LIST:
        return -1
    at = skip_space(data, at + 1, size)
    count = 0
    begin = at
    depth = 1
    while at < size:
        byte = data[at]
        if byte == QUOTE:
            at += 1
            while at < size and data[at] != QUOTE:
                at += 2 if data[at] == 92 else 1
        elif byte in (OPENED_LIST, OPENED_OBJECT):
            depth += 1
        elif byte in (CLOSED_LIST, CLOSED_OBJECT):
            depth -= 1
        if depth == 0 or (depth == 1 and byte == COMMA):
            if depth == 1 or at > begin or count > 0:
                if count < starts.size:
                    end = at
                    while end > begin and skip_space(data, end - 1, end) == end:
                        end -= 1
                    starts[count], stops[count] = begin, end
                count += 1
            if depth == 0:
                return count if byte == CLOSED_LIST and skip_space(data, at + 1, size) == size else -1
            begin = skip_space(data, at + 1, size)
        at += 1
    return -1
