"""A gate that many pass at once, or one alone.

For a resource that threads share in use but that must be replaced with nobody inside (the memory map of LMDB). Who wants to be
alone waits for those inside, and nobody new enters meanwhile, so a stream of readers starves no one. Not reentrant on purpose:
entering twice in one thread would deadlock as soon as somebody waits to be alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Gate:
    """Shared or exclusive passage."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Be inside together with others, none of whom is alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be inside with nobody else."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._alone = True
            try:
                self._changed.wait_for(lambda: not self._inside)
            except BaseException:
                self._alone = False
                self._changed.notify_all()
                raise
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
