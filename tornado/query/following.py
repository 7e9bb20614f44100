"""What a follower of a loop has been told, and what it is to be told next: rows of values, and of groups.

A follower is told of one answer after another, and only of what is new in each. A number is new when it has moved by more than
`moved_by` from what *this follower was told last*, not from the answer before; so one that drifts slowly is told in time, and all
that was told, put together, is never further than that from the newest answer. Vertices that are new, out of reach now, within
reach again, or no longer there are always told.

Guarantees: pure functions of the answers. So whoever keeps what was told (`ResultHistory`) gives the same rows again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InvalidArgument, NotSupported
from ..value_types import INT64, Ids, Mask, ValueArray, reached_of, unknown_values
from .group_names import Grouping, Turnings
from .ids import IdCodec
from .rows import AnswerForm, Rows

GROUPS, GROUP_EVENTS = "groups", "group_events"


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What a follower has been told. Arrays are not to be written to.

    Attributes
    ----------
    ids, values : int64[n], float64[n] or int64[n]
        Every vertex of the newest answer, ascending, and the value that was told of it last.
    grouping : Grouping, optional
        The names of its groups, where values are labels of groups.
    """

    ids: Ids
    values: ValueArray
    grouping: Grouping | None = None

    @classmethod
    def first(cls, ids: Ids, values: ValueArray, form: AnswerForm) -> Told:
        """Tell of a first answer: of everything."""
        return cls(ids, values, _first_grouping(ids, values, form))

    def next(self, ids: Ids, values: ValueArray, form: AnswerForm, *, moved_by: float) -> Told:
        """Tell of the next answer.

        Parameters
        ----------
        ids, values
            As the attributes: of the answer, ascending.
        moved_by : float
            As `checked_moved_by` returns it.
        """
        if self.values.dtype == values.dtype and moved_by > 0:
            at, was_there = _places(self.ids, ids)
            stays = was_there.copy()
            stays[was_there] = ~_have_moved(
                self.values[at[was_there]], values[was_there], form.worst, moved_by
            )
            values = values.copy()
            values[stays] = self.values[at[stays]]
        if self.grouping is None or values.dtype != INT64:
            return Told(ids, values, _first_grouping(ids, values, form))
        return Told(ids, values, self.grouping.next(ids, values.view(np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What is new since a follower was told last.

    Attributes
    ----------
    before : Told, optional
        None for the loop before its first record, of which there is nothing to know.
    now : Told
    form : AnswerForm
        Of the loop.
    """

    before: Told | None
    now: Told
    form: AnswerForm

    def values(self) -> Rows:
        """Return the vertices of which another value is told, ascending; those that are out of reach or gone have none."""
        ids, values, is_there = self._changed_values()
        rows = self.form.decoded(ids, values)
        return self.form.named(Rows(rows.ids, values, rows.reached & is_there))

    def groups(self) -> pa.RecordBatch:
        """Return `vertex` and `group` of those whose group is new or has another name, ascending; null for those that are in none."""
        now = _grouping(self.now)
        ids, groups = now.ids, now.groups
        is_there = np.ones(len(ids), np.bool_)
        if self.before is not None and self.before.grouping is not None:
            before = self.before.grouping
            old_groups = before.groups
            at, was_there = _places(before.ids, ids)
            changed = ~was_there
            changed[was_there] = groups[was_there] != old_groups[at[was_there]]
            gone = before.ids[~_places(ids, before.ids)[1]]
            ids, named, is_there = _with_gone(
                ids[changed], groups[changed], gone, np.zeros(len(gone), np.int64)
            )
            groups = named.view(np.int64)
        vertex = _id_array(ids, self.form.codec)
        return pa.record_batch({"vertex": vertex, "group": _id_array(groups, self.form.codec, is_there)})

    def group_events(self) -> pa.RecordBatch:
        """Return the splits, then the merges: `kind`, `from`, `into` and `sizes`, the largest part first.

        A split has one name in `from`, and in `into` those of the groups that its vertices are in now. A merge has in `from` those
        that the vertices were in, and one name in `into`. `sizes` says how many vertices each part has.
        """
        codec = self.form.codec
        empty = Grouping.first(np.zeros(0, np.int64), np.zeros(0, np.int64))
        before = empty if self.before is None else self.before.grouping or empty
        turnings = Turnings.between(before, _grouping(self.now))
        begins = np.concatenate([np.zeros(1, np.int64), turnings.ends])
        splits = int((~turnings.is_merge).sum())
        names, others = _id_array(turnings.names, codec), _id_array(turnings.others, codec)
        alone = pa.ListArray.from_arrays(pa.array(np.arange(len(names) + 1), pa.int32()), names)
        several = pa.ListArray.from_arrays(pa.array(begins, pa.int32()), others)
        sizes = pa.ListArray.from_arrays(pa.array(begins, pa.int32()), pa.array(turnings.sizes, pa.int64()))
        kinds = pa.array(["split"] * splits + ["merge"] * (len(names) - splits), pa.string())
        return pa.record_batch(
            {
                "kind": kinds,
                "from": pa.concat_arrays([alone[:splits], several[splits:]]),
                "into": pa.concat_arrays([several[:splits], alone[splits:]]),
                "sizes": sizes,
            }
        )

    def _changed_values(self) -> tuple[Ids, ValueArray, Mask]:
        ids, values = self.now.ids, self.now.values
        if self.before is None:
            return ids, values, np.ones(len(ids), np.bool_)
        before = self.before
        at, was_there = _places(before.ids, ids)
        changed = ~was_there
        if before.values.dtype != values.dtype:
            changed[:] = True
        else:
            # By their bits: a NaN is the same value as itself.
            changed[was_there] = (
                values.view(np.int64)[was_there] != before.values.view(np.int64)[at[was_there]]
            )
        gone = before.ids[~_places(ids, before.ids)[1]]
        return _with_gone(
            ids[changed],
            values[changed],
            gone,
            unknown_values(len(gone), self.form.worst).astype(values.dtype),
        )


def require_followed(form: AnswerForm, loop: str) -> None:
    """Refuse to follow a loop whose answers are told to nobody.

    Raises
    ------
    NotSupported
        When it learns from points: its values are not exact, nor is each of them within a bound.
    """
    if form.values_are_of != "vertex":
        raise NotSupported(
            f"loop {loop!r} learns from points and cannot be followed: who follows is told values that are exact, or each within a bound",
            hint="Ask it again when more points have come.",
        )


def checked_moved_by(moved_by: Any, form: AnswerForm, loop: str) -> float:
    """Return by how much a number must have moved to be told again; left out, 0, it is told whenever it has changed.

    Raises
    ------
    InvalidArgument
        When it is no number from 0, or values of the loop are labels, which have no distance.
    """
    if moved_by is None:
        return 0.0
    is_number = isinstance(moved_by, int | float | np.number) and not isinstance(moved_by, bool)
    if not (is_number and math.isfinite(moved_by) and moved_by >= 0):
        raise InvalidArgument(
            f"moved_by is {moved_by!r} but must be a number from 0",
            hint="It is by how much a value must have moved to be told again; leave it out to be told of every change.",
        )
    if moved_by > 0 and form.values_are_ids:
        raise InvalidArgument(
            f"moved_by is {moved_by!r}, but the values of loop {loop!r} are labels: one is no nearer to another than a third is",
            hint=f"Leave it out. The table {GROUPS} tells only of vertices whose group has changed, and not when it has a new label.",
        )
    return float(moved_by)


def require_table(table: str, form: AnswerForm, loop: str) -> None:
    """Refuse a table that a follower of a loop is not told.

    Raises
    ------
    InvalidArgument
        When there is no such table, or values of the loop are no labels of groups.
    """
    tables = [one["name"] for one in form.followed_tables]
    if table not in tables:
        raise InvalidArgument(
            f"who follows loop {loop!r} is told no table {table!r}; there is: {', '.join(tables)}",
            hint="Groups are those of programs whose values are labels, such as connected_components.",
        )


def _have_moved(before: ValueArray, now: ValueArray, worst: Any, moved_by: float) -> Mask:
    if now.dtype == INT64:
        # Without a sign, since the distance of two numbers of 64 bits may need all of them.
        distance = np.where(now > before, now - before, before - now).view(np.uint64)
        far: Mask = distance > np.uint64(min(math.floor(moved_by), 2**64 - 1))
        return far
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(now - before) <= moved_by
    near |= now.view(np.int64) == before.view(np.int64)
    moved: Mask = ~near | (reached_of(now, worst) != reached_of(before, worst))
    return moved


def _places(ids: Ids, of: Ids) -> tuple[np.ndarray[Any, np.dtype[np.intp]], Mask]:
    """Return where each of some ids stands among others, which ascend, and whether it does."""
    if not len(ids):
        return np.zeros(len(of), np.intp), np.zeros(len(of), np.bool_)
    at = np.minimum(np.searchsorted(ids, of), len(ids) - 1)
    return at, ids[at] == of


def _with_gone(
    ids: Ids, values: ValueArray, gone: Ids, gone_values: ValueArray
) -> tuple[Ids, ValueArray, Mask]:
    """Return rows with those of vertices that are gone among them, and which are there."""
    is_there = np.ones(len(ids), np.bool_)
    if not len(gone):
        return ids, values, is_there
    ids = np.concatenate([ids, gone])
    order = np.argsort(ids)
    is_there = np.concatenate([is_there, np.zeros(len(gone), np.bool_)])
    return ids[order], np.concatenate([values, gone_values])[order], is_there[order]


def _first_grouping(ids: Ids, values: ValueArray, form: AnswerForm) -> Grouping | None:
    return Grouping.first(ids, values.view(np.int64)) if form.has_groups and values.dtype == INT64 else None


def _grouping(told: Told) -> Grouping:
    assert told.grouping is not None, "its values are labels, see `require_table`"
    return told.grouping


def _id_array(ids: Ids, codec: IdCodec, is_there: Mask | None = None) -> pa.Array:
    """Return ids as they are written outside, null for those that are not there."""
    if codec.kind == "int":
        return pa.array(ids, pa.int64(), mask=None if is_there is None else ~is_there)
    if is_there is None or is_there.all():
        return pa.array(codec.decode(ids), pa.string())
    names: list[Any] = [None] * len(ids)
    for place, name in zip(np.flatnonzero(is_there).tolist(), codec.decode(ids[is_there]), strict=True):
        names[place] = name
    return pa.array(names, pa.string())
