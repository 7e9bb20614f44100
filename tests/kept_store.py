"""Stores in memory that count as durable, for tests that end sessions on one and begin others: killed or closed, it is what is left."""

from tornado.errors import StoreUnreachable
from tornado.storage import MemoryStore


class KeptStore(MemoryStore):
    """See the module."""

    durable = True


class Away(KeptStore):
    """A store that can be away, for who writes and for who reads, for so many calls."""

    away_for = 0.0

    def write(self, *arguments, **options):
        self._require_there()
        super().write(*arguments, **options)

    def read(self, *arguments):
        self._require_there()
        return super().read(*arguments)

    def _require_there(self):
        if self.away_for > 0:
            self.away_for -= 1
            raise StoreUnreachable("nobody answers")
