"""When loops leave a worker to the branches of their stream, and when they go on."""

import pytest

from tornado.graph import PartitionMap
from tornado.loops.stream_part import _STEPS_OF_BRANCHES, StreamPart


class Reader:
    hears_back, declared_points, awaits_edges = 0, None, False

    def __init__(self):
        self.has_branches = self.awaits_cut = self.behind = False
        self.calls = 0

    def activate(self):
        self.calls += 1

    def is_behind(self):
        return self.behind

    def is_catching_up(self):
        return False


@pytest.fixture
def part():
    return StreamPart(PartitionMap.even(1), 0, lambda records: None)


@pytest.fixture
def readers(part):
    """Two loops, the second of which has a branch that runs."""
    made = [Reader(), Reader()]
    for reader in made:
        part.join(reader)
    made[1].has_branches = True
    for reader in made:
        reader.calls = 0
    return made


def test_loops_give_way_only_to_branches_that_run(part, readers):
    assert all(part.gives_way(reader) for reader in readers)
    readers[1].has_branches = False
    assert not any(part.gives_way(reader) for reader in readers)


def test_none_gives_way_while_a_branch_waits_for_its_cut(part, readers):
    readers[1].awaits_cut = True
    assert not any(part.gives_way(reader) for reader in readers)


def test_a_loop_that_keeps_records_waiting_does_not_give_way(part, readers):
    readers[0].behind = True
    assert [part.gives_way(reader) for reader in readers] == [False, True]


def test_one_loop_after_the_other_goes_on_whenever_so_many_steps_were_made(part, readers):
    went_on = []
    for _ in range(4):
        assert [reader for reader in readers if not part.gives_way(reader)] == went_on
        for _ in range(_STEPS_OF_BRANCHES):
            assert part.counts_steps
            part.count_step()
        went_on = [reader for reader in readers if reader.calls]
        assert len(went_on) == 1
        went_on[0].calls = 0
        readers.sort(key=lambda reader: reader is went_on[0])


@pytest.mark.parametrize("end", [StreamPart.tidy, StreamPart.end_giving_way])
def test_all_go_on_where_there_is_nothing_to_do_or_a_branch_is_over(part, readers, end):
    assert all(part.gives_way(reader) for reader in readers)
    end(part)
    assert [reader.calls for reader in readers] == [1, 1]
    assert not any(part.gives_way(reader) for reader in readers)
    assert all(part.gives_way(reader) for reader in readers), "once"


def test_a_loop_that_leaves_is_not_called(part, readers):
    assert all(part.gives_way(reader) for reader in readers)
    part.leave(readers[0])
    called = readers[0].calls
    part.end_giving_way()
    assert readers[0].calls == called
    assert readers[1].calls
