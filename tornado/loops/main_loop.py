"""A main loop, as its owner holds it: batches are admitted to it in one sequence, branches are forked from it.

The sequencer gives every batch a number and every worker its share, under one lock; a fork is put into the same sequence. So
"everything up to version v" means the same on every worker, whatever each of them is doing (see ARCHITECTURE.md, Admission).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..engine import Engine
from ..errors import InvalidArgument, QueueFull, TornadoError
from ..ingest.records import EdgeBatch
from . import loop_columns as names
from .branch import Branch
from .host import Admit, Cancel, Fork, Release, StartLoop, Stop, WorkerHost
from .iterations import iterations_of, progress_of
from .loop_columns import KNOWN
from .main_processor import MainProcessor, Share
from .program import SelectiveProgram
from .snapshot import Snapshot
from .statistics import IterationStatistics, LoopStatistics
from .values import Part, Values

BACKLOG_LIMIT_RECORDS = 1 << 18


class MainLoop:
    """See the module.

    Attributes
    ----------
    name, program, delay_bound, workers
        As it was started.
    """

    def __init__(
        self,
        *,
        number: int,
        name: str,
        program: SelectiveProgram,
        delay_bound: int | None,
        hosts: Sequence[WorkerHost],
        engine: Engine,
        next_branch: Callable[[], int],
        order: threading.Lock,
    ) -> None:
        self.name = name
        self.program = program
        self.delay_bound = delay_bound
        self.workers = len(hosts)
        self.error: BaseException | None = None
        self._number = number
        self._kernel = program.kernel()
        self._hosts = hosts
        self._engine = engine
        self._next_branch = next_branch
        self._order = order  # the master's: dataflows must be installed in one order everywhere
        self._version = 0
        self._offsets: dict[str, int] = {}
        self._admitted = 0
        self._posted = [0] * self.workers
        self._applied = [0] * self.workers
        self._branches: dict[int, Branch] = {}
        with order:
            for host in hosts:
                host.post(
                    StartLoop(number, self._kernel, program.arguments(), delay_bound, self._count_applied)
                )
        engine.wait_for(lambda: all(host.loop(number) is not None for host in hosts), None)

    # Admission

    def admit(
        self, batch: EdgeBatch, source: str, offset: int, timeout_s: float | None = None
    ) -> int:
        """Admit a batch: every later fork has it.

        Parameters
        ----------
        batch
            Records, in their order.
        source, offset
            Which source they come from, and how many records of it are in with them.
        timeout_s
            How long to wait for a loop that lags; None: as long as it takes.

        Returns
        -------
        The version of the graph that has the batch.

        Raises
        ------
        QueueFull
            When the loop still lags after `timeout_s`; nothing was admitted.
        InvalidArgument
            When the program cannot take a record; nothing was admitted.
        """
        refused, reason = self.program.check(batch)
        if refused.any():
            first = int(np.flatnonzero(refused)[0])
            raise InvalidArgument(
                f"record {first} ({batch.src[first]} -> {batch.dst[first]}, weight {batch.weight[first]}) of {source}: {reason}"
            )
        if not self._engine.wait_for(self._has_room, timeout_s):
            self._raise_failure()
            raise QueueFull(
                f"loop {self.name} lags {self._backlog()} records behind, more than {BACKLOG_LIMIT_RECORDS}; "
                "nothing of this batch was admitted"
            )
        shares = self._shares(batch)
        self._raise_failure()
        with self._order:
            self._version += 1
            self._offsets[source] = offset
            self._admitted += len(batch)
            for worker, (host, share) in enumerate(zip(self._hosts, shares, strict=True)):
                self._posted[worker] += len(share.sources)
                share.version = self._version
                host.post(Admit(self._number, share))
            return self._version

    def advance(self, source: str, offset: int) -> None:
        """Records of a source were dealt with elsewhere (quarantined): move its offset."""
        with self._order:
            self._offsets[source] = offset

    def offsets(self) -> dict[str, int]:
        """Records of each source that are admitted or quarantined."""
        with self._order:
            return dict(self._offsets)

    # Reading

    def approximation(self) -> Values:
        """The main loop's values as they are: at once, approximate, of no particular instant."""
        return Values(
            self._kernel,
            [Part(processor.graph, processor.state) for processor in self._processors()],
            rank=self.program.rank,
            worst=self._kernel.WORST,
        )

    def fork(
        self,
        parameters: Mapping[str, Any] | None = None,
        at: int | None = None,
        max_iterations: int | None = None,
    ) -> Branch:
        """Fork a branch loop from a consistent snapshot of now.

        Parameters
        ----------
        parameters
            Other parameters than the program's; such a branch begins from the initial values.
        at
            The version of a stored snapshot to fork from.
        max_iterations
            How many iterations above the snapshot's the branch may commit.
        """
        self._raise_failure()
        program = self.program.with_parameters(parameters or {})
        if at is not None:
            raise InvalidArgument(f"version {at} is not stored; stored versions: none")
        with self._order:
            number = self._next_branch()
            branch = Branch(
                number=number,
                snapshot=Snapshot(
                    dict(self._offsets), datetime.now(UTC), self._version, 0, self.delay_bound
                ),
                workers=self.workers,
                engine=self._engine,
                kernel=self._kernel,
                rank=self.program.rank,
                on_stop=self._stop,
                on_cancel=self._cancel,
                on_release=self._release,
            )
            self._branches[number] = branch
            branch.add_done_callback(self._forget)
            command = Fork(
                loop=self._number,
                number=number,
                arguments=program.arguments(),
                fresh=program != self.program,
                max_iterations=max_iterations,
                on_recorded=branch.recorded,
                on_finished=branch.finished,
            )
            for host in self._hosts:
                host.post(command)
        return branch

    # Watching

    def is_idle(self) -> bool:
        """Whether everything admitted is applied and the main loop has converged on it."""
        return self._backlog() == 0 and self._nothing_under_way() and self._nothing_under_way()

    def wait_idle(self, timeout_s: float | None = None) -> bool:
        """Wait until it is idle; False when the time is over."""
        return self._engine.wait_for(self.is_idle, timeout_s)

    def iterations(self, last: int = 20) -> list[IterationStatistics]:
        """What the last iterations did."""
        return iterations_of([processor.state for processor in self._processors()], last=last)

    def statistics(self) -> LoopStatistics:
        """Everything worth knowing about the loop at the moment."""
        processors = self._processors()
        states = [processor.state for processor in processors]
        graphs = [processor.graph.statistics() for processor in processors]
        idle = self.is_idle()
        progress = progress_of(states, elapsed_s=0.0, converged=idle)
        vertices = sum(
            int(np.count_nonzero(state.columns.flags[: state.counters[names.ROWS_SEEN]] & KNOWN)) for state in states
        )
        with self._order:
            version, admitted, offsets = self._version, self._admitted, dict(self._offsets)
        return LoopStatistics(
            name=self.name,
            program=type(self.program).__name__,
            workers=self.workers,
            delay_bound=self.delay_bound,
            version=version,
            iteration=progress.iteration,
            updates=progress.updates,
            prepares=progress.prepares,
            residual=progress.residual,
            pending=sum(
                int(state.counters[names.PENDING_INSIDE] + state.counters[names.PENDING_BEYOND]) for state in states
            ),
            vertices=vertices,
            edges=sum(graph.edges for graph in graphs),
            admitted=admitted,
            missing_removals=sum(graph.missing_removals for graph in graphs),
            waves=max(int(state.counters[names.WAVES]) for state in states),
            backlog_records=self._backlog(),
            branches=len(self._branches),
            memory_bytes=sum(graph.size_bytes for graph in graphs) + sum(state.size_bytes() for state in states),
            sources=offsets,
        )

    # Called by the master

    def fail(self, error: BaseException) -> None:
        """A worker's part of the main loop broke: nothing more is admitted, branches fail."""
        self.error = error
        for branch in list(self._branches.values()):
            branch.fail(error)
        self._engine.notify()

    def close(self) -> None:
        """Cancel what still runs."""
        for branch in list(self._branches.values()):
            branch.cancel()

    def branch(self, number: int) -> Branch | None:
        """A branch that runs."""
        return self._branches.get(number)

    # Private

    def _processors(self) -> list[MainProcessor]:
        found = [host.loop(self._number) for host in self._hosts]
        return [processor for processor in found if processor is not None]

    def _raise_failure(self) -> None:
        if self.error is not None:
            if isinstance(self.error, TornadoError):
                raise self.error
            raise RuntimeError(f"loop {self.name} failed: {self.error!r}") from self.error

    def _backlog(self) -> int:
        return sum(self._posted) - sum(self._applied)

    def _has_room(self) -> bool:
        return self._backlog() <= BACKLOG_LIMIT_RECORDS or self.error is not None

    def _nothing_under_way(self) -> bool:
        """Whether all bundles that were sent have come in. Receipts are read first, so a sending in between shows."""
        received = sum(processor.bundles_received for processor in self._processors())
        idle = all(processor.is_idle for processor in self._processors())
        return idle and received == sum(processor.bundles_sent for processor in self._processors())

    def _count_applied(self, worker: int, version: int, records: int) -> None:
        self._applied[worker] += records
        self._engine.notify()

    def _shares(self, batch: EdgeBatch) -> list[Share]:
        """Each worker gets the records whose target it owns."""
        columns = batch.src, batch.dst, batch.weight, batch.op
        if self.workers == 1:
            return [Share(0, *columns, batch.src[:0])]
        owners, namers = np.empty(len(batch), np.int64), np.empty(len(batch), np.int64)
        self._kernel.owners_of(batch.dst, self.workers, owners)
        self._kernel.owners_of(batch.src, self.workers, namers)
        return [
            Share(
                0,
                *(column[owners == worker] for column in columns),
                batch.src[(namers == worker) & (owners != worker)],
            )
            for worker in range(self.workers)
        ]

    def _forget(self, branch: Branch) -> None:
        self._branches.pop(branch.id, None)

    def _stop(self, branch: Branch) -> None:
        for host in self._hosts:
            host.post(Stop(branch.id))

    def _cancel(self, branch: Branch) -> None:
        for host in self._hosts:
            host.post(Cancel(branch.id))

    def _release(self, branch: Branch) -> None:
        for worker, processor in branch.states():
            self._hosts[worker].post(Release(self._number, processor.state))


