"""Another number of workers, or another map of vertices to them, while loops run: they lose their workers on purpose.

A snapshot of every stream is stored first, while all goes on. Then the workers are ended, others take their place, and what is
done for lost ones is done for them: they load the snapshot, which is keyed by vertex and so fits any number of workers, and go
through what has come in since. That alone is the pause. The workers are those of all streams of a master, so all are moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ..errors import InvalidArgument, NotSupported
from ..points.shards import require_workers
from .journal import Journal
from .stream import RecordStream

MOST_WORKERS = 64  # subscribers of a vertex are a bit set of 64


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
            ready.enter_context(_stored(stream))
        yield


@contextmanager
def _stored(stream: RecordStream) -> Iterator[None]:
    had_journal = stream.journal is not None
    with stream.order:
        if not had_journal:
            stream.journal = Journal(stream.log)
    try:
        try:
            stream.store_snapshot()
        except NotSupported as error:
            if not had_journal and stream.log is None:
                raise NotSupported(
                    f"the loops of stream {stream.name!r} cannot be put on other workers: {error.message}, and what came in is "
                    "not kept",
                    hint="Start it again with as many workers as it is to have.",
                ) from error
        with stream.checkpointing:  # one that is written meanwhile would have to be begun anew
            yield
    finally:
        if not had_journal:
            with stream.order:
                stream.journal = None
