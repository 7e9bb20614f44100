"""Names of groups that outlive the answers they were first in: which group of an answer is which of the answer before.

A program that labels groups says in each answer who is together, by a label: the least id of a component, say, which is another
one as soon as that vertex leaves. A name belongs to whoever follows a loop, and is defined by the answers that this follower was
told of, one after the other:

- In the first answer a group's name is its label.
- A group of the next answer takes over a name from the group it has the most vertices from, if that has no more of its vertices
  in any other group. So the largest part keeps the name at a split, and the largest one at a merge; of equal ones, that with the
  least vertex. Vertices that only one of both answers has count for nothing.
- A group that takes over none is named by its label, where no living group has that name. Where one has, it is named by the label
  of that one, unless a third one has this name, and so on.

Guarantees: no two groups of an answer have one name; names depend on the answers alone, not on the order of rows, on chance or on
time; every name is a label of some answer, so it is the id of a vertex wherever labels are. A name that no living group has may be
given again. Cost: O(n log n) in array operations.

Why the last rule ends, with a name of its own for each: to go from a group to the one that has its label for a name leads no two
groups to the same one, and never to a group without a name. So the ways of those without names are apart, and do not come back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..value_types import Ids

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Who is together in one answer, and what the groups are called. Arrays are not to be written to.

    Attributes
    ----------
    ids : int64[n]
        The vertices, ascending, each once.
    labels : int64[n]
        Of each vertex, that of its group.
    own_labels, names : int64[g]
        The labels of the groups, ascending, and what the group of each is called.
    """

    ids: Ids
    labels: Ids
    own_labels: Ids
    names: Ids

    @classmethod
    def first(cls, ids: Ids, labels: Ids) -> Grouping:
        """Name the groups of an answer that has none before it.

        Examples
        --------
        >>> Grouping.first(np.array([1, 2, 3]), np.array([1, 1, 3])).groups.tolist()
        [1, 1, 3]
        """
        own_labels = np.unique(labels)
        return cls(ids, labels, own_labels, own_labels)

    def next(self, ids: Ids, labels: Ids) -> Grouping:
        """Name the groups of the answer that a follower is told of after this one.

        Examples
        --------
        >>> before = Grouping.first(np.arange(1, 6), np.array([1, 1, 1, 1, 1]))
        >>> before.next(np.arange(1, 6), np.array([1, 1, 3, 3, 3])).groups.tolist()
        [3, 3, 1, 1, 1]

        The three keep the name 1. So the two, whose label that is, are named by the label of these, 3. Together again they are 1:

        >>> before.next(np.arange(1, 6), np.array([1, 1, 3, 3, 3])).next(np.arange(1, 6), np.ones(5, int)).groups.tolist()
        [1, 1, 1, 1, 1]
        """
        own_labels = np.unique(labels)
        parts = SharedParts.between(self, Grouping(ids, labels, own_labels, own_labels))
        heirs = parts.largest(parts.before) & parts.largest(parts.after)
        is_named = np.zeros(len(own_labels), np.bool_)
        names = np.zeros(len(own_labels), np.int64)
        is_named[parts.after[heirs]] = True
        names[parts.after[heirs]] = self.names[parts.before[heirs]]
        _name_the_others(names, is_named, own_labels)
        return Grouping(ids, labels, own_labels, names)

    @property
    def places(self) -> Indices:
        """Of each vertex the place of its group in `own_labels`."""
        return np.searchsorted(self.own_labels, self.labels)

    @property
    def groups(self) -> Ids:
        """Of each vertex what its group is called."""
        groups: Ids = self.names[self.places]
        return groups


@dataclass(frozen=True, slots=True, eq=False)
class SharedParts:
    """What groups of one answer have in common with those of another: a row for each two that share a vertex.

    Attributes
    ----------
    before, after : intp[p]
        The places of both groups.
    sizes : int64[p]
        How many vertices they share.
    least : intp[p]
        Where the least of these stands among all that both answers have.
    """

    before: Indices
    after: Indices
    sizes: Ids
    least: Indices

    @classmethod
    def between(cls, before: Grouping, after: Grouping) -> SharedParts:
        """Compare two answers; rows are in the order of `before`, then `after`."""
        if not len(before.ids) or not len(after.ids):
            nothing = np.zeros(0, np.intp)
            return cls(nothing, nothing, np.zeros(0, np.int64), nothing)
        at = np.minimum(np.searchsorted(before.ids, after.ids), len(before.ids) - 1)
        in_both = before.ids[at] == after.ids
        pairs = before.places[at[in_both]] * np.int64(len(after.own_labels)) + after.places[in_both]
        # The first of equal ones is the least vertex, as ids ascend.
        found, least, sizes = np.unique(pairs, return_index=True, return_counts=True)
        first, second = np.divmod(found, len(after.own_labels))
        return cls(first, second, sizes.astype(np.int64), least)

    def largest(self, groups: Indices) -> NDArray[np.bool_]:
        """Return which parts are the largest of their group, of equal ones that with the least vertex; `groups` is one of both sides."""
        order = np.lexsort((self.least, -self.sizes, groups))
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = groups[order][1:] != groups[order][:-1]
        chosen = np.zeros(len(order), np.bool_)
        chosen[order[is_first]] = True
        return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Turnings:
    """Splits, and then merges, between two answers, each a run of the columns behind it.

    Attributes
    ----------
    is_merge : bool[e]
    names : int64[e]
        What the group is called that was split, or that came of a merge.
    ends : int64[e]
        Where the parts of each end; they begin where those before end.
    others, sizes : int64[p]
        Of each part, what the group is called that it went into or came from, and how many vertices it has. The largest is first.
    """

    is_merge: NDArray[np.bool_]
    names: Ids
    ends: Ids
    others: Ids
    sizes: Ids

    @classmethod
    def between(cls, before: Grouping, after: Grouping) -> Turnings:
        """Return what split and what merged: groups whose vertices went into several, and those whose vertices came from several.

        Vertices that are new, or gone, came from nowhere and went nowhere.
        """
        parts = SharedParts.between(before, after)
        splits = _several(parts.before, parts.after, parts, before.names, after.names)
        merges = _several(parts.after, parts.before, parts, after.names, before.names)
        names, counts, others, sizes = (np.concatenate(both) for both in zip(splits, merges, strict=True))
        is_merge = np.arange(len(names)) >= len(splits[0])
        return cls(is_merge, names, np.cumsum(counts), others, sizes)

    def __len__(self) -> int:
        return len(self.names)


def _several(
    groups: Indices, others: Indices, parts: SharedParts, names: Ids, names_of_others: Ids
) -> tuple[Ids, Ids, Ids, Ids]:
    """Return groups with several parts: their names, in ascending order, how many parts; and of each part the other's name and its size."""
    counts = np.bincount(groups, minlength=len(names))
    chosen = np.flatnonzero(counts[groups] > 1)
    chosen = chosen[np.lexsort((parts.least[chosen], -parts.sizes[chosen], names[groups[chosen]]))]
    found, first = np.unique(names[groups[chosen]], return_index=True)
    return (
        found,
        counts[groups[chosen[first]]].astype(np.int64),
        names_of_others[others[chosen]],
        parts.sizes[chosen],
    )


def _name_the_others(names: Ids, is_named: NDArray[np.bool_], labels: Ids) -> None:
    """Name the groups that took over no name, as the module says."""
    unnamed, named = np.flatnonzero(~is_named), np.flatnonzero(is_named)
    if not len(unnamed):
        return
    # Of each group, the one that has its label for a name; itself, where none has.
    onward = np.arange(len(labels))
    if len(named):
        named = named[np.argsort(names[named])]
        at = np.minimum(np.searchsorted(names[named], labels), len(named) - 1)
        is_taken = names[named][at] == labels
        onward[is_taken] = named[at[is_taken]]
    else:
        is_taken = np.zeros(len(labels), np.bool_)
    # Each round doubles how far a step leads. Ways that go in circles are those of groups that have names.
    while is_taken[onward[unnamed]].any():
        onward = onward[onward]
    names[unnamed] = labels[onward[unnamed]]
