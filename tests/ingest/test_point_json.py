"""Pushed points as JSON beside the slow twin, and the faults people make."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.ingest.naive_points import PointOutcome, outcome_of, read_objects
from tests.ingest.test_ndjson import numbers, others, texts
from tornado.config import BODY_LIMIT_RECORDS
from tornado.errors import BodyTooLarge, InvalidArgument
from tornado.ingest.interner import Interner
from tornado.ingest.point_json import parse_json_points
from tornado.records.point_schema import Points

WIDTH = 3
fine = st.one_of(st.floats(-1e9, 1e9).map(json.dumps), st.integers(-9, 9).map(str))
spaces = st.sampled_from(["", "", "", " ", "\t", "  "])
entries = st.one_of(
    st.tuples(st.integers(0, WIDTH - 1).map(str), fine),
    st.tuples(
        st.sampled_from(
            ["0", "1", "2", "3", "02", "-1", "x", "", "1.0", "٣", "\\u0031", "9" * 22, "2147483647"]
        ),
        st.one_of(numbers, texts, others, fine),
    ),
)
dense = st.one_of(
    st.lists(fine, min_size=WIDTH, max_size=WIDTH),
    st.lists(st.one_of(fine, numbers, texts, others), max_size=4),
).map(lambda found: f"[{', '.join(found)}]")
sparse = st.lists(entries, max_size=4).map(
    lambda found: "{" + ", ".join(f'"{key}": {value}' for key, value in found) + "}"
)
ascending = st.dictionaries(st.integers(0, WIDTH - 1), fine).map(
    lambda found: "{" + ",".join(f'"{key}":{found[key]}' for key in sorted(found)) + "}"
)
values = {
    "id": st.one_of(st.integers(0, 9).map(str), numbers, texts, others),
    "label": st.one_of(fine, fine, numbers, texts, others),
    "features": st.one_of(dense, dense, sparse, ascending, numbers, texts, others),
    "weight": st.one_of(fine, numbers, texts, others),
    "op": st.one_of(st.sampled_from(['"+"', '"-"', '"="', "1", "-1"]), texts, numbers, others),
    "time": st.one_of(numbers, texts, others),
    "lable": fine,
}
tidy = {
    "id": st.one_of(st.integers(-(2**63), 2**63 - 1).map(str), st.sampled_from(['"anna"', '"é"', '"7"'])),
    "label": fine,
    "features": st.one_of(
        ascending,
        st.lists(fine, min_size=WIDTH, max_size=WIDTH).map(lambda found: "[" + ", ".join(found) + "]"),
    ),
    "weight": st.floats(0, 9).map(json.dumps),
    "op": st.sampled_from(['"+"', '"-"', '"="', '"insert"']),
    "time": st.just("17"),
}


@st.composite
def objects(draw):
    keys = draw(
        st.sampled_from(
            [
                ["id", "label", "features"],
                ["id", "features"],
                ["features", "label"],
                ["id", "op"],
                ["op"],
                ["weight", "features", "op", "id", "time", "label"],
                ["id", "features", "features"],
                ["id", "lable", "features"],
            ]
        )
    )
    kinds = tidy | {"lable": fine} if draw(st.booleans()) else values
    fields = [
        f'{draw(spaces)}"{key}"{draw(spaces)}:{draw(spaces)}{draw(kinds[key])}{draw(spaces)}' for key in keys
    ]
    whole = "{" + ",".join(fields) + "}"
    return whole[: draw(st.integers(0, len(whole)))] if draw(st.integers(0, 9)) == 0 else whole


def read_fast(body, *, sparse=False, strings=False, quoted=False, single=False, source=None, **options):
    interner = Interner() if strings else None
    points = Points(WIDTH, sparse=sparse, dtype="float32" if single else "float64")
    parsed = parse_json_points(body, points, interner=interner, quoted_ids=quoted, source=source, **options)
    return outcome_of([parsed], names=interner)


options = st.fixed_dictionaries(
    {
        "sparse": st.booleans(),
        "strings": st.booleans(),
        "quoted": st.booleans(),
        "single": st.booleans(),
        "source": st.sampled_from([None, "topic:0"]),
    }
)


@given(st.lists(objects(), max_size=5), options)
@settings(max_examples=400, deadline=None)
def test_lines_are_read_as_their_slow_twin_does(found, options):
    body = "\n".join(found).encode("utf-8", "surrogatepass")
    lines = [line.removesuffix(b"\r") for line in body.split(b"\n") if line.strip(b" \t\r")]
    if body.lstrip(b" \t\r\n")[:1] == b"[":
        return
    expected = read_objects(lines, WIDTH, kind="not a JSON object on one line", **options)
    assert read_fast(body, **options) == expected


@given(
    st.lists(objects().filter(lambda one: one.endswith("}")), max_size=5),
    st.sampled_from([",", " ,\n ", ",\t"]),
    options,
)
@example([], ",", {})
@settings(max_examples=200, deadline=None)
def test_a_list_is_read_as_its_slow_twin_does(found, comma, options):
    body = f" [ {comma.join(found)}\n]\n"
    try:
        whole = json.loads(body)
    except (ValueError, RecursionError):
        return
    assert len(whole) == len(found)
    records = [one.strip(" \t\n").encode("utf-8", "surrogatepass") for one in found]
    found = read_fast(body.encode("utf-8", "surrogatepass"), **options)
    assert found == read_objects(records, WIDTH, kind="not a JSON object", **options)


@pytest.mark.parametrize(
    "body",
    ["[", "[{}", "[{}]]", '[{"id": "]"}', "[{}] {}", "[{}}", '[{"id": 1}, {"id": 2}'],
)
def test_a_list_that_is_not_whole_refuses_the_body(body):
    with pytest.raises(InvalidArgument, match="no whole JSON list"):
        read_fast(body.encode())


def test_elements_that_are_no_objects_are_rejected_alone():
    found = read_fast(b'[1, {"id": 7, "features": [1, 2, 3]}, [2], "x,y]", , null]')
    assert [one[0] for one in found.points] == [7]
    assert {reason for _, _, reason in found.rejected} == {"not a JSON object"}
    assert [position for position, _, _ in found.rejected] == [1, 3, 4, 5, 6]


def test_brackets_and_quotes_inside_texts_end_nothing():
    record = b'{"id": 7, "op": "\\"],[{", "features": [1, 2, 3]}'
    good = b'{"id": 8, "features": [1, 2, 3]}'
    found = read_fast(b"[" + record + b"," + good + b"]")
    assert [(position, text) for position, text, _ in found.rejected] == [(1, record.decode())]
    assert [one[0] for one in found.points] == [8]


@pytest.mark.parametrize(("features", "sparse"), [("[1, 2, 3]", False), ('{"0": 1, "2": 5}', True)])
def test_what_a_removal_says_of_its_point_is_not_looked_at(features, sparse):
    removal = f'{{"label": 3, "weight": 2, "features": {features}, "op": "-", "id": 7}}'
    insertion = f'{{"id": 8, "features": {features}}}'
    lines = [removal.encode(), insertion.encode(), removal.encode()]
    found = read_fast(b"\n".join(lines), sparse=sparse)
    assert found == read_objects(lines, WIDTH, sparse=sparse)
    assert found.points[0][1:5] == ("nan", (1.0).hex(), -1, {} if sparse else [(0.0).hex()] * WIDTH)


def test_indices_that_do_not_ascend_are_put_in_order():
    lines = [b'{"id": 7, "features": {"2": 1, "0": 5}}', b'{"id": 8, "features": {"1": 1, "1": 5}}']
    found = read_fast(b"\n".join(lines), sparse=True)
    assert found == read_objects(lines, WIDTH, sparse=True)
    assert [reason for _, _, reason in found.rejected] == ["index 1 is there twice"]


def test_nothing_is_no_record():
    for body in (b"", b"\n\n", b"[]", b" [ ]\n"):
        assert read_fast(body) == PointOutcome()


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ('{"features": [1, 2, 3]}', "id is missing"),
        ('{"op": "-"}', "id is missing"),
        ('{"id": 7, "op": "?"}', "op is unknown: '?'"),
        ('{"id": 7}', "features are missing"),
        ('{"id": 7, "features": [1, 2]}', "features has 2 numbers, but points have 3 features"),
        ('{"id": 7, "features": [1, 2, 3, 4]}', "features has 4 numbers, but points have 3 features"),
        ('{"id": 7, "features": {"0": 1}}', "features are sparse, but the stream declares dense points"),
        ('{"id": 7, "features": [1, NaN, 3]}', "not a JSON object on one line"),
        ('{"id": 7, "features": [1, 1e999, 3]}', "feature 1 is not finite: '1e999'"),
        ('{"id": 7, "features": [1, null, 3]}', "feature 1 is missing"),
        ('{"id": 7, "features": [1, "2", 3]}', "feature 1 is not a number: '2'"),
        ('{"id": 7, "label": "yes", "features": [1, 2, 3]}', "label is not a number: 'yes'"),
        ('{"id": 7, "weight": -1, "features": [1, 2, 3]}', "weight is negative: '-1'"),
        ('{"id": 7, "feature": [1, 2, 3]}', "unknown field: 'feature'"),
    ],
)
def test_a_bad_record_is_rejected_with_its_reason_and_the_good_ones_go_on(record, reason):
    good = '{"id": 1, "features": [1, 2, 3]}'
    found = read_fast(f"{good}\n{record}\n{good}".encode())
    assert found.rejected == [(2, record, reason)]
    # An id that repeats is no fault.
    assert [one[0] for one in found.points] == [1, 1]


def test_a_list_is_dense_on_a_stream_of_sparse_points():
    found = read_fast(b'{"id": 7, "features": [1, 2, 3]}\n{"id": 8, "features": {"3": 1}}', sparse=True)
    assert [reason for _, _, reason in found.rejected] == [
        "features are dense, but the stream declares sparse points",
        "index 3 is beyond the declared width: 3 features have indices 0 to 2",
    ]


def test_a_long_object_is_rejected():
    found = read_fast(b'{"id": 7, "features": [1, 2, 3]}', max_object_bytes=10)
    assert found.rejected == [(1, '{"id": 7, ', "line is longer than 10 bytes")]


def test_a_body_of_many_pieces_keeps_its_positions():
    good = b'{"id": 5, "features": [1, 2, 3]}'
    count = (3 << 20) // len(good)
    records = [good] * count
    records[count // 2] = b'{"id": 5, "features": [1, 2]}'
    for body in (b"\n".join(records), b"[" + b",".join(records) + b"]"):
        parsed = parse_json_points(body, Points(WIDTH))
        assert parsed.records == count
        assert [one.position for one in parsed.rejected] == [count // 2 + 1]
        assert len(parsed.batch) == count - 1
        assert parsed.text_of(count // 2 + 1) == records[count // 2]


def test_more_records_than_are_taken_are_refused():
    for body in (b"[" + b"1," * BODY_LIMIT_RECORDS + b"1]", b"1\n" * (BODY_LIMIT_RECORDS + 1)):
        with pytest.raises(BodyTooLarge, match="records taken at once"):
            read_fast(body)


def test_removals_of_wide_points_are_refused_before_they_fill_the_memory():
    body = b'{"id":1,"op":"-"}\n' * 100_000
    with pytest.raises(BodyTooLarge, match="points take"):
        parse_json_points(body, Points(10_000))
    assert len(parse_json_points(body, Points(10_000, sparse=True)).batch) == 100_000
