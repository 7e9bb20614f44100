"""The newest exact answer of a loop, kept in a table outside, and renewed after each checkpoint of its stream.

A thread asks the loop as anybody would, finds what changed since the answer that the table has, and writes that. An answer is of the
checkpoint's version or a later one, so one that is late serves several checkpoints. Every so often (`COMPARED_S`) all rows are compared by
the server: what somebody else has changed is put right, and told. So they are when the table is not the one any more that was left.
A vertex whose name has the character of number zero has no row, as PostgreSQL has no text for it, and a value that is such a name has U+FFFD
in its place. Nor has one whose name is too long for the index (`has_row`); as a value such a name is whole. What goes wrong (the server is
away, the loop does not converge in time) is counted, reported once and tried again, with growing pauses; the service does not wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Final

import numpy as np
import pyarrow as pa

from ..certificate import NONE, has_no_answer
from ..clock import Clock, wait_until
from ..errors import (
    ConnectionLost,
    InvalidArgument,
    NotSupported,
    StoreError,
    StoreUnreachable,
    TornadoError,
    UnknownLoop,
)
from ..loop_views import MainLoopView
from ..storage.postgres_results import (
    AnsweredSnapshot,
    ColumnType,
    PostgresResults,
    ResultsAddress,
    has_row,
)
from ..value_types import Ids, Mask, ValueArray, reached_of
from .answers import WholeAnswer
from .csv_text import csv_lines
from .formats import json_bytes
from .ids import IdCodec, StringIds
from .query import Query, QueryState
from .request import QueryRequest
from .rows import AnswerForm
from .served_stream import ResultsStatistics
from .service import QueryService

_log = logging.getLogger(__name__)

REST_S: Final = 1.0
"""Between the beginnings of two renewals at least, however often there are checkpoints."""
COMPARED_S: Final = 600.0
"""How long the table is taken to be as it was left; what somebody else has changed stands no longer than that while there are renewals."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 8.0
_ENDING_S: Final = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredRows:
    """All rows of an answer as the loop has them: int64 ids, ascending, and float64 or int64 values, each [n]."""

    ids: Ids
    values: ValueArray

    def changed_since(self, before: AnsweredRows) -> tuple[Mask, Ids]:
        """Return which rows are new or have other bits than before, bool[n], and the ids that are gone, int64[k].

        Examples
        --------
        >>> before = AnsweredRows(np.array([1, 2, 4]), np.array([0.0, np.inf, 3.0]))
        >>> AnsweredRows(np.array([1, 2, 3]), np.array([0.0, 5.0, np.inf])).changed_since(before)
        (array([False,  True,  True]), array([4]))
        """
        bits, bits_before = self.values.view(np.int64), before.values.view(np.int64)
        if np.array_equal(self.ids, before.ids):
            return bits != bits_before, np.empty(0, np.int64)
        if not len(before.ids):
            return np.ones(len(self.ids), np.bool_), np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(before.ids, self.ids), len(before.ids) - 1)
        changed = (before.ids[places] != self.ids) | (bits_before[places] != bits)
        return changed, np.setdiff1d(before.ids, self.ids, assume_unique=True)


class _Rowless:
    """The vertices with a name that a table can have no row of. Names stay what they are, so each is looked at once."""

    def __init__(self) -> None:
        self._looked = 0
        self._found: list[int] = []

    def without(self, rows: AnsweredRows, codec: IdCodec) -> AnsweredRows:
        """The rows of the others."""
        if isinstance(codec, StringIds):
            first, self._looked = self._looked, len(codec.interner)
            names = codec.interner.names(np.arange(first, self._looked))
            self._found += [number for number, name in enumerate(names, first) if not has_row(name)]
        if not self._found:
            return rows
        stays = ~np.isin(rows.ids, self._found)
        return AnsweredRows(rows.ids[stays], rows.values[stays])


_NO_ROWS: Final = AnsweredRows(np.empty(0, np.int64), np.empty(0, np.int64))


class KeptResults:
    """See the module. Begins with `start`, and ends with `close` or with its loop.

    Parameters
    ----------
    service
        Who is asked.
    loop
        Whose answers are kept.
    table
        Where; closed with this.
    on_failure
        Told of what made a renewal fail, once until one succeeds or fails for another reason; left out, it is logged.
    """

    def __init__(
        self,
        service: QueryService,
        loop: MainLoopView,
        table: PostgresResults,
        *,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        self._service, self._loop, self._table = service, loop, table
        self._clock: Clock = service.clock
        self._on_failure = on_failure or self._say
        self._rows: AnsweredRows | None = None  # that the table has
        self._rowless = _Rowless()
        self._changed = Condition()
        self._wanted: int | None = None
        self._version: int | None = None
        self._answered_at_s: float | None = None
        self._duration_s: float | None = None
        self._renewed = self._failed = 0
        self._changes = 0
        self._error: Exception | None = None
        self._reported: str | None = None
        self._is_stopped = False
        self._compared_at_s = self._clock.monotonic()
        self._thread = Thread(target=self._run, name=f"results {loop.name}", daemon=True)

    def start(self) -> None:
        """Connect, and renew from now on. A server that is away is waited for.

        Raises
        ------
        InvalidArgument, StoreError
            When the table cannot be had, and would not be later.
        """
        served = self._service.served(self._loop)
        checkpoints = served.checkpoints
        if checkpoints is None:
            raise InvalidArgument(
                f"results are renewed after each checkpoint, and nobody takes any of stream {served.name!r}",
                hint="Start the loop by a session.",
            )
        try:
            self._table.open()
        except StoreUnreachable as error:
            self._book_failure(error)
        served.results[self._loop.name] = self.statistics
        checkpoints.add_listener(self._want)
        self._want(checkpoints.statistics().version)
        self._thread.start()

    def settle(self, timeout_s: float) -> None:
        """Wait until the table has an answer to the newest checkpoint.

        Raises
        ------
        TornadoError
            What made the next attempt fail; or it takes longer.
        """
        with self._changed:
            failed = self._failed
            until_s = self._clock.monotonic() + timeout_s
            wait_until(
                self._clock,
                self._changed,
                lambda: not self._is_due() or self._failed > failed or self._is_stopped,
                until_s,
            )
            if self._is_stopped or not self._is_due():
                return
            error = self._error
        if isinstance(error, TornadoError):
            raise error
        raise StoreUnreachable(f"the results in {self._table.label} were not renewed within {timeout_s:g} s")

    def close(self) -> None:
        """Renew no more. A renewal under way is given up, or ends by itself."""
        self._stop()
        if self._thread.ident is not None:
            self._thread.join(_ENDING_S)
        if not self._thread.is_alive():
            self._table.close()

    def statistics(self) -> ResultsStatistics:
        """Return counts and times as they are now."""
        with self._changed:
            age_s = None if self._answered_at_s is None else self._clock.monotonic() - self._answered_at_s
            return ResultsStatistics(
                table=self._table.label,
                renewed=self._renewed,
                failed=self._failed,
                version=self._version,
                rows=None if self._rows is None else len(self._rows.ids),
                changes=self._changes,
                age_s=age_s,
                duration_s=self._duration_s,
                last_error=None if self._error is None else str(self._error),
            )

    def _want(self, version: int | None) -> None:
        with self._changed:
            if version is not None:
                self._wanted = max(version, self._wanted or 0)
                self._changed.notify_all()

    def _stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _is_due(self) -> bool:
        return self._wanted is not None and (self._version is None or self._version < self._wanted)

    def _run(self) -> None:
        not_before_s, pause_s = self._clock.monotonic(), _FIRST_PAUSE_S
        while self._waits_until_due(not_before_s):
            begun_s = self._clock.monotonic()
            try:
                self._renew()
            except Exception as error:  # noqa: BLE001  counted, reported and tried again; the service goes on
                if self._is_stopped:
                    break
                self._book_failure(error)
                not_before_s = self._clock.monotonic() + pause_s
                pause_s = min(2.0 * pause_s, _LONGEST_PAUSE_S)
            else:
                not_before_s, pause_s = begun_s + REST_S, _FIRST_PAUSE_S
        self._table.close()

    def _waits_until_due(self, not_before_s: float) -> bool:
        """Wait for the next renewal; return whether there is one."""
        with self._changed:
            wait_until(self._clock, self._changed, lambda: self._is_stopped, not_before_s)
            wait_until(self._clock, self._changed, lambda: self._is_stopped or self._is_due(), None)
            return not self._is_stopped

    def _renew(self) -> None:
        begun_s = self._clock.monotonic()
        query = self._asked()
        try:
            ending = query.status(asks=False)
            answer, snapshot = query.answer, ending.snapshot
            if ending.state is not QueryState.CONVERGED or snapshot is None:
                raise query.error or ConnectionLost(
                    f"loop {self._loop.name!r} has no exact answer, its query ended as {ending.state.value}",
                    hint="It is asked again.",
                )
            certificate = ending.certificate or NONE
            if has_no_answer(certificate) or not isinstance(answer, WholeAnswer):
                raise NotSupported(f"loop {self._loop.name!r} has no exact answer: {dict(certificate)}")
            form = answer.form
            rows = self._rowless.without(AnsweredRows(*answer.arrays()), form.codec)
        finally:
            self._service.discard(query)
        answered_at, answered_at_s = self._clock.now(), self._clock.monotonic()
        if self._table.is_anew:
            self._rows = None
        self._table.open()
        known = self._rows
        # A table that has become another one has not what was left in it.
        is_due = answered_at_s >= self._compared_at_s + COMPARED_S
        compares = known is None or self._table.is_anew or is_due
        changed, gone = rows.changed_since(_NO_ROWS if known is None else known)
        written, removed = (np.ones(len(rows.ids), np.bool_), gone[:0]) if compares else (changed, gone)
        if compares:
            self._table.compare_all()
        touched = self._table.renew(
            _lines(rows.ids[written], rows.values[written], form),
            _lines(removed, np.zeros(len(removed), rows.values.dtype), form),
            AnsweredSnapshot(
                version=snapshot.version,
                answered_at=answered_at,
                loop=self._loop.name,
                stream=snapshot.stream,
                offsets=json_bytes(dict(snapshot.offsets)).decode(),
                certificate=json_bytes(dict(certificate)).decode(),
                vertices=len(rows.ids),
            ),
        )
        with self._changed:
            self._rows, self._version = rows, snapshot.version
            self._answered_at_s, self._duration_s = answered_at_s, self._clock.monotonic() - begun_s
            self._renewed += 1
            self._changes += (ours := int(np.count_nonzero(changed)) + len(gone))
            self._error, self._reported = None, None
            if compares:
                self._compared_at_s = answered_at_s
            self._changed.notify_all()
        if compares and known is not None and touched != ours:
            self._on_failure(_changed_by_others(self._table.label, touched, ours))

    def _asked(self) -> Query:
        """Ask for all values, and wait for them, or until this is to end."""
        if self._service.master.loops.get(self._loop.name) is not self._loop:
            self._stop()
            raise UnknownLoop(f"loop {self._loop.name!r} was removed, and its results are renewed no more")
        query = self._service.submit(QueryRequest(loop=self._loop.name))
        query.add_done_callback(self._wake)
        with self._changed:
            wait_until(self._clock, self._changed, lambda: self._is_stopped or query.state.is_final, None)
        return query

    def _wake(self, _: Query) -> None:
        with self._changed:
            self._changed.notify_all()

    def _book_failure(self, error: Exception) -> None:
        with self._changed:
            self._failed += 1
            self._error = error
            self._changed.notify_all()
            reason = repr(error)
            is_new, self._reported = reason != self._reported, reason
        if is_new:
            self._on_failure(error)

    def _say(self, error: Exception) -> None:
        _log.warning("the results in %s are not renewed, and the loop goes on: %s", self._table.label, error)


def _changed_by_others(label: str, touched: int, ours: int) -> StoreError:
    return StoreError(
        f"somebody else has changed the table {label}: {touched} rows were not as the newest answer has them, where {ours} had changed. "
        "They are put right",
        hint="Leave the table to its service, and join it with tables of your own.",
    )


def keep_results(
    service: QueryService,
    loop: MainLoopView,
    url: str,
    *,
    on_failure: Callable[[Exception], None] | None = None,
) -> KeptResults:
    """Keep the newest exact answer of a loop in a table of PostgreSQL, from now on until it is closed.

    Parameters
    ----------
    url
        ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE/TABLE``.

    Raises
    ------
    NotSupported
        When the loop has no value for each vertex.
    InvalidArgument, StoreError
        When the table cannot be had, see `PostgresResults.open`. A server that does not answer is waited for.
    """
    form = service.form(loop.name)
    if form.values_are_of != "vertex":
        raise NotSupported(
            f"loop {loop.name!r} learns from points, and results are kept of loops that have a value for each vertex",
            hint="Leave --results out; ask it for its tables: tornado query.",
        )
    vertex_type: ColumnType = "int64" if form.codec.kind == "int" else "string"
    table = PostgresResults(ResultsAddress.of(url), vertex_type=vertex_type, value_type=form.value_type)
    kept = KeptResults(service, loop, table, on_failure=on_failure)
    kept.start()
    return kept


def _lines(ids: Ids, values: ValueArray, form: AnswerForm) -> Iterator[memoryview]:
    """Rows as lines of CSV, ``vertex,value``, as outside: what was not reached is empty."""
    reached = reached_of(values, form.worst)
    names = form.names(values, reached)
    vertices = pa.array(ids) if form.codec.kind == "int" else pa.array(form.codec.decode(ids), pa.string())
    if names is None:
        column = pa.array(values, mask=~reached)
    else:
        texts = [None if name is None else str(name).replace("\0", "\ufffd") for name in names]
        column = pa.array(texts, pa.string())
    return csv_lines(pa.table({"vertex": vertices, "value": column}))
