"""What an operator may ask about progress, and how other threads have it called."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import TokenMisuse
from .antichain import Antichain
from .operator import Operator
from .order import Order, Time
from .token import Token


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
