"""A worker in another process, as the owner of loops sees it: the commands of `host.py` are sent, and what it reports is taken.

Its parts of loops are asked over the wire, so they are never more than a message old, and nothing of a loop is kept here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import ClusterEngine, error_of
from ..errors import WorkerLost
from ..graph.edges_by_page import Edges, PageEdges
from ..timely import Holder
from ..value_types import Ids, Mask, ValueArray, Worst
from .commands import (
    Admit,
    Adopt,
    Cancel,
    Command,
    EndLoop,
    Expect,
    Fork,
    GiveUp,
    Limit,
    LookAround,
    Place,
    Release,
    StartLoop,
    Stop,
    UseBlocks,
    Weigh,
)
from .kind import PartPlan
from .part import PageVertices, PartStatistics, Traffic
from .sent_records import sent_records
from .surroundings import Surroundings
from .ways import WaySteps


@dataclass(frozen=True, slots=True)
class RemoteValues:
    """The values of one worker's part; see `PartValues`."""

    ask: Callable[..., Any]
    is_final: bool

    def lookup(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """See `PartValues`."""
        values, known = self.ask("lookup", np.ascontiguousarray(ids, np.int64))
        return values, known

    def seconds(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """See `PartValues`."""
        values, known = self.ask("seconds", np.ascontiguousarray(ids, np.int64))
        return values, known

    def count(self) -> int:
        """See `PartValues`."""
        return int(self.ask("count"))

    def best(self, k: int, rank: str, worst: Worst) -> tuple[Ids, ValueArray]:
        """See `PartValues`."""
        ids, values = self.ask("best", k, rank, worst)
        return ids, values

    def arrays(self) -> tuple[Ids, ValueArray]:
        """See `PartValues`."""
        ids, values = self.ask("arrays")
        return ids, values

    def found(self) -> Mapping[str, NDArray[Any]]:
        """See `PartValues`."""
        found: Mapping[str, NDArray[Any]] = self.ask("found")
        return found


@dataclass(frozen=True, slots=True)
class RemotePages:
    """One worker's part of a snapshot that is to be stored; see `PagesView`."""

    begin_asking: Callable[..., Callable[[], Any]]

    def sizes(self) -> tuple[int, int]:
        """See `PagesView`."""
        vertices, edges = self.begin_asking("sizes")()
        return vertices, edges

    def arrange(self, pages: int) -> bool:
        """See `PagesView`."""
        return bool(self.begin_asking("arrange", pages)())

    def page_vertices(self, page: int) -> Callable[[], PageVertices]:
        """See `PagesView`."""
        return self.begin_asking("page_vertices", page)

    def page_edges(self, page: int) -> Callable[[], PageEdges]:
        """See `PagesView`."""
        return self.begin_asking("page_edges", page)

    def some_edges(self, first: int, stop: int) -> Edges:
        """See `PagesView`."""
        sources, targets, weights = self.begin_asking("some_edges", first, stop)()
        return sources, targets, weights


@dataclass(frozen=True, slots=True)
class RemotePointPages:
    """One worker's points of a snapshot that is to be stored; see `PointPagesView`."""

    ask: Callable[..., Any]

    def sizes(self) -> list[tuple[int, int, int]]:
        """See `PointPagesView`."""
        return [(shard, points, pages) for shard, points, pages in self.ask("point_sizes")]

    def page_points(self, shard: int, number: int) -> bytes:
        """See `PointPagesView`."""
        page: NDArray[np.uint8] = self.ask("page_points", shard, number)
        return page.tobytes()


class RemotePart:
    """One worker's part of a loop."""

    def __init__(self, host: RemoteHost, target: tuple[str, int]) -> None:
        self._host = host
        self._target = target
        self._losses = host.losses

    def progress(self) -> PartStatistics:
        """See `PartView`."""
        return PartStatistics(*self._ask("progress"))

    def statistics(self) -> PartStatistics:
        """See `PartView`."""
        return PartStatistics(*self._ask("statistics"))

    def history(self) -> NDArray[np.float64]:
        """See `PartView`."""
        flat: NDArray[np.float64] = self._ask("history")
        return flat.reshape(-1, 4)

    def _ask(self, method: str, *arguments: Any) -> Any:
        return self._begin_asking(method, *arguments)()

    def _begin_asking(self, method: str, *arguments: Any) -> Callable[[], Any]:
        if self._host.losses != self._losses:
            raise WorkerLost("the worker that held these values was lost")
        return self._host.begin_asking((*self._target, method, *arguments))


class RemoteMain(RemotePart):
    """One worker's part of a main loop; see `MainPartView`.

    Attributes
    ----------
    adoptions
        How often it was told to take over what a branch has found; questions do not keep their order with what is told.
    """

    def __init__(self, host: RemoteHost, number: int) -> None:
        super().__init__(host, ("main", number))
        self.adoptions = 0

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        return Traffic(*self._ask("traffic", self.adoptions))

    def held_values(self) -> RemoteValues:
        """See `PartView`."""
        return RemoteValues(self._ask, is_final=False)


class RemoteBranch(RemotePart):
    """One worker's part of a branch; see `StorableView`.

    Parameters
    ----------
    first_iteration
        See `BranchPartView`.
    """

    def __init__(self, host: RemoteHost, number: int, first_iteration: int) -> None:
        super().__init__(host, ("branch", number))
        self.first_iteration = first_iteration
        self.is_converged = False
        self.findings: Mapping[str, float] = {}
        self.reusable = number
        self._last: PartStatistics | None = None
        self._history: NDArray[np.float64] | None = None

    def finish(
        self,
        *,
        is_converged: bool,
        findings: Mapping[str, float],
        last: PartStatistics,
        history: NDArray[np.float64],
    ) -> None:
        """Keep what the end was like, so that whoever hears of the end need not ask, and wait for, a worker."""
        self.is_converged, self.findings = is_converged, findings
        self._last, self._history = last, history

    def progress(self) -> PartStatistics:
        """See `PartView`."""
        return super().progress() if self._last is None else self._last

    def history(self) -> NDArray[np.float64]:
        """See `PartView`."""
        return super().history() if self._history is None else self._history.reshape(-1, 4)

    def held_values(self) -> RemoteValues:
        """See `PartView`."""
        return RemoteValues(self._ask, is_final=True)

    def steps_back(self, ids: Ids) -> WaySteps:
        """See `StepsView`."""
        return WaySteps(*self._ask("steps_back", np.ascontiguousarray(ids, np.int64)))

    def all_steps(self) -> WaySteps:
        """See `StepsView`."""
        return WaySteps(*self._ask("all_steps"))

    def pages(self) -> RemotePages:
        """See `StorableView`."""
        return RemotePages(self._begin_asking)

    def point_pages(self) -> RemotePointPages:
        """See `StorableView`."""
        return RemotePointPages(self._ask)

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """See `StorableView`."""
        return dict(self._ask("parameters"))

    def drop_edges(self) -> None:
        """See `StorableView`."""
        self._host.send(("drop edges", self.reusable))

    def free(self) -> None:
        """Have the worker free it."""
        self._host.send(("free", self.reusable))


class RemoteHost:
    """See the module; it takes the place of a `WorkerHost`.

    Parameters
    ----------
    index
        Which worker.
    engine
        How to reach it.
    """

    def __init__(self, index: int, engine: ClusterEngine) -> None:
        self.index = index
        self._engine = engine
        self._starts: dict[int, StartLoop] = {}  # by loop
        self._applied: dict[int, Callable[[int, int, int], None]] = {}  # by stream
        self._installed: dict[int, RemoteMain] = {}
        self._forks: dict[int, tuple[Fork, RemoteBranch | None]] = {}
        self._placing: dict[int, Place] = {}
        self._weighing: dict[int, Weigh] = {}
        self._looking: dict[int, LookAround] = {}
        self._tickets = itertools.count()
        self._failures: list[tuple[int | None, int | None, BaseException]] = []

    def loop(self, number: int) -> RemoteMain | None:
        """A loop's part on this worker."""
        return self._installed.get(number)

    def traffic(self, number: int) -> Traffic | None:
        """See `LoopHost`."""
        part = self._installed.get(number)
        return None if part is None else part.traffic()

    def holders(self, number: int) -> list[Holder]:
        """See `LoopHost`."""
        return [Holder(*one) for one in self.ask(("holders", number))]

    def branch_holders(self, number: int) -> list[Holder] | None:
        """See `LoopHost`."""
        found = self.ask(("branch holders", number))
        return None if found is None else [Holder(*one) for one in found]

    @property
    def losses(self) -> int:
        """How often workers were lost so far."""
        return self._engine.losses

    def failures(self) -> list[tuple[int | None, int | None, BaseException]]:
        """(loop, branch, error) of what failed on this worker."""
        return list(self._failures)

    def send(self, message: tuple[Any, ...]) -> None:
        """Send what the worker understands (`remote_worker.py`)."""
        self._engine.send(self.index, message)

    def ask(self, request: tuple[Any, ...]) -> Any:
        """Ask what the worker answers (`remote_worker.py`)."""
        return self._engine.ask(self.index, request)

    def begin_asking(self, request: tuple[Any, ...]) -> Callable[[], Any]:
        """Ask what the worker answers; what is returned waits for it."""
        return self._engine.begin_asking(self.index, request)

    def prepare(self, plan: PartPlan) -> None:
        """See `LoopHost`: have the worker fetch what the plan requires."""
        required = plan.required()
        if required is not None:
            self.ask(("require", plan.kind, required))

    def post(self, command: Command) -> None:
        """Send a command; from any thread, under the master's lock where order matters."""
        match command:
            case Admit(stream, share) if stream in self._applied:  # not one that could not be restored
                records = sent_records(share.batch)
                self.send(("admit", stream, share.version, share.is_both_ways, share.mentioned, *records))
            case Fork():
                start = self._starts.get(command.loop)
                if start is None:
                    return  # it was taken off the workers meanwhile, and whoever forked it hears of that
                self._forks[command.number] = command, None
                plan = start.plan
                options = command.fresh, command.max_iterations, command.reads_edges, command.reads_points
                fields = plan.fork_fields(command.arguments)
                self.send(
                    ("fork", command.loop, command.number, plan.kind, fields, *options, command.reads_ways)
                )
            case Weigh(number, producers, consumers):
                ticket = next(self._tickets)
                self._weighing[ticket] = command
                self.send(("weigh", ticket, number, producers, consumers))
            case LookAround(stream, vertex, most):
                ticket = next(self._tickets)
                self._looking[ticket] = command
                self.send(("look around", ticket, stream, vertex, most))
            case GiveUp(number):
                self.send(("give up", number))
            case Stop(number):
                self.send(("stop", number))
            case Limit(number, iteration):
                self.send(("limit", number, iteration))
            case Cancel(number):
                self._forks.pop(number, None)
                self.send(("cancel", number))
            case Release(loop, state):
                self.send(("release", loop, state))
            case Adopt(loop, found):
                main = self._installed.get(loop)
                if main is not None:
                    main.adoptions += 1
                self.send(("adopt", loop, found))
            case StartLoop(loop, stream, plan, partition):
                self._starts[loop] = command
                self._applied[stream] = command.on_applied
                self.send(("start", loop, stream, plan.kind, plan.fields(), *partition.fields()))
            case UseBlocks(stream, block_bits):
                self.send(("blocks", stream, block_bits))
            case Expect(stream, partition, edges):
                self.send(("expect", stream, edges, *partition.fields()))
            case Place(ids, columns, is_behind_edges):
                ticket = next(self._tickets)
                self._placing[ticket] = command
                self.send(("place", ticket, is_behind_edges, ids, dict(columns)))
            case EndLoop(loop, at_once):
                self._installed.pop(loop, None)
                ended = self._starts.pop(loop, None)
                if ended is not None and all(start.stream != ended.stream for start in self._starts.values()):
                    self._applied.pop(ended.stream, None)
                self.send(("end", loop, at_once))

    def take(self, report: tuple[Any, ...]) -> None:
        """Pass on a report of the worker; on the receiver's thread."""
        match report:
            case ("installed", loop):
                start = self._starts.get(loop)
                if start is not None:
                    self._installed[loop] = RemoteMain(self, loop)
                    start.on_installed(self.index)
            case ("refused", loop, error):
                start = self._starts.get(loop)
                if start is not None:
                    start.on_refused(self.index, error_of(error))
            case ("applied", stream, records, held):
                on_applied = self._applied.get(stream)
                if on_applied is not None:
                    on_applied(self.index, records, held)
            case ("recorded", number, first_iteration):
                command, _ = self._forks.get(number, (None, None))
                if command is not None:
                    part = RemoteBranch(self, number, first_iteration)
                    self._forks[number] = command, part
                    command.on_recorded(self.index, part)
            case ("finished", number, is_converged, findings, statistics, history):
                command, recorded = self._forks.pop(number, (None, None))
                if command is not None and recorded is not None:
                    last = PartStatistics(*statistics)
                    recorded.finish(is_converged=is_converged, findings=findings, last=last, history=history)
                    command.on_finished(self.index, recorded)
            case ("placed", ticket, error):
                placing = self._placing.pop(ticket, None)
                if placing is not None:
                    placing.on_placed(self.index, None if error is None else error_of(error))
            case ("weighed", ticket, error, *found):
                weighing = self._weighing.pop(ticket, None)
                if weighing is not None:
                    weighed = (found[0], found[1]) if error is None else error_of(error)
                    weighing.on_weighed(self.index, weighed)
            case ("looked around", ticket, error, *found):
                looking = self._looking.pop(ticket, None)
                if looking is not None:
                    looking.on_found(self.index, Surroundings(*found) if error is None else error_of(error))
            case ("failed", loop, branch, error):
                self._failures.append((loop, branch, error_of(error)))
            case ("idle",):
                self._engine.notify()
