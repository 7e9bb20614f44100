"""Names of machine code that no other process gives: what makes it safe to load what several processes have compiled.

Numba tells the functions that one definition makes apart, such as those behind `np.sort` and `np.argsort`, by a number that it
counts up in each process from 1. So two processes can name different code alike, and where a third loads the modules of both,
the linker takes the first of a name for all of them: an `argsort` that sorts, and a wrong answer without a word. That is fault
10486 of Numba, open in version 0.68. From the import of this module on they are numbered by chance. Whatever is compiled gets
`njit` or `compiled` from here, or is in a generated module (`kernel_modules.py`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit
from numba.core.bytecode import FunctionIdentity

__all__ = ["compiled", "njit"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_identity: Any = FunctionIdentity
# Of the system and not of a generator with a state, which processes that are forked from this one would go on with alike.
_identity._unique_ids = iter(partial(secrets.randbits, 64), None)  # noqa: SLF001  # nothing public sets it


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function, once a machine, that lets go of the interpreter lock; to a checker of types it is what it was."""
    return cast(Callable[_P, _R], njit(cache=True, nogil=True)(function))
