"""A stream that is served: all that the service has of it, in one object, so that a stream that ends is one object less."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..clock import Clock
from ..ingest.ingester import IngesterStatistics
from ..intake.checkpoints import Checkpoints
from ..intake.stream_intake import StreamIntake
from .ids import IdCodec, IntIds

SourceStatistics = Callable[[], Sequence[IngesterStatistics]]
"""Says where some sources are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsStatistics:
    """How the results of a loop are kept in a table outside, see `KeptResults`; counts since it began.

    Attributes
    ----------
    table : str
        Where, without a password.
    renewed, failed : int
        How many renewals succeeded, and failed.
    changes : int
        How many rows were written or removed by them.
    version : int or None
        Of the stream, that the table is the answer to.
    rows : int or None
        How many it has.
    age_s : float or None
        Since the answer was there.
    duration_s : float or None
        How long the last renewal took, from the question on.
    last_error : str or None
        Why the last one failed; None where it did not.
    """

    table: str
    renewed: int
    failed: int
    changes: int
    version: int | None
    rows: int | None
    age_s: float | None
    duration_s: float | None
    last_error: str | None


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
    results : dict
        How the results of its loops stand that are kept outside, by the name of the loop.
    """

    def __init__(self, intake: StreamIntake, codec: IdCodec | None = None) -> None:
        self.name = intake.name
        self.intake = intake
        self.codec: IdCodec = IntIds() if codec is None else codec
        self.checkpoints: Checkpoints | None = None
        self.results: dict[str, Callable[[], ResultsStatistics]] = {}
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
