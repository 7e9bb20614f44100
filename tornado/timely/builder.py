"""Building operators by hand.

An operator is declared with its ports, then constructed: the constructor is called once on each worker with the first tokens
(one for each output, at the least time) and a context, and returns the function that the worker calls from then on. Times that
pass through an operator keep their value unless a summary says otherwise; a connection that is declared absent lets the
frontier of an output ignore an input (the first output of a distinct-count vertex, say, never waits; but it is connected).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import InvalidDataflow
from .channel import Pact, Pipeline
from .context import Context
from .operator import InputPort, Operator, OutputPort, Wake
from .path_summary import PathSummary
from .scope import Scope, Stream
from .token import Token

Logic = Callable[[], None]
Constructor = Callable[[list[Token], Context], Logic]
Connection = PathSummary | Sequence[PathSummary] | None

_UNCHANGED = PathSummary.identity(0)  # stands for the identity of whatever depth the scope has


class OperatorBuilder:
    """Declares an operator in a scope.

    Parameters
    ----------
    scope : Scope
        Where it lives; its inputs must be streams of that scope.
    name : str
        For messages: failures, cycles and leaked tokens are reported with it.
    """

    __slots__ = ("_connections", "_is_built", "operator", "scope")

    def __init__(self, scope: Scope, name: str) -> None:
        self.scope = scope
        self.operator: Operator = scope.dataflow.add_operator(name)
        self._connections: list[Connection | Mapping[int, Connection]] = []
        self._is_built = False

    def input(self, stream: Stream, pact: Pact | None = None) -> InputPort:
        """Add an input port that gets `stream`, distributed by `pact` (`Pipeline` when left out)."""
        operator, scope = self.operator, self.scope
        if stream.scope is not scope:
            raise InvalidDataflow(
                f"{operator.name} is in {scope.name} but reads a stream of {stream.scope.name}",
                hint="Enter or leave the loops between them first.",
            )
        location = scope.dataflow.graph.location(operator.name, scope.order)
        port = InputPort(operator, len(operator.inputs), location, scope.order)
        operator.inputs.append(port)
        scope.dataflow.add_edge(stream.resolved, port, Pipeline() if pact is None else pact)
        return port

    def output(
        self, connection: Connection | Mapping[int, Connection] = _UNCHANGED
    ) -> tuple[OutputPort, Stream]:
        """Add an output port.

        Parameters
        ----------
        connection : PathSummary, sequence of PathSummary, None, or a mapping of these by input
            What the operator does to the times of a message before it may answer on this output. Left out: nothing. None:
            messages of that input never cause anything here.

        Returns
        -------
        (OutputPort, Stream)
            The port to send through, and the stream of what is sent.
        """
        operator, scope = self.operator, self.scope
        location = scope.dataflow.graph.location(operator.name, scope.order)
        port = OutputPort(operator, len(operator.outputs), location, scope.order)
        operator.outputs.append(port)
        self._connections.append(connection)
        return port, Stream(scope, port, PathSummary.identity(scope.order.arity))

    def build(self, constructor: Constructor, *, wake: Wake = Wake.FRONTIER) -> Operator:
        """Finish the operator.

        Parameters
        ----------
        constructor : callable
            Gets the list of first tokens, one for each output, and the `Context`; returns the function without arguments that
            is called when there is something to do. Tokens it does not keep it must drop. It cannot send yet.
        wake : Wake
            What calls the operator besides messages and activation. Every operator is called once in the first step.
        """
        if self._is_built:
            raise InvalidDataflow(f"{self.operator.name} is built twice")
        self._is_built = True
        operator, dataflow = self.operator, self.scope.dataflow
        for port in operator.inputs:
            for output, declared in zip(operator.outputs, self._connections, strict=True):
                summaries = self._summaries(declared, port.index)
                port.connections.append(tuple(summary.compiled() for summary in summaries))
                for summary in summaries:
                    dataflow.graph.link(port.location, output.location, summary)
        operator.wake = wake
        tokens = [Token(output, output.order.least) for output in operator.outputs]
        operator.logic = constructor(tokens, Context(operator, self.scope.worker, self.scope.peers))
        return operator

    def _summaries(
        self, declared: Connection | Mapping[int, Connection], index: int
    ) -> tuple[PathSummary, ...]:
        unchanged = PathSummary.identity(self.scope.order.arity)
        if isinstance(declared, Mapping):
            declared = declared.get(index, unchanged)
        if declared is None:
            return ()
        if isinstance(declared, PathSummary):
            return (unchanged if declared is _UNCHANGED else declared,)
        return tuple(declared)
