"""Steps and edges of ways where they are: with the workers that have the parts of a branch, or in a stored snapshot.

A worker follows parents for as long as it has them itself, so a question for each stretch of a way is enough. Where ways cross so
often that this takes too many questions, it is asked for all parents at once. What the edges weigh is read on the workers' own threads,
under the lease of the branch's version, by one question each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..engine import Engine
from ..errors import InternalError, WorkerLost
from ..value_types import Ids
from .branch import Branch
from .branch_edges import edges_of_stored
from .commands import LoopHost, Weigh
from .part import StepsView
from .stored_snapshot import StoredSnapshots, VertexColumns
from .ways import WaySteps, joined

# Questions in turn, and one more for so many vertices: about what all parents of these take.
_QUESTIONS = 16
_VERTICES_A_QUESTION = 1 << 12

Weighed = tuple[NDArray[np.int32], NDArray[np.float64]] | Exception


class BranchWays:
    """Those of a branch that is over, and was forked to read them.

    Parameters
    ----------
    number
        Of the branch.
    parts, hosts
        By worker.
    losses
        How often workers had been lost when these were there.
    """

    def __init__(
        self, number: int, parts: Sequence[StepsView], hosts: Sequence[LoopHost], engine: Engine, losses: int
    ) -> None:
        self._number = number
        self._parts = parts
        self._hosts = hosts
        self._engine = engine
        self._losses = losses
        self._holders: dict[int, int] = {}  # the workers that have the vertices of steps

    def steps_back(self, ids: Ids) -> WaySteps:
        """See `WayReader`."""
        found = [part.steps_back(ids) for part in self._parts]
        self._holders.clear()
        self._note(found)
        news, allowed, is_counted = found, _QUESTIONS, False
        while True:
            beyond = self._beyond(news)
            if not beyond:
                return joined(found)
            allowed -= len(beyond)
            if allowed < 0 and not is_counted:
                allowed += sum(part.statistics().vertices for part in self._parts) // _VERTICES_A_QUESTION
                is_counted = True
            if allowed < 0:
                return self._among_all(ids)
            news = [
                self._parts[worker].steps_back(np.array(others, np.int64))
                for worker, others in beyond.items()
            ]
            self._note(news, list(beyond))
            found += news

    def weights_between(
        self, producers: Ids, consumers: Ids
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `WayReader`: each edge is with the worker that has its consumer."""
        holders = np.array([self._holders[vertex] for vertex in consumers.tolist()], np.int64)
        outcomes: dict[int, Weighed] = {}

        def on_weighed(worker: int, outcome: Weighed) -> None:
            outcomes[worker] = outcome
            self._engine.notify()

        places = {int(worker): np.flatnonzero(holders == worker) for worker in np.unique(holders)}
        for worker, own in places.items():
            self._hosts[worker].post(Weigh(self._number, producers[own], consumers[own], on_weighed))
        engine = self._engine
        engine.wait_for(lambda: engine.losses != self._losses or len(outcomes) == len(places), None)
        if engine.losses != self._losses or len(outcomes) < len(places):
            raise WorkerLost("the workers were lost that were asked for the edges of ways")
        return _in_order(places, outcomes, len(consumers))

    def _note(self, found: Sequence[WaySteps], workers: Sequence[int] | None = None) -> None:
        for worker, steps in zip(range(len(found)) if workers is None else workers, found, strict=True):
            self._holders.update(dict.fromkeys(steps.vertices.tolist(), worker))

    def _beyond(self, found: Sequence[WaySteps]) -> dict[int, list[int]]:
        """Of these steps, the parents that are not known yet, by the workers that have them."""
        beyond: dict[int, list[int]] = {}
        for steps in found:
            unknown = {
                parent: owner
                for parent, owner in zip(steps.parents.tolist(), steps.owners.tolist(), strict=True)
                if parent not in self._holders
            }
            for parent, owner in unknown.items():
                beyond.setdefault(owner, []).append(parent)
        return beyond

    def _among_all(self, ids: Ids) -> WaySteps:
        """The steps of these vertices, out of those of all."""
        parts = [part.all_steps() for part in self._parts]
        holders = np.repeat(np.arange(len(parts)), [len(part.vertices) for part in parts])
        together = WaySteps(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        places = back_among(together.vertices, together.parents, ids)
        steps = WaySteps(*(column[places] for column in together))
        self._holders = dict(zip(steps.vertices.tolist(), holders[places].tolist(), strict=True))
        return steps


class StoredWays:
    """Those of a stored snapshot that has the fixed point.

    Parameters
    ----------
    stored, version
        Where, and which. Edges of one that was forgotten meanwhile are an error.
    vertices
        Of it, with what is stored of them.
    """

    def __init__(self, stored: StoredSnapshots, version: int, vertices: VertexColumns) -> None:
        self._stored = stored
        self._version = version
        self._vertices = vertices

    def steps_back(self, ids: Ids) -> WaySteps:
        """See `WayReader`."""
        known, parents = self._vertices.ids, self._vertices.columns["parents"]
        places = back_among(known, parents, ids)
        nobody = np.zeros(len(places), np.int64)
        return WaySteps(known[places], parents[places], nobody, self._vertices.values[places])

    def weights_between(
        self, producers: Ids, consumers: Ids
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `WayReader`: all pages are looked through."""
        order = np.argsort(consumers, kind="stable")  # each is there once
        wanted = consumers[order]
        found: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        for edges in edges_of_stored(self._stored, self._version) if len(wanted) else ():
            places = np.minimum(np.searchsorted(wanted, edges.targets), len(wanted) - 1)
            pairs = order[places]
            between = (wanted[places] == edges.targets) & (producers[pairs] == edges.sources)
            found.append((pairs[between], edges.weights[between]))
        pairs = np.concatenate([pairs for pairs, _ in found]) if found else np.empty(0, np.int64)
        weights = np.concatenate([weights for _, weights in found]) if found else np.empty(0)
        counts = np.bincount(pairs, minlength=len(consumers)).astype(np.int32)
        return counts, weights[np.argsort(pairs, kind="stable")]


def ways_of_branch(branch: Branch) -> BranchWays:
    """What has the steps and edges of a branch that is over.

    Raises
    ------
    InternalError
        When it is not, or was released.
    """
    parts = [cast("StepsView", part) for _, part in branch.states()]
    if not parts:
        raise InternalError(f"branch {branch.id} is not over or was released: it has no ways")
    return BranchWays(branch.id, parts, branch.hosts, branch.engine, branch.losses)


def back_among(vertices: Ids, parents: Ids, ids: Ids) -> NDArray[np.int64]:
    """Where those of some vertices are, in any order, that are among all, and the parents of these, and so on."""
    order = np.argsort(vertices, kind="stable")
    ascending = vertices[order]

    def place_of(vertex: int) -> int:
        at = int(np.searchsorted(ascending, vertex))
        return int(order[at]) if at < len(ascending) and ascending[at] == vertex else -1

    passed: dict[int, None] = {}
    for vertex in ids.tolist():
        place = place_of(vertex)
        while place >= 0 and place not in passed:
            passed[place] = None
            place = place_of(int(parents[place]))
    return np.array(list(passed), np.int64)


def _in_order(
    places: Mapping[int, NDArray[np.int64]], outcomes: Mapping[int, Weighed], pairs: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """What the workers have found, in the order of the pairs, of which each had those at its places."""
    counts, weights = np.zeros(pairs, np.int32), list[NDArray[np.float64]]()
    owners = list[NDArray[np.int64]]()
    for worker, own in places.items():
        outcome = outcomes[worker]
        if isinstance(outcome, Exception):
            raise outcome
        counts[own] = outcome[0]
        owners.append(np.repeat(own, outcome[0]))
        weights.append(outcome[1])
    if not weights:
        return counts, np.empty(0)
    return counts, np.concatenate(weights)[np.argsort(np.concatenate(owners), kind="stable")]
