"""Timestamp tokens: the right to send at a time, as an object an operator holds.

A token stands for one pointstamp at one output port of one operator ("Timestamp tokens", Lattuada and McSherry). Who holds one
may send at its time; while it lives, no frontier behind that output passes it. So coordination is: clone, downgrade to a later
time, drop. The system only counts; an operator's token changes take effect together when it yields.

Guaranteed: using a dropped token, one of another output, or going back in time raises `TokenMisuse` and changes nothing. A
token nobody dropped is reported with the operator's name when its worker closes. Tokens belong to the thread of their worker.
"""

from __future__ import annotations

from typing import Protocol

from ..errors import TokenMisuse
from .order import Order, Time


class Ledger(Protocol):
    """Counts pointstamps."""

    def record(self, location: int, time: Time, delta: int) -> None:
        """Note a change of a pointstamp's count."""


class TokenPort(Protocol):
    """An output port, as its tokens see it."""

    tokens: dict[Token, None]
    """Live ones on this worker, in the order in which they were made."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def operator(self) -> object:
        """Whose port it is."""

    @property
    def dataflow(self) -> Ledger:
        """Where the tokens are counted."""

    @property
    def location(self) -> int:
        """Under which location they are counted."""

    @property
    def order(self) -> Order:
        """Of the times that they may have."""


class Token:
    """The right to send at `time` through one output. Operators get tokens, they do not make them.

    An operator starts with one per output at the least time, retains received times (`Received.retain`), and clones.
    """

    __slots__ = ("_output", "_time")

    def __init__(self, output: TokenPort, time: Time) -> None:
        # The count of this token is recorded by whoever makes it; see `minted`.
        self._output: TokenPort | None = output
        self._time = time
        output.tokens[self] = None

    @classmethod
    def minted(cls, output: TokenPort, time: Time) -> Token:
        """Make a token and count it; for those who know that something earlier allows it."""
        token = cls(output, time)
        output.dataflow.record(output.location, time, 1)
        return token

    @property
    def time(self) -> Time:
        """At which time this token may send (the last one, if it was dropped)."""
        return self._time

    @property
    def is_live(self) -> bool:
        """Whether it was not dropped yet."""
        return self._output is not None

    @property
    def output(self) -> TokenPort | None:
        """For which output it is; None once dropped."""
        return self._output

    def clone(self) -> Token:
        """A second token at the same time, to be dropped by itself."""
        return Token.minted(self._live("clone"), self._time)

    def delayed(self, time: Time) -> Token:
        """A second token at `time`, which is this token's or later; what is no time is an `InvalidArgument`."""
        output = self._live("delay")
        return Token.minted(output, self._later(output, time))

    def downgrade(self, time: Time) -> None:
        """Give up all times not at or after `time`, which is this token's or later; what is no time is an `InvalidArgument`."""
        output = self._live("downgrade")
        own, later = self._time, self._later(output, time)
        if later == own:
            return
        record = output.dataflow.record
        record(output.location, later, 1)
        record(output.location, own, -1)
        self._time = later

    def drop(self) -> None:
        """Give it up. Once."""
        output = self._live("drop")
        self._output = None
        del output.tokens[self]
        output.dataflow.record(output.location, self._time, -1)

    def _live(self, what: str) -> TokenPort:
        output = self._output
        if output is None:
            raise TokenMisuse(f"cannot {what} the token at {self._time}: it was dropped before")
        return output

    def _later(self, output: TokenPort, given: Time) -> Time:
        time = output.order.as_time(given, output.name)
        if not output.order.less_equal(self._time, time):
            raise TokenMisuse(f"{output.name} cannot move its token from {self._time} back to {time}")
        return time

    def __repr__(self) -> str:
        owner = "dropped" if self._output is None else self._output.name
        return f"Token({self._time}, {owner})"
