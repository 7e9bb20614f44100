"""A worker process that has the toy kind and the brittle one; see `toy_worker.py`."""

from tests.kinds.brittle import BRITTLE
from tornado.kinds import KINDS

KINDS.update(BRITTLE)

from tornado.loops.remote_worker import prepare, serve  # noqa: E402  what it imports looks there

__all__ = ["prepare", "serve"]
