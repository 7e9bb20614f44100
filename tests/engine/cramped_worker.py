"""A worker that holds few vertices, to see what happens when there is no room."""

import signal

from tornado.engine import main_of
from tornado.loops import graph
from tornado.loops.remote_worker import serve as serve_plainly

MOST_ROWS = 300


def serve(config):
    graph.MOST_ROWS = MOST_ROWS
    serve_plainly(config)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main_of(serve)
