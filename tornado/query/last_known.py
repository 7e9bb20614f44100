"""A record that is asked for with a limit to the wait: as it is now where that comes in time, else as it was last, with its age.

One thread asks at a time, whoever wants to know, so a loop that does not answer takes one thread. What is returned as new was
asked for after the caller came: whoever pushes and then looks sees what was pushed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Generic, TypeVar

from ..clock import Clock, wait_until

T = TypeVar("T")

RUNNING, UNRESPONSIVE, FAILED = STATES = ("running", "unresponsive", "failed")


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """A record, and since how long it may have changed: 0 for one that is new."""

    record: T
    age_s: float


@dataclass(frozen=True, slots=True)
class Standing(Generic[T]):
    """How something stands that was asked: what is known of it, if anything, and what asking it raised."""

    known: Known[T] | None
    error: Exception | None = None

    @property
    def state(self) -> str:
        """`running`, `unresponsive` where it did not answer in time, `failed` where it cannot."""
        if self.error is not None:
            return FAILED
        return RUNNING if self.known is not None and self.known.age_s == 0.0 else UNRESPONSIVE


class LastKnown(Generic[T]):
    """See the module.

    Parameters
    ----------
    ask : callable
        Returns the record, sooner or later.
    clock : Clock
        What waits and ages are counted by.
    """

    def __init__(self, ask: Callable[[], T], *, clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._changed = Condition()
        self._begun = self._ended = self._wanted = 0
        self._is_asking = False
        self._record: tuple[T, float] | None = None  # and when it was asked for
        self._error: Exception | None = None  # of the question that ended last

    def begin(self) -> int:
        """Have it asked for from now on; return the number of the question, for `wait`."""
        with self._changed:
            self._wanted = self._begun + 1
            if not self._is_asking:
                self._is_asking = True
                # A daemon: a process that ends does not wait for a loop that does not answer.
                Thread(target=self._run, name="tornado-last-known", daemon=True).start()
            return self._wanted

    def wait(self, question: int, timeout_s: float) -> Known[T] | None:
        """Wait for the answer to a question; return it, else what was known before, or None where nothing was.

        Raises
        ------
        Exception
            What asking raised.
        """
        with self._changed:
            until_s = self._clock.monotonic() + timeout_s
            is_new = wait_until(self._clock, self._changed, lambda: self._ended >= question, until_s)
            if is_new and self._error is not None:
                raise self._error
            return self._known(is_new=is_new)

    def standing(self, question: int, timeout_s: float) -> Standing[T]:
        """Wait as `wait` does; what asking raised is part of the answer."""
        try:
            return Standing(self.wait(question, timeout_s))
        except Exception as error:  # noqa: BLE001  whoever asks after several things shows it beside the others
            return Standing(self.known(), error)

    def get(self, timeout_s: float, *, max_age_s: float = 0.0) -> Known[T] | None:
        """Return the record: at once where it is young enough, otherwise as `begin` and `wait` do."""
        known = self.known()
        if known is not None and known.age_s < max_age_s:
            return known
        return self.wait(self.begin(), timeout_s)

    def known(self) -> Known[T] | None:
        """Return what is known without asking, or None."""
        with self._changed:
            return self._known(is_new=False)

    def _known(self, *, is_new: bool) -> Known[T] | None:
        if self._record is None:
            return None
        record, asked_at_s = self._record
        return Known(record, 0.0 if is_new else self._clock.monotonic() - asked_at_s)

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            with self._changed:
                self._begun += 1
                number, asked_at_s = self._begun, self._clock.monotonic()
            found: tuple[T, float] | None = None
            error: Exception | None = None
            try:
                found = self._ask(), asked_at_s
            except Exception as raised:  # noqa: BLE001  raised to whoever waits
                error = raised
            with self._changed:
                self._ended, self._error = number, error
                self._record = found or self._record
                goes_on = self._is_asking = self._wanted > number
                self._changed.notify_all()
