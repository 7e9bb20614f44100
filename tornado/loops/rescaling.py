"""Another number of workers, or another map of vertices to them, while loops run: they lose their workers on purpose.

Where much stands behind the newest snapshot of a stream, another one is stored first, while all goes on. Then the workers are ended,
others take their place, and what is done for lost ones is done for them: they load the snapshot, which is keyed by vertex and so fits any
number of workers, and go through what has come in since. That alone is the pause. The workers are those of all streams of a master,
so all are moved.

A snapshot wants exact values, and under full load a branch may be long in finding them. So it is given a bounded time: without it, what
has come in since the one before is gone through, as where workers are lost. Only where nobody has that, it is waited for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from ..errors import Busy, InvalidArgument, NotSupported, StoreUnreachable, TornadoError
from ..points.shards import require_workers
from .checkpointed import its_turn
from .journal import Journal
from .stream import RecordStream

_log = logging.getLogger(__name__)

MOST_WORKERS = 64  # subscribers of a vertex are a bit set of 64
_FEW_RECORDS = 1 << 20  # gone through again in a fraction of a second
_SNAPSHOT_WITHIN_S = 30.0  # under full load on few cores; what comes in behind an older one is a longer pause


@dataclass(frozen=True, slots=True)
class Rescaled:
    """What became of a wish for another number of workers.

    Attributes
    ----------
    stream
        Which it was for.
    streams
        All that were put on other workers with it, by name; none where there were as many already.
    before, workers
        How many there were, and are.
    version
        Of the stream, when its loops went on.
    pause_s
        How long nothing was applied and nothing was answered.
    """

    stream: str
    streams: tuple[str, ...]
    before: int
    workers: int
    version: int
    pause_s: float


def check_workers(workers: object) -> None:
    """Refuse a number of workers that no master has.

    Raises
    ------
    InvalidArgument
        When it is not from 1 to 64.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS:
        raise InvalidArgument(f"workers is {workers!r} but must be a whole number from 1 to {MOST_WORKERS}")


@contextmanager
def ready_to_move(streams: Sequence[RecordStream], workers: int) -> Iterator[None]:
    """Have the loops of streams be put on so many other workers while the context lasts, with little to go through again.

    Raises
    ------
    InvalidArgument
        When there are more workers than share points.
    NotSupported
        Where nothing is stored of its loops, and nobody has all that came in.
    TornadoError, RuntimeError
        When no snapshot could be stored.
    """
    for stream in streams:
        if stream.points is not None:
            require_workers(workers)
    with ExitStack() as ready:
        for stream in streams:
            ready.enter_context(_kept(stream))
        yield


@contextmanager
def _kept(stream: RecordStream) -> Iterator[None]:
    """Have what came in behind the newest snapshot be there to go through again, little where that can be had soon."""
    had_journal = stream.journal is not None
    is_all_kept = had_journal or stream.log is not None
    version = stream.stored.newest_version() or 0  # or the store is away, from which loops are to be loaded
    with stream.order:
        if stream.journal is None:
            stream.journal = Journal(stream.log)
            stream.journal.forget(version)
    try:
        if not stream.running:
            pass  # all have failed: nothing of them is to go on
        elif not is_all_kept:
            _store(stream, within_s=None)
        elif stream.journal.records > _FEW_RECORDS:
            try:
                _store(stream, within_s=_SNAPSHOT_WITHIN_S)
            except StoreUnreachable:
                raise
            except (
                TornadoError,
                RuntimeError,
            ) as error:  # a full disk, values without an end: more is gone through
                _log.info("stream %s is put on other workers without a new snapshot: %s", stream.name, error)
        with ExitStack() as turn:
            with suppress(
                Busy
            ):  # one that is written meanwhile would have to be begun anew, by whoever writes it
                turn.enter_context(
                    its_turn(stream.checkpointing, None if not is_all_kept else _SNAPSHOT_WITHIN_S)
                )
            yield
    finally:
        if not had_journal:
            with stream.order:
                stream.journal = None


def _store(stream: RecordStream, *, within_s: float | None) -> None:
    try:
        stream.store_snapshot(within_s=within_s)
    except NotSupported as error:
        raise NotSupported(
            f"the loops of stream {stream.name!r} cannot be put on other workers: {error.message}, and what came in is "
            "not kept",
            hint="Start it again with as many workers as it is to have.",
        ) from error
