"""Values of messages, whatever is in them: decoded in order, or rejected with the offset and the reason."""

import json

import numpy as np
import pyarrow as pa
import pytest

from tests.kafka.chunks import arrow_message, chunk_of
from tornado.errors import InvalidArgument
from tornado.ingest.interner import Interner
from tornado.ingest.kafka.decoding import Decoder
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat, parse_brokers
from tornado.ingest.ndjson import parse_object
from tornado.ingest.times import MALFORMED, NO_TIME


def decoder(value_format, *, interner=None, **options):
    settings = KafkaSettings(
        brokers=("127.0.0.1:9092",), topic="edges", value_format=ValueFormat(value_format), **options
    )
    return Decoder(settings, interner=interner)


def edges(decoded):
    batch = decoded.parsed.batch
    return list(
        zip(batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True)
    )


def rejections(decoded):
    return [(one.position, one.reason) for one in decoded.rejected()]


def test_json_values_are_edges_in_their_order_and_bad_ones_carry_their_offset():
    values = [
        b'{"src": 1, "dst": 2, "weight": 0.5}',
        b'{"src": 1',
        b'{"dst": 2}',
        b'{"src": 9223372036854775808, "dst": 2}',
        None,
        b"",
        b'{"src": 1, "dst": 2, "op": "-"}',
        b"x" * (5 << 20),
        b'{"src": 3, "dst": 4, "time": 17}',
    ]
    decoded = decoder("json").decode(chunk_of(values, first_offset=1000, step=10))
    assert edges(decoded)[0] == (1, 2, 0.5, 1)
    assert edges(decoded)[1][:2] == (1, 2)
    assert edges(decoded)[1][3] == -1
    assert edges(decoded)[2] == (3, 4, 1.0, 1)
    assert decoded.records == len(values)
    assert rejections(decoded) == [
        (1010, "not a JSON object on one line"),
        (1020, "src is missing"),
        (1030, "src is beyond 64 bits: '9223372036854775808'"),
        (1040, "the message has no value (a tombstone)"),
        (1050, "the message has no records"),
        (1070, "line is longer than 65536 bytes"),
    ]


def test_a_message_of_several_lines_is_several_records_and_a_rejection_says_which():
    values = [b'{"src": 1, "dst": 2}\n{"src": 3, "dst": 4}\n', b'{"src": 5, "dst": 6}\r\nnothing\n\n']
    decoded = decoder("json").decode(chunk_of(values))
    assert [edge[:2] for edge in edges(decoded)] == [(1, 2), (3, 4), (5, 6)]
    assert decoded.records == 4
    assert rejections(decoded) == [(101, "record 2 of 2: not a JSON object on one line")]


@pytest.mark.parametrize("value_format", ["json", "csv", "arrow"])
def test_times_are_read_where_that_is_asked_for_and_bad_ones_cost_their_record(value_format):
    times = ["1970-01-01T00:00:01Z", "never", "2.5", None]
    rows = [(1, 2, time) for time in times]
    values = {
        "json": [json.dumps({"src": src, "dst": dst, "time": time}).encode() for src, dst, time in rows],
        "csv": [f"{src},{dst},{time or ''}".encode() for src, dst, time in rows],
        "arrow": [
            arrow_message(src=[src], dst=[dst], time=pa.array([time], pa.string())) for src, dst, time in rows
        ],
    }[value_format]
    columns = {"columns": ("src", "dst", "time")} if value_format == "csv" else {}
    decoded = decoder(value_format, times=True, undirected=True, **columns).decode(chunk_of(values))
    assert decoded.parsed.times.tolist() == [
        *(1_000_000, 1_000_000, 2_500_000, 2_500_000),
        *(NO_TIME, NO_TIME),
    ]
    [(offset, reason)] = rejections(decoded)
    assert (offset, reason[: len(MALFORMED)]) == (101, MALFORMED)
    unread = decoder(value_format, **columns).decode(chunk_of(values))
    assert (len(unread.parsed.batch), unread.parsed.times, rejections(unread)) == (4, None, [])


def test_csv_values_have_commas_and_no_header():
    values = [b"1,2,0.25", b"3,4", b"src,dst", b"# no comment", b"5,6,1,-"]
    decoded = decoder("csv").decode(chunk_of(values))
    assert edges(decoded) == [(1, 2, 0.25, 1), (3, 4, 1.0, 1)]
    assert [position for position, _ in rejections(decoded)] == [102, 103, 104]
    named = decoder("csv", columns=("dst", "src", "op", "weight")).decode(chunk_of([b"1,2,+,7", b"1,2,=,8"]))
    assert edges(named) == [(2, 1, 7.0, 1), (2, 1, 8.0, 2)]


def test_arrow_values_are_taken_by_the_table_and_bad_rows_and_bad_values_alone():
    values = [
        arrow_message(src=[1, 2], dst=[2, 3], weight=[0.5, 1.5]),
        b"no arrow at all",
        None,
        arrow_message(src=pa.array([4, 2**63], pa.uint64()), dst=[5, 6]),
        arrow_message(src=["a"], dst=["b"]),
        arrow_message(src=[7, None, 9], dst=[8, 8, 10], op=["+", "+", "-"]),
        arrow_message(src=pa.array([], pa.int64()), dst=pa.array([], pa.int64())),
        arrow_message(src=[11], dst=[12]),
    ]
    decoded = decoder("arrow").decode(chunk_of(values, first_offset=0))
    assert [edge[:2] for edge in edges(decoded)] == [(1, 2), (2, 3), (4, 5), (7, 8), (9, 10), (11, 12)]
    found = rejections(decoded)
    assert [position for position, _ in found] == [1, 2, 3, 4, 5, 6]
    assert found[0][1].startswith("the value is no whole Arrow IPC stream")
    assert found[2][1] == "record 2 of 2: src is beyond 64 bits"
    assert found[3][1] == "column 'src' has type string, but a vertex id is an integer"
    assert found[4][1] == "record 2 of 3: src is missing"
    assert decoded.records == 12
    assert all(column.flags.aligned for column in (decoded.parsed.batch.src, decoded.parsed.batch.weight))


def test_what_a_program_refuses_is_rejected_with_the_offset_of_its_message():
    values = [arrow_message(src=[1, 2], dst=[2, 3], weight=[1.0, -1.0]), arrow_message(src=[3], dst=[4])]
    decoded = decoder("arrow", undirected=True).decode(chunk_of(values))
    assert len(decoded.parsed.batch) == 6
    refused = decoded.without(decoded.parsed.batch.weight < 0, "weight is negative")
    assert [edge[:2] for edge in edges(refused)] == [(1, 2), (2, 1), (3, 4), (4, 3)]
    assert rejections(refused) == [(100, "record 2 of 2: weight is negative")]
    assert json.loads(refused.rejected()[0].record)["weight"] == -1.0


def test_string_ids_are_interned():
    interner = Interner()
    decoded = decoder("json", interner=interner).decode(
        chunk_of([b'{"src": "a", "dst": "b"}', b'{"src": 1, "dst": "b"}'])
    )
    assert len(decoded.parsed.batch) == 1
    assert rejections(decoded) == [(101, "src is not a string: '1'")]


def test_messages_before_an_offset_are_cut_off():
    chunk = chunk_of([b'{"src": 1, "dst": 2}', None, b'{"src": 3, "dst": 4}'], first_offset=5, step=2)
    assert [edge[:2] for edge in edges(decoder("json").decode(chunk.since(8)))] == [(3, 4)]
    assert chunk.since(5) is chunk
    assert len(chunk.since(10)) == 0
    assert chunk.next_offset == 10


@pytest.mark.parametrize("seed", range(5))
def test_many_values_in_a_chunk_are_what_each_of_them_is_alone(seed):
    random = np.random.default_rng(seed)
    pool = [
        b'{"src": 1, "dst": 2}', b'{"src": -5, "dst": 7, "weight": 1e-3}', b"[]", b" ", b"\n", b'{"src": 1, "dst": 2, "x": 1}',
        b'{"src": 1, "dst": 2, "weight": NaN}', b'{"dst":3,"src":4,"op":"="}', b"\xff\x00",
    ]  # fmt: skip
    values = [pool[at] for at in random.integers(0, len(pool), 200)]
    together = decoder("json").decode(chunk_of(values))
    expected_edges, expected_rejections = [], []
    for offset, value in enumerate(values, 100):
        alone = decoder("json").decode(chunk_of([value], first_offset=offset))
        expected_edges += edges(alone)
        expected_rejections += rejections(alone)
        if alone.parsed.accepted:
            assert parse_object(value, string_ids=False)[:2] == edges(alone)[0][:2]
    assert edges(together) == expected_edges
    assert rejections(together) == expected_rejections


@pytest.mark.parametrize("brokers", ["", "localhost", "localhost:", "localhost:0", "http://localhost:9092"])
def test_a_broker_that_is_no_address_is_refused(brokers):
    with pytest.raises(InvalidArgument):
        parse_brokers(brokers)


@pytest.mark.parametrize("topic", ["", ".", "a b", "ä", "x" * 250])
def test_a_topic_that_cannot_exist_is_refused(topic):
    with pytest.raises(InvalidArgument, match="cannot exist"):
        KafkaSettings(brokers=("127.0.0.1:9092",), topic=topic)
