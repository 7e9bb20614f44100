"""A store whose changes fail, or at whose changes the process dies, for simulations: what it has had by then is what is left.

A version is there wholly or not at all, and durable, as `VersionedStore` promises: so a write that was torn, or not synced, is one that
did not take effect, or one that took effect and nobody heard of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import StoreFull
from .memory import MemoryStore

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Died(BaseException):
    """The process is gone at this instant: nobody catches it but who begins the next life."""


class FailingStore(MemoryStore):
    """A durable store that has no room, or whose process dies, at the change that is said.

    Attributes
    ----------
    faults
        What happens, by the number of the change from the beginning.
    changes
        How many were begun.
    is_dead
        Whether its process is.
    on_write
        Called when a write has taken effect and whoever wrote does not know it yet: what others do meanwhile.
    """

    durable = True

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[int, str] = {}
        self.changes = 0
        self.is_dead = False
        self.on_write: Callable[[], None] = lambda: None

    def write(
        self,
        loop: str,
        version: int,
        items: Mapping[bytes, Buffer],
        *,
        deletes: Collection[bytes] = (),
        metadata: bytes = b"",
    ) -> None:
        """See `VersionedStore`."""
        with self._change():
            super().write(loop, version, items, deletes=deletes, metadata=metadata)
            self.on_write()

    def delete_before(self, loop: str, version: int) -> int:
        """See `VersionedStore`."""
        with self._change():
            return super().delete_before(loop, version)

    @contextmanager
    def _change(self) -> Iterator[None]:
        fault = self.faults.pop(self.changes, "")
        self.changes += 1
        if fault == "no room":
            raise StoreFull("no room")
        self.is_dead = self.is_dead or fault == "dies before"
        if self.is_dead:
            raise Died
        yield
        if fault == "dies after":
            self.is_dead = True
            raise Died
