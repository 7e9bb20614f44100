"""A worker process that has the toy kind: its line stands in the registry before anything looks there.

Tests name this module and never import it, so that their own registry stays as it is.
"""

from tornado.kinds import KINDS

KINDS["toy"] = "tests.kinds.toy.kind"

from tornado.loops.remote_worker import prepare, serve  # noqa: E402  what it imports looks there

__all__ = ["prepare", "serve"]
