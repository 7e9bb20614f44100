"""Places for those who listen to a stream of events, of which nobody holds more than half.

Whoever has one connection to a stream costs the service something until it leaves. So there are so many places of a kind, and who
takes one after another leaves half of them to others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address
from threading import Lock

from starlette.requests import HTTPConnection

from ..errors import QueueFull
from .http_access import caller_of

_LATER_S = 5.0


class StreamPlaces:
    """The places of one kind of stream.

    Parameters
    ----------
    most : int
        How many there are.
    doing : str
        What those do who have one, in the words of messages: "follow loops".
    instead : str
        What else to do, as a hint.
    """

    def __init__(self, most: int, *, doing: str, instead: str) -> None:
        self._most = most
        self._each = max(1, most // 2)
        self._doing = doing
        self._instead = instead
        self._held: Counter[object] = Counter()
        self._lock = Lock()

    def take(self, connection: HTTPConnection) -> Callable[[], None]:
        """Take a place; returns what gives it up, once.

        Raises
        ------
        QueueFull
            When none is left, or whoever asks has half of them.
        """
        holder = _holder_of(connection)
        with self._lock:
            taken = self._held.total()
            if taken >= self._most:
                raise QueueFull(
                    f"{taken} clients {self._doing}, which is the limit",
                    hint=self._instead,
                    retry_after_s=_LATER_S,
                )
            if holder is not None and self._held[holder] >= self._each:
                who = "address" if isinstance(holder, str) else "token"
                raise QueueFull(
                    f"{self._held[holder]} clients of this {who} {self._doing}, and half of the {self._most} places are for others",
                    hint=f"End one of them. {self._instead}",
                    retry_after_s=_LATER_S,
                )
            self._held[holder] += 1

        def leave() -> None:
            with self._lock:
                self._held[holder] -= 1
                if not self._held[holder]:
                    del self._held[holder]

        return leave


def _holder_of(connection: HTTPConnection) -> object:
    """Return whose a connection is: a token's, or an address's. None on loopback, where all of this machine have one address."""
    digest = caller_of(connection).digest
    if digest is not None:
        return digest
    host = connection.client.host if connection.client is not None else ""
    try:
        return None if ip_address(host).is_loopback else host
    except ValueError:
        return None
