"""A consistent cut by markers, plain: what arrives in, effects out, no I/O.

A branch begins from a state of the whole loop: the state of each worker as it was at some moment of its own, and what was under
way between them. Source: Chandy and Lamport, "Distributed snapshots: determining global states of distributed systems" (1985);
a loop is forked from such a cut (Tornado, SIGMOD 2016, section 5.2). Each worker has one `Cut` and tells it, in order, what
arrives and when it has recorded its state for a fork. All workers record the same forks in the same order, and what a `Cut` says
is done at once, before anything else is sent. What it then guarantees, for every schedule on FIFO channels:

C1  Fork n gets from a channel exactly what was sent before the sender's record of n and not delivered before the receiver's: what
    the sender's state has as sent and the receiver's state does not have as received.
C2  Nothing is delivered before the receiver's record of n that was sent after the sender's: no state has an effect whose cause is
    missing from the cut.
C3  Everything is delivered once, and each channel in its order; so is what a fork gets.
C4  When all workers have recorded n and every channel is empty, n is complete on each of them, and nothing is held back for it.
    Forks complete once, in their order, and a fork gets nothing after that.

**Why C1.** A record is followed by a marker on every channel, so what comes before the marker of n was sent before the sender's
record of n. The receiver keeps it for n from its own record on, until that marker comes.

**Why C2.** In the paper the first marker makes its receiver record. Here a worker records at a place of its own, behind the input
that the fork is to have; so a marker can come too early, and then everything behind it on its channel is held until the record.

**Why C4.** A marker is behind a finite number of messages, and is taken in when it comes or at the record.

Left out on purpose: what this worker's own state is, what a message means, and messages of a worker to itself, which are part of
its state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..errors import ProtocolViolation

T = TypeVar("T")

NO_FORK = -1


@dataclass(frozen=True, slots=True)
class Deliver(Generic[T]):
    """Take this in; it is part of this worker's state from now on."""

    item: T


@dataclass(frozen=True, slots=True)
class Keep(Generic[T]):
    """Keep for `fork` what was under way when its cut was taken. It is delivered too, right after."""

    fork: int
    item: T


@dataclass(frozen=True, slots=True)
class Mark:
    """Send the marker of `fork` to every other worker, behind all that was sent before."""

    fork: int


@dataclass(frozen=True, slots=True)
class Complete(Generic[T]):
    """Everything that `fork` gets has been kept. `markers` are its markers, ascending by sender."""

    fork: int
    markers: tuple[T, ...]


Effect = Deliver[T] | Keep[T] | Mark | Complete[T]


class Cut(Generic[T]):
    """The forks of a loop as one worker sees them.

    Parameters
    ----------
    worker, workers
        Which worker, of how many. Every other one is at the end of a FIFO channel.

    Attributes
    ----------
    recorded
        The last fork that this worker recorded its state for, or `NO_FORK`.

    Examples
    --------
    Worker 0 of two. What comes behind the marker of fork 7 waits for its own record; what comes before it is kept afterwards.

    >>> early, late = Cut[str](0, 2), Cut[str](0, 2)
    >>> early.arrive(1, "marker", 7), early.arrive(1, "from after the cut")
    ([], [])
    >>> early.record(7)
    [Mark(fork=7), Complete(fork=7, markers=('marker',)), Deliver(item='from after the cut')]
    >>> late.record(7)
    [Mark(fork=7)]
    >>> late.arrive(1, "under way")
    [Keep(fork=7, item='under way'), Deliver(item='under way')]
    >>> late.arrive(1, "marker", 7)
    [Complete(fork=7, markers=('marker',))]
    """

    def __init__(self, worker: int, workers: int) -> None:
        self.worker = worker
        self.recorded = NO_FORK
        self._channels: dict[int, _Channel[T]] = {
            sender: _Channel() for sender in range(workers) if sender != worker
        }
        self._open: deque[_Open[T]] = deque()  # recorded here, markers missing; ascending

    def arrive(self, sender: int, item: T, marker: int = NO_FORK) -> list[Effect[T]]:
        """Take in what came from another worker; return what is to be done.

        Parameters
        ----------
        sender
            The worker, in the order of whose channel this is.
        item
            What came.
        marker
            The fork that it is the marker of, or `NO_FORK`.

        Returns
        -------
        list of Effect
            What to do now, in this order.

        Raises
        ------
        ProtocolViolation
            When there is no such channel, or its next marker is that of another fork. The cut has not changed.
        """
        channel = self._channel(sender)
        if marker != NO_FORK:
            self._require_next(sender, channel, marker)
        effects: list[Effect[T]] = []
        if self._must_hold(channel, marker):
            channel.held.append((marker, item))
        else:
            self._take(sender, channel, marker, item, effects)
        return effects

    def record(self, fork: int) -> list[Effect[T]]:
        """Note that this worker has recorded its state for a fork: what was delivered before is in it.

        Returns
        -------
        list of Effect
            What to do now, in this order; the first is to send the markers.

        Raises
        ------
        ProtocolViolation
            When the fork does not come after the one recorded before, or a marker of another one is waiting. The cut has not
            changed.
        """
        self._require_recordable(fork)
        self.recorded = fork
        self._open.append(_Open(fork))
        effects: list[Effect[T]] = [Mark(fork)]
        for sender, channel in self._channels.items():
            while channel.held and not self._is_early(channel.held[0][0]):
                self._take(sender, channel, *channel.held.popleft(), effects)
        self._complete(effects)
        return effects

    @property
    def is_awaited(self) -> bool:
        """Whether another worker's marker waits for this worker's next record."""
        return any(channel.held for channel in self._channels.values())

    @property
    def is_holding(self) -> bool:
        """Whether anything is held behind such a marker."""
        return any(len(channel.held) > 1 for channel in self._channels.values())

    def held(self) -> Iterator[T]:
        """What is held, markers left out: by channel, in its order."""
        for channel in self._channels.values():
            for marker, item in channel.held:
                if marker == NO_FORK:
                    yield item

    def key(self) -> tuple[object, ...]:
        """Its content, to compare; hashable if the items are."""
        return (
            self.recorded,
            tuple((one.fork, tuple(sorted(one.markers.items()))) for one in self._open),
            tuple((channel.passed, tuple(channel.held)) for channel in self._channels.values()),
        )

    def copy(self) -> Cut[T]:
        """A copy that shares nothing that changes."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(
            self.__dict__,
            _channels={
                sender: _Channel(channel.passed, channel.held.copy())
                for sender, channel in self._channels.items()
            },
            _open=deque(_Open(one.fork, one.markers.copy()) for one in self._open),
        )
        return twin

    # Decisions. Each is a rule of its own, and the tests break them one by one.

    def _is_early(self, marker: int) -> bool:
        """Whether a marker comes before this worker's record; what is none never does."""
        return marker > self.recorded

    def _must_hold(self, channel: _Channel[T], marker: int) -> bool:
        """Whether a marker must wait: its channel stands still from one that comes too early until this worker's record."""
        return bool(channel.held) or self._is_early(marker)

    def _awaits(self, channel: _Channel[T], fork: int) -> bool:
        """Whether what comes on a channel now was sent before the sender's record of a fork that is recorded here."""
        return channel.passed < fork

    def _is_complete(self, one: _Open[T]) -> bool:
        return len(one.markers) == len(self._channels)

    # What happens

    def _take(
        self, sender: int, channel: _Channel[T], marker: int, item: T, effects: list[Effect[T]]
    ) -> None:
        if marker == NO_FORK:
            if self._open:
                effects += [Keep(one.fork, item) for one in self._open if self._awaits(channel, one.fork)]
            effects.append(Deliver(item))
            return
        channel.passed = marker
        for one in self._open:
            if one.fork == marker:
                one.markers[sender] = item
        self._complete(effects)

    def _complete(self, effects: list[Effect[T]]) -> None:
        while self._open and self._is_complete(self._open[0]):
            one = self._open.popleft()
            effects.append(Complete(one.fork, tuple(item for _, item in sorted(one.markers.items()))))

    # Legality, asked before anything changes

    def _channel(self, sender: int) -> _Channel[T]:
        channel = self._channels.get(sender)
        if channel is None:
            raise ProtocolViolation(
                f"something came to worker {self.worker} from worker {sender}, where channels come from {list(self._channels)}"
            )
        return channel

    def _require_next(self, sender: int, channel: _Channel[T], marker: int) -> None:
        """Raise unless the markers of a channel are the forks in order; of forks not recorded here only the order is known."""
        if channel.held:
            before = max(held for held, _ in channel.held)
            is_next = marker > before
        else:
            before = channel.passed
            missing = next((one.fork for one in self._open if sender not in one.markers), NO_FORK)
            is_next = marker > self.recorded if missing == NO_FORK else marker == missing
        if not is_next:
            raise ProtocolViolation(
                f"the marker of fork {marker} came to worker {self.worker} from worker {sender} after that of {before}, "
                f"where {[one.fork for one in self._open]} are under way and {self.recorded} was recorded last"
            )

    def _require_recordable(self, fork: int) -> None:
        if fork <= self.recorded:
            raise ProtocolViolation(
                f"worker {self.worker} records fork {fork} after fork {self.recorded}; forks are recorded in their order"
            )
        for sender, channel in self._channels.items():
            if channel.held and channel.held[0][0] != fork:
                raise ProtocolViolation(
                    f"worker {self.worker} records fork {fork}, and worker {sender} has recorded fork {channel.held[0][0]} next"
                )


@dataclass(slots=True)
class _Channel(Generic[T]):
    """What comes from one worker."""

    passed: int = NO_FORK  # the last marker taken in: the sender's record and this worker's are both done
    held: deque[tuple[int, T]] = field(default_factory=deque)  # begins with a marker that came too early


@dataclass(slots=True)
class _Open(Generic[T]):
    """A fork that is recorded here, and the markers that have come, by sender."""

    fork: int
    markers: dict[int, T] = field(default_factory=dict)
