"""An operator as it runs on one worker: its ports, its turn, and what it may ask about progress.

An operator is a function that the worker calls when there is something for it: messages, a frontier that moved, or a wish of its
own. In a call it pulls messages, sends with tokens, and returns; returning is *yielding*, and only then do the messages it
consumed and the token changes count, all at once (so that nobody ever sees the cause gone and the consequence not yet there).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..errors import InvalidDataflow, TokenMisuse
from .antichain import Antichain
from .order import Order, Time
from .token import Received, Token

if TYPE_CHECKING:
    from .channel import Channel
    from .dataflow import Dataflow

Summary = Callable[[Time], Time] | None


class Wake(Enum):
    """What makes a worker call an operator, besides messages and `activate`."""

    MESSAGES = "messages"
    """Nothing else."""
    FRONTIER = "frontier"
    """The frontier at one of its inputs moved."""
    POINTSTAMPS = "pointstamps"
    """Any count changed, by another operator or worker, that could show in a frontier at its ports, even behind its own tokens.
    For operators that ask for frontiers without their own tokens."""


class Input:
    """An input port. Made by `OperatorBuilder.input`."""

    __slots__ = ("_queue", "connections", "index", "location", "operator", "order")

    def __init__(self, operator: Operator, index: int, location: int, order: Order) -> None:
        self.operator = operator
        self.index = index
        self.location = location
        self.order = order
        # For each output, the compiled minimal summaries through the operator; none where it is not connected.
        self.connections: list[tuple[Summary, ...]] = []
        self._queue: deque[tuple[Time, Any]] = deque()

    @property
    def name(self) -> str:
        """The operator's name and the number of the port."""
        return f"input {self.index} of {self.operator.name}"

    def pull(self) -> Iterator[tuple[Received, Any]]:
        """Take the messages that are here now, oldest first; stop early to leave the rest for the next turn.

        What the operator sends to itself meanwhile waits for the next turn, so a call always ends.

        Yields
        ------
        (Received, payload)
            The time, which can be retained as a token until the operator yields, and the batch.
        """
        queue = self._queue
        operator = self.operator
        consumed, location = operator.consumed, self.location
        for _ in range(len(queue)):
            if not queue:
                return  # the dataflow was cancelled in between
            time, payload = queue.popleft()
            consumed.append((location, time))
            yield Received(self, time), payload

    def frontier(self) -> tuple[Time, ...]:
        """The times at which messages may still be pulled here; empty when there will be none."""
        return self.operator.dataflow.tracker.frontier(self.location)

    def may_receive(self, time: Time) -> bool:
        """Whether a message at `time` or earlier may still come."""
        less_equal = self.order.less_equal
        return any(less_equal(front, time) for front in self.frontier())

    def arrive(self, time: Time, payload: Any) -> None:
        """Put a message in the queue; called by channels."""
        self._queue.append((time, payload))
        operator = self.operator
        if not operator.is_active:
            operator.dataflow.activate(operator)

    def discard(self) -> None:
        """Forget all messages; for dataflows that are cancelled."""
        self._queue.clear()

    def __len__(self) -> int:
        return len(self._queue)

    def __bool__(self) -> bool:
        return True


class Output:
    """An output port. Made by `OperatorBuilder.output`."""

    __slots__ = ("channels", "dataflow", "held", "index", "location", "operator", "order")

    def __init__(self, operator: Operator, index: int, location: int, order: Order) -> None:
        self.operator = operator
        self.dataflow = operator.dataflow
        self.index = index
        self.location = location
        self.order = order
        self.channels: tuple[Channel, ...] | None = None
        self.held = 0  # live tokens on this worker

    @property
    def name(self) -> str:
        """The operator's name and the number of the port."""
        return f"output {self.index} of {self.operator.name}"

    def send(self, token: Token, payload: Any, *, target: int | None = None) -> None:
        """Send a batch at the token's time.

        Parameters
        ----------
        token : Token
            A live token of this output.
        payload : object
            The batch; it belongs to the receivers from now on.
        target : int, optional
            The worker it goes to, for consumers that are `Routed`.

        Raises
        ------
        TokenMisuse
            When the token was dropped or is for another output.
        """
        if token.output is not self:
            whose = "was dropped" if token.output is None else f"is for {token.output.name}"
            raise TokenMisuse(f"{self.name} cannot send with the token at {token.time}: it {whose}")
        channels = self.channels
        if channels is None:
            raise InvalidDataflow(
                f"{self.name} sends while its dataflow is being built: its consumers are not known yet"
            )
        time = token.time
        for channel in channels:
            channel.push(time, payload, target)


class Operator:
    """One worker's instance of an operator."""

    __slots__ = (
        "consumed",
        "dataflow",
        "index",
        "inputs",
        "is_active",
        "logic",
        "name",
        "outputs",
        "turn",
        "wake",
    )

    def __init__(self, dataflow: Dataflow, index: int, name: str) -> None:
        self.dataflow = dataflow
        self.index = index
        self.name = name
        self.inputs: list[Input] = []
        self.outputs: list[Output] = []
        self.logic: Callable[[], None] = _nothing
        self.wake = Wake.MESSAGES
        self.is_active = False
        # Messages pulled in this turn: they count as under way until the operator yields.
        self.consumed: list[tuple[int, Time]] = []
        self.turn = 0


class Activator:
    """Makes the worker call an operator soon. The one thing here that any thread may use."""

    __slots__ = ("_operator",)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def activate(self) -> None:
        """Have the operator called in the worker's next step, waking the worker if it waits."""
        self._operator.dataflow.activate_from_outside(self._operator)


class Context:
    """What an operator may ask: who it is, and how far the others are.

    Attributes
    ----------
    worker : int
        Index of the worker it runs on.
    peers : int
        Number of workers.
    name : str
        The operator's name.
    activator : Activator
        To be handed to other threads.
    """

    __slots__ = ("_operator", "activator", "name", "peers", "worker")

    def __init__(self, operator: Operator, worker: int, peers: int) -> None:
        self._operator = operator
        self.worker = worker
        self.peers = peers
        self.name = operator.name
        self.activator = Activator(operator)

    def activate(self) -> None:
        """Be called again in the next step; from the worker's own thread."""
        self._operator.dataflow.activate(self._operator)

    def output_frontier_excluding(self, tokens: Iterable[Token], output: int = 0) -> Time | Antichain | None:
        """At which times somebody else may still send through this output, on any worker.

        Counted are all pointstamps that this worker knows of, of all workers, through all minimal paths; *not* counted are
        `tokens` and what this operator has in its hands: messages pulled in this call. What the operator did in this call so
        far (sends, token changes) is counted.

        Parameters
        ----------
        tokens : iterable of Token
            Live tokens of this operator.
        output : int
            Which output.

        Returns
        -------
        tuple of int, Antichain or None
            In total orders the least time, or None when there is nothing else; in partial orders the antichain. Never later
            than the truth.
        """
        port = self._operator.outputs[output]
        return self._without(tokens, port.location, port.order)

    def output_frontier_beside(self, token: Token) -> Time | Antichain | None:
        """At which times somebody may send through a token's output, leaving out all tokens at that very time.

        An operator that has nothing to do and only keeps a token for what may come asks this to see whether somebody is
        waiting ahead: it cannot tell others that idle at the same time from itself, and need not.

        Parameters
        ----------
        token : Token
            A live token of this operator.

        Returns
        -------
        tuple of int, Antichain or None
            As of `output_frontier_excluding`.
        """
        port = token.output
        if port is None or port.operator is not self._operator:
            raise TokenMisuse(
                f"{self._operator.name} asks for a frontier beside {token}, which it does not hold"
            )
        dataflow = self._operator.dataflow
        if dataflow.changes:
            dataflow.settle(self._operator)
        frontier = dataflow.tracker.frontier_beside(port.location, token.time)
        if port.order.is_total:
            return frontier[0] if frontier else None
        return Antichain(port.order, frontier)

    def input_frontier_excluding(self, tokens: Iterable[Token], input: int = 0) -> Time | Antichain | None:  # noqa: A002
        """At which times messages may still come to this input because of others; see `output_frontier_excluding`."""
        port = self._operator.inputs[input]
        return self._without(tokens, port.location, port.order)

    def _without(self, tokens: Iterable[Token], location: int, order: Order) -> Time | Antichain | None:
        operator = self._operator
        dataflow = operator.dataflow
        if dataflow.changes:
            dataflow.settle(operator)
        taken: dict[int, dict[Time, int]] = {}
        for token in tokens:
            port = token.output
            if port is None or port.operator is not operator:
                raise TokenMisuse(
                    f"{operator.name} asks for a frontier without {token}, which it does not hold"
                )
            times = taken.setdefault(port.location, {})
            times[token.time] = times.get(token.time, 0) + 1
        for place, time in operator.consumed:
            times = taken.setdefault(place, {})
            times[time] = times.get(time, 0) + 1
        frontier = dataflow.tracker.frontier_without(location, taken)
        if order.is_total:
            return frontier[0] if frontier else None
        return Antichain(order, frontier)


def _nothing() -> None:
    """What an operator does that only passes progress on."""
