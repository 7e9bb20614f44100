"""The usual operators, each a few lines on `OperatorBuilder`.

They are functions of a stream: ``map_batches(stream, f)``, or chained, ``stream.then(map_batches, f).then(inspect, print)``.
Functions are applied to whole batches (NumPy arrays, tuples of columns, lists), so nothing here costs anything per record.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any, TypeVar

import numpy as np

from ..errors import InvalidArgument, InvalidDataflow
from .builder import OperatorBuilder
from .channel import Exchange, Pact, Pipeline, one_each
from .context import Context
from .notificator import Notificator
from .operator import InputPort, OutputPort, Wake
from .order import Order, Time
from .scope import Scope, Stream
from .token import Token
from .tracker import Tracker

S = TypeVar("S")

UnaryLogic = Callable[[InputPort, OutputPort], None]
BinaryLogic = Callable[[InputPort, InputPort, OutputPort], None]


class InputHandle:
    """How data gets in: batches at the current epoch, which only advances.

    It belongs to the worker that made it, and to its thread.
    """

    __slots__ = ("_output", "_token")

    def __init__(self, output: OutputPort, token: Token) -> None:
        self._output = output
        self._token = token

    @property
    def time(self) -> Time:
        """At which time `send` sends."""
        return self._token.time

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""
        return self._token.is_live

    def send(self, batch: Any, *, target: int | None = None) -> None:
        """Send a batch at the current time; `InvalidArgument` once closed."""
        self._require_open("send")
        self._output.send(self._token, batch, target=target)

    def advance_to(self, time: Time | int) -> None:
        """Promise that nothing before `time` will be sent any more.

        Parameters
        ----------
        time : tuple of int, or int
            With one integer for each counter of the scope. Outside of loops the epoch may be given alone.

        Raises
        ------
        InvalidArgument
            When `time` is before the current one, or is none of the scope of the input; once closed.
        """
        self._require_open("advance")
        own, order = self._token.time, self._output.order
        wanted = _as_time(time, order, "the input")
        if not order.less_equal(own, wanted):
            raise InvalidArgument(
                f"the input is at {own} and cannot go back to {wanted}: others may have seen that nothing before {own} comes",
                hint="Advance to later times only; `time` says where the input is.",
            )
        self._token.downgrade(wanted)

    def close(self) -> None:
        """Promise that nothing will be sent any more. Closing twice is as good as once."""
        if self._token.is_live:
            self._token.drop()

    def _require_open(self, what: str) -> None:
        if not self.is_open:
            raise InvalidArgument(
                f"the input was closed at {self._token.time} and cannot {what} any more",
                hint="Close it behind the last batch; `is_open` says whether it was.",
            )


class Probe:
    """How far a stream has come: the times at which its source may still send.

    Batches that were sent but not consumed behind the stream are not counted; probe what the consumer puts out for that.
    """

    __slots__ = ("_dataflow", "_location", "_order")

    def __init__(self, stream: Stream) -> None:
        scope = stream.scope
        self._order = scope.order
        self._dataflow = scope.dataflow
        self._location = scope.dataflow.graph.location("probe", scope.order)
        scope.dataflow.add_edge(stream.resolved, self._location, None)

    def frontier(self) -> tuple[Time, ...]:
        """The least times that may still appear, empty when none will."""
        return self._tracker().frontier(self._location)

    def less_than(self, time: Time | int) -> bool:
        """Whether something strictly before `time` may still appear; see `less_equal` for what a time is."""
        bound = _as_time(time, self._order, "the probe")
        return any(self._order.less_than(front, bound) for front in self.frontier())

    def less_equal(self, time: Time | int) -> bool:
        """Whether something at `time` or before may still appear.

        Parameters
        ----------
        time : tuple of int, or int
            With one integer for each counter of the scope. Outside of loops the epoch may be given alone, as to an input. Inside
            of one it may not: where counters count for themselves, iterations of an earlier epoch are not before ``(epoch, 0)``.
            Probe the stream behind the loop to know that an epoch is over.

        Raises
        ------
        InvalidArgument
            When `time` is none of the scope.
        """
        bound = _as_time(time, self._order, "the probe")
        return any(self._order.less_equal(front, bound) for front in self.frontier())

    def is_done(self) -> bool:
        """Whether nothing will appear any more."""
        return not self.frontier()

    def _tracker(self) -> Tracker:
        return self._dataflow.tracker


def new_input(scope: Scope, name: str = "input") -> tuple[InputHandle, Stream]:
    """A source of batches, fed through a handle."""
    builder = OperatorBuilder(scope, name)
    output, stream = builder.output()
    handles: list[InputHandle] = []

    def construct(tokens: list[Token], _: Context) -> Callable[[], None]:
        handles.append(InputHandle(output, tokens[0]))
        return _rest

    builder.build(construct, wake=Wake.MESSAGES)
    return handles[0], stream


def probe(stream: Stream) -> Probe:
    """Watch how far a stream has come; costs nothing until asked."""
    return Probe(stream)


def map_batches(stream: Stream, function: Callable[[Any], Any], *, name: str = "map") -> Stream:
    """Apply `function` to each batch; where it returns None, nothing is sent."""
    return _transform(stream, Pipeline(), name, lambda _, batch: function(batch))


def filter_batches(stream: Stream, predicate: Callable[[Any], Any], *, name: str = "filter") -> Stream:
    """Keep the records for which `predicate`, given the batch, returns True: a boolean array, or any sequence for lists.

    A batch of which nothing is left is not sent on; in a loop it would go round for ever. What is not one value for each record is
    refused with `InvalidArgument`.
    """

    def chosen(_: Time, batch: Any) -> Any:
        mask = one_each(batch, predicate(batch), "the predicate of a filter", "truth values", each="boolean")
        if isinstance(batch, list):
            return list(compress(batch, mask)) or None
        if len(mask) and mask.dtype != np.bool_:
            raise InvalidArgument(
                f"the predicate of a filter gave an array of {mask.dtype}, by which records would be picked and not kept",
                hint="Return a boolean array, such as batch > 0.",
            )
        if not mask.any():
            return None
        return tuple(column[mask] for column in batch) if isinstance(batch, tuple) else batch[mask]

    return _transform(stream, Pipeline(), name, chosen)


def inspect(stream: Stream, function: Callable[[Time, Any], Any], *, name: str = "inspect") -> Stream:
    """Show each time and batch to `function` and pass the batch on."""

    def shown(time: Time, batch: Any) -> Any:
        function(time, batch)
        return batch

    return _transform(stream, Pipeline(), name, shown)


def exchange(stream: Stream, key: Callable[[Any], Any], *, name: str = "exchange") -> Stream:
    """Bring records of equal key to one worker; see `Exchange`."""
    return _transform(stream, Exchange(key), name, lambda _, batch: batch)


def concat(*streams: Stream, name: str = "concat") -> Stream:
    """All batches of several streams of one scope."""
    if not streams:
        raise InvalidDataflow("concat needs at least one stream")
    builder = OperatorBuilder(streams[0].scope, name)
    inputs = [builder.input(stream) for stream in streams]
    output, merged = builder.output()

    def construct(tokens: list[Token], _: Context) -> Callable[[], None]:
        tokens[0].drop()

        def logic() -> None:
            for port in inputs:
                for received, batch in port.pull():
                    token = received.retain()
                    output.send(token, batch)
                    token.drop()

        return logic

    builder.build(construct, wake=Wake.MESSAGES)
    return merged


def unary_frontier(
    stream: Stream,
    pact: Pact,
    constructor: Callable[[Token, Context], UnaryLogic],
    *,
    name: str = "unary",
    wake: Wake = Wake.FRONTIER,
) -> Stream:
    """An operator with one input and one output, called with both on messages and when the frontier moved.

    Parameters
    ----------
    stream : Stream
        Its input.
    pact : Pact
        How the input is distributed.
    constructor : callable
        Gets the first token, to keep or drop, and the context; returns ``logic(input, output)``.
    name : str
        For messages.
    wake : Wake
        What else it is called for.
    """
    builder = OperatorBuilder(stream.scope, name)
    port = builder.input(stream, pact)
    output, result = builder.output()

    def construct(tokens: list[Token], context: Context) -> Callable[[], None]:
        logic = constructor(tokens[0], context)
        return lambda: logic(port, output)

    builder.build(construct, wake=wake)
    return result


def binary_frontier(
    first: Stream,
    second: Stream,
    pacts: tuple[Pact, Pact],
    constructor: Callable[[Token, Context], BinaryLogic],
    *,
    name: str = "binary",
    wake: Wake = Wake.FRONTIER,
) -> Stream:
    """An operator with two inputs and one output; see `unary_frontier`."""
    builder = OperatorBuilder(first.scope, name)
    ports = (builder.input(first, pacts[0]), builder.input(second, pacts[1]))
    output, result = builder.output()

    def construct(tokens: list[Token], context: Context) -> Callable[[], None]:
        logic = constructor(tokens[0], context)
        return lambda: logic(*ports, output)

    builder.build(construct, wake=wake)
    return result


def unary_notify(
    stream: Stream,
    pact: Pact,
    logic: Callable[[InputPort, OutputPort, Notificator], None],
    *,
    name: str = "notify",
) -> Stream:
    """An operator that asks to be notified: called with its input, its output and a `Notificator`."""

    def construct(token: Token, _: Context) -> UnaryLogic:
        token.drop()
        notificators: list[Notificator] = []

        def called(port: InputPort, output: OutputPort) -> None:
            if not notificators:
                notificators.append(Notificator([port]))
            logic(port, output, notificators[0])

        return called

    return unary_frontier(stream, pact, construct, name=name)


def aggregate(
    stream: Stream,
    initial: Callable[[], S],
    fold: Callable[[S, Any], S],
    emit: Callable[[Time, S], Any],
    *,
    pact: Pact | None = None,
    name: str = "aggregate",
) -> Stream:
    """Fold all batches of a time into one, and send it when the time is complete.

    Parameters
    ----------
    stream : Stream
        What is aggregated.
    initial : callable
        A fresh state.
    fold : callable
        The state after one more batch. Batches of a time come in any order, so it should not matter.
    emit : callable
        What is sent, from the time and its final state, once, when nothing at that time or before can come any more.
    pact : Pact, optional
        Which batches meet: `Exchange` by key; left out, each worker folds its own.
    name : str
        For messages.
    """
    states: dict[Time, S] = {}

    def logic(port: InputPort, output: OutputPort, notificator: Notificator) -> None:
        for received, batch in port.pull():
            time = received.time
            if time not in states:
                states[time] = initial()
                notificator.notify_at(time, received.retain())
            states[time] = fold(states[time], batch)
        for time, token in notificator.ready():
            if token is not None:
                output.send(token, emit(time, states.pop(time)))
                token.drop()

    return unary_notify(stream, Pipeline() if pact is None else pact, logic, name=name)


def _as_time(given: object, order: Order, whose: str) -> Time:
    """See `Order.as_time`; where times are epochs, one may be given alone."""
    alone = order.arity == 1 and not isinstance(given, tuple)
    return order.as_time((given,) if alone else given, whose)


def _transform(stream: Stream, pact: Pact, name: str, function: Callable[[Time, Any], Any]) -> Stream:
    builder = OperatorBuilder(stream.scope, name)
    port = builder.input(stream, pact)
    output, result = builder.output()

    def construct(tokens: list[Token], _: Context) -> Callable[[], None]:
        tokens[0].drop()

        def logic() -> None:
            for received, batch in port.pull():
                changed = function(received.time, batch)
                if changed is None:
                    continue
                token = received.retain()
                output.send(token, changed)
                token.drop()

        return logic

    builder.build(construct, wake=Wake.MESSAGES)
    return result


def _rest() -> None:
    """What an operator does that is driven by its handle."""
