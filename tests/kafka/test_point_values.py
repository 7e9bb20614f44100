"""Values of messages that are points: decoded in order, known by their place where they give no id, and bounded."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

from tests.bombs import little_memory
from tests.kafka.chunks import arrow_message, chunk_of
from tornado.errors import InvalidArgument
from tornado.ingest.interner import Interner
from tornado.ingest.kafka.decoding import Decoder
from tornado.ingest.kafka.point_values import declared_by_columns
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat
from tornado.ingest.point_ids import id_at
from tornado.ingest.point_layout import PointFormat
from tornado.records.point_schema import Points

DENSE = Points(features=2)
SPARSE = Points(features=100_000, sparse=True)
SEVERAL = (
    "id is missing, and this is one of several points of a message, whose place is the id of none of them"
)


def settings(value_format, **options):
    return KafkaSettings(
        brokers=("127.0.0.1:9092",), topic="points", value_format=ValueFormat(value_format), **options
    )


def decoded(value_format, values, points=DENSE, *, interner=None, first_offset=100, **options):
    decoder = Decoder(settings(value_format, **options), points=points, interner=interner)
    chunk = chunk_of(values, first_offset=first_offset, step=10, partition=3)
    found = []
    while len(chunk):
        found.append(decoder.decode(chunk))
        chunk = chunk.since(found[-1].next_offset)
    return found[0] if len(found) == 1 else found


def rows(batch):
    ids, labels, ops = batch.id.tolist(), batch.label.tolist(), batch.op.tolist()
    return list(zip(ids, labels, ops, batch.features.tolist(), strict=True))


def rejections(found):
    return [(one.position, one.reason) for one in found.rejected()]


def test_json_values_are_points_in_their_order_and_bad_ones_carry_their_offset():
    found = decoded(
        "json",
        [
            b'{"id": 7, "label": 1, "features": [0.5, 2], "weight": 3}',
            b'{"id": 8, "features": [0.5]}',
            None,
            b'{"id": 7, "op": "-"}\n{"id": 9, "label": -1, "features": [1, NaN]}\n{"id": 9, "label": 0, "features": [1, 2], "op": "="}',
            b'{"src": 1, "dst": 2}',
            b"",
            b'{"id": 5, "features": {"1": 2}}',
        ],
    )
    batch = found.parsed.batch
    assert rows(batch)[0] == (7, 1.0, 1, [0.5, 2.0])
    assert (batch.id.tolist(), batch.op.tolist(), batch.weight.tolist()) == ([7, 7, 9], [1, -1, 2], [3, 1, 1])
    assert [(offset, reason[:40]) for offset, reason in rejections(found)] == [
        (110, "features has 1 numbers, but points have "),
        (120, "the message has no value (a tombstone)"),
        (130, "record 2 of 3: not a JSON object on one "),
        (140, "unknown field: 'src'"),
        (150, "the message has no records"),
        (160, "features are sparse, but the stream decl"),
    ]
    assert (found.records, found.next_offset) == (9, 161)


@pytest.mark.parametrize("value_format", ["json", "csv", "arrow"])
def test_a_point_without_an_id_has_one_of_its_partition_and_offset_if_it_is_alone_in_its_message(
    value_format,
):
    one = {
        "json": b'{"label": 1, "features": [1, 2]}',
        "csv": b"1,1,2",
        "arrow": arrow_message(label=[1.0], x=[1.0], y=[2.0]),
    }[value_format]
    two = (
        one + b"\n" + one
        if value_format != "arrow"
        else arrow_message(label=[1.0] * 2, x=[1.0] * 2, y=[2.0] * 2)
    )
    columns = {"columns": ("label", "x", "y")} if value_format == "csv" else {}
    found = decoded(value_format, [one, two, None, one], **columns)
    assert found.parsed.batch.id.tolist() == [id_at("points:3", 100), id_at("points:3", 130)]
    assert [offset for offset, _ in rejections(found)] == {"arrow": [110, 120]}.get(
        value_format, [110, 110, 120]
    )
    if value_format != "arrow":
        assert rejections(found)[0] == (110, f"record 1 of 2: {SEVERAL}")
    interner = Interner()
    named = decoded(value_format, [one], interner=interner, **columns)
    assert interner.names(named.parsed.settled().id) == ["points:3:100"]


def test_csv_values_have_the_columns_that_are_named_and_these_declare_the_points():
    named = {"columns": ("y", "key", "op", "who", "x"), "point_format": PointFormat(label="who", id="key")}
    points = declared_by_columns(settings("csv", **named))
    assert points == Points(features=2, names=["y", "x"])
    found = decoded("csv", [b"2,7,+,1,0.5", b",7,-,,", b"2,8,+,1", b"2,8,+,1,old"], points, **named)
    assert rows(found.parsed.batch)[0] == (7, 1.0, 1, [2.0, 0.5])
    assert found.parsed.batch.op.tolist() == [1, -1]
    assert [offset for offset, _ in rejections(found)] == [120, 130]
    with pytest.raises(InvalidArgument, match="must be named"):
        Decoder(settings("csv"), points=points)
    with pytest.raises(InvalidArgument, match="no feature of that name"):
        decoded("csv", [b"1,2"], points, columns=("x", "z"))


def test_sparse_points_come_as_json_and_arrow():
    found = decoded(
        "json",
        [b'{"id": 1, "features": {"99999": 2, "3": 0.5}}', b'{"id": 2, "features": {"100000": 1}}'],
        SPARSE,
    )
    batch = found.parsed.batch
    assert (batch.indices.tolist(), batch.values.tolist()) == ([3, 99999], [0.5, 2.0])
    assert [offset for offset, _ in rejections(found)] == [110]
    kind = pa.struct([("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))])
    features = pa.array([{"indices": [4], "values": [0.25]}, {"indices": [-1], "values": [1.0]}], kind)
    message = arrow_message(id=[1, 2], features=features)
    batch = decoded("arrow", [b"none", message, arrow_message(src=[1], dst=[2])], SPARSE)
    assert (batch.parsed.batch.indices.tolist(), batch.parsed.batch.values.tolist()) == ([4], [0.25])
    assert [offset for offset, _ in rejections(batch)] == [100, 110, 120]


def test_what_is_decoded_is_what_each_message_alone_is_decoded_to():
    random = np.random.default_rng(5)
    messages = []
    for number in range(200):
        lines = [
            {"id": int(random.integers(50)), "features": random.normal(size=2).tolist(), "label": number % 3}
            for _ in range(random.integers(1, 4))
        ]
        if random.random() < 0.3:
            del lines[0]["id"]
        messages.append("\n".join(map(json.dumps, lines)).encode())
    together = decoded("json", messages)
    alone = [decoded("json", [value], first_offset=100 + 10 * at) for at, value in enumerate(messages)]
    assert rows(together.parsed.batch) == [row for one in alone for row in rows(one.parsed.batch)]
    assert rejections(together) == [row for one in alone for row in rejections(one)]
    assert len(rejections(together)) > 10


@pytest.mark.parametrize("value_format", ["json", "arrow"])
def test_removals_of_wide_points_take_no_more_room_than_is_given(value_format):
    points = Points(features=100_000)
    removal = b'{"id": 1, "op": "-"}'
    many = {
        "json": [removal, b"\n".join([removal] * 1000), *[removal] * 300],
        "arrow": [
            arrow_message(id=[1], op=["-"]),
            arrow_message(id=range(1000), op=["-"] * 1000),
            *[arrow_message(id=[1], op=["-"])] * 300,
        ],
    }[value_format]
    with little_memory(os.getpid()):
        found = decoded(value_format, many, points)
    assert sum(len(one.parsed.batch) for one in found) == 301
    assert max(one.parsed.batch.size_bytes for one in found) < 200 << 20
    [(offset, reason)] = [row for one in found for row in rejections(one)]
    assert (offset, "taken at once" in reason) == (110, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"undirected": True}, "no direction to leave out"),
        ({"dedup_key": "event"}, "recognised by their ids"),
        ({"times": True}, "whose times are not looked at"),
    ],
)
def test_what_is_said_of_edges_alone_is_refused_of_points(options, said):
    with pytest.raises(InvalidArgument, match=said):
        Decoder(settings("json", **options), points=DENSE)
