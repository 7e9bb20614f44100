"""Who may name a loop: one name a loop, also of one that is still being started, and none begins while all are moved."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..errors import Busy, NameTaken


class LoopNames:
    """See the module.

    Parameters
    ----------
    loops
        Those that run, by name; changed elsewhere, under `lock`.

    Attributes
    ----------
    lock
        Held for a moment by who gives a name or looks whether one is given.
    """

    def __init__(self, loops: Mapping[str, object]) -> None:
        self.lock = threading.Lock()
        self._loops = loops
        self._starting: set[str] = set()  # names that are taken by loops which still load what is stored
        self._is_moving = False

    @contextmanager
    def reserved(self, name: str) -> Iterator[None]:
        """Hold a name for a loop that is being started, while the context lasts.

        Raises
        ------
        NameTaken
            When one has it.
        Busy
            While all loops are being put on other workers.
        """
        with self.lock:
            if name in self._loops or name in self._starting:
                raise NameTaken(f"a loop named {name!r} runs already")
            if self._is_moving:
                raise Busy(
                    f"loop {name!r} cannot be started while those that run are being put on other workers"
                )
            self._starting.add(name)
        try:
            yield
        finally:
            with self.lock:
                self._starting.discard(name)

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Be the only one that puts loops on other workers, and have none started, while the context lasts.

        Raises
        ------
        Busy
            When somebody does already, or one is being started.
        """
        with self.lock:
            if self._is_moving:
                raise Busy("the loops are being put on other workers already")
            if self._starting:
                raise Busy(
                    f"loop {min(self._starting)!r} is being started, so no loop can be put on other workers"
                )
            self._is_moving = True
        try:
            yield
        finally:
            with self.lock:
                self._is_moving = False
