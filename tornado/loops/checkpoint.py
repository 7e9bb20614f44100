"""The checkpoint of a stream: a snapshot with the graph and the fixed point of every loop on it, in one write of the store.

Source: Tornado (SIGMOD 2016), section 5.3. All loops are forked under one hold of the order, so their branches have one prefix,
and what is stored belongs together. The branch of the first loop reads the edges for all. A loop that has failed, or fails or is
removed meanwhile, is left out and stops nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple, cast

from ..certificate import has_no_answer
from ..errors import Busy, InvalidArgument, TornadoError
from .branch import Branch
from .checkpointed import Checkpointed, its_turn
from .part import StorableView
from .reading_loop import ReadingLoop
from .statistics import BranchState
from .stored_snapshot import LoopToStore
from .stream import RecordStream


class _Forked(NamedTuple):
    """A loop, and its branch that is to be stored."""

    loop: ReadingLoop
    branch: Branch


def store_checkpoint(
    stream: RecordStream, *, before_write: Callable[[], None] | None = None, within_s: float | None = None
) -> int:
    """Write a snapshot of now to the store; see `MainLoop.checkpoint`.

    Where nothing came in since the newest one, and no loop began, there is none to write. Where only a loop began, the same
    prefix is stored under another version: what is stored stays what it is.

    Parameters
    ----------
    before_write
        Called when all is there that is to be written.
    within_s
        How long whoever writes one already, and each loop until its fixed point, is waited for; None: as long as it takes.

    Returns
    -------
    The version of the snapshot.

    Raises
    ------
    Busy
        When it was not there within that time.
    StoreFull
        When there is no room; what was stored is as it was.
    NotSupported
        When of the kind of a loop's program nothing is stored.
    ConnectionLost, InvalidArgument
        When the last loop was removed, or the first is not there yet.
    TornadoError, RuntimeError
        What made all of the loops, or their branches, fail.
    """
    with its_turn(stream.checkpointing, within_s):
        stream.raise_failure()
        loops = stream.running
        if not loops:
            stream.require_open()
            raise InvalidArgument(f"stream {stream.name!r} has no loop yet that could be stored")
        for loop in loops:
            loop.require_stored()
        wanted = _numbers(loops)
        version, _, _ = stream.counts()
        before = stream.checkpointed
        stored = before.loops if before is not None and before.version == version else None
        if stored is not None and wanted <= stored:
            return version
        stream.numbers.prepare()
        while True:
            forked = _forked(stream, loops, instead_of=None if stored is None else version)
            try:
                for loop, branch in forked:
                    if not branch.wait(within_s) and within_s is not None:  # and not since the engine ends
                        raise Busy(
                            f"loop {loop.name!r} has not come to its fixed point within {within_s:g} s, so no snapshot was stored"
                        )
                converged = [one for one in forked if _is_storable(one)]
                if converged and converged[0] is forked[0]:  # the one with the edges and points
                    if before_write is not None:
                        before_write()
                    with_points = stream.points is not None
                    stream.stored.write(
                        [_to_store(*one, has_points=with_points and one is forked[0]) for one in converged],
                        stream.points,
                        logged=-1 if stream.log is None else stream.log.newest,
                    )
                    break
                # Where all are gone that it began with, others may have joined.
                joined = [loop for loop in stream.running if loop.number not in wanted]
                if not converged and not joined:
                    raise not_stored(*forked[0]) if forked else not_stored(loops[0], None)
                loops = [loop for loop, _ in converged] or joined
                wanted |= _numbers(loops)
            finally:
                _give_back(forked)
        version = forked[0].branch.snapshot.version
        stream.checkpointed = Checkpointed(version, wanted)
        stream.was_stored(version)
        return version


def not_stored(loop: ReadingLoop, branch: Branch | None) -> Exception:
    """What to raise where the branch of a loop that was to be stored has not converged, or was not forked."""
    error = loop.error if branch is None else branch.error
    if isinstance(error, TornadoError):
        return error
    if error is not None:
        return RuntimeError(f"loop {loop.name} failed, no snapshot was stored: {error!r}")
    if branch is not None and branch.state is BranchState.STOPPED:
        why = " as its values have no end on this graph" if has_no_answer(branch.certificate) else ""
        return InvalidArgument(
            f"loop {loop.name!r} did not come to a fixed point{why}, so no snapshot was stored",
            hint="Let edges go, or start another loop on the stream: what that has found is stored with the edges.",
        )
    return InvalidArgument(f"loop {loop.name!r} was closed before its snapshot was stored")


def _forked(stream: RecordStream, loops: Sequence[ReadingLoop], *, instead_of: int | None) -> list[_Forked]:
    """Fork all loops at one version, which is another than `instead_of`; those that are gone meanwhile are left out."""
    forked: list[_Forked] = []
    try:
        pause = nullcontext() if instead_of is None else stream.pause()
        with pause, stream.order:
            if stream.counts()[0] == instead_of:
                stream.begin_version()
            for loop in loops:
                try:
                    forked.append(_Forked(loop, loop.fork_to_store(reads_edges=not forked)))
                except Exception:
                    if loop.error is None:
                        raise
    except BaseException:
        _give_back(forked)
        raise
    return forked


def _is_storable(one: _Forked) -> bool:
    """Whether its branch has what is stored: of a learner that is the best that it has found, with its certificate."""
    state = one.branch.state
    learns = one.loop.program.declared_points is not None
    return state is BranchState.CONVERGED or (learns and state is BranchState.STOPPED)


def _numbers(loops: Sequence[ReadingLoop]) -> frozenset[int]:
    return frozenset(loop.number for loop in loops)


def _to_store(loop: ReadingLoop, branch: Branch, *, has_points: bool) -> LoopToStore:
    parts = [cast("StorableView", part) for _, part in branch.states()]
    arrays = {name: array for part in parts for name, array in part.parameters().items()}
    return LoopToStore(
        name=loop.name,
        program=loop.program,
        app=loop.app,
        snapshot=branch.snapshot,
        parts=[part.pages() for part in parts],
        findings=[part.findings for part in parts],
        arrays=None if loop.program.declared_points is None else arrays,
        points=[part.point_pages() for part in parts] if has_points else (),
    )


def _give_back(forked: Sequence[_Forked]) -> None:
    for _, branch in forked:
        branch.cancel()
        branch.release()
