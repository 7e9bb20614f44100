"""An operator as it runs on one worker: its ports and its turn.

An operator is a function that the worker calls when there is something for it: messages, a frontier that moved, or a wish of its
own. In a call it pulls messages, sends with tokens, and returns; returning is *yielding*, and only then do the messages it
consumed and the token changes count, all at once (so that nobody ever sees the cause gone and the consequence not yet there).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Protocol

from ..errors import InvalidDataflow, TokenMisuse
from .order import Order, Time
from .token import Ledger, Token
from .tracker import Tracker

Summary = Callable[[Time], Time] | None


class Runtime(Ledger, Protocol):
    """A dataflow while it runs, as its operators and channels see it."""

    changes: list[tuple[int, Time, int]]
    """What was recorded since the last settlement."""

    @property
    def number(self) -> int:
        """Which dataflow; the same on all workers."""

    @property
    def loops_back(self) -> bool:
        """Whether a worker's messages to itself are sent as well."""

    @property
    def tracker(self) -> Tracker:
        """What this worker knows of progress."""

    def activate(self, operator: Operator) -> None:
        """Call an operator: in this step if its turn is still to come, else in the next."""

    def activate_from_outside(self, operator: Operator) -> None:
        """Have an operator called; from any thread."""

    def settle(self, author: Operator | None) -> None:
        """Apply what was recorded to this worker's own view, and keep it for the others."""

    def send(self, receiver: int, channel: int, time: Time, payload: Any) -> None:
        """Put a message for a worker on its way."""


class Outgoing(Protocol):
    """A channel, as the output that sends through it sees it."""

    def push(self, time: Time, payload: Any, worker: int | None) -> None:
        """Send a batch at the sender's `time`; `worker` is the target the sender named, if any."""


class Wake(Enum):
    """What makes a worker call an operator, besides messages and `activate`."""

    MESSAGES = "messages"
    """Nothing else."""
    FRONTIER = "frontier"
    """The frontier at one of its inputs moved."""
    POINTSTAMPS = "pointstamps"
    """Any count changed, by another operator or worker, that could show in a frontier at its ports, even behind its own tokens.
    For operators that ask for frontiers without their own tokens."""


class Received:
    """The time of a message that an operator has pulled, valid until the operator yields.

    Attributes
    ----------
    time : tuple of int
        When the message is at its input.
    """

    __slots__ = ("_input", "_turn", "time")

    def __init__(self, source: InputPort, time: Time) -> None:
        self._input = source
        self._turn = source.operator.turn
        self.time = time

    def retain(self, output: OutputPort | None = None, time: Time | None = None) -> Token:
        """A token for an output that this input is connected to.

        Parameters
        ----------
        output : OutputPort, optional
            Which one; may be left out by an operator with a single output.
        time : tuple of int, optional
            A later time than the message allows. Left out: the least that it allows.

        Raises
        ------
        TokenMisuse
            When the operator has yielded since, when the input is not connected to the output, or when `time` is not at or
            after what the message allows.
        InvalidArgument
            When `time` is no time of the output.
        """
        operator = self._input.operator
        if operator.turn != self._turn:
            raise TokenMisuse(
                f"{operator.name} cannot retain {self.time}: it has yielded since it pulled the message",
                hint="Retain while handling the message.",
            )
        if output is None:
            output = operator.outputs[0]
        if output.operator is not operator:
            raise TokenMisuse(
                f"{operator.name} cannot retain a token for {output.name}, which is not its output"
            )
        allowed = [
            self.time if summary is None else summary(self.time)
            for summary in self._input.connections[output.index]
        ]
        if not allowed:
            raise TokenMisuse(f"{self._input.name} is not connected to {output.name}: nothing to retain")
        if time is None:
            if len(allowed) > 1:
                raise TokenMisuse(
                    f"{self._input.name} allows {output.name} the times {allowed}: name the one to retain"
                )
            time = allowed[0]
        else:
            time = output.order.as_time(time, output.name)
            if not any(output.order.less_equal(least, time) for least in allowed):
                raise TokenMisuse(f"a message at {self.time} does not allow {output.name} to send at {time}")
        return Token.minted(output, time)

    def __repr__(self) -> str:
        return f"Received({self.time})"


class InputPort:
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
        """Whether a message at `time` or earlier may still come; what is no time of this input is an `InvalidArgument`."""
        less_equal = self.order.less_equal
        bound = self.order.as_time(time, self.name)
        return any(less_equal(front, bound) for front in self.frontier())

    def arrive(self, time: Time, payload: Any) -> None:
        """Put a message in the queue; called by channels."""
        self._queue.append((time, payload))
        operator = self.operator
        if not operator.is_active:
            operator.dataflow.activate(operator)

    def here(self) -> list[Time]:
        """The times of the messages that are here and not handled, also those pulled in this turn; from any thread."""
        pulled = [time for location, time in list(self.operator.consumed) if location == self.location]
        return pulled + [time for time, _ in list(self._queue)]

    def discard(self) -> None:
        """Forget all messages; for dataflows that are cancelled."""
        self._queue.clear()

    def __len__(self) -> int:
        return len(self._queue)

    def __bool__(self) -> bool:
        return True


class OutputPort:
    """An output port. Made by `OperatorBuilder.output`."""

    __slots__ = ("channels", "dataflow", "index", "location", "operator", "order", "tokens")

    def __init__(self, operator: Operator, index: int, location: int, order: Order) -> None:
        self.operator = operator
        self.dataflow = operator.dataflow
        self.index = index
        self.location = location
        self.order = order
        self.channels: tuple[Outgoing, ...] | None = None
        self.tokens: dict[Token, None] = {}

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

    def __init__(self, dataflow: Runtime, index: int, name: str) -> None:
        self.dataflow = dataflow
        self.index = index
        self.name = name
        self.inputs: list[InputPort] = []
        self.outputs: list[OutputPort] = []
        self.logic: Callable[[], None] = _nothing
        self.wake = Wake.MESSAGES
        self.is_active = False
        # Messages pulled in this turn: they count as under way until the operator yields.
        self.consumed: list[tuple[int, Time]] = []
        self.turn = 0


def _nothing() -> None:
    """What an operator does that only passes progress on."""
