"""A main loop on one worker that keeps a graph and who hears of whom for the branch that reads it, and commits nothing itself."""

from __future__ import annotations

from typing import Any

from . import loop_columns as names
from .main_processor import MainProcessor


class GraphKeeper(MainProcessor):
    """See the module."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.state.counters[names.CAP] = -1

    def is_behind(self) -> bool:
        """False: records are taken in at once."""
        return False  # what is pending here is for the branch to do
