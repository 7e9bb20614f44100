"""A stream that is served: all that the service has of it, in one object, so that a stream that ends is one object less."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..clock import Clock
from ..ingest.ingester import IngesterStatistics
from ..intake.checkpoints import Checkpoints
from ..intake.stream_intake import StreamIntake
from .ids import IdCodec, IntIds

SourceStatistics = Callable[[], Sequence[IngesterStatistics]]
"""Says where some sources are."""


class ServedStream:
    """See the module. It begins before its loops do: whoever sees a loop finds what belongs to its stream.

    Parameters
    ----------
    intake : StreamIntake
        What is pushed goes in there.
    codec : IdCodec, optional
        Between the ids of requests and those of the stream; without one they are int64.

    Attributes
    ----------
    name : str
        What the stream is called.
    checkpoints : Checkpoints or None
        Those that a session takes of it.
    """

    def __init__(self, intake: StreamIntake, codec: IdCodec | None = None) -> None:
        self.name = intake.name
        self.intake = intake
        self.codec: IdCodec = IntIds() if codec is None else codec
        self.checkpoints: Checkpoints | None = None
        self._watched: list[SourceStatistics] = [intake.reports.statistics]

    def checkpoints_by(self, clock: Clock) -> Checkpoints:
        """Return what takes checkpoints of it, also where no session began it."""
        return self.checkpoints or Checkpoints(self.intake, clock=clock)

    def watch_sources(self, statistics: SourceStatistics) -> None:
        """Show where these sources are, too, to whoever lists loops or reads metrics."""
        self._watched.append(statistics)

    def sources(self) -> dict[str, IngesterStatistics]:
        """Return where the sources are that are watched, by name."""
        return {one.source: one for statistics in self._watched for one in statistics()}

    def end(self) -> None:
        """Take nothing in any more, and store nothing; to be called when no loop reads it."""
        if self.checkpoints is not None:
            self.checkpoints.stop()
            self.checkpoints.join()
        self.intake.end()
