"""A worker that holds few vertices, to see what happens when there is no room."""

from tornado.loops import graph
from tornado.loops.remote_worker import prepare
from tornado.loops.remote_worker import serve as serve_plainly

__all__ = ["MOST_ROWS", "prepare", "serve"]

MOST_ROWS = 300


def serve(config):
    graph.MOST_ROWS = MOST_ROWS
    serve_plainly(config)
