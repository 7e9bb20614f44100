"""Values read from parts of every kind: as floats or as whole numbers of 64 bits, compared with plain Python, which has both exactly."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops.general_programs import LeastId
from tornado.engine.wire import Wire
from tornado.kinds.local_values import LocalValues
from tornado.loops import Master
from tornado.loops.remote_host import RemoteValues
from tornado.loops.values import ColumnValues, Values, order_of
from tornado.records.edge_batch import EdgeBatch
from tornado.value_types import dtype_of, reached_of

LEAST, GREATEST = -(2**63), 2**63 - 1
PAIRS = (GREATEST, 0)
# Of two that are neighbours beyond 2^53, a float would make one.
HARD = [GREATEST, GREATEST - 1, LEAST, LEAST + 1, 2**53, 2**53 + 1, -(2**53) - 1, -(2**53), 0, 0]
labels = st.sampled_from(HARD) | st.integers(LEAST, GREATEST)
tables = st.dictionaries(st.integers(LEAST, GREATEST), labels, max_size=30)


def columns(table, *, pairs):
    ids = np.array(list(table), np.int64)
    values = np.array(list(table.values()), np.int64)
    return ColumnValues(ids, np.column_stack([values, np.full_like(values, 7)]) if pairs else values)


def remote(part):
    """A part as it is asked over the wire."""
    wire = Wire(bytes(16))

    def passed(message):
        return wire.read(wire.write(message))

    def ask(method, *arguments):
        return passed(getattr(part, method)(*passed(arguments)))

    return RemoteValues(ask, is_final=part.is_final)


def local(table):
    """A compiled part whose state has a pair in each row; every second row is a ghost."""
    ids = np.repeat(np.array(list(table), np.int64), 2)
    ids[1::2] = 0
    rows = {vertex: 2 * place for place, vertex in enumerate(table)}
    pairs = np.full((len(ids), 2), 5, np.int64)
    pairs[::2, 0] = list(table.values())
    graph = SimpleNamespace(
        columns=SimpleNamespace(ids=ids),
        rows_of=lambda wanted: np.array([rows.get(vertex, -1) for vertex in wanted.tolist()], np.int64),
        are_known=lambda found, _: found % 2 == 0,
        known_rows=lambda count: np.arange(0, 2 * count, 2),
    )
    held = SimpleNamespace(values_of=lambda rows: pairs[rows], rows_seen=len(ids))
    return LocalValues(graph, held, len(table))


def split(table, parts):
    listed = list(table.items())
    return [dict(listed[place::parts]) for place in range(parts)]


def whole(parts, rank="nearest"):
    return Values(parts, rank=rank, worst=PAIRS)


@given(tables, st.sampled_from(["nearest", "highest"]), st.integers(0, 8))
def test_whole_numbers_are_read_and_ranked_with_all_their_bits(table, rank, k):
    first, second, third, fourth = split(table, 4)
    parts = [
        columns(first, pairs=True),
        remote(columns(second, pairs=True)),
        local(third),
        remote(local(fourth)),
    ]
    values = whole(parts, rank)
    assert values.dtype == np.int64
    ids, found = values.arrays()
    assert found.dtype == np.int64
    assert list(zip(ids.tolist(), found.tolist(), strict=True)) == sorted(table.items())
    ids, found = values.top(k)
    assert found.dtype == np.int64
    order = sorted(table, key=lambda vertex: (table[vertex] if rank == "nearest" else -table[vertex], vertex))
    assert ids.tolist() == order[:k]
    assert found.tolist() == [table[vertex] for vertex in order[:k]]
    asked = [*list(table)[::-1], 12345]
    found, known = values.lookup(np.array(asked, np.int64))
    assert found.dtype == np.int64
    assert known.tolist() == [vertex in table for vertex in asked]
    assert found[known].tolist() == [table[vertex] for vertex in asked if vertex in table]
    ids, found = values.page(None, 3)
    assert list(zip(ids.tolist(), found.tolist(), strict=True)) == sorted(table.items())[:3]
    assert values.reached(found).all()


def test_whole_numbers_that_stand_alone_are_read_as_they_are():
    values = whole([columns({3: GREATEST, 1: 2**53 + 1}, pairs=False)], "highest")
    assert [column.tolist() for column in values.top(5)] == [[3, 1], [GREATEST, 2**53 + 1]]


def test_without_vertices_the_type_is_still_that_of_the_program():
    for parts in ([columns({}, pairs=True)], [remote(local({})), columns({}, pairs=False)]):
        values = whole(parts)
        for found in (
            values.arrays()[1],
            values.top(3)[1],
            values.page(None, 2)[1],
            values.lookup(np.array([1]))[0],
        ):
            assert found.dtype == np.int64
    floats = Values([ColumnValues(np.empty(0, np.int64), np.empty(0))], rank="nearest", worst=-np.inf)
    assert floats.dtype == floats.top(1)[1].dtype == np.float64
    assert floats.lookup(np.array([4]))[0].tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("worst", "rank", "first"),
    [(-np.inf, "highest", [(1, np.inf), (2, 4.0)]), (np.inf, "nearest", [(3, -np.inf), (2, 4.0)])],
)
def test_an_infinity_is_a_value_unless_it_is_the_worst_and_what_is_no_number_is_none(worst, rank, first):
    held = ColumnValues(np.arange(1, 5), np.array([np.inf, 4.0, -np.inf, np.nan]))
    values = Values([held], rank=rank, worst=worst)
    assert list(zip(*(column.tolist() for column in values.top(10)), strict=True)) == first
    _, found = values.arrays()
    assert values.reached(found).tolist() == [worst != np.inf, True, worst == np.inf, False]


@pytest.mark.parametrize("passed", [lambda part: part, remote], ids=["here", "over the wire"])
def test_of_pairs_of_floats_the_first_says_what_was_not_reached(passed):
    pairs = np.array([[1.0, 4.0], [np.inf, np.inf], [1.0, np.inf], [0.5, 9.0]])
    values = Values(
        [passed(ColumnValues(np.arange(1, 5), pairs))], rank="nearest", worst=(math.inf, math.inf)
    )
    found, known = values.lookup(np.array([2, 3, 7]))
    assert (found.tolist(), known.tolist()) == ([math.inf, 1.0, math.inf], [True, True, False])
    assert values.reached(found).tolist() == [False, True, False]
    assert [column.tolist() for column in values.top(9)] == [[4, 1, 3], [0.5, 1.0, 1.0]]
    assert values.dtype == found.dtype == np.float64


def test_a_program_says_the_type_by_its_worst_value():
    assert (dtype_of((math.inf, 0)), dtype_of((0.0, 0.0))) == (np.float64, np.float64)
    assert (dtype_of(0.0), dtype_of(-np.inf), dtype_of((0, 0))) == (np.float64, np.float64, np.int64)
    assert reached_of(np.array([GREATEST, 0]), PAIRS).all()


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_general_program_has_whole_numbers_too(engine):
    with Master(workers=2, engine=engine) as master:
        loop = master.start(LeastId(), "least", 64)
        loop.admit(EdgeBatch.of([LEAST, 2**53 + 1, 2**53], [GREATEST, GREATEST - 1, 7]), "edges", 3)
        branch = loop.fork()
        assert branch.wait(60)
        ids, found = branch.values().arrays()
        assert found.dtype == np.int64
        expected = {
            LEAST: LEAST,
            7: 7,
            2**53: 2**53,
            2**53 + 1: 2**53 + 1,
            GREATEST - 1: 2**53 + 1,
            GREATEST: LEAST,
        }
        assert dict(zip(ids.tolist(), found.tolist(), strict=True)) == expected
        assert branch.values().top(2)[0].tolist() == [LEAST, GREATEST]


def test_a_general_program_whose_value_is_not_whole_is_refused_where_it_is_read():
    with Master() as master:
        loop = master.start(LeastId(is_whole=False), "halves", 64)
        loop.admit(EdgeBatch.of([1], [2]), "edges", 1)
        assert loop.wait_idle(60)
        with pytest.raises(TypeError, match="float"):
            loop.approximation().arrays()


@given(st.lists(st.integers(LEAST, GREATEST) | st.integers(-50, 50), unique=True, max_size=60))
def test_the_order_of_ids_is_that_of_sorting_them(ids):
    found = order_of(np.array(ids, np.int64))
    assert found.tolist() == sorted(range(len(ids)), key=ids.__getitem__)
