"""Lamport stamps: one total order, never repeated, ahead of all that was seen."""

from hypothesis import given
from hypothesis import strategies as st

from tornado.protocol.clock import LamportClock, Stamp

stamps = st.builds(Stamp, st.integers(0, 5), st.integers(-3, 3))


@given(stamps, stamps)
def test_two_stamps_are_equal_or_one_is_smaller(left: Stamp, right: Stamp) -> None:
    assert (left < right) + (right < left) + (left == right) == 1


@given(st.lists(stamps | st.none()))
def test_a_clock_never_gives_out_a_stamp_that_is_not_above_all_it_has_seen(
    events: list[Stamp | None],
) -> None:
    clock = LamportClock()
    seen: list[Stamp] = []
    for event in events:
        if event is None:
            stamp = clock.tick(vertex=-100)
            assert all(other < stamp for other in seen)
            seen.append(stamp)
        else:
            clock.witness(event)
            seen.append(event)


def test_equal_clocks_are_ordered_by_vertex_id() -> None:
    assert sorted([Stamp(2, 1), Stamp(1, 9), Stamp(1, 3)]) == [Stamp(1, 3), Stamp(1, 9), Stamp(2, 1)]
