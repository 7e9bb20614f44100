"""The forks of a main loop on one worker: what the consistent cut (`protocol/cut.py`) says of a payload is done to the branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from ..protocol.cut import Cut, Deliver, Effect, Keep, Mark
from .loop_operator import NEVER, LoopOperator


class Payload(Protocol):
    """What workers send each other.

    Attributes
    ----------
    sender
        The worker it comes from.
    marker
        The fork it is the marker of, -1 otherwise.
    """

    @property
    def sender(self) -> int:
        """The worker it comes from."""
        ...

    @property
    def marker(self) -> int:
        """The fork it is the marker of, -1 otherwise."""
        ...


P = TypeVar("P", bound=Payload)
P_contra = TypeVar("P_contra", contravariant=True)


class ForkedPart(Protocol[P_contra]):
    """A branch on this worker whose state was recorded.

    Attributes
    ----------
    number
        Of the fork.
    """

    number: int

    def keep(self, payload: P_contra, timestamp: int) -> None:
        """Take in what was under way when its cut was taken."""
        ...

    def cut_is_complete(self, markers: tuple[P_contra, ...]) -> None:
        """Begin: the cut is whole, and these are the markers of all other workers for it."""
        ...


class Forks(Generic[P]):
    """See the module.

    Parameters
    ----------
    operator
        Of the main loop, by which markers leave.
    marker
        Makes this worker's marker of a fork.
    deliver
        Takes a payload into the main loop, with its timestamp.
    """

    def __init__(
        self, operator: LoopOperator[P], *, marker: Callable[[int], P], deliver: Callable[[P, int], None]
    ) -> None:
        self._operator = operator
        self._marker = marker
        self._deliver = deliver
        self._cut: Cut[tuple[P, int]] = Cut(operator.worker, operator.workers)
        self._branches: dict[int, ForkedPart[P]] = {}  # recorded here, cuts not complete

    def record(self, branch: ForkedPart[P]) -> None:
        """Send markers for a branch that has recorded this worker's state; all that was made before must have been sent."""
        self._branches[branch.number] = branch
        self._perform(self._cut.record(branch.number))

    def take(self, payload: P, timestamp: int) -> None:
        """Deliver, keep or hold a payload, as the cut says; payloads of one channel come in their order."""
        self._perform(self._cut.arrive(payload.sender, (payload, timestamp), payload.marker))

    @property
    def is_awaited(self) -> bool:
        """Whether another worker has recorded a fork that this one has not."""
        return self._cut.is_awaited

    @property
    def is_holding(self) -> bool:
        """Whether something is here that must not be taken in before this worker's next record."""
        return self._cut.is_holding

    def held_least(self) -> int:
        """Return the least timestamp of what is held, or NEVER."""
        return min((timestamp for _, timestamp in self._cut.held()), default=NEVER)

    def _perform(self, effects: list[Effect[tuple[P, int]]]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                self._deliver(*effect.item)
            elif isinstance(effect, Keep):
                self._branches[effect.fork].keep(*effect.item)
            elif isinstance(effect, Mark):
                self._operator.send_to_others(self._marker(effect.fork))
            else:
                markers = tuple(payload for payload, _ in effect.markers)
                self._branches.pop(effect.fork).cut_is_complete(markers)
