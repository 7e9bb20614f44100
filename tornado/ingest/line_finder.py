"""Where the lines of a text are: compiled, and blind to what they say."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import compiled

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_NEWLINE: Final = 10
_RETURN: Final = 13
_TAB: Final = 9
_SPACE: Final = 32
# Eight bytes at once: each of them is a new line, one, the highest bit.
_NEWLINES: Final = np.uint64(0x0A0A0A0A0A0A0A0A)
_ONES: Final = np.uint64(0x0101010101010101)
_HIGHS: Final = np.uint64(0x8080808080808080)


@compiled
def find_lines(data: Bytes, number: int, limit: int, comments: bool) -> tuple[Ints, Ints, Ints, int]:  # noqa: FBT001
    """Find the data lines of a block that holds whole lines.

    Parameters
    ----------
    data : uint8[n]
        The block; its last line may lack the line end.
    number : int
        Line number of the first line.
    limit : int
        Only so many bytes of a line are searched for a comment sign.
    comments : bool
        Whether `#` and `%` start a comment.

    Returns
    -------
    starts, stops : int64[k]
        Where each data line begins and ends, without the line end.
    numbers : int64[k]
        Their line numbers.
    lines : int
        How many lines of any kind the block has.
    """
    room = 0
    for byte in data:
        room += byte == _NEWLINE
    ends = np.empty(room + 1, np.int64)
    size = len(data)
    words = data[: size - size % 8].view(np.uint64)
    seen = 0
    for place in range(len(words)):
        # A byte that is 0 is one whose subtraction borrows, and whose highest bit was not set.
        word = words[place] ^ _NEWLINES
        if (word - _ONES) & ~word & _HIGHS:
            for at in range(8 * place, 8 * place + 8):
                if data[at] == _NEWLINE:
                    ends[seen] = at
                    seen += 1
    for at in range(8 * len(words), size):
        if data[at] == _NEWLINE:
            ends[seen] = at
            seen += 1
    ends[seen] = size
    starts = np.empty(room + 1, np.int64)
    stops = np.empty(room + 1, np.int64)
    numbers = np.empty(room + 1, np.int64)
    found = 0
    lines = 0
    start = 0
    while start < size:
        stop = ends[lines]
        after = stop + 1
        if stop > start and data[stop - 1] == _RETURN:
            stop -= 1
        first = start
        seen = min(stop, start + limit)
        while first < seen and (data[first] == _SPACE or data[first] == _TAB):
            first += 1
        # 35 is '#', 37 is '%'. A line of blanks counts only where it is too long to be looked through.
        empty = first == seen and stop - start <= limit
        comment = comments and first < seen and (data[first] == 35 or data[first] == 37)
        if not empty and not comment:
            starts[found] = start
            stops[found] = stop
            numbers[found] = number + lines
            found += 1
        lines += 1
        start = after
    return starts[:found].copy(), stops[:found].copy(), numbers[:found].copy(), lines
