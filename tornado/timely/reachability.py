"""Could-result-in: which pointstamps may still cause which others.

A *location* is an input or output port of an operator; a *pointstamp* is a time at a location: a timestamp token at an output
port, or a message under way to an input port. (t, l) could-result-in (t', l') when some path from l to l' has a summary s with
s(t) ≤ t' (Naiad, section 2.3). Links are the edges of the graph and the paths inside operators; loops are entered, left and
fed back on links, so they need no locations of their own.

The antichains of minimal summaries over *all* paths between all pairs are computed once for a graph, by a worklist, and kept for
graphs of the same shape (a branch is a dataflow built from a template). It ends because summaries only ever add: an antichain of
them is finite, by Dickson's lemma.

Guaranteed: a graph in which a pointstamp could result in itself, round a cycle that does not advance time, is refused, and the
operators on that cycle are named.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ..errors import InvalidDataflow
from .order import Order, Time
from .path_summary import PathSummary, insert_minimal

Link = tuple[int, int, PathSummary]
# For one location: every (other location, functions), where None stands for the identity.
Sources = tuple[tuple[int, tuple[Callable[[Time], Time] | None, ...]], ...]


class Reachability:
    """The minimal path summaries between all pairs of locations of one graph.

    Parameters
    ----------
    orders : tuple of Order
        The order of the times at each location.
    links : tuple of (int, int, PathSummary)
        From where to where, and what happens to times on the way.

    Attributes
    ----------
    sources : tuple
        For each location, the locations that can reach it (itself first, with the empty path) with compiled summaries.
    targets : tuple of tuple of int
        For each location, the locations it can reach, itself included, ascending.
    is_total : bool
        Whether the times at every location are totally ordered.

    Examples
    --------
    >>> from tornado.timely.order import Product
    >>> orders = (Product(2), Product(2))
    >>> loop = Reachability(orders, ((0, 1, PathSummary.identity(2)), (1, 0, PathSummary.feedback(2))))
    >>> loop.could_result_in((0, (0, 3)), (1, (0, 3))), loop.could_result_in((1, (0, 3)), (0, (0, 3)))
    (True, False)
    """

    __slots__ = ("is_total", "links", "orders", "sources", "summaries", "targets")

    def __init__(self, orders: tuple[Order, ...], links: tuple[Link, ...]) -> None:
        self.orders = orders
        self.links = links
        self.is_total = all(order.is_total for order in orders)
        self.summaries = [_minimal_from(source, orders, links) for source in range(len(orders))]
        self.targets = tuple(tuple(sorted(row)) for row in self.summaries)
        self.sources: tuple[Sources, ...] = tuple(self._sources_of(target) for target in range(len(orders)))

    def between(self, source: int, target: int) -> tuple[PathSummary, ...]:
        """The minimal summaries over all paths from `source` to `target`, empty when there is none."""
        return tuple(self.summaries[source].get(target, ()))

    def could_result_in(self, first: tuple[int, Time], second: tuple[int, Time]) -> bool:
        """Whether the pointstamp `first`, a (location, time), could result in `second`."""
        less_equal = self.orders[second[0]].less_equal
        return any(less_equal(summary(first[1]), second[1]) for summary in self.between(first[0], second[0]))

    def standing_cycle(self) -> list[int]:
        """The locations on cycles through the first location that a time can return to without having advanced."""
        for start, order in enumerate(self.orders):
            on_cycle = [
                location
                for location in self.targets[start]
                if location != start
                and any(
                    not out.then(back).advances(order)
                    for out in self.between(start, location)
                    for back in self.between(location, start)
                )
            ]
            if on_cycle or any(a == b == start and not s.advances(order) for a, b, s in self.links):
                return sorted([start, *on_cycle])
        return []

    def _sources_of(self, target: int) -> Sources:
        reached_from = [source for source in range(len(self.orders)) if target in self.summaries[source]]
        reached_from.sort(key=lambda source: source != target)
        return tuple(
            (source, tuple(summary.compiled() for summary in self.between(source, target)))
            for source in reached_from
        )


class ReachabilityBuilder:
    """Collects locations and links, then computes the reachability.

    Examples
    --------
    >>> from tornado.timely.order import Product
    >>> builder = ReachabilityBuilder()
    >>> port, again = builder.location("spin", Product(1)), builder.location("spin", Product(1))
    >>> builder.link(port, again, PathSummary.identity(1))
    >>> builder.link(again, port, PathSummary.identity(1))
    >>> try:
    ...     builder.build()
    ... except InvalidDataflow as error:
    ...     print(error.message)
    the cycle through spin does not advance time
    """

    __slots__ = ("_links", "_names", "_orders")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._orders: list[Order] = []
        self._links: list[Link] = []

    def location(self, name: str, order: Order) -> int:
        """Add a port of the operator `name`, whose times have `order`."""
        self._names.append(name)
        self._orders.append(order)
        return len(self._orders) - 1

    def link(self, source: int, target: int, summary: PathSummary) -> None:
        """Add a path from `source` to `target`: an edge between operators, or a way through one."""
        if (summary.source, summary.target) != (self._orders[source].arity, self._orders[target].arity):
            raise InvalidDataflow(
                f"the path from {self._names[source]} to {self._names[target]} turns times of {summary.source} counters "
                f"into {summary.target}, but they have {self._orders[source].arity} and {self._orders[target].arity}",
                hint="Enter and leave the loops that lie between the two.",
            )
        self._links.append((source, target, summary))

    def build(self) -> Reachability:
        """The reachability of the finished graph.

        Raises
        ------
        InvalidDataflow
            When a time can come back round a cycle at itself or before.
        """
        reachability, standing = _reachability(tuple(self._orders), tuple(self._links))
        if standing:
            names = list(dict.fromkeys(self._names[location] for location in standing))
            raise InvalidDataflow(
                f"the cycle through {', '.join(names)} does not advance time",
                hint="Close it with a feedback variable of the loop: loop.feedback().",
            )
        return reachability


@lru_cache(maxsize=256)
def _reachability(orders: tuple[Order, ...], links: tuple[Link, ...]) -> tuple[Reachability, list[int]]:
    reachability = Reachability(orders, links)
    return reachability, reachability.standing_cycle()


def _minimal_from(
    start: int, orders: tuple[Order, ...], links: tuple[Link, ...]
) -> dict[int, list[PathSummary]]:
    outgoing: dict[int, list[tuple[int, PathSummary]]] = {}
    for source, target, summary in links:
        outgoing.setdefault(source, []).append((target, summary))
    empty_path = PathSummary.identity(orders[start].arity)
    minimal = {start: [empty_path]}
    work = [(start, empty_path)]
    while work:
        location, path = work.pop()
        if path not in minimal[location]:
            continue  # a shorter way was found since it was put here, and that one is worked on
        for target, summary in outgoing.get(location, ()):
            longer = path.then(summary)
            if insert_minimal(minimal.setdefault(target, []), longer, orders[target]):
                work.append((target, longer))
    return minimal
