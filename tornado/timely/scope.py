"""Scopes: where streams live, nested as loops are.

The outermost scope has times ``(epoch,)``; every loop adds a counter (Naiad, section 2.1). A stream enters a loop with counter
0, goes round through a feedback variable that adds to the counter, and leaves by dropping it. All three are written on the edge
itself as a path summary, so they cost no operator and no message: a batch gets its new time when it is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from ..errors import InvalidArgument, InvalidDataflow
from .dataflow import Dataflow
from .operator import OutputPort
from .order import Lexicographic, Order
from .path_summary import PathSummary

P = ParamSpec("P")
R = TypeVar("R")


class Scope:
    """A place for operators with a common order of times.

    Attributes
    ----------
    name : str
        For messages.
    order : Order
        Of the times in it.
    parent : Scope or None
        The scope around it.
    """

    __slots__ = ("dataflow", "name", "order", "parent")

    def __init__(self, dataflow: Dataflow, name: str, order: Order, parent: Scope | None) -> None:
        self.dataflow = dataflow
        self.name = name
        self.order = order
        self.parent = parent

    @classmethod
    def root(cls, dataflow: Dataflow) -> Scope:
        """The outermost scope of a dataflow."""
        return cls(dataflow, dataflow.name, Lexicographic(1), None)

    @property
    def worker(self) -> int:
        """Index of the worker that builds this instance."""
        return self.dataflow.worker.index

    @property
    def peers(self) -> int:
        """Number of workers."""
        return self.dataflow.worker.peers

    def loop(self, name: str = "loop", *, lexicographic: bool = False) -> Loop:
        """A loop context in this scope.

        Parameters
        ----------
        name : str
            For messages.
        lexicographic : bool
            Whether the counter only decides between times that are equal up to it. Then an iteration of an earlier epoch comes
            before all iterations of later ones. Otherwise the counter counts for itself, and epochs overlap.
        """
        order = self.order.nested_lexicographic() if lexicographic else self.order.nested_product()
        return Loop(self.dataflow, name, order, self)


class Loop(Scope):
    """A loop context: its times have one counter more than those around it."""

    __slots__ = ()

    def enter(self, stream: Stream) -> Stream:
        """A stream of the scope around it, in this loop, with counter 0."""
        if stream.scope is not self.parent:
            raise InvalidDataflow(
                f"a stream of {stream.scope.name} cannot enter {self.name}, which is not directly in it",
                hint="Enter the loops one by one, from the outside in.",
            )
        return Stream(self, stream.source, stream.summary.then(PathSummary.enter(self.order.arity - 1)))

    def leave(self, stream: Stream) -> Stream:
        """A stream of this loop, outside, without its counter."""
        if stream.scope is not self or self.parent is None:
            raise InvalidDataflow(f"a stream of {stream.scope.name} cannot leave {self.name}")
        return Stream(self.parent, stream.source, stream.summary.then(PathSummary.leave(self.order.arity)))

    def feedback(self, step: int = 1) -> Feedback:
        """A loop variable: a stream that can be used before what feeds it exists.

        Parameters
        ----------
        step : int
            How much later a batch comes back, at least 0; a cycle that does not advance is refused when the graph is built.

        Raises
        ------
        InvalidArgument
            When `step` is negative.
        """
        if step < 0:
            raise InvalidArgument(
                f"the step of a feedback is {step}, but must be at least 0: a batch never comes back before it was sent",
                hint="Leave it out: what is fed back is then of the next iteration.",
            )
        return Feedback(self, step)


class Feedback:
    """A loop variable. Read `stream`, and once connect what comes back.

    Attributes
    ----------
    stream : Stream
        What was connected, `step` iterations later.
    """

    __slots__ = ("_fed", "scope", "stream", "summary")

    def __init__(self, scope: Loop, step: int) -> None:
        self.scope = scope
        self.summary = PathSummary.feedback(scope.order.arity, step)
        self.stream = Stream(scope, self, PathSummary.identity(scope.order.arity))
        self._fed: Stream | None = None

    @property
    def fed(self) -> Stream:
        """The stream that was connected."""
        if self._fed is None:
            raise InvalidDataflow(
                f"a feedback variable of {self.scope.name} is used but never connected",
                hint="Call its connect().",
            )
        return self._fed

    def connect(self, stream: Stream) -> None:
        """Close the loop with a stream of the same loop."""
        if stream.scope is not self.scope:
            raise InvalidDataflow(
                f"a stream of {stream.scope.name} cannot be fed back in {self.scope.name}",
                hint="Enter or leave first.",
            )
        if self._fed is not None:
            raise InvalidDataflow(f"a feedback variable of {self.scope.name} is connected twice")
        self._fed = stream


class Stream:
    """What comes out of an output port, with the loops entered and left since."""

    __slots__ = ("scope", "source", "summary")

    def __init__(self, scope: Scope, source: OutputPort | Feedback, summary: PathSummary) -> None:
        self.scope = scope
        self.source = source
        self.summary = summary

    def then(self, operator: Callable[Concatenate[Stream, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Apply an operator of `tornado.timely.operators`: ``stream.then(map_batches, f)`` is ``map_batches(stream, f)``."""
        return operator(self, *args, **kwargs)

    def resolved(self) -> tuple[OutputPort, PathSummary]:
        """The output port behind all feedback variables, and what happens to times from there to here."""
        source, summary = self.source, self.summary
        seen: list[Feedback] = []
        while isinstance(source, Feedback):
            if source in seen:
                raise InvalidDataflow(
                    f"a feedback variable of {source.scope.name} is connected to nothing but itself"
                )
            seen.append(source)
            summary = source.fed.summary.then(source.summary).then(summary)
            source = source.fed.source
        return source, summary
