"""A worker that holds few vertices, to see what happens when there is no room."""

from tornado.graph import evolving_graph
from tornado.loops.remote_worker import prepare
from tornado.loops.remote_worker import serve as serve_plainly

__all__ = ["MOST_ROWS", "prepare", "serve"]

MOST_ROWS = 300


def serve(config):
    evolving_graph.MOST_ROWS = MOST_ROWS
    serve_plainly(config)
