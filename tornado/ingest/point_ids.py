"""The id of a point whose source gives none: its source and its position there, in 64 bits.

The rule, which is stored with every point and so never changes:

- the highest bit is set, so such an id is negative, and none that counts from 0 is ever one of them;
- 27 bits are the first ones of the SHA-256 of the source's name in UTF-8;
- 36 bits are the position: the number of the line or row from 1, as the quarantine has it, or an offset.

So a source has one id for each position, however often and from whichever record on it is read again, and `id_at` finds the id that
removes a point. Where the ids of a stream are texts the id is ``SOURCE:POSITION``, and a
sender's own text that looks so is the same point.

Collisions: none within a source. Two sources share all of their ids where 27 bits of their names are the same, which of two
happens once in 134 million times and of a thousand once in 270; `check_sources` says so before a point of one takes the place of
a point of the other. Names of several thousands of sources that come one after the other are not checked by anybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import InvalidArgument

POSITION_BITS: Final = 36
NAME_BITS: Final = 27
MOST_POSITION: Final = (1 << POSITION_BITS) - 1


def id_at(source: str, position: int) -> int:
    """The id of the point at a position of a source that gives no ids.

    Parameters
    ----------
    source : str
        Its name, as offsets and the quarantine have it.
    position : int
        From 1, or from 0 where it is an offset.

    Raises
    ------
    InvalidArgument
        The position is negative, or beyond 36 bits.

    Examples
    --------
    >>> id_at("a9a.libsvm", 1), id_at("a9a.libsvm", 2), id_at("http", 1)
    (-1296085202807816191, -1296085202807816190, -1139377582936948735)
    """
    if not 0 <= position <= MOST_POSITION:
        raise InvalidArgument(f"position is {position}, but must be from 0 to {MOST_POSITION}")
    return _first_id(source) + position


def ids_at(source: str, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ids of points at positions of a source; see `id_at`.

    Parameters
    ----------
    positions : int64[n]
        Only read.

    Returns
    -------
    int64[n]
    """
    if len(positions):
        id_at(source, int(positions.min()))
        id_at(source, int(positions.max()))
    ids: NDArray[np.int64] = positions + _first_id(source)
    return ids


def names_at(source: str, positions: NDArray[np.int64]) -> pa.LargeStringArray:
    """The ids of points at positions of a source, where ids are texts.

    Examples
    --------
    >>> names_at("a9a.libsvm", np.array([1, 2])).to_pylist()
    ['a9a.libsvm:1', 'a9a.libsvm:2']
    """
    kind = pa.large_string()
    places = pa.array(positions).cast(kind)
    return pc.binary_join_element_wise(pa.scalar(source, kind), places, pa.scalar(":", kind))


def check_sources(names: Iterable[str]) -> None:
    """Refuse sources whose points would have the same ids.

    Raises
    ------
    InvalidArgument
        Two different names do not differ in the bits of them that an id has.
    """
    seen: dict[int, str] = {}
    for name in names:
        other = seen.setdefault(_first_id(name), name)
        if other != name:
            raise InvalidArgument(
                f"the points of {other!r} and {name!r} would have the same ids, as these sources give none themselves",
                hint="Give one of the files another name, or its points a column of ids.",
            )


@lru_cache(maxsize=4096)
def _first_id(source: str) -> int:
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).digest()
    bits = int.from_bytes(digest[:4], "big") >> (32 - NAME_BITS)
    return -(1 << 63) + (bits << POSITION_BITS)
