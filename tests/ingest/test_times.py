"""Times of records, beside Python's own reader of ISO 8601, and as every type of an Arrow column."""

import io
import math
import re
from datetime import UTC, datetime, timedelta
from time import process_time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.promised import within
from tornado.errors import InvalidArgument
from tornado.ingest import times as module
from tornado.ingest.assembly import Lines, both_ways
from tornado.ingest.interner import Interner
from tornado.ingest.layout import TextFormat
from tornado.ingest.line_finder import find_lines
from tornado.ingest.ndjson import parse_ndjson, parse_object_lines
from tornado.ingest.parsed import ParsedBatch
from tornado.ingest.source import FileSource
from tornado.ingest.text import parsed_batches
from tornado.ingest.times import BEYOND, MALFORMED, NO_TIME, parse_times, times_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def column(*texts):
    return pa.array(texts, pa.large_string())


def read(text):
    """One time: microseconds, None where there is none, or what is wrong with it."""
    [time], [malformed], [beyond] = parse_times(column(text))
    if malformed or beyond:
        return "malformed" if malformed else "beyond"
    return None if time == NO_TIME else int(time)


def micros(year, month=1, day=1, *clock):
    return (datetime(year, month, day, *clock, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


NOON = micros(2026, 1, 31, 12)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("0", 0),
        ("1700000000", 1_700_000_000_000_000),
        ("1700000000.123456", 1_700_000_000_123_456),
        ("-1.5", -1_500_000),
        ("+1e3", 1_000_000_000),
        ("9223372036853", 9_223_372_036_853_000_000),
        ("9223372036855", "beyond"),
        ("-1e400", "beyond"),
        ("nan", "malformed"),
        ("inf", "malformed"),
        ("1_000", "malformed"),
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31 12:00", NOON),
        ("2026-01-31T12", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("2026-01-31T13:00:00.000+0100", NOON),
        ("2026-01-31T06:30:00-05:30", NOON),
        ("2026-01-31T11-01", NOON),
        ("2026-01-31T12:00:00.1234567", NOON + 123_456),
        ("2026-01-31", micros(2026, 1, 31)),
        ("2024-02-29", micros(2024, 2, 29)),
        ("2000-02-29", micros(2000, 2, 29)),
        ("1900-02-29", "malformed"),
        ("2026-02-29", "malformed"),
        ("2026-04-31", "malformed"),
        ("2026-13-01", "malformed"),
        ("2026-01-31T24:00", "malformed"),
        ("2026-01-31T23:59:60Z", "malformed"),
        ("2026-01-31T12:00+24:00", "malformed"),
        ("2026-01-31Z", "malformed"),
        ("20260131T120000Z", "malformed"),
        ("31.1.2026", "malformed"),
        ("noon", "malformed"),
        (" 1", "malformed"),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_seconds_since_1970_or_iso_8601(text, time):
    assert read(text) == time


@given(st.datetimes(), st.integers(-1439, 1439), st.sampled_from(["T", " "]), st.sampled_from("Zzc "))
@settings(deadline=None)
def test_an_instant_is_what_python_reads(naive, minutes, between, zone):
    text = naive.isoformat(between)
    offset = timedelta(0)
    if zone == "c":
        offset = timedelta(minutes=minutes)
        text += f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    elif zone == "Z":
        text += "Z"
    assert read(text) == (naive.replace(tzinfo=UTC) - EPOCH - offset) // timedelta(microseconds=1)


parts = st.sampled_from(
    [
        "2024-02-29",
        "1999-12-31",
        "T",
        " ",
        "23",
        ":",
        "59",
        ":59",
        ".5",
        "Z",
        "+",
        "-",
        "01",
        "e5",
        "7",
        "x",
        "\n",
    ]
)


@given(st.lists(parts, max_size=9).map("".join))
@example("+-1")
@example("1\n")
@settings(max_examples=500, deadline=None)
def test_the_fast_way_through_arrow_reads_nothing_else_than_the_definition(text):
    fast, slow = module._alike(column(text)), module._mixed(column(text))
    if text and fast is not None:
        assert [one.tolist() for one in fast] == [one.tolist() for one in slow]


def test_entries_written_in_several_ways_are_each_read_as_if_alone():
    texts = ["1.5", "2026-01-31", "", "bad", "2026-01-31T12:00Z", None, "1e300", "7"]
    found = parse_times(column(*texts))
    for at, text in enumerate(texts):
        alone = parse_times(column(text))
        assert [one[at] for one in found] == [one[0] for one in alone]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, None, -1], pa.int32(), [1_000_000, NO_TIME, -1_000_000]),
        ([1, 2**64 - 1], pa.uint64(), [1_000_000, "beyond"]),
        ([2**53 // 1000, 2**63 - 1, -(2**63)], pa.int64(), [2**53 // 1000 * 1_000_000, "beyond", "beyond"]),
        ([0.25, math.nan, math.inf, None], pa.float64(), [250_000, "beyond", "beyond", NO_TIME]),
        ([1, 2**63 - 1, None], pa.timestamp("s"), [1_000_000, "beyond", NO_TIME]),
        ([1, -(2**63)], pa.timestamp("ms", "Europe/Berlin"), [1_000, "beyond"]),
        ([1, -1], pa.timestamp("us", "UTC"), [1, -1]),
        ([1_999, -1], pa.timestamp("ns"), [1, -1]),
        ([1, None], pa.date32(), [86_400_000_000, NO_TIME]),
        ([86_400_000], pa.date64(), [86_400_000_000]),
        (["1", "1970-01-01T00:00:01Z", "", None], pa.string(), [1_000_000, 1_000_000, NO_TIME, NO_TIME]),
        ([None, None], pa.null(), [NO_TIME, NO_TIME]),
    ],
    ids=lambda given: str(given) if isinstance(given, pa.DataType) else "",
)
def test_an_arrow_column_is_read_by_its_type(values, kind, expected):
    arrays = [pa.array(values, kind), pa.array([], kind)]
    found = times_of(pa.chunked_array(arrays, kind))
    shown = ["beyond" if far else int(time) for time, _, far in zip(*found, strict=True)]
    assert shown == expected


@pytest.mark.parametrize(
    "kind", [pa.bool_(), pa.binary(), pa.time32("s"), pa.duration("s"), pa.list_(pa.int8())]
)
def test_a_column_of_another_type_is_refused(kind):
    with pytest.raises(InvalidArgument, match=re.escape(f"column 'time' has type {kind}")):
        times_of(pa.chunked_array([pa.array([], kind)]))


@pytest.mark.parametrize("text", ["1700000000", "2026-01-31T12:00:00.5Z", "2026-01-31 12:00:00"])
def test_a_million_times_written_alike_take_the_fast_way(text):
    texts = column(text).take(pa.array(np.zeros(1_000_000, np.int64)))
    began_s = process_time()
    assert not parse_times(texts).malformed.any()
    assert process_time() - began_s < within(0.4)  # a tenth of it where nothing else runs


def test_a_time_stays_with_its_edges_through_all_that_is_done_to_a_batch():
    first = parse_ndjson(
        b'{"src": 1, "dst": 2, "time": 1}\n{"src": 2, "dst": 3, "time": "x"}\n{"src": 3, "dst": 3, "time": "3"}\n',
        times=True,
    )
    both = both_ways(first)
    assert (both.batch.src.tolist(), both.times.tolist()) == ([1, 2, 3], [1_000_000, 1_000_000, 3_000_000])
    without_times = parse_ndjson(b'{"src": 4, "dst": 5}\n', times=True)
    assert without_times.times is None
    joined = ParsedBatch.concat([first, without_times])
    assert joined.times.tolist() == [1_000_000, 3_000_000, NO_TIME]
    assert joined.without(joined.batch.src == 1, "bad").times.tolist() == [3_000_000, NO_TIME]
    assert joined.shifted(7).times.tolist() == joined.times.tolist()


def test_bad_times_of_a_file_are_rejected_in_the_order_of_its_lines():
    text = b'src,dst,time\n1,2,2026-01-31T12:00Z\nx,2,never\n3,4,never\n5,6\n7,8,1e20\n9,z,1\n9,1,\xff\n9,9,"1970-01-01"\n'
    [parsed] = parsed_batches(io.BytesIO(text), "edges.csv", wanted=TextFormat(times=True))
    assert parsed.batch.src.tolist() == [1, 5, 9]
    assert parsed.times.tolist() == [NOON, NO_TIME, 0]
    assert [(one.position, one.reason) for one in parsed.rejected] == [
        (3, "src is not an integer: 'x'"),
        (4, f"{MALFORMED}: 'never'"),
        (6, f"{BEYOND}: '1e20'"),
        (7, "dst is not an integer: 'z'"),
        (8, f"{MALFORMED}: {chr(92) + 'xff'!r}"),
    ]
    assert parsed.rejected[1].record == "3,4,never"


def test_names_of_a_record_with_a_bad_time_are_not_seen():
    interner = Interner()
    text = io.BytesIO(b"src,dst,t\na,b,never\nc,d,1\n")
    [parsed] = parsed_batches(text, "edges.csv", wanted=TextFormat(times=True), interner=interner)
    assert (len(parsed.settled()), len(interner)) == (1, 2)


def test_a_key_may_be_the_time():
    lines = b'{"src": 1, "dst": 2, "time": "5"}\n{"src": 1, "dst": 2, "time": "soon"}\n{"src": 1, "dst": 2}\n'
    first, last, _, _ = find_lines(np.frombuffer(lines, np.uint8), 1, 1000, False)
    parsed = parse_object_lines(Lines(lines, first, last, np.arange(1, 4), 1000), key="time", times=True)
    assert (parsed.keys.to_pylist(), parsed.times.tolist()) == (["5"], [5_000_000])
    assert [one.reason for one in parsed.rejected] == [f"{MALFORMED}: 'soon'", "time is missing"]


def test_no_edge_is_lost_for_a_time_that_nobody_asks_for():
    [parsed] = parsed_batches(io.BytesIO(b"src,dst,time\n1,2,never\n"), "edges.csv")
    assert (len(parsed.batch), parsed.times, parsed.rejected) == (1, None, ())
    parsed = parse_ndjson(b'{"src": 1, "dst": 2, "time": "never"}\n{"src": 1, "dst": 2, "time": [3]}\n')
    assert (len(parsed.batch), parsed.times, parsed.rejected) == (2, None, ())


def test_the_one_bad_time_of_a_real_file_is_found(data_dir):
    columns = ("src", "dst", "weight", "time")
    source = FileSource(data_dir / "bitcoin-otc.csv.gz", text_format=TextFormat(columns=columns, times=True))
    found = ParsedBatch.concat(list(source.batches()))
    assert [(one.record, one.reason) for one in found.rejected] == [
        ("2,132,2,12 102509.39137", f"{MALFORMED}: '12 102509.39137'")
    ]
    # Its ratings came in the order of their times.
    assert (np.diff(found.times) >= 0).all()
    assert found.times[0] == 1_289_241_911_728_360
