"""Strings and ids, both ways."""

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.errors import InvalidArgument, StoreCorrupt
from tornado.ingest.interner import Draft, Interner

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)


@given(st.lists(st.lists(names, max_size=8), max_size=5))
def test_ids_count_first_appearances_for_lists_and_arrow_columns_alike(batches):
    by_list, by_arrow, table = Interner(), Interner(), {}
    for batch in batches:
        expected = [table.setdefault(name, len(table)) for name in batch]
        assert by_list.intern(batch).tolist() == expected
        column = pa.chunked_array([pa.array(batch[:3], pa.string()), pa.array(batch[3:], pa.string())])
        assert by_arrow.intern(column).tolist() == expected
    assert by_list.names(np.arange(len(table))) == list(table)
    assert len(by_list) == len(table)
    restored = Interner.restore(by_list.snapshot())
    assert restored.find(table) == list(table.values())


def test_snapshots_in_pieces_follow_each_other():
    interner = Interner()
    interner.intern(["a", "b"])
    first = interner.snapshot()
    interner.intern(["c", "a"])
    second = interner.snapshot(since=2)
    assert Interner.restore(first, second).names(np.arange(3)) == ["a", "b", "c"]
    with pytest.raises(StoreCorrupt, match="start at 2, but 0 came before"):
        Interner.restore(second)
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        Interner.restore(b"x")


def test_a_whole_snapshot_takes_the_place_of_the_pieces_before_it():
    interner, other = Interner(), Interner()
    interner.intern(["a", "b"])
    other.intern(["a", "d", "c"])
    first = interner.snapshot()
    interner.intern(["c"])
    assert Interner.restore(first, interner.snapshot()).names(np.arange(3)) == ["a", "b", "c"]
    for whole in (other, Interner()):
        with pytest.raises(StoreCorrupt, match="start at 0, but 2 came before"):
            Interner.restore(first, whole.snapshot())


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", 1], r"names\[1\] is 1"),
        (["a", ""], r"names\[1\] is ''"),
        (["\ud800"], r"names\[0\] is '\\ud800', which is no valid Unicode"),
        (pa.array(["a", None]), r"names\[1\] is None"),
        (pa.array(["a", ""]), r"names\[1\] is ''"),
        (pa.array([1, 2]), r"names\[0\] is 1"),
    ],
)
def test_what_is_no_name_refuses_the_call_and_leaves_no_trace(column, message):
    interner = Interner()
    with pytest.raises(InvalidArgument, match=message):
        interner.intern(column)
    assert len(interner) == 0


def test_unused_names_of_an_arrow_dictionary_get_no_id():
    column = pa.DictionaryArray.from_arrays(pa.array([2, 1]), pa.array(["unused", "b", "c"]))
    interner = Interner()
    assert interner.intern(column).tolist() == [0, 1]
    assert interner.find(["c", "b", "unused"]) == [0, 1, None]


def test_an_id_never_given_out_is_refused():
    with pytest.raises(InvalidArgument, match=r"ids\[0\] is 0"):
        Interner().names(np.array([0]))


def test_threads_agree_on_ids():
    interner = Interner()
    results = [None] * 4

    def work(index):
        results[index] = [interner.intern([f"{at % 97}", f"{at}"]).tolist() for at in range(300)]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == results[0] for result in results)
    assert sorted(interner.find(interner.names(np.arange(len(interner))))) == list(range(300))


names_of_batch = st.lists(names, max_size=8)


@given(names_of_batch, names_of_batch, names_of_batch, st.randoms(use_true_random=False))
def test_a_draft_gives_ids_in_the_order_of_what_is_settled(known, drafted, more, random):
    interner = Interner()
    interner.intern(known)
    draft, other = Draft(interner), Draft(interner)
    numbers = np.concatenate([draft.intern(drafted), other.redraft(other.intern(more), draft)])
    said = [*drafted, *more]
    order = random.sample(range(len(said)), random.randint(0, len(said)))
    settled = draft.settle(numbers[order])
    table = {}
    for name in [*known, *(said[place] for place in order)]:
        table.setdefault(name, len(table))
    assert settled.tolist() == [table[said[place]] for place in order]
    assert interner.names(np.arange(len(interner))) == list(table)
    assert len(draft.emptied().intern(known)) == len(known)
