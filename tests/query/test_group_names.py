"""Names of groups over consecutive answers, compared with the plain twin, and the rules one at a time."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.query import naive_groups
from tornado.query.group_names import Grouping, Turnings

VERTICES = 12


def columns(labels):
    ids = np.array(sorted(labels), np.int64)
    return ids, np.array([labels[vertex] for vertex in ids.tolist()], np.int64)


def partition(*groups):
    """Labels of vertices by the groups they are in: the least of each."""
    return {vertex: min(group) for group in groups for vertex in group}


def told(grouping):
    return dict(zip(grouping.ids.tolist(), grouping.groups.tolist(), strict=True))


def turned(before, after):
    turnings = Turnings.between(before, after)
    found, begin = [], 0
    for is_merge, name, end in zip(turnings.is_merge, turnings.names, turnings.ends, strict=True):
        others, sizes = turnings.others[begin:end].tolist(), turnings.sizes[begin:end].tolist()
        ends = (others, [int(name)]) if is_merge else ([int(name)], others)
        found.append(("merge" if is_merge else "split", *ends, sizes))
        begin = end
    return found


def named(*answers):
    """The names in the last of some answers, for who was told of all of them."""
    first, *others = answers
    grouping = Grouping.first(*columns(first))
    for answer in others:
        grouping = grouping.next(*columns(answer))
    return told(grouping)


@st.composite
def answers(draw):
    """Answers of a growing and shrinking set of vertices; a label is any vertex, of those in the group or not."""
    found = []
    for _ in range(draw(st.integers(1, 8))):
        vertices = sorted(draw(st.sets(st.integers(0, VERTICES - 1))))
        groups = draw(st.lists(st.integers(0, 4), min_size=len(vertices), max_size=len(vertices)))
        members = {
            group: [v for v, g in zip(vertices, groups, strict=True) if g == group] for group in groups
        }
        if draw(st.booleans()):
            labels = {group: min(those) for group, those in members.items()}
        else:
            labels = dict(zip(members, draw(st.permutations(range(VERTICES))), strict=False))
        found.append({v: labels[g] for v, g in zip(vertices, groups, strict=True)})
    return found


@settings(max_examples=300, deadline=None)
@given(answers())
def test_names_and_what_is_told_are_those_of_the_plain_twin(sequence):
    grouping, plain = Grouping.first(*columns(sequence[0])), naive_groups.first(sequence[0])
    assert told(grouping) == plain
    for before, labels in itertools.pairwise(sequence):
        following = grouping.next(*columns(labels))
        names = naive_groups.following(before, plain, labels)
        assert told(following) == names
        assert turned(grouping, following) == naive_groups.turnings(plain, names)
        grouping, plain = following, names


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        pytest.param(
            partition([1, 2, 3, 4]),
            partition([2, 3, 4], [1]),
            {1: 2, 2: 1, 3: 1, 4: 1},
            id="the least leaves",
        ),
        pytest.param(
            partition([1, 2, 3, 4]), partition([1, 3], [2, 4]), {1: 1, 2: 2, 3: 1, 4: 2}, id="equal parts"
        ),
        pytest.param(
            partition([1], [2, 3, 4]), partition([1, 2, 3, 4]), dict.fromkeys(range(1, 5), 2), id="swallowed"
        ),
        pytest.param(
            partition([1, 4], [2, 3]),
            partition([1, 2, 3, 4]),
            dict.fromkeys(range(1, 5), 1),
            id="equal groups",
        ),
        pytest.param(
            partition([5, 6]),
            partition([1, 2, 3, 5, 6]),
            dict.fromkeys((1, 2, 3, 5, 6), 5),
            id="new vertices",
        ),
        pytest.param(
            # The largest part of 1 is swallowed by 6, so 1 is gone, and given to the rest of it, which has that label.
            partition([1, 2, 3, 4, 5], [6, 7, 8, 9]),
            partition([1, 2], [3, 4, 5, 6, 7, 8, 9]),
            {1: 1, 2: 1} | dict.fromkeys(range(3, 10), 6),
            id="torn and swallowed",
        ),
    ],
)
def test_a_group_keeps_its_name_by_its_largest_part(before, after, names):
    assert named(before, after) == names


def test_a_name_is_kept_through_many_answers_while_its_least_vertices_leave_one_by_one():
    sequence = [partition(*([one] for one in range(1, gone + 1)), range(gone + 1, 101)) for gone in range(50)]
    names = named(*sequence)
    assert {names[vertex] for vertex in range(50, 101)} == {1}
    assert len({names[vertex] for vertex in range(1, 50)} - {1}) == 49


def test_groups_without_a_vertex_are_no_answer_to_take_names_from():
    nothing = {}
    assert named(nothing, partition([1, 2]), nothing, partition([2, 1])) == {1: 1, 2: 1}
    assert turned(Grouping.first(*columns(nothing)), Grouping.first(*columns(partition([1])))) == []


def test_splits_and_merges_are_told_with_their_parts_the_largest_first():
    before = Grouping.first(*columns(partition([1, 2, 3], [4, 5], [6])))
    after = before.next(*columns(partition([1, 4, 5], [2, 3], [6, 7])))
    assert told(after) == {1: 4, 4: 4, 5: 4, 2: 1, 3: 1, 6: 6, 7: 6}
    assert turned(before, after) == [("split", [1], [1, 4], [2, 1]), ("merge", [4, 1], [4], [2, 1])]
