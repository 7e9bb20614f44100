"""An answer: values of vertices that can be read in part, paged and ranked.

Two kinds with one interface. `SmallAnswer` owns a few extracted rows, so its branch is free again. `WholeAnswer` reads
the state columns of a branch that is kept for it, and shares them with other queries of that branch by a lease count.
A vertex that was seen and not reached has a row without a value; one that was never seen is listed as unknown and has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument, ResultUnavailable, UnknownVertex, WorkerLost
from ..loop_views import ValuesView
from ..value_types import Ids, Mask, ValueArray, Worst, ranked, reached_of, unknown_values
from .ids import IdCodec, Vertex
from .paths import FoundPaths
from .rows import AnswerForm, Columns, Page, Rows

CHUNK_ROWS = 32_768

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of an answer to read.

    Attributes
    ----------
    vertices : tuple, optional
        Only these, in this order.
    top : int, optional
        The best so many (of `vertices`, where both are given).
    limit : int, optional
        At most so many rows.
    after : int or str, optional
        Go on behind this vertex, in the order of the answer.
    """

    vertices: tuple[Vertex, ...] | None = None
    top: int | None = None
    limit: int | None = None
    after: Vertex | None = None


class Chunks:
    """Rows a chunk at a time; `close` lets the answer go, once, whether or not anything was read.

    No plain generator: one that was never started does not run its `finally`, and would hold the answer for ever.
    """

    def __init__(self, rows: Iterator[Rows], give_back: Callable[[], None]) -> None:
        self._rows = rows
        self._give_back = give_back

    def __iter__(self) -> Iterator[Rows]:
        return self._rows

    def close(self) -> None:
        """Give back what is held; a second call does nothing."""
        give_back, self._give_back = self._give_back, _nothing
        give_back()


class Answer(Protocol):
    """Values that can be read in part."""

    @property
    def form(self) -> AnswerForm:
        """How its rows are read and written."""

    @property
    def paths(self) -> FoundPaths | None:
        """The ways that were asked for."""

    @property
    def size_bytes(self) -> int:
        """What keeping it costs."""

    def page(self, selection: Selection) -> Page:
        """Return the selected rows.

        Raises
        ------
        InvalidArgument
            When `after` is not in the selection, or a vertex is not of this loop's kind.
        ResultUnavailable
            When the answer does not hold a vertex or rank that is asked for.
        """

    def chunks(self) -> Chunks:
        """Iterate over all rows, a bounded number at a time. The caller closes it, also when it was never read."""

    def columns(self) -> Columns:
        """Return all vertices and values as columns of their own."""

    def drop(self, why: str | None = None) -> None:
        """Give back what the answer holds, once those who are reading have finished; who reads later is told why."""


class SmallAnswer:
    """Rows that were extracted because the query named them.

    Parameters
    ----------
    rows : Rows
        In the order asked for, or best first.
    unknown : sequence
        Asked for and never seen.
    form : AnswerForm
        Of the loop; checks ids that are asked for later.
    ranked : float64[n] or int64[n], optional
        Where the rows are the best so many: their values and, where there are more, that of the next one.
    paths : FoundPaths, optional
        The ways that were asked for; vertices that these name and nobody has seen are unknown, too.
    """

    def __init__(
        self,
        rows: Rows,
        unknown: Sequence[Vertex],
        *,
        form: AnswerForm,
        ranked: ValueArray | None = None,
        paths: FoundPaths | None = None,
    ) -> None:
        self._rows = rows
        self._unknown = list(dict.fromkeys([*unknown, *(paths.unknown if paths is not None else ())]))
        self.paths = paths
        self.form = form
        self.ranked = ranked

    def __len__(self) -> int:
        return len(self._rows.ids)

    @property
    def size_bytes(self) -> int:
        """An estimate: rows and unknown ids as Python objects."""
        ways = 0 if self.paths is None else self.paths.size_bytes
        return 128 + 64 * (len(self._rows.ids) + len(self._unknown)) + ways

    def page(self, selection: Selection) -> Page:
        """Return the selected rows of what was extracted."""
        rows, unknown = self._rows, self._unknown
        if selection.vertices is not None:
            rows, unknown = self._named(selection.vertices)
        if selection.top is not None:
            rows = self.form.best(rows, selection.top)
        page = _cut(rows, unknown, selection, self.form)
        return page if selection.after is not None else replace(page, paths=self.paths)

    def chunks(self) -> Chunks:
        """All rows are one chunk."""
        return Chunks(iter([self.form.named(self._rows)]), _nothing)

    def columns(self) -> Columns:
        """Return copies of the rows."""
        rows = self.form.named(self._rows)
        ids = _vertex_column(rows.ids, self.form.codec)
        return Columns(ids, rows.values.copy(), rows.reached.copy(), rows.names, rows.seconds)

    def drop(self, why: str | None = None) -> None:
        """Holds nothing of the branch."""

    def _named(self, vertices: tuple[Vertex, ...]) -> tuple[Rows, list[Vertex]]:
        self.form.codec.encode(vertices)
        places = {vertex: place for place, vertex in enumerate(self._rows.ids)}
        never_seen = set(self._unknown)
        chosen: list[int] = []
        unknown: list[Vertex] = []
        for vertex in dict.fromkeys(vertices):
            if vertex in places:
                chosen.append(places[vertex])
            elif vertex in never_seen:
                unknown.append(vertex)
            else:
                raise ResultUnavailable(
                    f"vertex {vertex!r} is not in this result, which holds only what the query asked for",
                    hint="Ask a new query that names it, or one without vertices and top, which holds all of them.",
                )
        return self._rows.at(chosen), unknown


class SharedValues:
    """The values of one branch, given back when the last of its readers is gone.

    Parameters
    ----------
    values : ValuesView
    release : callable
        Called once, with nobody reading any more.
    """

    def __init__(self, values: ValuesView, release: Callable[[], None]) -> None:
        self.values = values
        self._release = release
        self._leases = 0
        self._lock = Lock()

    def lease(self) -> None:
        """Count one more reader."""
        with self._lock:
            self._leases += 1

    def lease_again(self) -> bool:
        """Count one more reader, unless the values were given back with the last one; return whether they were not."""
        with self._lock:
            if not self._leases:
                return False
            self._leases += 1
            return True

    def give_back(self) -> None:
        """Count one reader less; the last one releases."""
        with self._lock:
            self._leases -= 1
            last = self._leases == 0
        if last:
            self._release()


class CopiedValues:
    """A copy of all values of a live loop: pages of it fit together, and each costs only its rows.

    Parameters
    ----------
    values : ValuesView
        Copied once, sorted by id.
    form : AnswerForm
        Of the loop.
    """

    def __init__(self, values: ValuesView, *, form: AnswerForm) -> None:
        ids, numbers = values.arrays()
        self._ids, self._values = ids.copy(), numbers.copy()
        self._seconds = values.seconds(self._ids) if form.has_seconds else None
        self._live = values
        self._form = form

    @property
    def worst(self) -> Worst:
        """The program's value of what was not reached."""
        return self._form.worst

    def lookup(self, ids: Ids, /) -> tuple[ValueArray, Mask]:
        """Return the value of each id, and whether it is there."""
        values, known = unknown_values(len(ids), self._form.worst), np.zeros(len(ids), np.bool_)
        if len(self._ids):
            places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            known = self._ids[places] == ids
            values[known] = self._values[places[known]]
        return values, known

    def seconds(self, ids: Ids, /) -> ValueArray:
        """Return the second of each pair, of vertices that are there."""
        assert self._seconds is not None
        return self._seconds[np.searchsorted(self._ids, ids)]

    def found(self) -> Mapping[str, NDArray[Any]]:
        """What the loop has found beside values by now."""
        return self._live.found()

    def count(self) -> int:
        """How many vertices there are."""
        return len(self._ids)

    def top(self, k: int, /) -> tuple[Ids, ValueArray]:
        """Return the best `k`, best first, ties by id."""
        reached = reached_of(self._values, self._form.worst)
        return ranked(self._ids, self._values, reached, k, self._form.rank)

    def page(self, after: int | None, limit: int) -> tuple[Ids, ValueArray]:
        """Return up to `limit` vertices behind `after`, ascending."""
        first = 0 if after is None else int(np.searchsorted(self._ids, after, side="right"))
        return self._ids[first : first + limit], self._values[first : first + limit]

    def arrays(self) -> tuple[Ids, ValueArray]:
        """Return all of it."""
        return self._ids, self._values


class WholeAnswer:
    """All values of a branch, read from its state columns.

    Holds a lease from the start until `drop`, and one more for as long as somebody reads.
    """

    paths = None  # whoever asks for ways names what else is wanted

    # The state columns of a branch, and the sorted ids and values that reading it in pages makes.
    BYTES_PER_VERTEX = 40

    def __init__(self, shared: SharedValues, *, form: AnswerForm) -> None:
        shared.lease()
        self._shared = shared
        self.form = form
        self._dropped = False
        self._why: str | None = None
        self._lock = Lock()
        self._size_bytes = self.BYTES_PER_VERTEX * shared.values.count()

    @property
    def size_bytes(self) -> int:
        """What the kept columns take, by estimate; two queries of one branch both count them."""
        return self._size_bytes

    def page(self, selection: Selection) -> Page:
        """Read the selected rows."""
        return self._read(lambda values: self._page(values, selection))

    def _page(self, values: ValuesView, selection: Selection) -> Page:
        if selection.vertices is not None:
            rows, unknown = lookup(values, selection.vertices, self.form)
            if selection.top is not None:
                rows = self.form.best(rows, selection.top)
            return _cut(rows, unknown, selection, self.form)
        if selection.top is not None:
            return _cut(top(values, selection.top, self.form), (), selection, self.form)
        after = _encode_after(selection.after, self.form.codec)
        limit = values.count() if selection.limit is None else selection.limit
        ids, chosen = values.page(after, limit)
        more = len(ids) == limit and limit > 0 and len(values.page(int(ids[-1]), 1)[0]) > 0
        rows = self.form.named(self.form.decoded(ids, chosen))
        return Page(rows, (), rows.ids[-1] if more else None)

    def chunks(self) -> Chunks:
        """Read ascending by id, a chunk at a time."""
        shared = self._enter()
        return Chunks(self._read_chunks(shared), shared.give_back)

    def columns(self) -> Columns:
        """Copy all rows, ascending by id."""

        def copied(shared: ValuesView) -> tuple[Ids, ValueArray, ValueArray | None]:
            ids, values = shared.arrays()
            return ids.copy(), values.copy(), shared.seconds(ids) if self.form.has_seconds else None

        ids, values, seconds = self._read(copied)
        codec, reached = self.form.codec, reached_of(values, self.form.worst)
        vertices = ids if codec.kind == "int" else list(codec.decode(ids))
        return Columns(vertices, values, reached, self.form.names(values, reached), seconds)

    def arrays(self) -> tuple[Ids, ValueArray]:
        """Copy all rows as the loop has them, ascending by its own ids."""

        def copied(shared: ValuesView) -> tuple[Ids, ValueArray]:
            ids, values = shared.arrays()
            return ids.copy(), values.copy()

        return self._read(copied)

    def copy(self, copies: dict[SharedValues, SharedValues]) -> None:
        """Hold a copy from now on, since the workers will be gone that have the values; nothing where they are already.

        Parameters
        ----------
        copies
            Of values that several answers share, by these; each is added here.
        """
        try:
            held = self._enter()
        except ResultUnavailable:
            return
        try:
            if held not in copies:
                copies[held] = SharedValues(CopiedValues(held.values, form=self.form), _nothing)
            with self._lock:
                if not self._dropped:
                    self._shared = copies[held]
                    self._shared.lease()
                    held.give_back()
        except WorkerLost:
            return
        finally:
            held.give_back()

    def _read_chunks(self, shared: SharedValues) -> Iterator[Rows]:
        after: int | None = None
        while True:
            try:
                ids, values = _chunk_behind(shared.values, after)
            except WorkerLost:
                ids, values = self._read(partial(_chunk_behind, after=after))
            if len(ids):
                yield self.form.named(self.form.decoded(ids, values))
            if len(ids) < CHUNK_ROWS:
                return
            after = int(ids[-1])

    def drop(self, why: str | None = None) -> None:
        """Give the lease back; a second call does nothing."""
        with self._lock:
            first, self._dropped = not self._dropped, True
            self._why = self._why or why
        if first:
            self._shared.give_back()

    def _read(self, read: Callable[[ValuesView], _T]) -> _T:
        """Read what is held; once more where the workers that had it ended meanwhile, and it was copied before."""
        while True:
            shared = self._enter()
            try:
                return read(shared.values)
            except WorkerLost:
                with self._lock:
                    if self._shared is shared:
                        raise
            finally:
                shared.give_back()

    def _enter(self) -> SharedValues:
        # Under the lock that `drop` takes, so that the lease counted here always comes before the last one goes.
        with self._lock:
            if self._dropped:
                raise ResultUnavailable(
                    "the result of this query is no longer kept" + (f": {self._why}" if self._why else ""),
                    hint="Ask the query again.",
                )
            self._shared.lease()
            return self._shared


def lookup(values: ValuesView, vertices: Sequence[Vertex], form: AnswerForm) -> tuple[Rows, list[Vertex]]:
    """Return the rows of the named vertices, each once and in their order, and those that were never seen."""
    names = list(dict.fromkeys(vertices))
    ids, encoded = form.codec.encode(names)
    found, seen = values.lookup(ids)
    known = encoded & seen
    seconds = values.seconds(ids) if form.has_seconds else None
    rows = replace(form.rows(names, found), seconds=seconds)
    if known.all():
        return rows, []
    unknown = [names[place] for place in np.flatnonzero(~known).tolist()]
    return rows.at(np.flatnonzero(known).tolist()), unknown


def top(values: ValuesView, k: int, form: AnswerForm) -> Rows:
    """Return the best `k` rows, best first."""
    ids, best = values.top(k)
    return replace(form.decoded(ids, best), seconds=values.seconds(ids) if form.has_seconds else None)


def all_unknown(unknown: Sequence[Vertex], of: str = "vertex") -> UnknownVertex:
    """Return the error for a question whose vertices were never seen, any of them; or its features or points, see `values_are_of`."""
    shown = ", ".join(repr(vertex) for vertex in unknown[:5])
    shown += f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    if of == "point":
        return UnknownVertex(
            f"no point of this snapshot has the id {shown}",
            hint="An answer has the points that were there when it was asked for: insert it, or ask again if it came later.",
        )
    if of == "feature":
        return UnknownVertex(
            f"the model has no feature {shown}; an intercept is -1",
            hint="Features are counted from 0. Their names, where they have some, are in the table coefficients.",
        )
    return UnknownVertex(f"the input up to this snapshot never named vertex {shown}")


def _vertex_column(ids: Sequence[Vertex], codec: IdCodec) -> Ids | list[Vertex]:
    return np.array(ids, dtype=np.int64) if codec.kind == "int" else list(ids)


def _chunk_behind(values: ValuesView, after: int | None) -> tuple[Ids, ValueArray]:
    return values.page(after, CHUNK_ROWS)


def _nothing() -> None:
    """Nothing to give back."""


def _encode_after(after: Vertex | None, codec: IdCodec) -> int | None:
    if after is None:
        return None
    ids, known = codec.encode([after])
    if not known[0]:
        raise InvalidArgument(
            f"after is {after!r}, which is no vertex of this result", hint="Use `next` of a page."
        )
    return int(ids[0])


def _cut(rows: Rows, unknown: Sequence[Vertex], selection: Selection, form: AnswerForm) -> Page:
    start = 0
    if selection.after is not None:
        try:
            start = rows.ids.index(selection.after) + 1
        except ValueError:
            raise InvalidArgument(
                f"after is {selection.after!r}, which is no vertex of this selection",
                hint="Use `next` of a page.",
            ) from None
    end = len(rows.ids) if selection.limit is None else min(len(rows.ids), start + selection.limit)
    part = form.named(Rows(rows.ids[start:end], rows.values[start:end], rows.reached[start:end]))
    return Page(part, unknown, part.ids[-1] if end < len(rows.ids) and part.ids else None)
