"""Waking a thread that waits for sockets, from any other thread.

A wake costs a system call only where no other is under way: a flag says so. The steps are::

    wake:  1 is the flag set? then done   2 set the flag   3 send a byte
    take:  a take all bytes               b clear the flag            (by the thread that waits, when there is a byte to read)

*Nothing is swallowed*: after a wake has begun, the wait under way or the next one returns. A wake that comes to 3 leaves a byte. One
that ends at 1 relies on the wake that set the flag last, since when no b has happened. The byte of that one is still to be sent,
or unread, and then a wait returns; or it was taken by an a whose b is still to come, and then that wait is about to return.

*Nothing spins*: a wait that returns for a byte takes it, whatever the flag says, and only a wake sends one.

The other order (b before a) breaks both: an a then takes the byte of a wake that came after b, and leaves its flag set for ever.
"""

from __future__ import annotations

import socket
from contextlib import suppress


class Waker:
    """See the module."""

    def __init__(self) -> None:
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._is_signalled = False

    def fileno(self) -> int:
        """What to wait for, until it can be read."""
        return self._reading.fileno()

    def wake(self) -> None:
        """Have the wait return, now or when it is begun next; from any thread."""
        if not self._is_signalled:
            self._is_signalled = True
            with suppress(BlockingIOError):  # so many bytes are there that one more says nothing new
                self._writing.send(b"!")

    def take(self) -> None:
        """Take the signal, when there is one; on the thread that waits."""
        self._reading.recv(4096)
        self._is_signalled = False

    def close(self) -> None:
        """Close the sockets."""
        self._reading.close()
        self._writing.close()
