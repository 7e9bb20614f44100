"""NDJSON bodies beside the slow twin, and the faults people make."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.naive import Outcome, float_text, read_ndjson, times_of
from tests.ingest.test_text_with_naive_reader import times
from tornado.errors import BodyTooLarge
from tornado.ingest.interner import Interner
from tornado.ingest.ndjson import parse_ndjson


def read_fast(body, *, strings=False, quoted=False, times=False, longest=65_536) -> Outcome:
    interner = Interner() if strings else None
    parsed = parse_ndjson(body, interner=interner, quoted_ids=quoted, times=times, max_line_bytes=longest)
    batch = parsed.batch
    edges = zip(
        batch.src.tolist(),
        batch.dst.tolist(),
        map(float_text, batch.weight.tolist()),
        batch.op.tolist(),
        parsed.positions.tolist(),
        times_of(parsed),
        strict=True,
    )
    rejected = [(one.position, one.record, one.reason) for one in parsed.rejected]
    return Outcome(list(edges), rejected, parsed.records)


numbers = st.one_of(
    st.integers(-5, 50).map(str),
    st.integers(2**63 - 2, 2**63 + 1).map(str),
    st.integers(-(2**63) - 1, -(2**63) + 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.sampled_from(
        [
            "-0",
            "01",
            "1.",
            ".5",
            "+1",
            "1e5",
            "1E-400",
            "1e400",
            "NaN",
            "Infinity",
            "-",
            "1.0",
            "0.1e",
            "9" * 40,
            "-0.0",
        ]
    ),
)
texts = st.one_of(
    st.sampled_from(
        ["+", "-", "=", "insert", "DELETE", "1", "-1", "", "x", "anna", "é", "a\x01b", "\ud800"]
    ).map(json.dumps),
    st.sampled_from(['"é"', '"a\x01b"', '"\\u00e9"', '"unfinished', "'x'", '"日本"', '"a\\"b"', '"\\ud800"']),
)
others = st.sampled_from(["null", "true", "false", "[1]", "{}", '{"src": 1}', "", "[" * 3000])
values = {
    "src": st.one_of(numbers, numbers, numbers, texts, others),
    "dst": st.one_of(numbers, numbers, numbers, texts, others),
    "weight": st.one_of(numbers, numbers, texts, others),
    "op": st.one_of(texts, texts, numbers, others),
    "time": st.one_of(numbers, texts, others, times.map(json.dumps)),
    "wieght": numbers,
    "s\\u0072c": numbers,
}


@st.composite
def objects(draw, *, tidy=False):
    keys = draw(
        st.sampled_from(
            [
                *(["src", "dst"], ["src", "dst", "weight"], ["src", "dst", "weight", "op"]),
                *(["op", "dst", "src"], ["src", "dst", "time"], ["time", "op", "src", "dst"]),
            ]
        )
    )
    if not tidy and draw(st.integers(0, 4)) == 0:
        keys = draw(st.lists(st.sampled_from(list(values)), max_size=5))
    blank = st.sampled_from(["", "", " ", "\t", "  ", "\r", "\x0b"] if not tidy else ["", " "])
    pairs = [
        f'{draw(blank)}"{key}"{draw(blank)}:{draw(blank)}{draw(values[key])}{draw(blank)}' for key in keys
    ]
    line = "{" + ",".join(pairs) + "}" + draw(blank)
    if not tidy and draw(st.integers(0, 9)) == 0 and line:
        at = draw(st.integers(0, len(line)))
        line = (
            line[:at]
            + draw(st.sampled_from(["}", "{", ",", '"', ":", " ", "x", "\\"]))
            + line[at + draw(st.integers(0, 1)) :]
        )
    return line.encode("utf-8", "surrogatepass")


junk = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [b"", b" ", b"# note", b"[1,2]", b"3", b"null", b'{"src":1,"dst":2} {}', b'{"src":1,"dst":2,"op":}']
    ),
)


@given(
    st.lists(st.one_of(objects(), objects(), objects(tidy=True), junk), max_size=10),
    st.sampled_from([{}, {"strings": True}, {"quoted": True}, {"strings": True, "quoted": True}]),
    st.booleans(),
    st.sampled_from([40, 65_536]),
)
@settings(max_examples=500, deadline=None)
def test_kernels_read_what_a_line_by_line_json_reader_reads(parts, ids, times, longest):
    body = b"\n".join(parts)
    assert read_fast(body, **ids, times=times, longest=longest) == read_ndjson(
        body, **ids, times=times, longest=longest
    )


def test_integers_may_stand_in_quotes_where_the_sender_says_so():
    body = (
        b'{"src": "9223372036854775807", "dst": "-9223372036854775808"}\n{"src": 1, "dst": "+007"}\n'
        b'{"src": "9223372036854775808", "dst": 1}\n{"src": "1.0", "dst": 1}\n{"src": "", "dst": 1}\n{"src": "1"}\n'
    )
    parsed = parse_ndjson(body, quoted_ids=True)
    assert (parsed.batch.src.tolist(), parsed.batch.dst.tolist()) == ([2**63 - 1, 1], [-(2**63), 7])
    assert [one.reason for one in parsed.rejected] == [
        "src is beyond 64 bits: '9223372036854775808'",
        "src is not an integer: '1.0'",
        "src is missing",
        "dst is missing",
    ]
    assert len(parse_ndjson(body).batch) == 0


@given(st.lists(objects(tidy=True), max_size=20).map(b"\n".join), st.integers(0, 200))
@settings(max_examples=100, deadline=None)
def test_a_body_cut_anywhere_loses_only_its_last_line(body, cut):
    assert read_fast(body[:cut]) == read_ndjson(body[:cut])


def test_left_out_fields_have_their_documented_meaning():
    parsed = parse_ndjson(
        b'{"src": 1, "dst": 2}\n{"src": 1, "dst": 2, "op": "-"}\n{"dst": 4, "src": 3, "weight": null, "op": null, "time": 9}\n'
    )
    assert parsed.batch.weight.tolist()[0] == 1.0
    assert str(parsed.batch.weight[1]) == "nan"
    assert parsed.batch.op.tolist() == [1, -1, 1]
    assert parsed.batch.src.tolist() == [1, 1, 3]
    assert parsed.batch.weight[2] == 1.0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"src": 9223372036854775808, "dst": 2}', "src is beyond 64 bits: '9223372036854775808'"),
        (b'{"src": 1, "dst": 2, "weight": NaN}', "not a JSON object on one line"),
        (b'{"src": 1.0, "dst": 2}', "src is not an integer: '1.0'"),
        (b'{"src": "1", "dst": 2}', "src is not an integer: '1'"),
        (b'{"src": 1, "dst": 2, "wieght": 3}', "unknown field: 'wieght'"),
        (b'{"src": 1, "dst": 2, "weight": "3"}', "weight is not a number: '3'"),
        (b'{"src": 1}', "dst is missing"),
        (b'{"src": 1, "dst": 2, "src": 3}', "src is there twice"),
        (b'{"src": 1, "dst": 2, "op": "+", "op": "-"}', "op is there twice"),
        (b'{"src": 1, "dst": 2,}', "not a JSON object on one line"),
        (b'{"src": 1, "dst": 2, "op":}', "not a JSON object on one line"),
        (b'{"src": 1, "dst": 2} {"src": 1, "dst": 2}', "not a JSON object on one line"),
        (b'{"src": 1, "dst": 2, "op": "*"}', "op is unknown: '*'"),
        (b'{"src": 01, "dst": 2}', "not a JSON object on one line"),
        (b'{"src": true, "dst": 2}', "src is not an integer: true"),
    ],
)
def test_a_fault_is_named_and_costs_one_record(line, reason):
    good = b'{"src": 1, "dst": 2}'
    parsed = parse_ndjson(b"\n".join([good, line, good]))
    assert parsed.records == 3
    assert len(parsed.batch) == 2
    assert [(one.position, one.record, one.reason) for one in parsed.rejected] == [(2, line.decode(), reason)]
    shifted = parsed.shifted(100)
    assert shifted.rejected[0].position == 102
    assert shifted.text_of(101) == good


@pytest.mark.parametrize("op", ["+", "-", "="])
def test_a_weight_that_no_float64_can_hold_is_rejected_in_every_operation(op):
    body = b"".join(b'{"src": 1, "dst": 2, "weight": %s, "op": "%s"}\n' % (weight, op.encode()) for weight in (
        b"1e400", b"-1e400", b"1" + b"0" * 400, b"1e308"
    ))  # fmt: skip
    parsed = parse_ndjson(body)
    assert parsed.batch.weight.tolist() == [1e308]
    assert [(one.position, one.reason[:30]) for one in parsed.rejected] == [
        (1, "weight is not finite: '1e400'"),
        (2, "weight is not finite: '-1e400'"),
        (3, "weight is not finite: '1000000"),
    ]


def test_a_large_body_is_read_in_pieces_as_it_would_be_in_one(monkeypatch):
    lines = [
        b'{"src": "v%d", "dst": "w%d", "weight": %d}' % (number % 7, number, number) if number % 5 else b"bad"
        for number in range(300)
    ]
    body = b"\n".join(lines)
    whole = parse_ndjson(body, interner=Interner())
    monkeypatch.setattr("tornado.ingest.ndjson._PIECE_BYTES", 100)
    pieces = parse_ndjson(body, interner=Interner())
    assert pieces.batch.equals(whole.batch)
    assert pieces.rejected == whole.rejected
    assert pieces.positions.tolist() == whole.positions.tolist()
    assert (pieces.records, pieces.last_position) == (300, 300)
    assert [pieces.text_of(number) for number in (1, 150, 300)] == [lines[0], lines[149], lines[299]]


def test_a_body_with_more_lines_than_are_taken_at_once_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("tornado.ingest.ndjson.BODY_LIMIT_RECORDS", 3)
    interner = Interner()
    line = b'{"src": "a", "dst": "b"}\n'
    assert parse_ndjson(line * 3).records == 3
    with pytest.raises(BodyTooLarge, match="it has 4 lines"):
        parse_ndjson(line * 4, interner=interner)
    # A name is given its number once and for all.
    assert len(interner) == 0
