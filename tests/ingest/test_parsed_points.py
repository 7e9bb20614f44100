"""What is done with points once they are parsed, whatever they were read from."""

import io
import json

import numpy as np
import pytest

from tests.ingest.naive_points import outcome_of
from tornado.ingest.interner import Interner
from tornado.ingest.parsed import ParsedPoints
from tornado.ingest.point_json import parse_json_points
from tornado.ingest.point_text import csv_points, libsvm_points
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

SPARSE = Points(5, sparse=True)
SVM = b"1 1:1 2:2\n0 x\n1 3:3\n0\n1 5:5 4:4\n"


def svm_parts():
    return list(libsvm_points(io.BytesIO(SVM), "test", points=SPARSE, max_records=2))


def test_stretches_that_follow_each_other_are_one():
    whole = next(libsvm_points(io.BytesIO(SVM), "test", points=SPARSE))
    joined = ParsedPoints.joined(svm_parts(), SPARSE)
    assert outcome_of([joined]) == outcome_of([whole])
    assert joined.accepted == 4
    assert [joined.text_of(position) for position in (1, 2, 5)] == SVM.split(b"\n")[0:2] + SVM.split(b"\n")[
        4:5
    ]


def test_nothing_is_a_stretch_as_well():
    joined = ParsedPoints.joined([], SPARSE)
    assert joined.records == 0
    assert joined.batch.equals(PointBatch.kind_of(SPARSE).empty())


@pytest.mark.parametrize("label", [1.0, 0.0])
def test_points_that_a_program_refuses_are_rejected_with_their_text(label):
    [parsed] = libsvm_points(io.BytesIO(SVM), "test", points=SPARSE)
    left = parsed.without(parsed.batch.label == label, "label is no class")
    assert set(left.batch.label.tolist()) == {1.0 - label}
    assert left.records == 5
    assert len(left.rejected) + len(left.batch) == 5
    refused = {one.position: one.record for one in left.rejected if one.reason == "label is no class"}
    assert refused == {1: "1 1:1 2:2", 3: "1 3:3", 5: "1 5:5 4:4"} if label else {4: "0"}
    assert len(left.batch.starts) == len(left.batch) + 1
    assert left.batch.starts[-1] == len(left.batch.values)


def test_positions_of_a_body_are_moved_to_those_of_its_source():
    parsed = parse_json_points(b'{"id": 1, "features": [1]}\n{"id": 2}', Points(1)).shifted(10)
    assert parsed.positions.tolist() == [11]
    assert parsed.rejected[0].position == 12
    assert parsed.text_of(11) == b'{"id": 1, "features": [1]}'


def test_batches_of_one_file_are_of_the_class_that_its_stream_declares():
    points = Points(1, names=["a"])
    [parsed] = csv_points(io.BytesIO(b"a\n1\n2\n"), "test", points=points)
    assert type(parsed.batch) is PointBatch.kind_of(points)
    assert np.array_equal(type(parsed.batch).decode(parsed.batch.encode()).features, [[1.0], [2.0]])


def test_no_clean_record_costs_python_time(monkeypatch):
    """Else whatever is compiled could be left out, and all other tests would pass."""

    def refused(*_, **__):
        raise AssertionError("a clean record was put to the definition")

    monkeypatch.setattr("tornado.ingest.point_layout.PointLayout.parse", refused)
    monkeypatch.setattr("tornado.ingest.point_text.parse_libsvm_line", refused)
    monkeypatch.setattr("tornado.ingest.point_json.parse_point_object", refused)
    lines = [f"{row};+;{row % 2};{row / 7!r}; 1e-{row} ;{row}.5" for row in range(300)] + ["7;-;;;;"]
    header = "id;op;label;a;b;c\n"
    interner = Interner()
    for names in (None, interner):
        found = csv_points(io.BytesIO((header + "\n".join(lines)).encode()), "test", interner=names)
        assert sum(len(parsed.batch) for parsed in found) == 301
    svm = "\n".join(f"-1 qid:{row} 1:{row / 7!r} 5:1e-5 # {row}" for row in range(300))
    assert (
        sum(len(one.batch) for one in libsvm_points(io.BytesIO(svm.encode()), "test", points=SPARSE)) == 300
    )
    for features, points in (([0.1, -2, 3e-9], Points(3)), ({"0": 0.1, "4": 7}, SPARSE)):
        rows = [{"id": row, "label": row / 7, "op": "=", "features": features} for row in range(300)]
        rows.append({"op": "-", "id": 7})
        for body in (json.dumps(rows), "\n".join(map(json.dumps, rows))):
            assert len(parse_json_points(body.encode(), points).batch) == 301
