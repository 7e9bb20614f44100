"""How a process of ours has memory for arrays that are used once, such as the pages of a snapshot and the batches of a stream.

What stays in memory, and is looked at all over, lies elsewhere (`tornado.arena`).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

_NUMPY_HUGE_PAGES = "NUMPY_MADVISE_HUGEPAGE"
_LARGE_BYTES = 32 << 20  # from this on an array's memory is asked for, and given back, by itself
_KEPT_BYTES = 64 << 20  # freed memory of an allocator's area that is not given back
# Of glibc's mallopt, and the variables that say the same.
_TRIM_THRESHOLD, _TRIM_VARIABLE = -1, "MALLOC_TRIM_THRESHOLD_"
_MMAP_THRESHOLD, _MMAP_VARIABLE = -3, "MALLOC_MMAP_THRESHOLD_"


def numpy_pages(environment: Mapping[str, str]) -> dict[str, str]:
    """What has NumPy put its arrays on pages of the usual size, unless the environment says otherwise; it reads it when it is imported.

    NumPy's own asking for huge ones would concern what is used once: a huge page that no process has just let go of costs a virtual
    machine many times what small ones do.
    """
    return {_NUMPY_HUGE_PAGES: environment.get(_NUMPY_HUGE_PAGES, "0")}


def keep_freed_memory() -> None:
    """Have this process use memory that it has freed again, for arrays of some megabytes, too, unless the environment says otherwise.

    Else glibc gives it back with each, and each page of the next is cleared by the system at its first touch: on a virtual machine that
    takes as long as to share out the edges of a page to workers. Where there is another allocator, nothing changes.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None or {_TRIM_VARIABLE, _MMAP_VARIABLE} & os.environ.keys():
        return
    set_option(_MMAP_THRESHOLD, _LARGE_BYTES)
    set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
