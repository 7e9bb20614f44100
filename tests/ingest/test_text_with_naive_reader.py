"""The fast reader beside its slow twin, on files nobody would write on purpose."""

import io
import itertools
import struct

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.ingest.naive import Outcome, float_text, read_text, times_of
from tornado.ingest.interner import Interner
from tornado.ingest.layout import TextFormat
from tornado.ingest.text import parsed_batches


def read_fast(data, *, block_bytes=1 << 20, max_records=1000, strings=False, **options) -> Outcome:
    options["max_line_bytes"] = options.pop("longest", 65_536)
    outcome = Outcome()
    before = 0
    for parsed in parsed_batches(
        io.BytesIO(data),
        "test",
        wanted=TextFormat(**options),
        interner=Interner() if strings else None,
        max_records=max_records,
        block_bytes=block_bytes,
    ):
        assert 0 < parsed.records <= max_records
        assert parsed.last_position > before
        before = parsed.last_position
        batch = parsed.settled()
        outcome.records += parsed.records
        outcome.edges += zip(
            batch.src.tolist(),
            batch.dst.tolist(),
            map(float_text, batch.weight.tolist()),
            batch.op.tolist(),
            parsed.positions.tolist(),
            times_of(parsed),
            strict=True,
        )
        outcome.rejected += [(one.position, one.record, one.reason) for one in parsed.rejected]
    return outcome


integers = st.one_of(
    st.integers(-3, 30).map(str),
    st.integers(-(2**63) - 2, -(2**63) + 2).map(str),
    st.integers(2**63 - 3, 2**63 + 2).map(str),
    st.integers(10**17, 10**20).map(str),
    st.sampled_from(
        [
            "+5",
            "-0",
            "007",
            "-007",
            "0" * 30 + "1",
            "9" * 5000,
            "",
            "-",
            "+",
            "1.0",
            "1e3",
            "0x1",
            "1_0",
            "\u0663",
            "a",
        ]
    ),
)
numbers = st.one_of(
    st.floats(allow_nan=True).map(repr),
    st.floats(0, 100).map(repr),
    st.integers(0, 10**30).map(str),
    st.tuples(st.integers(0, 10**25), st.integers(-400, 400)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
    st.from_regex(r"[+-]?[0-9]{0,22}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(
        [
            "",
            "nan",
            "NaN",
            "-nan",
            "inf",
            "-Infinity",
            "1_0",
            ".",
            "1.",
            ".5",
            "+-1",
            "5e",
            "0e99999",
            "-0.0",
            "0x1p3",
            "1e00001",
            "1,5",
            "\u0661",
        ]
    ),
)
words = st.sampled_from(
    ["+", "-", "=", "1", "-1", "insert", "DELETE", "Remove", "replace", "", "upsert", "2", "inserted!", "é"]
)
names = st.one_of(
    st.sampled_from(["anna", "ben", "carl", "ünal", "日本", "a b", "x" * 50, "", "#1", "a\x00b", "src", "1"]),
    st.text(max_size=5),
)
times = st.one_of(
    st.datetimes().map(str),
    st.datetimes().map(lambda instant: instant.isoformat() + "Z"),
    st.integers(-(10**14), 10**14).map(str),
    st.sampled_from(
        [
            *(
                "",
                "2024-02-29",
                "0000-02-29",
                "1900-02-29",
                "2026-01-31T24:00",
                "2026-01-31T1:00",
                "9e12",
                "-1e13",
            ),
            *(
                "2026-01-31T12:00+01",
                "2026-01-31T12:00:00.1234567-0130",
                "2026-01-31T12:00+25:00",
                "nan",
                "\u0661",
            ),
        ]
    ),
)
junk = st.sampled_from(
    ["", " ", "\t", "x", '"', '""', "\r", "\x0b", "\x00", "\ufeff", "\u2028", "1 2", ",", ";"]
)
separators = st.sampled_from([",", "\t", ";", " ", "  ", ", ", " \t", " , "])


@st.composite
def lines(draw):
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return draw(st.binary(max_size=12))
    if kind == 1:
        return draw(
            st.sampled_from([b"", b" ", b"\t\t", b"# note", b"  % note", b"\r", b"#", b",,", b'"#1",2'])
        )
    if kind == 2:
        return (
            b" " * draw(st.integers(0, 60))
            + draw(st.sampled_from([b"#", b"1 2", b""]))
            + b"x" * draw(st.integers(0, 60))
        )
    if kind == 3:
        return draw(
            st.sampled_from(
                [b"src,dst,weight", b"from\tto", b"op,target,source", b"a b", b"SRC;DST;t;sign", b"a,1"]
            )
        )
    field = st.one_of(integers, names) if kind < 6 else integers
    fields = [draw(field), draw(field), draw(numbers), draw(words)]
    fields = fields[: draw(st.sampled_from([4, 4, 4, 4, 3, 2, 1]))]
    if kind > 12:
        fields.insert(draw(st.sampled_from([2, 2, len(fields)])), draw(times))
    if kind == 7:
        fields.insert(draw(st.integers(0, len(fields))), draw(junk))
    if kind in {8, 9}:
        place = draw(st.integers(0, len(fields) - 1))
        fields[place] = f'"{fields[place]}"' + draw(st.sampled_from(["", "", " ", '"', "x"]))
    line = draw(separators).join(fields).encode("utf-8", "surrogatepass")
    if kind == 10 and line:
        at = draw(st.integers(0, len(line) - 1))
        line = (
            line[:at]
            + draw(st.sampled_from([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]))
            + line[at:]
        )
    return line


@st.composite
def files(draw):
    # Mostly one separator a file, so that lines are good often enough.
    parts = draw(st.lists(lines(), max_size=12))
    if draw(st.booleans()):
        first = draw(st.sampled_from([b"1,2", b"1\t2", b"1 2", b"1;2"]))
        parts.insert(0, first)
    body = b"".join(part + draw(st.sampled_from([b"\n", b"\n", b"\n", b"\r\n"])) for part in parts)
    if draw(st.integers(0, 3)) == 0:
        body = body.removesuffix(b"\n")
    return draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"])) + body


options = st.fixed_dictionaries(
    {},
    optional={
        "columns": st.sampled_from(
            [
                ("src", "dst", "weight", "op"),
                ("dst", "src"),
                ("src", "-", "dst", "op"),
                ("op", "src", "dst", "weight", "time"),
                ("src", "dst", "time"),
            ]
        ),
        "separator": st.sampled_from([",", "\t", ";", " "]),
        "header": st.booleans(),
        "undirected": st.booleans(),
        "strings": st.booleans(),
        "times": st.booleans(),
        "longest": st.sampled_from([5, 20, 60]),
    },
)


@given(files(), options, st.sampled_from([1, 2, 3, 7, 50, 1 << 20]), st.sampled_from([1, 2, 5, 1000]))
@example(b"1,2\n" + b"x" * 30 + b"\r\n3,4\n", {"longest": 29}, 1, 1)
@example(b'1,2\n"1","2"\n"1,2\n"1"",2\n', {}, 7, 5)
@example(b"", {}, 1, 1)
@example(b"\xef\xbb", {}, 1, 1)
@settings(max_examples=500, deadline=None)
def test_blocks_and_kernels_read_what_a_line_by_line_reader_reads(data, options, block_bytes, max_records):
    # These two bytes make it a gzip, which the twin knows nothing of.
    assume(not data.startswith(b"\x1f\x8b"))
    assert read_fast(data, block_bytes=block_bytes, max_records=max_records, **options) == read_text(
        data, **options
    )


@given(
    st.lists(
        st.one_of(
            numbers,
            st.integers(0, 2**64 - 1).map(lambda bits: repr(struct.unpack("d", struct.pack("Q", bits))[0])),
        ),
        max_size=40,
    )
)
@settings(max_examples=500, deadline=None)
def test_a_weight_has_the_bits_that_float_gives(texts):
    data = "".join(f"1,2,{text}\n" for text in texts).encode()
    columns = ("src", "dst", "weight")
    assert read_fast(data, columns=columns, header=False) == read_text(data, columns=columns, header=False)


def test_clean_lines_in_every_separator_are_read_in_order():
    rows = [(index, index * 7 % 50, index / 4) for index in range(5000)]
    for separator, newline in itertools.product([",", "\t", ";", " ", "   "], ["\n", "\r\n"]):
        data = "".join(separator.join(map(str, row)) + newline for row in rows).encode()
        outcome = read_fast(data, block_bytes=4096, max_records=700)
        assert [(src, dst, float.fromhex(weight)) for src, dst, weight, *_ in outcome.edges] == rows
        assert not outcome.rejected
        assert outcome.records == len(rows)


@pytest.mark.parametrize("strings", [False, True])
def test_lines_that_end_in_carriage_returns_alone_are_a_record_that_is_rejected(strings):
    data = b"src,dst,weight\r1,2,3\r2,3,4\r"
    outcome = read_fast(data, strings=strings)
    assert (len(outcome.edges), len(outcome.rejected), outcome.records) == (0, 1, 1)
    assert outcome == read_text(data, strings=strings)


@pytest.mark.parametrize("block_bytes", [64, 1000, 1 << 20])
def test_quoted_names_that_double_their_quotes_keep_the_order_of_ids(block_bytes):
    data = b'"a ""b""",c\nd,"a ""b"""\n\xc3\xbc,"x,y"\n' * 40
    assert read_fast(data, block_bytes=block_bytes, strings=True) == read_text(data, strings=True)


def test_weights_at_the_edges_of_the_exact_range_have_the_bits_that_float_gives():
    mantissas = [
        1,
        3,
        2**53 - 1,
        2**53,
        2**53 + 1,
        2**53 + 2,
        10**17 + 1,
        10**18 - 1,
        10**18 + 1,
        10**19 - 1,
        2**64 + 1,
    ]
    exponents = [*range(-26, 27), -330, -324, -308, -307, -290, -281, 270, 280, 289, 291, 308, 309]
    data = "".join(f"1,2,{m}e{e}\n1,2,-{m / 1000:.20f}e{e}\n" for m in mantissas for e in exponents).encode()
    columns = ("src", "dst", "weight")
    assert read_fast(data, columns=columns) == read_text(data, columns=columns)


def test_names_are_utf8_exactly_where_python_decodes_them():
    edges = [
        0x41,
        0x7F,
        0x80,
        0x8F,
        0x90,
        0x9F,
        0xA0,
        0xBF,
        0xC0,
        0xC1,
        0xC2,
        0xDF,
        0xE0,
        0xE1,
        0xED,
        0xEF,
        0xF0,
        0xF1,
        0xF4,
        0xF5,
        0xFF,
    ]
    sequences = [bytes(one) for size in (1, 2, 3) for one in itertools.product(edges, repeat=size)]
    sequences += [bytes((first, second, 0x80, last)) for first in edges for second in edges for last in edges]
    data = b"a,b\n" + b"".join(sequence + b",b\n" for sequence in sequences)
    outcome = read_fast(data, max_records=10**6, strings=True)
    assert outcome == read_text(data, strings=True)
    assert len(outcome.rejected) > 1000
    assert len(outcome.edges) > 100
