"""A worker that keeps the interpreter lock for as long as it is asked to, and one that does not wait long for its driver."""

import ctypes

from tornado.engine import Member, member
from tornado.loops.remote_worker import WIRE_TYPES, RemoteWorker, prepare

__all__ = ["DRIVER_SILENT_S", "hold", "prepare", "serve"]

DRIVER_SILENT_S = 2.0
_LIBC = ctypes.PyDLL(None)  # calls of which keep the lock


def hold(seconds):
    """Let no other thread of this process run any Python."""
    _LIBC.usleep(int(seconds * 1e6))


class SlowWorker(RemoteWorker):
    """Answers `("hold", seconds)` so late."""

    def answer(self, request):
        if request[0] == "hold":
            return hold(request[1])
        return super().answer(request)


def serve(config):
    member.DRIVER_SILENT_S = DRIVER_SILENT_S
    connection = Member(config, WIRE_TYPES)
    connection.run(SlowWorker(config.index, config.workers, connection))
