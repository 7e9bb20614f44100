"""A branch loop of a general program on one worker: begins from copies of what the main loop recorded, and comes to an end.

It has come to its fixed point when its dataflow is complete: no token and no message is left on any worker.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...protocol.messages import Message, Send
from ...protocol.resumption import RecordedState, ResumableSession, is_of_a_cut
from ..session_processor import Letter
from .edges import GeneralEdges
from .processor import GeneralProcessor
from .program import GeneralProgram, LoopView
from .vertices import GeneralVertices


class GeneralBranch(GeneralProcessor):
    """See the module.

    Parameters
    ----------
    number
        Of the fork: the same on all workers, growing.
    program
        With the parameters of the branch.
    fresh
        Begin from `init`, not from what the main loop has found: for other parameters.
    max_iterations
        How many iterations above the greatest of the snapshot, or above the first if `fresh`, it may commit.
    """

    def __init__(
        self,
        *,
        number: int,
        program: GeneralProgram,
        delay_bound: int | None,
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
    ) -> None:
        super().__init__(delay_bound=delay_bound, worker=worker, workers=workers)
        self.number = number
        self.first_iteration = 0
        self.version = -1
        self.was_stopped = False
        self.is_cancelled = False
        self.is_over_at_once = False
        self.is_recorded = False
        self.is_started = False
        self._program = program
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._is_resumed = False
        self._last = -1  # the greatest iteration that any worker committed before its record
        self._kept: list[Message] = []
        self._cut: RecordedState | None = None
        self._copies: GeneralVertices | None = None
        self._edges: GeneralEdges | None = None
        self._names: list[int] = []

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: nothing; the values are exact or not."""
        return {}

    @property
    def reusable(self) -> None:
        """None: state in plain Python is of no use to another branch."""
        return

    @property
    def is_converged(self) -> bool:
        """Whether this worker's part came to its end with nothing left to commit."""
        return self.session.pending() is None

    def record(
        self,
        *,
        version: int,
        iteration: int,
        edges: GeneralEdges,
        session: ResumableSession,
        vertices: GeneralVertices,
    ) -> None:
        """Copy the main loop's state, as it is after the last batch applied."""
        self.version = version
        self.first_iteration = self._last = iteration
        self.edge_count = edges.count
        if self._fresh:
            self._edges = edges.copied()
            self._names = sorted(vertices.vertices)
        else:
            self._cut = session.record()
            self._copies = vertices.copied()
        self.is_recorded = True

    def keep(self, letter: Letter, time: int) -> None:
        """Keep the messages of a letter that was under way when the snapshot was taken, until it begins."""
        del time
        if not self._fresh:
            self._kept.extend(message for message in letter.messages if is_of_a_cut(message))

    def cut_is_complete(self, markers: tuple[Letter, ...]) -> None:
        """Begin behind the last commit of any worker, which the markers say; others may have begun and sent already."""
        self._last = max([self._last, *(marker.iteration for marker in markers)])
        self.is_started = True
        self.operator.activate()

    def limit(self, iteration: int) -> None:
        """Do nothing: the markers tell every worker the same iteration."""

    def cancel(self) -> None:
        """Have it end, as soon as all of the snapshot is here."""
        self.is_cancelled = True

    def stop(self) -> None:
        """Begin no more sessions; those under way end, what is under way arrives, and the values are a consistent cut."""
        self.was_stopped = True
        self.cap = -1
        self.operator.activate()

    def step(self) -> None:
        """Take in messages and begin sessions; give the token up when there is nothing to come of this worker."""
        if not self.is_started:
            return
        if not self._is_resumed:
            self._resume()
        self.operator.pull(self._accept)
        if not self.operator.token.is_live:
            return
        started, moved = self._go_on(stays=False)
        if started or (moved and self.operator.token.is_live):
            self.operator.activate()

    def _resume(self) -> None:
        self._is_resumed = True
        first = 0 if self._fresh else self._last + 1
        last = None
        if self._max_iterations is not None:
            last = max(0, first - 1) + self._max_iterations
            self.cap = min(self.cap, last)
        self.iteration = max(0, first - 1)
        view = LoopView("branch", self.number, first)
        if self._cut is None or self._copies is None:
            self._begin(GeneralVertices(self._program, view), first, last_iteration=last)
            self._establish()
            return
        self._copies.loop = view
        self._begin(self._copies, first, last_iteration=last)
        for effect in self.session.resume(self._cut, self._kept):
            if isinstance(effect, Send):
                self._post(effect)
        self._cut = self._copies = None
        self._kept.clear()

    def _establish(self) -> None:
        """Begin with `init` of every vertex, on the edges as they were recorded."""
        assert self._edges is not None
        session, vertices = self.session, self.vertices
        consumers: dict[int, set[int]] = {}
        heard: dict[int, dict[int, list[object]]] = {}
        edges = list(self._edges)
        for source, target, weights in edges:
            if self.owns(source):
                consumers.setdefault(source, set()).add(self.partition.owner_of(target))
            if self.owns(target):
                heard.setdefault(source, {})[target] = list(weights)
        session.establish(
            (session.new_vertex(name, sorted(consumers.get(name, ()))) for name in self._names),
            (session.new_ghost(producer, heard[producer]) for producer in sorted(heard)),
        )
        for name in self._names:
            vertices.begin(name)
        for source, target, weights in edges:
            if self.owns(source):
                for weight in weights:
                    vertices.add_target(source, target, weight)
        for producer in sorted(heard):
            for name, weights_heard in sorted(heard[producer].items()):
                vertices.gather(name, producer, None, session.first_iteration - 1, weights_heard)
        self._edges = None
        self._names = []
