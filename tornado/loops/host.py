"""One worker of a master: its part of every loop, in one timely worker, fed by commands in one order.

Loops and branches get their numbers as dataflows in the order of the commands, which is the same on all workers. A command for a
loop then waits its turn behind the admission batches before it, so "after version v" means the same everywhere.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import cast
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError, NotSupported, Unresponsive
from ..graph import EvolvingGraph
from ..points import EvolvingPoints
from ..timely import Dataflow, Fabric, Holder, Scope, Worker, holders
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
from .kind import PartPlan, kind_named
from .part import (
    AdoptingMain,
    BranchPart,
    MainPart,
    StorableBranch,
    StorableMain,
    StreamView,
    Traffic,
    WayMain,
    WayPart,
)
from .point_pages import PointPages
from .stream_part import StreamPart
from .surroundings import Surroundings, surroundings_in

_COMMANDS_AT_ONCE = 16  # in a step
_GAP_S = 0.05  # for which nothing comes between two parts of what fills a graph


@dataclass(slots=True)
class _Branch:
    command: Fork
    reserved: int  # for its dataflow
    processor: BranchPart
    dataflow: Dataflow | None = None  # see `BranchPart.is_over_at_once`
    points: PointPages | None = None
    is_recorded: bool = False
    is_finished: bool = False  # and has kept its version

    @property
    def awaits_dataflow(self) -> bool:
        """Whether it is known to need one, and is yet to be given it."""
        return self.dataflow is None and self.processor.is_over_at_once is False

    @property
    def is_complete(self) -> bool:
        """Whether no part of it, on any worker, has anything left to do."""
        return bool(self.processor.is_over_at_once) if self.dataflow is None else self.dataflow.is_complete


class WorkerHost:
    """See the module.

    Parameters
    ----------
    index, workers
        Which worker, of how many.
    fabric
        How it reaches the others.
    """

    def __init__(self, index: int, workers: int, fabric: Fabric) -> None:
        self.index = index
        self.workers = workers
        self._worker = Worker(index, workers, fabric)
        self._commands: deque[Command] = deque()
        self._streams: dict[int, StreamView] = {}
        self._expected: dict[int, EvolvingGraph] = {}  # of streams that begin soon
        self._loops: dict[int, MainPart] = {}
        self._dataflows: dict[int, Dataflow] = {}
        self._branches: dict[int, _Branch] = {}
        self._forked = 0  # the number of the last one; they grow
        self._ending: dict[int, bool] = {}  # whether at once
        self._read_points: deque[tuple[EvolvingPoints, int]] = deque()  # and the leases

    def prepare(self, plan: PartPlan) -> None:
        """See `LoopHost`: in this process everything is at hand."""

    def post(self, command: Command) -> None:
        """Queue a command; from any thread, under the master's lock where order matters."""
        self._commands.append(command)
        if not isinstance(command, Release):  # which is in time before the next fork
            self._worker.wake()

    def loop(self, number: int) -> MainPart | None:
        """A loop's processor on this worker; to be read only."""
        return self._loops.get(number)

    def traffic(self, number: int) -> Traffic | None:
        """See `LoopHost`; from any thread."""
        # Looked for first, so that what is taken over meanwhile shows in the part.
        takes_over = any(
            isinstance(command, Adopt) and command.loop == number for command in self._commands.copy()
        )
        part = self._loops.get(number)
        if part is None:
            return None
        traffic = part.traffic()
        return traffic._replace(is_idle=traffic.is_idle and not takes_over)

    def holders(self, number: int) -> list[Holder]:
        """See `LoopHost`; from any thread, also while the worker's own is at work or hangs."""
        dataflow = self._dataflows.get(number)
        return [] if dataflow is None else holders(dataflow)

    def branch_holders(self, number: int) -> list[Holder] | None:
        """See `LoopHost`; from any thread, as `holders`."""
        branch = self._branches.get(number)
        if branch is None:
            return [] if number <= self._forked else None
        return None if branch.dataflow is None else holders(branch.dataflow)

    def step(self) -> bool:
        """Take commands, then step the dataflows."""
        commands = min(len(self._commands), _COMMANDS_AT_ONCE)  # others may give it more as fast as it obeys
        for _ in range(commands):
            try:
                self._obey(self._commands[0])
            finally:
                self._commands.popleft()  # then, so that `traffic` sees what is to be taken over until it is
        did = self._worker.step() or commands > 0
        for stream in self._counting():
            stream.count_step()
        if self._branches:
            did = self._look_after_branches() or did
        if self._ending:
            self._end_loops()
        while self._read_points:
            points, lease = self._read_points.popleft()
            points.release(lease)
        return did

    def wait(self, timeout_s: float) -> bool:
        """Block until there may be something to do; for short where something waits for there to be nothing to do."""
        if self._counting():
            timeout_s = min(timeout_s, _GAP_S)
        return bool(self._commands) or self._worker.wait(timeout_s)

    def _counting(self) -> list[StreamPart]:
        """The streams where edges came in bulk that no loop has heard of yet, or loops give way to branches."""
        return [
            stream
            for stream in self._streams.values()
            if isinstance(stream, StreamPart) and stream.counts_steps
        ]

    def is_waiting(self) -> bool:
        """Whether a branch is not over here, or a vertex of a main loop has work, so that others have to send something."""
        return any(not branch.is_finished for branch in self._branches.values()) or any(
            not part.traffic().is_idle for part in self._loops.values()
        )

    def idle(self) -> None:
        """Tidy up the streams; called when nothing has come for a while."""
        for stream in self._streams.values():
            stream.tidy()
        for dataflow in self._dataflows.values():
            dataflow.tell_progress()

    def wake(self) -> None:
        """Make `wait` return."""
        self._worker.wake()

    def close(self) -> None:
        """Give up all dataflows."""
        for dataflow in list(self._worker.dataflows.values()):
            dataflow.cancel()
        self._worker.close()
        # Whoever holds an answer may hold this, and others may have taken its place.
        self._loops.clear()
        self._streams.clear()
        self._expected.clear()
        self._dataflows.clear()
        self._branches.clear()

    def failures(self) -> list[tuple[int | None, int | None, BaseException]]:
        """(loop, branch, error) of what failed on this worker: a dataflow whose operator raised is not stepped again."""
        # Asked from any thread, so of copies, made in one step: the worker may be installing others.
        dataflows, branches = self._dataflows.copy(), self._branches.copy()
        found: list[tuple[int | None, int | None, BaseException]] = [
            (number, None, dataflow.failure)
            for number, dataflow in dataflows.items()
            if dataflow.failure is not None
        ]
        found += [
            (None, number, dataflow.failure)
            for number, branch in branches.items()
            if (dataflow := branch.dataflow) is not None and dataflow.failure is not None
        ]
        return found

    def _obey(self, command: Command) -> None:
        match command:
            case Admit():
                stream = self._streams.get(command.stream)
                if stream is not None:  # its last loop may have been removed
                    stream.admit(command.share)
            case UseBlocks():
                begun = self._streams.get(command.stream)
                if begun is not None:
                    cast("StreamPart", begun).settle(command.block_bits)
            case Fork():
                self._fork(command)
            case Stop():
                branch = self._branches.get(command.number)
                # What is over may have been freed by its owner already, though its version is kept.
                if branch is not None and not branch.is_finished:
                    branch.processor.stop()
            case Limit():
                branch = self._branches.get(command.number)
                if branch is not None and branch.command.max_iterations is not None:
                    branch.processor.limit(command.iteration)
            case Cancel():
                branch = self._branches.get(command.number)
                if branch is not None and branch.is_finished:
                    self._give_up(command.number)
                elif branch is not None:
                    branch.processor.cancel()
            case Weigh():
                self._weigh(command)
            case LookAround():
                self._look_around(command)
            case GiveUp():
                self._give_up(command.number)
            case Release():
                main = self._loops.get(command.loop)
                if main is not None:
                    main.take_back(command.state)
            case Adopt():
                main = self._loops.get(command.loop)
                if main is not None:
                    cast("AdoptingMain", main).adopt(command.found)
            case Expect():
                self._expect(command)
            case StartLoop():
                self._start(command)
            case Place():
                self._place(command)
            case EndLoop():
                if command.loop in self._loops:
                    self._ending[command.loop] = command.at_once or self._ending.get(command.loop, False)

    def _expect(self, command: Expect) -> None:
        if (before := self._expected.pop(command.stream, None)) is not None:
            before.list_memory.give_up()
        if command.edges:
            with suppress(Exception):  # a head start: where there is no room, who starts a loop hears of it
                graph = EvolvingGraph(command.partition, self.index)
                graph.expect(command.edges)
                self._expected[command.stream] = graph

    def _start(self, command: StartLoop) -> None:
        index = self.index
        made: list[MainPart] = []
        stream = self._streams.get(command.stream)

        def on_applied(records: int) -> None:
            own = shared()
            command.on_applied(index, records, 0 if own is None else own.held())

        if stream is None and kind_named(command.plan.kind).shares_streams:
            graph = self._expected.pop(command.stream, None)
            stream = StreamPart(command.partition, index, on_applied, graph)
        # The stream has the function: with a reference of its own it would be garbage that somebody has to find.
        shared = ref(stream) if isinstance(stream, StreamPart) else _nobody

        def build(scope: Scope) -> None:
            part = command.plan.part(
                worker=index,
                workers=self.workers,
                on_applied=on_applied,
                stream=stream,
            )
            made.append(part)
            part.build(scope)

        try:
            # The part is made inside, so that the dataflow has its number here too where that fails: others follow it.
            dataflow = self._worker.dataflow(build, name=f"main loop {command.loop}")
        except Exception as error:  # noqa: BLE001  for whoever starts the loop
            for part in made:
                part.free()
            command.on_refused(index, error)
            return
        (part,) = made
        self._streams[command.stream] = part.stream
        self._loops[command.loop] = part
        self._dataflows[command.loop] = dataflow
        command.on_installed(index)

    def _place(self, command: Place) -> None:
        try:
            for loop, columns in command.columns.items():
                if loop not in self._loops:
                    continue  # what took it off the workers is heard of where it is waited for
                part = cast("StorableMain", self._loops[loop])
                if not command.is_behind_edges:
                    part.place(command.ids, columns)
                elif columns is not None:
                    cast("StreamPart", part.stream).graph.end_load()
                    part.place_behind_edges(command.ids, columns)
        except Exception as error:  # noqa: BLE001  for whoever starts the loop
            command.on_placed(self.index, error)
        else:
            command.on_placed(self.index, None)

    def _fork(self, command: Fork) -> None:
        main = self._loops.get(command.loop)
        if main is None:
            return  # it was taken off the workers meanwhile, and whoever forked it hears of that
        processor = main.fork(
            number=command.number,
            arguments=command.arguments,
            fresh=command.fresh,
            max_iterations=command.max_iterations,
        )
        branch = self._branches[command.number] = _Branch(command, self._worker.reserve(), processor)
        self._forked = command.number
        if branch.awaits_dataflow:
            self._give_dataflow(branch)
        if command.reads_points:
            branch.points = PointPages(self._read_points.append)
            cast("StorableBranch", processor).lend_points(branch.points)
            cast("StreamPart", main.stream).lend_points(
                branch.points.begin
            )  # the version that it records next
        main.command(processor)

    def _weigh(self, command: Weigh) -> None:
        branch = self._branches.get(command.number)
        found: tuple[NDArray[np.int32], NDArray[np.float64]] | Exception
        if branch is None or not branch.is_finished:
            found = InternalError(f"branch {command.number} has kept no version on worker {self.index}")
        else:
            try:
                processor = cast("WayPart", branch.processor)
                found = processor.weights_between(command.producers, command.consumers)
            except Exception as error:  # noqa: BLE001  for whoever asked
                found = error
        command.on_weighed(self.index, found)

    def _look_around(self, command: LookAround) -> None:
        stream = self._streams.get(command.stream)
        found: Surroundings | Exception
        if stream is None:
            found = Unresponsive("the stream begins or ends just now, so nobody has its edges")
        elif not isinstance(stream, StreamPart):
            found = NotSupported(
                "programs in plain Python keep their edges to themselves, one loop beside another"
            )
        else:
            try:
                stream.end_filling()
                found = surroundings_in(stream.graph, command.vertex, command.most)
            except Exception as error:  # noqa: BLE001  for whoever asked
                found = error
        command.on_found(self.index, found)

    def _give_up(self, number: int) -> None:
        branch = self._branches.get(number)
        if branch is not None and branch.is_finished:
            self._loops[branch.command.loop].forget(branch.processor)
            del self._branches[number]

    def _look_after_branches(self) -> bool:
        """Report branches that are recorded or complete on this worker, and clear away those that were cancelled.

        Returns whether there is more to do at once.
        """
        more = False
        for number, branch in list(self._branches.items()):
            if branch.is_finished:
                continue
            processor = branch.processor
            main = self._loops[branch.command.loop]
            if branch.awaits_dataflow:
                self._give_dataflow(branch)
                more = True
            if processor.is_recorded and not branch.is_recorded:
                branch.is_recorded = True
                branch.command.on_recorded(self.index, processor)
            if processor.is_cancelled and (processor.is_started or processor.is_over_at_once):
                self._end_dataflow(branch)
                main.forget(processor)
                del self._branches[number]
                main.take_back(processor.reusable)
                processor.free()
            elif branch.is_complete:
                if branch.command.reads_edges and not cast("StorableBranch", processor).read_edges():
                    more = True
                    continue
                if branch.points is not None and not branch.points.read():
                    more = True
                    continue
                self._end_dataflow(branch)
                branch.is_finished = branch.command.reads_ways
                if branch.is_finished:
                    cast("WayMain", main).retire(processor)
                else:
                    main.forget(processor)
                    del self._branches[number]
                branch.command.on_finished(self.index, processor)
        return more

    def _give_dataflow(self, branch: _Branch) -> None:
        name = f"branch loop {branch.command.number}"
        branch.dataflow = self._worker.dataflow(branch.processor.build, name, branch.reserved)

    def _end_dataflow(self, branch: _Branch) -> None:
        if branch.dataflow is None:
            self._worker.give_up(branch.reserved)
        else:
            branch.dataflow.cancel()

    def _end_loops(self) -> None:
        """Remove loops that are to end and have no branch left; a branch of a loop that failed will never come to its end."""
        for number in sorted(self._ending):
            dataflow = self._dataflows[number]
            left = [found for found, branch in self._branches.items() if branch.command.loop == number]
            if left and dataflow.failure is None and not self._ending[number]:
                continue
            for found in left:
                branch = self._branches.pop(found)
                self._end_dataflow(branch)
                branch.processor.free()
            dataflow.cancel()
            del self._ending[number]
            main = self._loops.pop(number)
            if not any(other.stream is main.stream for other in self._loops.values()):
                self._streams = {
                    stream: part for stream, part in self._streams.items() if part is not main.stream
                }
            main.free()
            del self._dataflows[number]


def _nobody() -> None:
    """What is held by a stream of a kind that does not share it."""
