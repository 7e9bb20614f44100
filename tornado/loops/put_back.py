"""How the loops of a stream are put on workers that have taken the place of others, be these lost or ended on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..engine import Engine
from ..errors import TornadoError, WorkerLost
from ..graph import PartitionMap
from .branch import Branch
from .commands import LoopHost
from .main_loop import MainLoop
from .restoration import Restoration
from .stream import REPLAYED_AHEAD_RECORDS, RecordStream


def put_back(
    stream: RecordStream,
    running: Sequence[MainLoop],
    partition: PartitionMap,
    refused: dict[MainLoop, Exception],
    *,
    hosts: Sequence[LoopHost],
    engine: Engine,
) -> list[Branch]:
    """Put the loops of a stream on workers that have nothing, and have them go through its sequence again; under the order.

    Parameters
    ----------
    running
        Its loops.
    partition
        Which of these workers has which vertex.
    refused
        Gets those that could not be put there, and why.

    Returns
    -------
    The branches that cannot be forked again: their cut is older than the newest snapshot.

    Raises
    ------
    WorkerLost
        When these workers are lost too.
    """
    losses = engine.losses
    shares = all(loop.kind.shares_streams for loop in running)
    # Programs of kinds with a stream of their own know no other map than the even one.
    stream.begin_again(
        partition if shares else PartitionMap.even(partition.workers)
    )  # in blocks or not, as before
    newest = stream.stored.newest() if any(loop.error is None for loop in running) else None
    if newest is not None and shares:
        stream.workers.expect(newest.edge_count)
    loops: list[MainLoop] = []
    for loop in running:
        if loop.error is None:
            try:
                loop.install_again()
                loops.append(loop)
            except WorkerLost:
                raise
            except TornadoError as error:  # its program was edited meanwhile, say: the others go on
                refused[loop] = error
                loop.withdraw()
    if not loops:
        stream.workers.expect(0)
    # A newer one may have come meanwhile, and that one be forgotten.
    stored = stream.stored.newest() if loops else None
    if stored is not None:
        version = stored.snapshot.version
        with stream.stored.reading(version):
            restoration = Restoration(stored, stream, loops, hosts=hosts, engine=engine)
            restoration.load()
        assert stream.journal is not None
        stream.journal.forget(version)  # whoever wrote it may not have come to that
        refused |= {
            loop: restoration.refused[loop.number] for loop in loops if loop.number in restoration.refused
        }
        loops = [loop for loop in loops if loop not in refused]
    if not loops:
        return []
    forked = set()
    for command in stream.replay():
        if command is None:
            engine.wait_for(lambda: not stream.lags(REPLAYED_AHEAD_RECORDS) or engine.losses != losses, None)
        elif any(loop.fork_again(command) for loop in loops):
            forked.add(command.number)
    stream.is_whole = engine.losses == losses
    engine.notify()
    return [branch for loop in loops for branch in loop.branches() if branch.id not in forked]


def on_present_workers(start: Callable[[], MainLoop]) -> MainLoop:
    """Start a loop; where workers were lost meanwhile, once more on those that take their place, which it waits for."""
    try:
        return start()
    except WorkerLost:
        return start()


def require_same_workers(loops: Sequence[MainLoop], losses: int) -> None:
    """Refuse loops that were put on workers which are lost.

    Raises
    ------
    WorkerLost
        With the name of the first one.
    """
    if any(loop.losses != losses for loop in loops):
        raise WorkerLost(f"the workers were lost while loop {loops[0].name} was started")
