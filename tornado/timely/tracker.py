"""The frontier of every location, from the counts of pointstamps.

One tracker is one worker's view of a dataflow: it adds up the changes that the workers broadcast, for each (location, time), and
answers at which times something may still appear at a port: the antichain of s(t) over all pointstamps (l, t) of positive count
and all minimal summaries s from l (Naiad, section 2.3 and 3.3). Each location keeps the frontier of its own counts; only when
one of those moves are the watched frontiers behind it computed again, and nobody pays for ports that are not watched.

Guaranteed: the frontier of any view is never later than the truth, as long as every batch of changes is applied whole and in
the order of its sender. Net counts may be negative in between and do not show.
"""

from __future__ import annotations

from collections.abc import Iterable

from .antichain import Antichain, MutableAntichain, MutableLeast
from .order import Time
from .reachability import Reachability

Pointstamp = tuple[int, Time]


class Tracker:
    """Counts of pointstamps and the frontiers they imply.

    Parameters
    ----------
    reachability : Reachability
        The graph.
    watched : iterable of int
        The locations of which `propagate` reports changes.

    Examples
    --------
    >>> from tornado.timely.order import Lexicographic
    >>> from tornado.timely.path_summary import PathSummary
    >>> order = Lexicographic(1)
    >>> graph = Reachability((order, order), ((0, 1, PathSummary.identity(1)),))
    >>> tracker = Tracker(graph, watched=[1])
    >>> tracker.update(0, (3,), 1)
    >>> tracker.propagate(), tracker.frontier(1)
    ([1], ((3,),))
    >>> tracker.frontier_without(1, {0: {(3,): 1}})
    ()
    """

    __slots__ = ("_changed", "_frontiers", "_local", "_watched_behind", "outstanding", "reachability")

    def __init__(self, reachability: Reachability, watched: Iterable[int] = ()) -> None:
        self.reachability = reachability
        self._local: list[MutableLeast | MutableAntichain] = [
            MutableLeast() if order.is_total else MutableAntichain(order) for order in reachability.orders
        ]
        self._frontiers: dict[int, tuple[Time, ...]] = dict.fromkeys(watched, ())
        self._watched_behind = tuple(
            tuple(target for target in targets if target in self._frontiers)
            for targets in reachability.targets
        )
        self._changed: list[int] = []
        # How many pointstamps have a count that is not zero: with none left, the dataflow is complete.
        self.outstanding = 0

    def update(self, location: int, time: Time, delta: int) -> None:
        """Add `delta` to the count of a pointstamp; frontiers follow with the next `propagate`."""
        local = self._local[location]
        before = len(local.counts)
        if local.update(time, delta):
            self._changed.append(location)
        self.outstanding += len(local.counts) - before

    def propagate(self) -> list[int]:
        """Bring the watched frontiers up to date and return the locations of those that moved, ascending."""
        changed = self._changed
        if not changed:
            return changed
        self._changed = []
        behind = self._watched_behind
        if len(changed) == 1:
            suspects: Iterable[int] = behind[changed[0]]
        else:
            suspects = sorted({target for location in changed for target in behind[location]})
        frontiers = self._frontiers
        moved = []
        for target in suspects:
            frontier = self._implied(target)
            # The same times in another order are the same frontier.
            if frontier != frontiers[target] and set(frontier) != set(frontiers[target]):
                frontiers[target] = frontier
                moved.append(target)
        return moved

    def frontier(self, location: int) -> tuple[Time, ...]:
        """The times that may still appear at a location: as of the last `propagate` if watched, else as of now."""
        known = self._frontiers.get(location)
        return self._implied(location) if known is None else known

    def frontier_without(self, location: int, taken: dict[int, dict[Time, int]]) -> tuple[Time, ...]:
        """The frontier if some pointstamps were not there.

        Parameters
        ----------
        location : int
            Where.
        taken : dict
            For each location, how much to take off the count of which times.

        Returns
        -------
        tuple of times
            The frontier as of now. Cost: one evaluation per summary that ends at `location`.
        """
        local = self._local
        reachability = self.reachability
        if reachability.is_total:
            least: Time | None = None
            for source, summaries in reachability.sources[location]:
                without = taken.get(source)
                time = local[source].least if without is None else None  # type: ignore[union-attr]
                if without is not None:
                    front = local[source].frontier_without(without)
                    time = front[0] if front else None
                if time is None:
                    continue
                for summary in summaries:
                    implied = time if summary is None else summary(time)
                    if least is None or implied < least:
                        least = implied
            return () if least is None else (least,)
        chain = Antichain(reachability.orders[location])
        for source, summaries in reachability.sources[location]:
            without = taken.get(source)
            front = local[source].frontier() if without is None else local[source].frontier_without(without)
            for time in front:
                for summary in summaries:
                    chain.insert(time if summary is None else summary(time))
        return tuple(chain)

    def frontier_beside(self, location: int, time: Time) -> tuple[Time, ...]:
        """The frontier of a location if there were nothing at one of its pointstamps."""
        own = self._local[location].counts.get(time, 0)
        return self.frontier_without(location, {location: {time: own}} if own > 0 else {})

    def is_covered(self, location: int, time: Time) -> bool:
        """Whether a pointstamp *other* than this one could result in it (Naiad, section 3.3)."""
        less_equal = self.reachability.orders[location].less_equal
        return any(less_equal(front, time) for front in self.frontier_beside(location, time))

    def counts(self, location: int) -> dict[Time, int]:
        """A copy of what is counted at a location, by time; none is zero. Any thread may ask."""
        return self._local[location].counts.copy()

    def pointstamps(self) -> list[tuple[Pointstamp, int]]:
        """All counts that are not zero, ordered by location and time."""
        return [
            ((location, time), count)
            for location, local in enumerate(self._local)
            for time, count in sorted(local.counts.items())
        ]

    def _implied(self, target: int) -> tuple[Time, ...]:
        local = self._local
        reachability = self.reachability
        if reachability.is_total:
            least: Time | None = None
            for source, summaries in reachability.sources[target]:
                time = local[source].least  # type: ignore[union-attr]
                if time is None:
                    continue
                for summary in summaries:
                    implied = time if summary is None else summary(time)
                    if least is None or implied < least:
                        least = implied
            return () if least is None else (least,)
        return self.frontier_without(target, {})
