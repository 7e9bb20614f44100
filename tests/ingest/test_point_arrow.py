"""Tables of points in every form, beside what their rows say one at a time."""

import math
import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.bombs import little_memory, stream
from tests.ingest.naive_points import id_at, outcome_of
from tornado.errors import BodyTooLarge, InvalidArgument
from tornado.ingest.arrow_bounds import Bounds
from tornado.ingest.interner import Interner
from tornado.ingest.point_arrow import declared_points, parse_point_arrow, parse_point_table
from tornado.ingest.point_layout import PointFormat
from tornado.records.point_schema import Points

WIDTH = 3
NAMES = ("a", "b", "c")
DENSE = Points(WIDTH, names=NAMES)
SPARSE = Points(WIDTH, sparse=True)
WORDS = {"+": 1, "-": -1, "=": 2, None: 1, "insert": 1, "?": 0}

odd = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, -1.5])
values = st.one_of(st.floats(-10, 10), st.floats(-10, 10), odd)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.one_of(st.integers(-5, 5), st.integers(-5, 5), st.none()),
            "label": st.one_of(st.floats(-1, 1), odd),
            "weight": st.one_of(st.floats(0, 3), odd),
            "op": st.sampled_from([*"++--=", None, "insert", "?"]),
            "dense": st.one_of(
                st.lists(values, min_size=WIDTH, max_size=WIDTH), st.lists(values, max_size=4), st.none()
            ),
            "sparse": st.one_of(
                st.dictionaries(st.integers(0, WIDTH - 1), st.floats(-9, 9)).map(
                    lambda found: list(found.items())
                ),
                st.lists(st.tuples(st.integers(-1, WIDTH), values), max_size=4),
                st.none(),
            ),
        }
    ),
    max_size=6,
)


def number_fault(value):
    if value is None:
        return "is missing"
    return "is NaN" if math.isnan(value) else "is not finite" if math.isinf(value) else None


def dense_features(row):
    found = row["dense"]
    if found is None:
        return None, "features are missing"
    if len(found) != WIDTH:
        return None, f"features has {len(found)} numbers, but points have {WIDTH} features"
    for name, value in zip(NAMES, found, strict=True):
        if number_fault(value):
            return None, f"feature {name!r} {number_fault(value)}"
    return [float(value).hex() for value in found], None


def sparse_features(row):
    if row["sparse"] is None:
        return None, "features are missing"
    before = None
    for index, value in sorted(row["sparse"], key=lambda pair: pair[0]):
        if not 0 <= index < WIDTH:
            return (
                None,
                f"index {index} is beyond the declared width: {WIDTH} features have indices 0 to {WIDTH - 1}",
            )
        if index == before:
            return None, f"index {index} is there twice"
        if number_fault(value):
            return None, f"feature {index} {number_fault(value)}"
        before = index
    return {index: float(value).hex() for index, value in sorted(row["sparse"])}, None


def expected(rows, features_of, nothing, *, has_ids=True):
    points, rejected = [], []
    for number, row in enumerate(rows, start=1):
        op = WORDS[row["op"]]
        features, fault = (nothing, None) if op == -1 else features_of(row)
        label, weight = row["label"], row["weight"]
        if op == -1:
            label = weight = None
        reason = (
            "id is missing" if has_ids and row["id"] is None
            else "id is missing, by which a removal names its point" if not has_ids and op == -1
            else "op is unknown" if op == 0
            else f"label {number_fault(label)}" if label is not None and number_fault(label)
            else f"weight {number_fault(weight)}" if weight is not None and number_fault(weight)
            else "weight is negative" if weight is not None and weight < 0
            else fault
        )  # fmt: skip
        if reason:
            rejected.append((number, reason))
            continue
        label = "nan" if label is None else float(label).hex()
        weight = float(1 if weight is None else weight).hex()
        found = row["id"] if has_ids else id_at("test", number, strings=False)
        points.append((found, label, weight, op, features, number))
    return points, rejected


def fields(rows, *, has_ids=True):
    kinds = {"id": pa.int64(), "label": pa.float64(), "weight": pa.float64(), "op": pa.string()}
    return {
        name: pa.array([row[name] for row in rows], kind, from_pandas=False)
        for name, kind in kinds.items()
        if has_ids or name != "id"
    }


def checked(table, points, rows, features_of, nothing, *, has_ids=True, cut=0):
    table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    parsed = parse_point_table(table, points, source=None if has_ids else "test")
    outcome = outcome_of([parsed])
    found = outcome.points, [(position, reason) for position, _, reason in outcome.rejected]
    assert outcome.records == len(rows)
    assert found == expected(rows, features_of, nothing, has_ids=has_ids)


@given(rows, st.booleans(), st.integers(0, 3), st.sampled_from([pa.list_, pa.large_list]))
@settings(max_examples=150, deadline=None)
def test_lists_are_dense_points(rows, has_ids, cut, kind):
    column = pa.array([row["dense"] for row in rows], kind(pa.float64()))
    table = pa.table(fields(rows, has_ids=has_ids) | {"features": column})
    checked(table, DENSE, rows, dense_features, [(0.0).hex()] * WIDTH, has_ids=has_ids, cut=cut)


@given(rows, st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_lists_of_a_fixed_size_are_dense_points(rows, cut):
    rows = [row | {"dense": row["dense"] if len(row["dense"] or ()) == WIDTH else None} for row in rows]
    table = pa.table(
        fields(rows) | {"features": pa.array([row["dense"] for row in rows], pa.list_(pa.float64(), WIDTH))}
    )
    checked(table, DENSE, rows, dense_features, [(0.0).hex()] * WIDTH, cut=cut)


@given(rows, st.permutations(NAMES), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_a_column_for_each_feature_is_dense_points(rows, order, cut):
    rows = [row | {"dense": (row["dense"] or []) + [None] * WIDTH} for row in rows]
    rows = [row | {"dense": row["dense"][:WIDTH]} for row in rows]
    columns = {
        name: pa.array([row["dense"][NAMES.index(name)] for row in rows], pa.float64(), from_pandas=False)
        for name in order
    }

    def features_of(row):
        # The first fault by the order of the columns.
        place = [NAMES.index(name) for name in order]
        for at in place:
            if number_fault(row["dense"][at]):
                return None, f"feature {NAMES[at]!r} {number_fault(row['dense'][at])}"
        return dense_features(row)

    checked(pa.table(fields(rows) | columns), DENSE, rows, features_of, [(0.0).hex()] * WIDTH, cut=cut)


def pairs(kind):
    def build(rows):
        indices = [None if row["sparse"] is None else [index for index, _ in row["sparse"]] for row in rows]
        numbers = [None if row["sparse"] is None else [value for _, value in row["sparse"]] for row in rows]
        if kind == "maps":
            return {"features": pa.array([row["sparse"] for row in rows], pa.map_(pa.int32(), pa.float64()))}
        if kind == "two lists":
            return {
                "indices": pa.array(indices, pa.list_(pa.int32())),
                "values": pa.array(numbers, pa.list_(pa.float64())),
            }
        structs = [
            None if one is None else {"indices": one, "values": two}
            for one, two in zip(indices, numbers, strict=True)
        ]
        return {
            "features": pa.array(
                structs, pa.struct([("values", pa.list_(pa.float64())), ("indices", pa.list_(pa.int64()))])
            )
        }

    return build


@pytest.mark.parametrize("kind", ["maps", "structs", "two lists"])
def test_indices_and_values_are_sparse_points(kind):
    build = pairs(kind)

    @given(rows, st.booleans(), st.integers(0, 3))
    @example(
        [{"id": 1, "label": 1.0, "weight": None, "op": "+", "dense": None, "sparse": [(2, 1.0), (0, 2.0)]}],
        True,
        0,
    )
    @settings(max_examples=150, deadline=None)
    def holds(rows, has_ids, cut):
        def features_of(row):
            found, reason = sparse_features(row)
            return found, reason if kind != "two lists" or row[
                "sparse"
            ] is not None else "indices are missing"

        table = pa.table(fields(rows, has_ids=has_ids) | build(rows))
        checked(table, SPARSE, rows, features_of, {}, has_ids=has_ids, cut=cut)

    holds()


VECTORS = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def vector(row):
    """What Spark makes of a row: dense or sparse, as the row is the one or the other."""
    if row["sparse"] is not None:
        indices, numbers = [index for index, _ in row["sparse"]], [value for _, value in row["sparse"]]
        return {"type": 0, "size": WIDTH, "indices": indices, "values": numbers}
    return (
        None if row["dense"] is None else {"type": 1, "size": None, "indices": None, "values": row["dense"]}
    )


@pytest.mark.parametrize("points", [Points(WIDTH), SPARSE])
def test_vectors_of_spark_go_to_both_kinds_of_streams(points):
    @given(rows, st.integers(0, 3))
    @settings(max_examples=200, deadline=None)
    def holds(rows, cut):
        def features_of(row):
            if row["sparse"] is None and row["dense"] is not None and len(row["dense"]) != WIDTH:
                return None, f"features has {len(row['dense'])} numbers, but points have {WIDTH} features"
            pairs = row["sparse"]
            if pairs is None and row["dense"] is not None:
                pairs = list(enumerate(row["dense"]))
            found, reason = sparse_features({"sparse": pairs})
            if not points.sparse and found is not None:
                found = [found.get(place, (0.0).hex()) for place in range(WIDTH)]
            return found, reason

        table = pa.table(fields(rows) | {"features": pa.array([vector(row) for row in rows], VECTORS)})
        checked(table, points, rows, features_of, {} if points.sparse else [(0.0).hex()] * WIDTH, cut=cut)

    holds()


def test_a_vector_of_another_size_is_rejected():
    found = {"type": 0, "size": 4, "indices": [0], "values": [1.0]}
    table = pa.table({"id": [1], "features": pa.array([found], VECTORS)})
    for points in (Points(3), SPARSE):
        [rejection] = parse_point_table(table, points).rejected
        assert rejection.reason == "features has 4 numbers, but points have 3 features"


def test_lists_that_are_not_equally_long_are_rejected():
    table = pa.table({"id": [1, 2], "indices": [[0], [0, 1]], "values": [[1.0], [1.0]]})
    parsed = parse_point_table(table, SPARSE)
    assert [one.reason for one in parsed.rejected] == ["features have 2 indices, but 1 values"]
    assert len(parsed.batch) == 1


def test_what_does_not_fit_into_float32_is_rejected():
    points = Points(1, dtype="float32", names=["a"])
    parsed = parse_point_table(pa.table({"id": [1, 2], "a": [1e39, 1.0]}), points)
    assert [(one.position, one.reason) for one in parsed.rejected] == [
        (1, "feature 'a' does not fit into a float32")
    ]
    lists = parse_point_table(pa.table({"id": [1, 2], "features": [[1e39], [1.0]]}), points)
    assert [one.reason for one in lists.rejected] == ["feature 'a' does not fit into a float32"]


def test_removals_need_no_more_than_ids():
    for points in (DENSE, SPARSE):
        parsed = parse_point_table(pa.table({"id": [1, 2], "op": ["-", "-"]}), points)
        assert parsed.batch.op.tolist() == [-1, -1]
        assert parsed.batch.id.tolist() == [1, 2]


def test_ids_may_be_texts_and_names_may_be_chosen():
    interner = Interner()
    table = pa.table({"key": ["anna", "ben"], "y": [1.0, 0.0], "a": [1, 2]})
    parsed = parse_point_table(
        table, Points(1, names=["a"]), wanted=PointFormat(id="key", label="y"), interner=interner
    )
    assert interner.names(parsed.settled().id) == ["anna", "ben"]
    assert parsed.batch.label.tolist() == [1, 0]


def test_integers_that_no_float_holds_become_the_nearest_and_ids_stay():
    table = pa.table({"id": pa.array([2**63 - 1, 5]), "a": [2**62 + 1, 2**53 + 1]})
    parsed = parse_point_table(table, Points(1))
    assert parsed.batch.id.tolist() == [2**63 - 1, 5]
    assert parsed.batch.features[:, 0].tolist() == [float(2**62 + 1), float(2**53 + 1)]


def test_an_unsigned_id_beyond_64_bits_is_rejected():
    parsed = parse_point_table(pa.table({"id": pa.array([2**63, 7], pa.uint64()), "a": [1, 2]}), Points(1))
    assert [one.reason for one in parsed.rejected] == ["id is beyond 64 bits"]


@pytest.mark.parametrize(
    ("columns", "points", "message"),
    [
        ({"a": [1.0]}, Points(1), "'id' must be among them"),
        ({"id": ["x"], "a": [1.0]}, Points(1), "a vertex id is an integer"),
        ({"id": [1], "a": ["x"]}, Points(1), "a feature is a number"),
        ({"id": [1], "features": [["x"]]}, Points(1), "an entry of it is a number"),
        ({"id": [1], "label": ["x"], "a": [1.0]}, Points(1), "a label is a number"),
        ({"id": [1], "op": [1.5], "a": [1.0]}, Points(1), "must be text or integers"),
        ({"id": [1], "a": [1.0]}, Points(2), "declares 2 features"),
        ({"id": [1], "a": [1.0]}, SPARSE, "declares sparse points"),
        ({"id": [1], "features": [[1.0]]}, SPARSE, "declares sparse points"),
        ({"id": [1], "indices": [[1]], "values": [[1.0]]}, Points(2), "declares dense points"),
        ({"id": [1], "indices": [[1.5]], "values": [[1.0]]}, SPARSE, "they are integers"),
        ({"id": [1], "features": [{"x": 1}]}, SPARSE, "needs the lists indices and values"),
        ({"id": [1], "features": [{"indices": 1, "values": 2}]}, SPARSE, "needs lists"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(columns, points, message):
    with pytest.raises(InvalidArgument, match=message):
        parse_point_table(pa.table(columns), points)


def test_no_memory_is_asked_for_what_is_too_large():
    rows, width = 1 << 14, 1 << 12
    short = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * width, np.bool_)), width)
    table = pa.table({"id": np.arange(rows), "features": short})
    with (
        little_memory(os.getpid(), most_bytes=64 << 20),
        pytest.raises(BodyTooLarge, match="its features take"),
    ):
        parse_point_table(table, Points(width))
    lists = pa.ListArray.from_arrays(pa.array([0, 1 << 20]), pa.array(np.zeros(1 << 20, np.int8)))
    sparse = pa.table({"id": [1], "indices": lists, "values": lists})
    with pytest.raises(BodyTooLarge, match="its features take"):
        parse_point_table(sparse, Points(1 << 21, sparse=True), bounds=Bounds(1 << 20, 10))


def test_lists_without_bytes_are_refused():
    empty = pa.FixedSizeListArray.from_arrays(pa.nulls(1 << 30), 1 << 20)
    table = pa.table({"id": np.arange(1 << 10), "features": empty})
    with little_memory(os.getpid(), most_bytes=64 << 20), pytest.raises((InvalidArgument, BodyTooLarge)):
        parse_point_table(table, Points(1 << 20))


def test_a_body_is_a_stream_of_batches():
    batches = [pa.record_batch({"id": [1], "a": [1.0]}), pa.record_batch({"id": [2], "a": [math.nan]})]
    parsed = parse_point_arrow(stream(*batches), Points(1, names=["a"]))
    assert parsed.records == 2
    assert parsed.rejected[0].position == 2
    assert parsed.rejected[0].record == '{"id": 2, "a": NaN}'
    with pytest.raises(InvalidArgument, match="no whole Arrow IPC stream"):
        parse_point_arrow(b"nothing", Points(1))


def test_positions_go_on_behind_rows_that_came_before():
    parsed = parse_point_table(pa.table({"a": [1.0, math.inf]}), Points(1), source="test", passed=10)
    assert parsed.batch.id.tolist() == [id_at("test", 11, strings=False)]
    assert parsed.positions.tolist() == [11]
    assert parsed.rejected[0].position == 12
    assert parsed.text_of(12) == '{"a": Infinity}'


@pytest.mark.parametrize(
    ("columns", "points"),
    [
        ({"id": [1], "a": [1.0], "label": [1], "b": [2]}, Points(2, names=["a", "b"])),
        ({"features": [None, [1.0, 2.0]]}, Points(2)),
        ({"features": pa.array([[1.0, 2.0, 3.0]], pa.list_(pa.float32(), 3))}, Points(3)),
        (
            {"features": pa.array([[(4, 1.0)], [(2, 1.0)]], pa.map_(pa.int32(), pa.float64()))},
            Points(5, sparse=True),
        ),
        ({"features": pa.array([None, {"type": 1, "values": [1.0, 2.0]}], VECTORS)}, Points(2)),
        (
            {"features": pa.array([{"type": 0, "size": 9, "indices": [], "values": []}], VECTORS)},
            Points(9, sparse=True),
        ),
        ({"indices": [[7], []], "values": [[1.0], []]}, Points(8, sparse=True)),
    ],
)
def test_a_table_declares_its_points(columns, points):
    assert declared_points(pa.table(columns)) == points


def test_a_rejected_row_is_shown_where_two_columns_that_nobody_asked_for_have_one_name():
    columns = [pa.array([1]), pa.array([1.0]), pa.array([[0.1, float("nan")]]), pa.array([7]), pa.array([8])]
    table = pa.Table.from_arrays(columns, names=["id", "label", "features", "seen", "seen"])
    parsed = parse_point_table(table, Points(2))
    assert len(parsed.batch) == 0
    [rejection] = parsed.rejected
    assert '"seen": 7' in rejection.record
