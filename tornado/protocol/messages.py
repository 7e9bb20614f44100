"""What sessions say to each other, what their worker tells them, and what they ask of it.

The three phases of a session (Tornado, section 4.2) are three messages: a producer that wants to commit sends `Prepare` to the
workers that consume it, each answers `Acknowledge`, and the commit travels as `Update`. Who consumes whom changes while the
loop runs: `Subscribe`, answered by `Subscribed`, and `Unsubscribe`. All of them are frozen; an event is one of these messages,
an `Input`, a `Start` or a `Frontier`; an effect is a `Send` or a `Committed`.

Channels are FIFO for every ordered pair of workers. Nothing here may overtake anything else on its channel: an `Unsubscribe`
that overtook a `Subscribe`, or an `Update` its `Prepare`, is a violation.
"""

from __future__ import annotations

from dataclasses import dataclass

from .clock import Stamp


@dataclass(frozen=True, slots=True)
class Prepare:
    """Phase two, there: `producer` would like to commit, and asks how far its consumers have come."""

    producer: int
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Phase two, back: none of `worker`'s consumers of `producer` commits before its update arrives.

    `reached` is the greatest iteration any of them has reached: rule 3 does not let the producer commit before it.
    """

    worker: int
    producer: int
    stamp: Stamp
    reached: int


@dataclass(frozen=True, slots=True)
class Update:
    """Phase three, and phase one of whoever gathers it: `producer` committed `value` at `iteration`.

    Sent to every consumer that was sent a `Prepare`, also when the value is what it was: they wait for it.
    """

    producer: int
    iteration: int
    value: object


@dataclass(frozen=True, slots=True)
class Subscribe:
    """`worker` has the first edge from `producer`; input of the producer, admitted at `iteration`."""

    worker: int
    producer: int
    iteration: int


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """`worker` has lost the last edge from `producer`; input of the producer, admitted at `iteration`."""

    worker: int
    producer: int
    iteration: int


@dataclass(frozen=True, slots=True)
class Subscribed:
    """Answer to `Subscribe`: the producer's last commit and its iteration.

    `committed` is the session's start iteration (-1 unless told otherwise) where the producer never committed: then there is
    no value yet. `iteration` repeats the iteration at which the subscription was admitted.
    """

    producer: int
    committed: int
    value: object
    iteration: int


@dataclass(frozen=True, slots=True)
class Touch:
    """Input for one vertex that is no edge (a source's distance, a changed parameter)."""

    vertex: int
    data: object = None


@dataclass(frozen=True, slots=True)
class AddEdge:
    """An edge `producer -> consumer` begins; `data` is its weight. Lives with its consumer."""

    producer: int
    consumer: int
    data: object = None


@dataclass(frozen=True, slots=True)
class RemoveEdge:
    """The oldest edge `producer -> consumer` with this `data` ends; None stands for any weight."""

    producer: int
    consumer: int
    data: object = None


Change = Touch | AddEdge | RemoveEdge


@dataclass(frozen=True, slots=True)
class Input:
    """A change of the graph, admitted at `iteration` (the paper's ΔS_i)."""

    iteration: int
    change: Change


@dataclass(frozen=True, slots=True)
class Start:
    """The worker's choice that `vertex`, dirty and eligible, begins its session now."""

    vertex: int


@dataclass(frozen=True, slots=True)
class Frontier:
    """What progress tracking knows here.

    Parameters
    ----------
    tau : int
        No commit can happen at an iteration below (the paper's τ). May lag behind the true one.
    closed : int
        No update or input of an iteration below can still arrive. `tau <= closed <= tau + 1`. Only B=1 needs it: there a
        vertex commits in a round without asking anybody, so it must have everything of the rounds before.
    """

    tau: int
    closed: int


Message = Prepare | Acknowledge | Update | Subscribe | Unsubscribe | Subscribed
Event = Message | Input | Start | Frontier


@dataclass(frozen=True, slots=True)
class Send:
    """Effect: put `message` on the FIFO channel to `worker`."""

    worker: int
    message: Message


@dataclass(frozen=True, slots=True)
class Committed:
    """Effect: `vertex` committed `value` at `iteration`."""

    vertex: int
    iteration: int
    value: object


Effect = Send | Committed


def committed_at(value: Update | Subscribed) -> int:
    """The iteration at which the producer committed the value."""
    return value.iteration if isinstance(value, Update) else value.committed


def arrival(value: Update | Subscribed) -> int:
    """The iteration at which a commit is work where it arrives.

    One above its own: this is the feedback edge of the loop. A subscription is answered at the iteration of the input, if later.
    """
    if isinstance(value, Update):
        return value.iteration + 1
    return max(value.iteration, value.committed + 1)


def work_at(message: Message) -> int | None:
    """The least iteration of a commit that the message in flight can still cause; None where it causes none of its own.

    PREPARE and ACKNOWLEDGE cause none: the vertex that prepares has its own work pending.

    Examples
    --------
    >>> work_at(Update(producer=1, iteration=4, value="x"))
    5
    >>> work_at(Prepare(producer=1, stamp=Stamp(1, 1))) is None
    True
    """
    match message:
        case Update() | Subscribed():
            return arrival(message)
        case Subscribe() | Unsubscribe():
            return message.iteration
        case _:
            return None
