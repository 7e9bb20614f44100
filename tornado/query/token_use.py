"""How much of the service whoever has a token uses: questions at once, records and bytes a second.

What something costs is known when it is done, so a rate may be overdrawn: what comes next waits until that is paid back. So one
push is let in whatever its size, and the rate holds over any longer while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from ..clock import Clock
from ..errors import QueueFull
from .bearer_tokens import BearerToken, TokenLimits
from .query import Query

_SOON_S = 1.0


class Allowance:
    """So many a second, of which those of one second may be used at once.

    Parameters
    ----------
    rate : float
        How many a second.
    clock : Clock
        What seconds are counted by.
    """

    def __init__(self, rate: float, *, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._left = rate
        self._at_s = clock.monotonic()
        self._lock = Lock()

    def spend(self, amount: float) -> None:
        """Take so many, whether they are left or not."""
        with self._lock:
            self._renew()
            self._left -= amount

    def wait_s(self) -> float:
        """Return in how many seconds something is left; 0 where it is."""
        with self._lock:
            self._renew()
            return 0.0 if self._left > 0 else (1.0 - self._left) / self._rate

    def _renew(self) -> None:
        now_s = self._clock.monotonic()
        self._left = min(self._rate, self._left + (now_s - self._at_s) * self._rate)
        self._at_s = now_s


class TokenUse:
    """What is under way for one token.

    Parameters
    ----------
    token : BearerToken
        As it was when this began.
    clock : Clock
        What seconds are counted by.
    """

    def __init__(self, token: BearerToken, *, clock: Clock) -> None:
        self.limits: TokenLimits = token.limits
        self._name = token.name
        self._clock = clock
        self._records, self._bytes = map(
            self._allowance, (self.limits.records_per_s, self.limits.bytes_per_s)
        )
        self._asking = 0
        self._asked: list[Query] = []
        self._lock = Lock()

    def require_records(self) -> None:
        """Refuse a push while earlier ones were more than a token may push.

        Raises
        ------
        QueueFull
            With the time after which there is room.
        """
        self._require(self._records, self.limits.records_per_s, "records")

    def require_bytes(self) -> None:
        """Refuse a request while the bodies of earlier ones were more than a token may send and get.

        Raises
        ------
        QueueFull
            With the time after which there is room.
        """
        self._require(self._bytes, self.limits.bytes_per_s, "bytes")

    def spend_records(self, count: int) -> None:
        """Count what was pushed."""
        if self._records is not None:
            self._records.spend(count)

    def spend_bytes(self, count: int) -> None:
        """Count what came in a body, or went out in one."""
        if self._bytes is not None:
            self._bytes.spend(count)

    @contextmanager
    def asking(self) -> Iterator[Callable[[Query], None]]:
        """Hold a place for a question while it is asked; what is yielded has it counted until it ends.

        Raises
        ------
        QueueFull
            When as many run or wait as may.
        """
        admitted: list[Query] = []
        with self._lock:
            self._asked = [query for query in self._asked if not query.state.is_final]
            most, under_way = self.limits.queries, len(self._asked) + self._asking
            if most is not None and under_way >= most:
                raise QueueFull(
                    f"the token {self._name} has {under_way} queries that run or wait, and may have {most}",
                    hint="Wait for one of them, or end it: DELETE /v1/queries/{id}. A loop that is followed counts as one.",
                    retry_after_s=_SOON_S,
                )
            self._asking += 1
        try:
            yield admitted.append
        finally:
            # The list may be another one by now; the place is given up as the question takes it.
            with self._lock:
                self._asking -= 1
                self._asked += admitted

    def _allowance(self, rate: float | None) -> Allowance | None:
        return None if rate is None else Allowance(rate, clock=self._clock)

    def _require(self, allowance: Allowance | None, rate: float | None, what: str) -> None:
        if allowance is not None and (wait_s := allowance.wait_s()):
            raise QueueFull(
                f"the token {self._name} may use {rate:.0f} {what} a second, and has used more",
                hint="Send less at once, or more slowly.",
                retry_after_s=wait_s,
            )


class TokenUses:
    """The use of all tokens, which outlives changes of their file."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._uses: dict[bytes, TokenUse] = {}

    def of(self, token: BearerToken) -> TokenUse | None:
        """Return the use of a token; None where it has no limits."""
        if token.limits == TokenLimits():
            return None
        use = self._uses.get(token.digest)
        if use is None or use.limits != token.limits:
            use = self._uses[token.digest] = TokenUse(token, clock=self._clock)
        return use
