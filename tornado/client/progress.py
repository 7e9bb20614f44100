"""A bar that shows how a query stands, by `tqdm.auto` where that is installed; the doorway to tqdm."""

from __future__ import annotations

import sys
import warnings
from types import TracebackType
from typing import Any, Self

from .errors import MissingPackage
from .steps import Document

_SHOWN_AFTER_S = 0.3


class ProgressBar:
    """One query's. A context manager; calling it with the query's document moves it.

    Parameters
    ----------
    wanted : bool or None
        Whether to show it; None: on a terminal and in a notebook, where tqdm is installed.
    """

    def __init__(self, loop: str, wanted: bool | None) -> None:  # noqa: FBT001  # what a caller said
        self._bar = (
            _bar(loop, must_be=wanted is True)
            if wanted is True or (wanted is None and _is_watched())
            else None
        )
        self._seen = 0

    @property
    def is_shown(self) -> bool:
        """Whether anybody looks."""
        return self._bar is not None

    def __call__(self, query: Document) -> None:
        """Show how the query stands."""
        if self._bar is None:
            return
        updates = int(query.get("updates") or 0)
        residual = query.get("residual")
        self._bar.set_postfix_str(
            f"{query['state']}, iteration {query.get('iteration') or 0:,}"
            + ("" if residual is None else f", residual {residual:.3g}"),
            refresh=False,
        )
        self._bar.update(max(updates - self._seen, 0))
        self._seen = max(updates, self._seen)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar(loop: str, *, must_be: bool) -> Any:
    try:
        with warnings.catch_warnings():
            # Without ipywidgets it draws its bar as text, and warns of that at each import.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        if must_be:
            raise MissingPackage(
                "tqdm is not installed", hint="Install it with `pip install tqdm`."
            ) from None
        return None
    # How many updates there will be nobody knows, so it has no end to fill up to.
    return tqdm(desc=loop, unit=" updates", unit_scale=True, leave=False, delay=_SHOWN_AFTER_S)


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or sys.stderr.isatty()
