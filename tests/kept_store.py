"""A store in memory that counts as durable, for tests that end sessions on it and begin others: killed or closed, it is what is left."""

from tornado.storage import MemoryStore


class KeptStore(MemoryStore):
    """See the module."""

    durable = True
