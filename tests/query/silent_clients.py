"""Connections that ask for nothing, of a process of their own: `python -m tests.query.silent_clients PORT COUNT EVERY_S`.

Each sends the beginning of a head and a byte of it every so often, or nothing at all where EVERY_S is 0. One that is let go comes again.
Says `ready` once all are there and `again` when the first has come again; ends with its standard input.
"""

import contextlib
import selectors
import socket
import sys
import time
from collections import deque

HEAD = b"GET /v1/loops HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


class SilentClients:
    """So many connections to one port."""

    def __init__(self, port, count, every_s):
        self._port, self._count, self._every_s = port, count, every_s
        self._selector = selectors.DefaultSelector()
        self._in_turn = deque()
        self._said = False

    def run(self):
        """Keep all of them until there is nobody who wants them."""
        for _ in range(self._count):
            self._open()
        print("ready", flush=True)
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        began_s, sent = time.monotonic(), 0
        while True:
            for key, _ in self._selector.select(0.02):
                if key.fileobj is sys.stdin:
                    return
                self._replace(key.fileobj)
            if self._every_s:
                due = int((time.monotonic() - began_s) * self._count / self._every_s)
                for _ in range(due - sent):
                    self._send_byte()
                sent = due

    def _open(self):
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        if self._every_s:
            connection.sendall(HEAD)
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ)
        self._in_turn.append(connection)

    def _replace(self, connection):
        # Nobody answers what was not asked: that something is there to be read means that it is closed.
        self._selector.unregister(connection)
        connection.close()
        self._open()
        if not self._said:
            self._said = True
            print("again", flush=True)

    def _send_byte(self):
        connection = self._in_turn.popleft()
        if connection.fileno() >= 0:  # else another one stands in its place
            with contextlib.suppress(OSError):  # heard of where it is read
                connection.send(b"x")
            self._in_turn.append(connection)


if __name__ == "__main__":
    SilentClients(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])).run()
