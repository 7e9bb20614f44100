"""What a worker process runs: a `WorkerHost` that is fed over the wire, reports what happens, and answers what is asked.

Launchers know this module by its name: `serve` is a worker's life.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from typing import Any, cast

import numpy as np

from ..engine import Member, MemberConfig, Membership, WireType, described, tell_later_workers
from ..errors import InvalidArgument
from ..graph import PartitionMap
from ..process_memory import keep_freed_memory
from .commands import (
    Admit,
    Adopt,
    Cancel,
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
from .host import WorkerHost
from .kind import Fields, PartPlan, PlanReader, kind_named, kinds
from .part import BranchPart, BranchPartView, Traffic
from .sent_records import received_records
from .share import Share

WIRE_TYPES: tuple[WireType, ...] = tuple(one for kind in kinds() for one in kind.wire_types())


class RemoteWorker:
    """See the module.

    Parameters
    ----------
    index, workers
        Which worker, of how many.
    member
        Its connection to the others and to the driver.
    """

    def __init__(self, index: int, workers: int, member: Membership) -> None:
        self._member = member
        self._worker_host = WorkerHost(index, workers, member.fabric)
        self._branches: dict[int, BranchPart] = {}
        self._readers: dict[str, PlanReader] = {}  # by kind
        self._adoptions: Counter[int] = Counter()  # by loop, see `RemoteMain`
        self._failed: set[tuple[int | None, int | None]] = set()
        self.host = ReportingHost(self._worker_host, self._report_failures, member.report)

    def obey(self, command: tuple[Any, ...]) -> None:
        """Take a command of `RemoteHost`; on the listener's thread."""
        post, report = self._worker_host.post, self._member.report
        match command:
            case ("admit", stream, version, is_both_ways, mentioned, *records):
                batch = received_records(tuple(records))
                share = Share(version, batch, mentioned, is_both_ways=is_both_ways)
                post(Admit(stream, share))
            case ("fork", loop, number, kind, fields, fresh, max_iterations, *reads):
                reads_edges, reads_points, reads_ways = reads
                post(
                    Fork(
                        loop=loop,
                        number=number,
                        arguments=self._reader(kind).fork_arguments(fields),
                        fresh=fresh,
                        max_iterations=max_iterations,
                        on_recorded=lambda _, part: self._recorded(number, cast("BranchPart", part)),
                        on_finished=lambda _, part: self._finished(number, part),
                        reads_edges=reads_edges,
                        reads_points=reads_points,
                        reads_ways=reads_ways,
                    )
                )
            case ("weigh", ticket, number, producers, consumers):
                post(Weigh(number, producers, consumers, lambda _, found: self._weighed(ticket, found)))
            case ("look around", ticket, stream, vertex, most):
                post(LookAround(stream, vertex, most, lambda _, found: self._looked(ticket, found)))
            case ("give up", number):
                post(GiveUp(number))
            case ("stop", number):
                post(Stop(number))
            case ("limit", number, iteration):
                post(Limit(number, iteration))
            case ("cancel", number):
                self._branches.pop(number, None)
                post(Cancel(number))
            case ("release", loop, number):
                part = self._branches.pop(number, None)
                if part is not None and part.reusable is None:
                    part.free()
                elif part is not None:
                    post(Release(loop, part.reusable))
            case ("drop edges", number):
                storable: Any = self._branches.get(number)
                if storable is not None:
                    storable.drop_edges()
            case ("adopt", loop, number):
                part = self._branches.get(number)
                post(Adopt(loop, None if part is None else part.reusable))
                self._adoptions[loop] += 1
            case ("free", number):
                part = self._branches.pop(number, None)
                if part is not None:
                    part.free()
            case ("blocks", stream, block_bits):
                post(UseBlocks(stream, block_bits))
            case ("start", loop, stream, kind, fields, *partition):
                plan = self._reader(kind).plan(fields)
                self._adoptions[loop] = 0
                post(
                    StartLoop(
                        loop,
                        stream,
                        plan,
                        PartitionMap.of_fields(self._worker_host.workers, *partition),
                        on_installed=lambda _: self._installed(loop, plan),
                        on_refused=lambda _, error: report("refused", loop, described(self._told(error))),
                        on_applied=lambda _, records, held: report("applied", stream, records, held),
                    )
                )
            case ("expect", stream, edges, *partition):
                post(Expect(stream, PartitionMap.of_fields(self._worker_host.workers, *partition), edges))
            case ("place", ticket, is_behind_edges, ids, columns):
                post(Place(ids, columns, is_behind_edges, lambda _, error: self._placed(ticket, error)))
            case ("end", loop, at_once):
                self._adoptions.pop(loop, None)
                post(EndLoop(loop, at_once))

    def answer(self, request: tuple[Any, ...]) -> Any:
        """Answer what `RemotePart` asks, who holds a frontier back, or fetch what a plan requires; on the listener's thread."""
        if request[0] == "require":
            _, kind, fields = request
            return self._require(kind, fields)
        if request[0] == "holders":
            return [tuple(one) for one in self._worker_host.holders(request[1])]
        if request[0] == "branch holders":
            found = self._worker_host.branch_holders(request[1])
            return None if found is None else [tuple(one) for one in found]
        where, number, method, *arguments = request
        part: Any = self._worker_host.loop(number) if where == "main" else self._branches.get(number)
        if part is None:
            raise KeyError(f"{where} loop {number} is not on this worker")
        match method:
            case "progress" | "statistics":
                return astuple(getattr(part, method)())
            case "history":
                return part.history().ravel()
            case "traffic":
                (adoptions,) = arguments
                traffic = cast(Traffic, self._worker_host.traffic(number))
                is_idle = traffic.is_idle and self._adoptions[number] == adoptions
                return tuple(traffic._replace(is_idle=is_idle))
            case "lookup" | "seconds" | "count" | "best" | "arrays" | "found":
                return getattr(part.held_values(), method)(*arguments)
            case "steps_back" | "all_steps":
                return tuple(getattr(part, method)(*arguments))
            case "sizes" | "arrange" | "some_edges":
                return getattr(part.pages(), method)(*arguments)
            case "page_vertices" | "page_edges":
                return getattr(part.pages(), method)(*arguments)()
            case "point_sizes":
                return part.point_pages().sizes()
            case "page_points":
                return np.frombuffer(part.point_pages().page_points(*arguments), np.uint8)
            case "parameters":
                return dict(part.parameters())
        raise KeyError(f"a part of a loop does not answer {method!r}")

    def _reader(self, kind: str) -> PlanReader:
        if kind not in self._readers:
            self._readers[kind] = kind_named(kind).reader()
        return self._readers[kind]

    def _require(self, kind: str, fields: Fields) -> None:
        try:
            self._reader(kind).require(fields)
        except InvalidArgument as error:
            worker = self._worker_host.index
            raise InvalidArgument(f"worker {worker} {error.message}", hint=error.hint) from error

    def _told(self, error: BaseException) -> BaseException:
        for reader in self._readers.values():
            error = reader.told(error)
        return error

    def _installed(self, loop: int, plan: PartPlan) -> None:
        self._member.report("installed", loop)
        tell_later_workers(plan.kind, plan.preloaded)  # compiled by now, if it was not

    def _recorded(self, number: int, part: BranchPart) -> None:
        for other, found in list(self._branches.items()):
            if found.is_cancelled:  # before it had recorded: nobody asks for it
                self._branches.pop(other, None)
        self._branches[number] = part
        self._member.report("recorded", number, part.first_iteration)

    def _finished(self, number: int, part: BranchPartView) -> None:
        last, history = astuple(part.progress()), part.history().ravel()
        self._member.report("finished", number, part.is_converged, dict(part.findings), last, history)

    def _weighed(self, ticket: int, found: tuple[Any, ...] | Exception) -> None:
        if isinstance(found, Exception):
            self._member.report("weighed", ticket, described(found))
        else:
            self._member.report("weighed", ticket, None, *found)

    def _looked(self, ticket: int, found: tuple[Any, ...] | Exception) -> None:
        if isinstance(found, Exception):
            self._member.report("looked around", ticket, described(found))
        else:
            self._member.report("looked around", ticket, None, *found)

    def _placed(self, ticket: int, error: Exception | None) -> None:
        self._member.report("placed", ticket, None if error is None else described(error))

    def _report_failures(self) -> bool:
        """Report what operators of dataflows raised; return whether there was anything."""
        found = False
        for loop, branch, error in self._worker_host.failures():
            found = True
            if (loop, branch) not in self._failed:
                self._failed.add((loop, branch))
                self._member.report("failed", loop, branch, described(self._told(error)))
        return found


class ReportingHost:
    """A `WorkerHost` that says when it has nothing to do, and what of it failed."""

    def __init__(
        self, host: WorkerHost, report_failures: Callable[[], bool], report: Callable[..., None]
    ) -> None:
        self._host = host
        self._report_failures = report_failures
        self._report = report
        self._was_busy = False
        self.wait, self.is_waiting, self.idle = host.wait, host.is_waiting, host.idle
        self.wake, self.close = host.wake, host.close

    def step(self) -> bool:
        """Step the host; report when it runs out of work, and what failed where it raises."""
        try:
            did = self._host.step()
        except Exception:
            self._report_failures()
            raise
        if self._was_busy and not did:
            self._report("idle")
        self._was_busy = did
        return did


def serve(config: MemberConfig) -> None:
    """Be the worker that the configuration says."""
    keep_freed_memory()
    member = Member(config, WIRE_TYPES)
    member.run(RemoteWorker(config.index, config.workers, member))


def prepare(kind: str, *fields: object) -> None:
    """Load what workers that are forked of this process will need; see `PartPlan.preloaded`."""
    kind_named(kind).preload(*fields)
