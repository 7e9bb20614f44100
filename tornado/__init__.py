"""Iterative analyses of data that never stops arriving, with exact answers on demand.

One endless *main loop* per analysis keeps an approximation of the answer up to date; a query forks a *branch loop*
from a consistent snapshot and iterates it to the exact fixed point (Tornado, SIGMOD 2016). Both are loop contexts of
a timely dataflow core (Naiad, SOSP 2013).

Importing this package is cheap on purpose: nothing below it is loaded until a name is asked for, so that
`tornado doctor` can report a broken environment instead of failing on it.

This is *not* the web framework of the same name; see "The import name" in ARCHITECTURE.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .query.session import open

__version__ = "0.1.0"

__all__ = ["__version__", "open"]


def __getattr__(name: str) -> Any:
    """Load `tornado.open` when it is first used (PEP 562)."""
    if name == "open":
        from .query.session import open as open_session

        globals()["open"] = open_session
        return open_session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
