"""The judge: each law is told apart from the others, and obedience is no offence."""

import pytest

from tornado.errors import LawBroken
from tornado.protocol.laws import Dropped, Gathered, Laws, Note, Scattered
from tornado.protocol.messages import Committed

LIVE = Gathered(2, 1, -1)  # the edge 1 -> 2 carries values


def judge(
    notes: list[Note], commits: list[tuple[int, int]], *, delay_bound: int | None = None, tau: int = 0
) -> None:
    laws = Laws(delay_bound)
    laws.judge(notes, [Committed(vertex, iteration, None) for vertex, iteration in commits], tau)


@pytest.mark.parametrize(
    ("law", "notes", "commits"),
    [
        ("R1", [Gathered(2, 1, 3), Scattered(2)], [(2, 3)]),
        ("R2", [Scattered(2), Scattered(2)], [(2, 3), (2, 3)]),
        ("R3", [LIVE, Scattered(1), Scattered(2)], [(1, 3), (2, 4)]),
        ("R3", [LIVE, Scattered(2), Scattered(1), Gathered(2, 1, 3)], [(2, 4), (1, 3)]),
        ("delay bound", [Scattered(2)], [(2, 19)]),
        ("delay bound", [Gathered(2, 1, 3), Scattered(2)], [(2, 4)]),
    ],
)
def test_a_broken_law_is_named(law: str, notes: list[Note], commits: list[tuple[int, int]]) -> None:
    with pytest.raises(LawBroken) as caught:
        judge(notes, commits, delay_bound=9, tau=10 if law == "delay bound" else 0)
    assert caught.value.law == law


def test_a_commit_at_the_consumers_iteration_is_allowed() -> None:
    judge([LIVE, Scattered(1), Scattered(2), Gathered(2, 1, 3)], [(1, 3), (2, 3)])


def test_what_a_vertex_was_owed_ends_with_its_edge() -> None:
    judge([LIVE, Scattered(1), Dropped(2, 1), Scattered(2)], [(1, 3), (2, 9)])


def test_the_first_value_of_a_new_edge_may_be_old() -> None:
    judge([Scattered(2), Gathered(2, 1, 3)], [(2, 9)])


def test_the_last_iteration_inside_the_bound_is_allowed() -> None:
    judge([Scattered(2)], [(2, 13)], delay_bound=4, tau=10)
