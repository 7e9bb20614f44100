"""Points of a caller: all of a call or none of it, the first bad entry by name; and batches of them, carried by their schema."""

import contextlib
import itertools
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from tornado.errors import InvalidArgument
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.records.point_batch import DensePointBatch, PointBatch, SparsePointBatch
from tornado.records.point_schema import Points

DENSE = Points(features=2)
NAMED = Points(features=2, names=["a", "b"])
SPARSE = Points(features=5, sparse=True)
X = np.array([[1.5, 2.0], [0.0, -3.0]])


def sparse_of(starts, indices, values):
    return np.array(starts), np.array(indices), np.array(values, float)


@st.composite
def batches(draw, points):
    """Batches with any bits in their columns: NaNs and zeros of either sign among them."""
    count = draw(st.integers(0, 5))
    columns = {}
    for column in points.schema.columns:
        if column.is_starts:
            lengths = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
            columns[column.name] = np.cumsum([0, *lengths])
            continue
        entries = 0 if column.starts is None else int(columns[column.starts][-1])
        shape = column.shape(count, entries)
        size = math.prod(shape) * column.dtype.itemsize
        bits = draw(st.binary(min_size=size, max_size=size))
        columns[column.name] = np.frombuffer(bits, column.dtype).reshape(shape)
    return PointBatch.kind_of(points).of_columns(columns)


KINDS = [DENSE, Points(3, dtype="f4"), SPARSE, Points(100_000, sparse=True, dtype=np.float32)]
any_batch = st.sampled_from(KINDS).flatmap(batches)


def rows(batch):
    """The records one by one, as bytes."""
    parts = [(batch.id, batch.label, batch.weight, batch.op)]
    if isinstance(batch, DensePointBatch):
        return [
            b"".join([*(v[i].tobytes() for v in parts[0]), batch.features[i].tobytes()])
            for i in range(len(batch))
        ]
    return [
        b"".join(
            [
                *(v[i].tobytes() for v in parts[0]),
                batch.indices[a:b].tobytes(),
                b"|",
                batch.values[a:b].tobytes(),
            ]
        )
        for i, (a, b) in enumerate(itertools.pairwise(batch.starts))
    ]


@given(any_batch, st.data())
def test_slices_put_together_again_are_the_batch(batch, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(batch)), max_size=4)))
    parts = [batch.slice(low, high) for low, high in itertools.pairwise([0, *cuts, len(batch)])]
    assert [row for part in parts for row in rows(part)] == rows(batch)
    again = type(batch).concat(parts)
    assert again.equals(batch)
    assert rows(again) == rows(batch)
    assert type(batch).concat([]).equals(type(batch).empty())


@given(any_batch, st.data())
def test_records_are_taken_whole_by_a_mask_and_by_places(batch, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(batch), max_size=len(batch))), bool)
    assert rows(batch.take(mask)) == list(itertools.compress(rows(batch), mask))
    if len(batch):
        places = np.array(data.draw(st.lists(st.integers(0, len(batch) - 1))), np.int64)
        assert rows(batch.take(places)) == [rows(batch)[place] for place in places]


@given(any_batch)
def test_what_was_written_is_read_with_the_same_bits(batch):
    page = batch.encode()
    assert len(page) == batch.size_bytes
    again = type(batch).decode(page)
    assert again.equals(batch)
    assert rows(again) == rows(batch)
    assert {name: values.dtype for name, values in again.columns().items()} == {
        column.name: column.dtype for column in batch.schema.columns
    }


@given(any_batch, st.data())
def test_a_page_with_another_bit_is_another_batch_or_none(batch, data):
    page = bytearray(batch.encode())
    if not page:
        return
    at = data.draw(st.integers(0, 8 * len(page) - 1))
    page[at // 8] ^= 1 << at % 8
    found = None
    with contextlib.suppress(ValueError):
        found = type(batch).decode(bytes(page))
    assert found is None or not batch.equals(found)


@given(any_batch, st.data())
def test_a_page_that_is_cut_off_or_too_long_is_none(batch, data):
    page = batch.encode() + b"more"
    length = data.draw(st.integers(0, len(page)).filter(lambda n: n != len(page) - 4))
    if not batch.schema.is_ragged and length % batch.schema.record_bytes == 0:
        return  # whole records, only not as many
    with pytest.raises(ValueError, match=f"{length} bytes are no points"):
        type(batch).decode(page[:length])


@given(any_batch)
def test_ids_go_back_where_they_were(batch):
    assert batch.ids().tolist() == batch.id.tolist()
    assert batch.with_ids(batch.ids()).equals(batch)
    assert batch.with_ids(np.arange(len(batch))).id.tolist() == list(range(len(batch)))


def test_equal_declarations_have_one_class_of_batches():
    assert PointBatch.kind_of(Points(28)) is PointBatch.kind_of(Points(28, dtype="float64"))
    assert PointBatch.kind_of(Points(28)) is not PointBatch.kind_of(Points(28, dtype="float32"))
    assert issubclass(PointBatch.kind_of(SPARSE), SparsePointBatch)


@pytest.mark.parametrize(
    "features",
    [
        X,
        np.asfortranarray(X),
        X.tolist(),
        tuple(map(tuple, X.tolist())),
        X.astype(object),
        pd.DataFrame(X, columns=["a", "b"]),
        pa.table({"a": X[:, 0], "b": X[:, 1]}),
        pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 2),
        pa.array(X.tolist()),
        pd.Series(X.tolist()),
    ],
)
def test_dense_features_of_any_kind_give_the_same_batch(features):
    batch = PointBatch.of(DENSE, ids=[7, 8], labels=[1, None], features=features)
    assert batch.features.tolist() == X.tolist()
    assert batch.features.flags.c_contiguous
    assert batch.id.tolist() == [7, 8]
    assert batch.label[0] == 1.0
    assert math.isnan(batch.label[1])
    assert batch.weight.tolist() == [1.0, 1.0]
    assert batch.op.tolist() == [INSERT, INSERT]


def test_columns_are_found_by_their_declared_names():
    frame = pd.DataFrame({"b": X[:, 1], "z": [9, 9], "a": X[:, 0]})
    for table in (frame, pa.table(frame)):
        assert PointBatch.of(NAMED, ids=[7, 8], features=table).features.tolist() == X.tolist()
    with pytest.raises(InvalidArgument, match="features has no column 'b', but the stream declares"):
        PointBatch.of(NAMED, ids=[7, 8], features=frame[["a", "z"]])


STARTS, INDICES, VALUES = sparse_of([0, 2, 2, 3], [1, 4, 0], [0.5, 2.0, -1.0])
MATRIX = scipy.sparse.csr_matrix((VALUES, INDICES, STARTS), (3, 5))


@pytest.mark.parametrize(
    "features",
    [
        MATRIX,
        scipy.sparse.csr_array(MATRIX),
        MATRIX.tocsc(),
        MATRIX.tocoo(),
        scipy.sparse.csr_matrix((VALUES[[1, 0, 2]], INDICES[[1, 0, 2]], STARTS), (3, 5)),
        (STARTS, INDICES, VALUES),
        (STARTS, INDICES[[1, 0, 2]], VALUES[[1, 0, 2]]),
        (pd.Series(STARTS), pa.array(INDICES), VALUES),
        [{1: 0.5, 4: 2.0}, {}, {0: -1}],
        [{"4": 2.0, "1": 0.5}, {}, {"0": -1}],
        [[(1, 0.5), (4, 2)], [], [(0, -1.0)]],
        pa.array([[(1, 0.5), (4, 2.0)], [], [(0, -1.0)]], pa.map_(pa.int32(), pa.float64())),
        pd.Series([{1: 0.5, 4: 2.0}, {}, {0: -1}]),
        pd.DataFrame.sparse.from_spmatrix(MATRIX),
    ],
)
def test_sparse_features_of_any_kind_give_the_same_batch(features):
    batch = PointBatch.of(SPARSE, ids=[7, 8, 9], features=features)
    assert batch.starts.tolist() == STARTS.tolist()
    assert (batch.indices.tolist(), batch.indices.dtype) == (INDICES.tolist(), np.int32)
    assert (batch.values.tolist(), batch.values.dtype) == (VALUES.tolist(), np.float64)


def test_what_scipy_has_twice_is_added_up_and_its_matrix_stays_as_it_was():
    matrix = scipy.sparse.csr_matrix(([1.0, 2.0, 4.0], [3, 3, 1], [0, 3]), (1, 5))
    batch = PointBatch.of(SPARSE, ids=[1], features=matrix)
    assert (batch.indices.tolist(), batch.values.tolist()) == ([1, 3], [4.0, 3.0])
    assert matrix.nnz == 3


@pytest.mark.parametrize(
    ("points", "columns", "message"),
    [
        (DENSE, {"ids": [1.0, 2.0]}, r"ids\[0\] is 1.0, but the id of a point is an integer"),
        (DENSE, {"ids": np.array([1.0, 2.0])}, r"ids\[0\] is 1.0, .* type float64"),
        (DENSE, {"ids": [1, 2**63]}, r"ids\[1\] is 9223372036854775808"),
        (DENSE, {"labels": [1]}, "labels has 1 entries, but ids has 2"),
        (DENSE, {"labels": [1, "cat"]}, r"labels\[1\] is 'cat', but a label is a number"),
        (DENSE, {"labels": [1, math.inf]}, r"labels\[1\] is inf, but a label is a finite number"),
        (DENSE, {"weights": [1, -1]}, r"weights\[1\] is -1.0, but the weight of a point .* not negative"),
        (DENSE, {"weights": [math.nan, 1]}, r"weights\[0\] is nan, but the weight of a point"),
        (DENSE, {"weights": math.inf}, r"weights\[0\] is inf"),
        (DENSE, {"weights": [1]}, "weights has 1 entries, but ids has 2"),
        (DENSE, {"op": ["+", "*"]}, r"op\[1\] is '\*'"),
        (DENSE, {"op": ["+"]}, "op has 1 entries, but ids has 2"),
        (DENSE, {"features": None}, "features is None, but each point needs a row of 2 numbers"),
        (DENSE, {"features": None, "op": "+-"[:1]}, "features is None"),
        (DENSE, {"features": X[:, :1]}, "features has 1 columns, but the stream declares 2 features"),
        (DENSE, {"features": X[:1]}, "features has 1 rows, but ids has 2"),
        (DENSE, {"features": X[0]}, r"features has the shape \(2,\)"),
        (DENSE, {"features": X.astype(complex)}, "features have type complex128"),
        (DENSE, {"features": [[1, 2], [3]]}, r"features\[1\] has 1 entries, but the features of a point are 2 numbers"),
        (DENSE, {"features": [[1, 2], 3]}, r"features\[1\] is 3, but the features of a point are 2 numbers"),
        (DENSE, {"features": [[1, 2], [3, "x"]]}, r"features\[1, 1\] is 'x', but a feature is a finite number"),
        (DENSE, {"features": [[1, 2], None]}, r"features\[1\] is None"),
        (DENSE, {"features": [[1, 2], [math.nan, math.inf]]}, r"features\[1, 0\] is nan, but a feature is a finite"),
        (DENSE, {"features": np.array([[1, np.inf], [np.nan, 1]])}, r"features\[0, 1\] is inf"),
        (DENSE, {"features": pa.table({"a": [1, None], "b": [1, 2]})}, r"features\[1, 0\] is nan"),
        (Points(2, dtype="f4"), {"features": [[1, 2], [3, 1e39]]}, r"features\[1, 1\] is 1e\+39, .* fits into a float32"),
        (Points(2, dtype="f4"), {"features": [[1, 2], [3, 10**400]]}, r"features\[1, 1\] is 1000"),
        (DENSE, {"features": "12"}, "features is '12', but rows of 2 numbers are needed"),
        (DENSE, {"features": scipy.sparse.csr_array(X)}, "features is sparse, but the stream declares dense points"),
        (DENSE, {"features": [{0: 1.0}, {1: 1.0}]}, r"features\[0\] is \{0: 1.0\}, .* on a stream of dense points"),
        (SPARSE, {"features": X}, "features is dense, but the stream declares sparse points"),
        (SPARSE, {"features": X.tolist()}, "features is dense, but the stream declares sparse points"),
        (SPARSE, {"features": pd.DataFrame(X)}, "features is dense, but the stream declares sparse points"),
        (SPARSE, {"features": None}, "features is None, but each point needs its features"),
        (SPARSE, {"features": [{1: 1.0}, {5: 1.0}]}, r"features\[1\] has index 5, but .* 5 features: 0 to 4"),
        (SPARSE, {"features": [{-1: 1.0}, {}]}, r"features\[0\] has index -1"),
        (SPARSE, {"features": [{1.5: 1.0}, {}]}, r"features\[0\] is 1.5, but the index of a feature is an integer"),
        (SPARSE, {"features": [{}, {2: math.nan}]}, r"features\[1, 2\] is nan, but a feature is a finite"),
        (SPARSE, {"features": [{}]}, "features has 1 rows, but ids has 2"),
        (SPARSE, {"features": [{}, [(1, 1.0), (1, 2.0)]]}, r"features\[1\] has index 1 twice"),
        (SPARSE, {"features": sparse_of([0, 1, 2], [0, 5], [1, 2])}, r"features\[1\] has index 5"),
        (SPARSE, {"features": sparse_of([0, 1, 2], [0, 3], [1, np.inf])}, r"features\[1, 3\] is inf"),
        (SPARSE, {"features": sparse_of([0, 0, 2], [3, 3], [1, 2])}, r"features\[1\] has index 3 twice"),
        (SPARSE, {"features": sparse_of([0, 1], [0], [1])}, "starts of features has 2 entries, but 2 points need 3"),
        (SPARSE, {"features": sparse_of([0, 2, 1], [0], [1])}, "starts of features do not ascend from 0"),
        (SPARSE, {"features": sparse_of([0, 1, 2], [0], [1])}, "starts of features end at 2"),
        (SPARSE, {"features": sparse_of([0, 1, 1], [0.5], [1])}, "indices of features have type float64"),
        (SPARSE, {"features": scipy.sparse.csr_array((2, 6))}, "features has 6 columns, but the stream declares 5"),
        (SPARSE, {"features": scipy.sparse.csr_array((3, 5))}, "features has 3 rows, but ids has 2"),
        (
            Points(5, sparse=True, dtype="f4"),
            {"features": sparse_of([0, 1, 2], [0, 3], [1, 1e39])},
            r"features\[1, 3\] is 1e\+39, but a feature fits into a float32",
        ),
    ],
)  # fmt: skip
def test_what_is_not_allowed_refuses_the_call_and_is_named(points, columns, message):
    features = scipy.sparse.csr_array((2, 5)) if points.sparse else X
    with pytest.raises(InvalidArgument, match=message):
        PointBatch.of(points, **{"ids": [1, 2], "features": features} | columns)


@pytest.mark.parametrize("points", [DENSE, SPARSE])
def test_a_removal_needs_an_id_only(points):
    batch = PointBatch.of(points, ids=[3, 4], op=REMOVE)
    assert batch.equals(PointBatch.kind_of(points).removals(np.array([3, 4])))
    assert batch.op.tolist() == [REMOVE, REMOVE]


def test_what_stands_beside_a_removal_is_not_looked_at():
    ops = [INSERT, REMOVE, REPLACE]
    beside = {"ids": [1, 2, 3], "op": ops, "labels": [1, math.inf, 3], "weights": [1, -5, 2]}
    expected = [[1.0, 2.0], [0.0, 0.0], [5.0, 6.0]]
    for features in ([[1, 2], None, [5, 6]], np.array([[1, 2], [np.nan, 7], [5, 6]])):
        batch = PointBatch.of(DENSE, features=features, **beside)
        assert batch.features.tolist() == expected
        assert batch.weight.tolist() == [1.0, 1.0, 2.0]
        assert np.isnan(batch.label).tolist() == [False, True, False]
    for features in ([{1: 2.0}, None, {4: 1.0}], sparse_of([0, 1, 3, 4], [1, 9, 9, 4], [2, np.nan, 1, 1])):
        batch = PointBatch.of(SPARSE, features=features, **beside)
        assert (batch.starts.tolist(), batch.indices.tolist()) == ([0, 1, 1, 2], [1, 4])
        assert batch.values.tolist() == [2.0, 1.0]


def test_a_batch_keeps_a_copy_of_the_callers_columns():
    features, ids = X.copy(), np.array([1, 2])
    batch = PointBatch.of(DENSE, ids=ids, features=features)
    parts = tuple(part.copy() for part in (STARTS, INDICES.astype(np.int32), VALUES))
    other = PointBatch.of(SPARSE, ids=[1, 2, 3], features=parts)
    features[:], ids[:] = 9, 9
    for part in parts:
        part[:] = 0
    assert (batch.id.tolist(), batch.features.tolist()) == ([1, 2], X.tolist())
    assert (other.starts.tolist(), other.values.tolist()) == (STARTS.tolist(), VALUES.tolist())


def test_large_features_whose_sum_overflows_are_finite():
    large = np.full((2, 2), 1.5e308)
    assert PointBatch.of(DENSE, ids=[1, 2], features=large).features.tolist() == large.tolist()


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"features": 2.0}, "features is 2.0, but points have from 1 to"),
        ({"features": True}, "features is True"),
        ({"features": 2**31}, "features is 2147483648"),
        ({"features": 2, "dtype": "int64"}, "dtype is 'int64', but features are float32 or float64"),
        ({"features": 2, "dtype": None}, "dtype is None"),
        ({"features": 2, "dtype": "many"}, "dtype is 'many'"),
        ({"features": 2, "names": "ab"}, "names is 'ab'"),
        ({"features": 2, "names": ["a"]}, "names has 1 entries, but points have 2 features"),
        ({"features": 2, "names": ["a", 3]}, r"names\[1\] is 3"),
        ({"features": 2, "names": ["a", "a"]}, r"names\[1\] is 'a', but another feature has that name"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(declared, message):
    with pytest.raises(InvalidArgument, match=message):
        Points(**declared)
