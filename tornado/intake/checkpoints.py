"""Checkpoints of a stream: a snapshot of all its loops with all it counts on, every so often, without stopping them.

Source: Tornado (SIGMOD 2016), section 5.3. What is admitted is in the log of the stream already. So a checkpoint every so often has
nothing to do but to write a snapshot, a new base, when the log behind the newest one would otherwise have grown beyond a share of it by
the time one is written: until then all that a restart has to go through stays bounded.

What makes a restart lose nothing is an order: names of vertices are durable before the snapshot that counts on them, the snapshot
(with the offsets of all sources, in one write of the store) before older ones are forgotten, and those before the log lets go of
what the oldest one left has. A crash between any two of these leaves more than is needed, never less.

A checkpoint that fails (a full disk) is counted and reported; the loops go on, and the next one tries again.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Any

from ..clock import Clock, wait_until
from ..config import DEFAULT_KEPT_SNAPSHOTS
from ..errors import Busy, InvalidArgument, NotSupported, StoreError
from ..loops.checkpointed import its_turn
from .stream_intake import StreamIntake

if TYPE_CHECKING:
    from ..loops.vertex_program import VertexProgram

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckpointStatistics:
    """The checkpoints of a stream since it began.

    Attributes
    ----------
    stored, failed : int
        How many were written, or found nothing to write, and how many could not be, or could not forget older ones.
    version : int or None
        Up to which the stream was durable then; after a restart the one that it began with.
    age_s : float or None
        Since the cut of the last one that succeeded here.
    duration_s : float or None
        How long the last one took that had something new.
    last_error : str or None
        Why the last one failed; None where it did not.
    """

    stored: int
    failed: int
    version: int | None
    age_s: float | None
    duration_s: float | None
    last_error: str | None


class Checkpoints:
    """Takes the checkpoints of a stream, whichever loops read it.

    Parameters
    ----------
    intake : StreamIntake
        Of the stream, which has begun: names are saved there.
    version : int, optional
        Of the snapshot that the stream began with.
    keep : int, optional
        How many snapshots are left in the store, see `check_kept`; None forgets none, until `start`.
    in_use : callable, optional
        Returns the versions that queries under way name: these are not forgotten.
    on_failure : callable, optional
        Told of what made a periodic one fail, once until another one succeeds or fails for another reason; left out, it is
        logged.
    clock : Clock
        What says when the next one is due.
    """

    def __init__(
        self,
        intake: StreamIntake,
        *,
        version: int | None = None,
        keep: int | None = None,
        in_use: Callable[[], Collection[int]] = tuple,
        on_failure: Callable[[Exception], None] | None = None,
        clock: Clock,
    ) -> None:
        self._stream = intake.stream
        self._intake = intake
        self._keep = keep
        self._is_sparing = False
        self._in_use = in_use
        self._on_failure = on_failure or self._say
        self._clock = clock
        self._taking = Lock()
        self._lock = Lock()
        self._stopping = Condition()
        self._is_stopped = False
        self._thread: Thread | None = None
        self._stored = self._failed = 0
        self._version = version
        self._cut_at_s: float | None = None
        self._duration_s: float | None = None
        self._last_error: str | None = None
        self._reported: str | None = None
        self._looked_at: tuple[int, float] | None = None  # the version of the last look at the log, and when
        self._listeners: list[Callable[[int], None]] = []

    def take(self, *, within_s: float | None = None) -> int:
        """Write a snapshot of now, forget what is not to be kept, and return its version.

        Raises
        ------
        Busy
            When the loops had not come to their fixed points within that time, or another one was being written.
        StoreError
            When it could not be written; nothing that was stored is lost.
        NotSupported
            For a program of a kind of which no snapshots are stored.
        """
        with its_turn(self._taking, within_s):
            begun_s = self._clock.monotonic()
            written = False

            def before_write() -> None:
                nonlocal written
                written = True
                self._intake.save_names()

            try:
                version = self._stream.checkpoint(before_write=before_write, within_s=within_s)
            except (Busy, NotSupported):
                raise
            except Exception as error:
                self._book_failure(error)
                raise
            self._book(version, begun_s, written=written)
            try:
                self._forget_older()
            except StoreError as error:
                # The snapshot is stored all the same; what it leaves behind goes with the next one.
                self._book_failure(error)
                self._report(error)
            return version

    def pass_refused(self, program: VertexProgram) -> None:
        """Write a snapshot if the log has a record behind the newest one that a program cannot take, which reads the stream by now.

        Such a record is gone from the stream. A restart would give it to the program again, unless a snapshot has both.

        Raises
        ------
        StoreError
            When it could not be written.
        """
        from ..loops.vertex_program import can_refuse, refused_by

        if not can_refuse(program):
            return
        with self._taking:  # nobody trims the log meanwhile
            is_needed = self._stream.has_logged(lambda batch: refused_by(program, batch)[0])
        if is_needed:
            self.take()

    def keep_up(self, every_s: float) -> None:
        """Take one if the log has become long, or would be by the time one is written; otherwise what was admitted is durable as it is.

        Parameters
        ----------
        every_s
            After so many seconds this is called again.

        Raises
        ------
        StoreError
            As `take`.
        """
        version = self._stream.counts()[0]
        if self._stream.wants_snapshot(self._coming_bytes(version, every_s)):
            self.take()
        else:
            self._book(version, self._clock.monotonic(), written=False)

    def _coming_bytes(self, version: int, every_s: float) -> int | None:
        """How much is logged before the next look and while a base is written, at the pace since the last look; None: unknown."""
        log, now_s, before = self._stream.log, self._clock.monotonic(), self._looked_at
        self._looked_at = version, now_s
        if log is None or before is None or self._duration_s is None or now_s <= before[1]:
            return None
        pace = log.size_after(before[0]).size_bytes / (now_s - before[1])
        return int(pace * (every_s + self._duration_s))

    def start(self, every_s: float) -> None:
        """Take one every so many seconds from now on, on a thread; one that takes longer delays the next.

        Where nobody has said how many are left, a few are from now on, and only those that take little room beside the newest one.
        """
        if self._thread is None:
            if self._keep is None:
                self._keep, self._is_sparing = DEFAULT_KEPT_SNAPSHOTS, True
            name = f"checkpoints {self._intake.name}"
            due_s = self._clock.monotonic() + every_s
            self._thread = Thread(target=self._run, args=(every_s, due_s), name=name, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Take no more; does not wait for the one under way."""
        with self._stopping:
            self._is_stopped = True
            self._stopping.notify_all()

    def join(self) -> None:
        """Wait for the one under way, after `stop`."""
        if self._thread is not None:
            self._thread.join()

    def add_listener(self, listener: Callable[[int], None]) -> None:
        """Call with the version of each checkpoint from now on; must be quick."""
        self._listeners.append(listener)

    def statistics(self) -> CheckpointStatistics:
        """Return counts and times as they are now."""
        with self._lock:
            age_s = None if self._cut_at_s is None else self._clock.monotonic() - self._cut_at_s
            return CheckpointStatistics(
                self._stored, self._failed, self._version, age_s, self._duration_s, self._last_error
            )

    def _run(self, every_s: float, due_s: float) -> None:
        while not self._is_stopped_before(due_s):
            due_s = self._clock.monotonic() + every_s
            try:
                self.keep_up(every_s)
            except Exception as error:  # noqa: BLE001  counted and reported; the loops and the next checkpoint go on
                self._report(error)
            else:
                self._reported = None

    def _is_stopped_before(self, due_s: float) -> bool:
        with self._stopping:
            return wait_until(self._clock, self._stopping, lambda: self._is_stopped, due_s)

    def _book(self, version: int, begun_s: float, *, written: bool) -> None:
        with self._lock:
            self._stored += 1
            self._version = version
            self._cut_at_s = begun_s
            if written:
                self._duration_s = self._clock.monotonic() - begun_s
            self._last_error = None
        for listener in self._listeners:
            listener(version)

    def _book_failure(self, error: Exception) -> None:
        with self._lock:
            self._failed += 1
            self._last_error = str(error)

    def _forget_older(self) -> None:
        keep = sys.maxsize if self._keep is None else self._keep
        self._stream.trim_snapshots(keep=keep, in_use=self._in_use(), sparing=self._is_sparing)
        self._intake.put_names_together()

    def _report(self, error: Exception) -> None:
        reason = repr(error)
        if reason != self._reported and not self._is_stopped:
            self._reported = reason  # a disk that stays full must not fill the log too
            self._on_failure(error)

    def _say(self, error: Exception) -> None:
        _log.warning(
            "no checkpoint of stream %s was stored, and its loops go on: %s", self._intake.name, error
        )


def check_kept(keep: Any) -> None:
    """Raise `InvalidArgument` where so many snapshots cannot be kept."""
    if keep is not None and (not isinstance(keep, int) or isinstance(keep, bool) or keep < 1):
        raise InvalidArgument(
            f"the number of snapshots to keep is {keep!r}, but must be a whole number from 1",
            hint="The newest one is what a restart goes on from; 3 is usual.",
        )


def checked_period(
    every_s: Any, *, is_durable: bool, is_stored: bool, described: str, loop: str, store: str
) -> float:
    """Return the seconds between two checkpoints, where there can be any.

    Parameters
    ----------
    is_stored, described
        Of the kind of program that the loop runs.

    Raises
    ------
    InvalidArgument
        When it is no positive number, or the store is gone with the process.
    NotSupported
        When of the kind of program that the loop runs nothing is stored.
    """
    if not isinstance(every_s, int | float) or isinstance(every_s, bool) or not 0 < every_s < float("inf"):
        raise InvalidArgument(
            f"the time between checkpoints is {every_s!r}, but must be a number of seconds above 0",
            hint="Leave it out for none.",
        )
    if not is_durable:
        raise InvalidArgument(
            f"checkpoints every {every_s:g} s are asked for, but the store {store} is gone with the process",
            hint="Name a durable store, such as lmdb:///DIR, or leave the checkpoints out.",
        )
    if not is_stored:
        raise NotSupported(
            f"checkpoints every {every_s:g} s are asked for, but loop {loop!r} runs {described}, of which no snapshots "
            "are stored",
            hint="Leave the checkpoints out; what is admitted is in the store's log all the same.",
        )
    return float(every_s)
