"""Arrays that grow in place: address space is reserved once, memory comes with the first touch of a page.

A column of a live graph must be able to grow by orders of magnitude while branch loops are reading it. Copying it to a
larger array would stop the loop for as long as the copy takes, double the memory for that time, and leave every reader with
a stale view. So a growing column *reserves* address space (no memory, no commit charge) for the most that it may ever hold.
"""

import ctypes
import mmap
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from .errors import AddressSpaceExhausted

_RESERVE_WITHOUT_COMMIT = (
    0x4000 if sys.platform.startswith("linux") else 0
)  # MAP_NORESERVE; other systems need no flag
_HUGE_PAGE_BYTES = 2 << 20
_POPULATE = 23  # MADV_POPULATE_WRITE, of Linux from 5.14 on
_POPULATED_BYTES = 8 << 20  # at a time
_JOIN = 25  # MADV_COLLAPSE, of Linux from 6.1 on
# Below that, rounding up to huge pages would cost more memory than it saves time.
_HUGE_PAGES_FROM_BYTES = 4 << 20


def reserve(length: int, dtype: npt.DTypeLike) -> NDArray[Any]:
    """An array of `length` zeros of `dtype` that occupies memory only where it was written.

    Raises
    ------
    AddressSpaceExhausted
        When the system refuses the reservation.
    """
    item_type = np.dtype(dtype)
    size_bytes = max(length * item_type.itemsize, mmap.PAGESIZE)
    try:
        region = mmap.mmap(
            -1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _RESERVE_WITHOUT_COMMIT
        )
    except OSError as error:
        raise AddressSpaceExhausted(
            f"cannot reserve {size_bytes} bytes of address space for a growing column ({error}); "
            "raise the limit on virtual memory (ulimit -v unlimited), memory itself is used only as data arrives"
        ) from error
    return np.frombuffer(region, dtype=item_type, count=length)


def advise_huge_pages(column: NDArray[Any], used: int) -> None:
    """Ask for huge pages under the first `used` entries of a reserved column: random access then misses the TLB less."""
    region = _region(column)
    used_bytes = used * column.itemsize
    if region is None or used_bytes < _HUGE_PAGES_FROM_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return
    span = min(-(-used_bytes // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES, len(region))
    try:
        region.madvise(mmap.MADV_HUGEPAGE, 0, span)
    except OSError:  # a kernel without transparent huge pages: only speed is lost
        return


def populate(
    columns: Sequence[NDArray[Any]], used: int, *, first: int = 0, goes_on: Callable[[], bool] = lambda: True
) -> threading.Thread:
    """Have memory put under entries ``first .. used`` of reserved columns, which are soon to be written, all along together.

    The system clears each page that is touched for the first time, which takes about as long as to write what belongs there. So
    a thread does it, ahead of who writes, and lets go of the interpreter for it. What it cannot have is left to the first touch, and all
    that is left when `goes_on` no longer says so.
    """
    thread = threading.Thread(
        target=_populate, args=(columns, first, used, goes_on), name="tornado-memory", daemon=True
    )
    thread.start()
    return thread


def _populate(columns: Sequence[NDArray[Any]], first: int, used: int, goes_on: Callable[[], bool]) -> None:
    if not sys.platform.startswith("linux"):
        return
    widest = max(column.itemsize for column in columns)
    entries = _POPULATED_BYTES // widest
    for following in range(first, used, entries):
        if not goes_on():
            return
        for column in columns:
            begin = following * column.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
            end = min(used, following + entries) * column.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
            base = int(column.__array_interface__["data"][0])
            if end > begin and not _advise(base + begin, base + end, _POPULATE):
                return


def join_pages(column: NDArray[Any], first: int, stop: int) -> int:
    """Put huge pages in place of small ones under entries ``first .. stop`` of a reserved column, all of which were written.

    No memory is added, as only whole huge pages are. What they hold is copied once, while the interpreter is let go of; whoever
    touches what is just copied waits for it.

    Returns
    -------
    int
        The entry that the last of them ends at, to go on from; `first` where there is none.
    """
    if _region(column) is None:
        return first
    base = int(column.__array_interface__["data"][0])
    begin = -(-(base + first * column.itemsize) // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
    end = (base + stop * column.itemsize) // _HUGE_PAGE_BYTES * _HUGE_PAGE_BYTES
    if end <= begin:
        return first
    if sys.platform.startswith("linux"):
        _advise(begin, end, _JOIN)  # a kernel that cannot: only speed is lost
    return (end - base) // column.itemsize


def _advise(begin: int, end: int, advice: int) -> bool:
    """Advise the system of memory, without the interpreter, which that of `mmap` keeps; return whether it could follow."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return bool(advise(begin, end - begin, advice) == 0)


def release_pages(column: NDArray[Any], first: int, stop: int) -> None:
    """Give the memory of entries ``first .. stop`` of a reserved column back; they read as zero afterwards."""
    region = _region(column)
    if region is None:
        return
    begin = -(-first * column.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
    end = stop * column.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
    if end > begin:
        region.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def _region(column: NDArray[Any]) -> mmap.mmap | None:
    """What a reserved column lies in; None for any other array."""
    base: Any = column.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, mmap.mmap) else None
