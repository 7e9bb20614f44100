"""What the branches of compiled loops have in common: when they begin, and with what of the cut; early ends; leaving.

A branch begins when all of its cut is here, and the cap on its iterations, where it has one: with the columns that were recorded and
the bundles that were under way then. What workers that began earlier have sent to it already comes after these.
"""

from __future__ import annotations

from collections.abc import Mapping

from .compiled_part import Arrived, Bundle, CompiledPart, State
from .edge_reading import ReadsEdges
from .local_values import LocalValues


class CompiledBranch(ReadsEdges, CompiledPart[Bundle, State]):
    """See the module; stands before the part of its kind among the bases of a branch.

    Attributes
    ----------
    number, is_recorded, is_started, is_cancelled, is_over_at_once
        See `BranchPart`.
    was_stopped
        It is to come to an early end.
    """

    number: int
    first_iteration: int = 0
    is_recorded: bool = False
    is_started: bool = False
    is_cancelled: bool = False
    is_over_at_once: bool | None = False
    was_stopped: bool = False
    _fresh: bool
    _max_iterations: int | None
    _begins_at: int = 0  # the iteration of its token when it starts
    _awaits_limit: bool = False
    _has_cut: bool = False
    _kept: list[Bundle]  # what was under way when the snapshot was taken, in the order in which it has come

    # Beginning

    def keep(self, bundle: Bundle, iteration: int) -> None:
        """Keep for the beginning what was under way when the snapshot was taken, stamped with an iteration."""
        if not self._fresh:
            self._begins_at = min(self._begins_at, iteration)
        kept = self._kept_of(bundle.from_index(0))
        if len(kept):
            self._kept.append(kept)

    def _kept_of(self, bundle: Bundle) -> Bundle:
        """What of messages that were under way counts here: all of them."""
        return bundle

    def cut_is_complete(self, markers: tuple[Bundle, ...]) -> None:
        """Begin, as all of the snapshot is here; with a cap on iterations only once `limit` has set it."""
        del markers
        self._has_cut = True
        self._start_if_ready()

    def limit(self, iteration: int) -> None:
        """Begin no more than the iterations allowed above the snapshot's, and start if only that was missing."""
        assert self._max_iterations is not None
        self._set_cap((0 if self._fresh else iteration) + self._max_iterations)
        self._awaits_limit = False
        self._start_if_ready()

    def _set_cap(self, iteration: int) -> None:
        """Have nothing be done above an iteration."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Have it end, as soon as all of the snapshot is here."""
        self.is_cancelled = True
        self._start_if_ready()

    def _start_if_ready(self) -> None:
        if self._has_cut and not self.is_started and (self.is_cancelled or not self._awaits_limit):
            self._start()

    def _start(self) -> None:
        """Begin with what was kept; what workers that started earlier have sent already comes after it."""
        self._arrived.extendleft(
            Arrived(bundle, self._begins_at) for bundle in reversed(self._first_bundles())
        )
        self._kept.clear()
        self.is_started = True
        self.operator.activate()

    def _first_bundles(self) -> list[Bundle]:
        """What was kept, in the order in which it is to be taken in."""
        return self._kept

    # What its owner asks and tells

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: nothing; the values are exact or not."""
        return {}

    @property
    def reusable(self) -> State:
        """The columns, which another branch may use when this one is over."""
        return self.state

    def held_values(self) -> LocalValues:
        """Return the values of this worker's vertices; the branch must be over."""
        return LocalValues(self.graph, self._held(), self.vertices)

    def stop(self) -> None:
        """Begin nothing more; what is under way arrives, and then the values are those of a consistent cut."""
        self.was_stopped = True
        self.operator.activate()

    def free(self) -> None:
        """See `CompiledPart`; the edges that were read are gone at once, too."""
        super().free()
        self.drop_edges()
