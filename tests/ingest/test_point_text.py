"""The fast readers of points beside their slow twin, on files nobody would write on purpose."""

import gzip
import io
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.ingest.naive_points import outcome_of, read_csv, read_libsvm
from tests.ingest.test_text_with_naive_reader import integers, names, numbers, words
from tornado.errors import InvalidArgument, SourceBroken
from tornado.ingest.interner import Interner
from tornado.ingest.point_layout import PointFormat, PointLayout
from tornado.ingest.point_text import csv_points, libsvm_points, libsvm_width
from tornado.records.point_schema import Points


def csv(data, *, strings=False, block_bytes=1 << 20, max_records=1000, skip=0, points=None, **options):
    if "longest" in options:
        options["max_line_bytes"] = options.pop("longest")
    interner = Interner() if strings else None
    batches = csv_points(
        io.BytesIO(data),
        "test",
        wanted=PointFormat(**options),
        points=points,
        interner=interner,
        max_records=max_records,
        skip_records=skip,
        block_bytes=block_bytes,
    )
    return outcome_of(batches, names=interner)


def libsvm(data, width, *, strings=False, single=False, block_bytes=1 << 20, skip=0, longest=1 << 22):
    points = Points(width, sparse=True, dtype="float32" if single else "float64")
    interner = Interner() if strings else None
    batches = libsvm_points(
        io.BytesIO(data),
        "test",
        points=points,
        interner=interner,
        max_line_bytes=longest,
        max_records=1000,
        skip_records=skip,
        block_bytes=block_bytes,
    )
    return outcome_of(batches, names=interner)


blanks = st.sampled_from(["", "", "", " ", "\t", "  "])
fine = st.one_of(st.floats(-1e6, 1e6).map(repr), st.integers(-9, 9).map(str))


@st.composite
def csv_files(draw):
    separator = draw(st.sampled_from([",", ",", "\t", ";", " "]))
    others = draw(st.lists(st.sampled_from(["id", "label", "weight", "op"]), unique=True))
    columns = draw(
        st.permutations([*others, *draw(st.sampled_from([["age"], ["age", "x y"], ["é", "b", "c"]]))])
    )
    if separator == " ":
        columns = [name.replace(" ", "_") for name in columns]
    strings = draw(st.booleans())
    kinds = {"id": names if strings else integers, "op": words, "label": numbers, "weight": numbers}
    tidy = {
        "id": st.integers(0, 9).map(str),
        "op": st.sampled_from("+-="),
        "weight": st.floats(0, 9).map(repr),
    }
    lines = [separator.join(columns)]
    for _ in range(draw(st.integers(0, 6))):
        is_tidy = draw(st.booleans())
        fields = [
            draw(
                tidy.get(name, fine) if is_tidy else st.one_of(kinds.get(name, numbers), tidy.get(name, fine))
            )
            for name in columns
        ]
        if draw(st.integers(0, 5)) == 0:
            fields = fields[: draw(st.integers(0, len(fields)))]
        fields += draw(st.sampled_from([[]] * 6 + [["7"], [""], ["", "7"]]))
        quoted = [f'"{one}"' if draw(st.integers(0, 5)) == 0 else one for one in fields]
        if separator != " ":
            quoted = [draw(blanks) + one + draw(blanks) for one in quoted]
        lines.append(separator.join(quoted))
        if draw(st.integers(0, 5)) == 0:
            lines.append(draw(st.sampled_from(["", "# nothing", "%", "   "])))
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    data = ends.join(lines) + draw(st.sampled_from(["", ends]))
    return data.encode("utf-8", "surrogatepass"), strings


@given(csv_files(), st.booleans(), st.integers(1, 200), st.integers(1, 4))
@example((b"id,label,age,op\n7,,,-\n8,1,,+\n9,1,2,=\n", False), False, 64, 2)
@example((b"id,age\n1,1e39\n2,3.5e38\n3,1e-50\n", False), True, 64, 2)
@settings(max_examples=300, deadline=None)
def test_csv_is_read_as_its_slow_twin_does(file, single, block_bytes, max_records):
    data, strings = file
    found = csv(
        data,
        strings=strings,
        dtype="float32" if single else "float64",
        block_bytes=block_bytes,
        max_records=max_records,
    )
    assert found == read_csv(data, strings=strings, single=single)


@given(csv_files(), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_csv_goes_on_at_any_record(file, skip):
    data, strings = file
    whole = read_csv(data, strings=strings)
    if skip > whole.records:
        with pytest.raises(SourceBroken, match="has only"):
            csv(data, strings=strings, skip=skip)
        return
    rest = csv(data, strings=strings, skip=skip)
    passed = sorted([one[-1] for one in whole.points] + [one[0] for one in whole.rejected])[:skip]
    behind = passed[-1] if passed else 0
    assert rest.records == whole.records - skip
    assert rest.points == [one for one in whole.points if one[-1] > behind]
    assert rest.rejected == [one for one in whole.rejected if one[0] > behind]


entries = st.one_of(
    st.tuples(st.integers(1, 9), fine).map(lambda pair: f"{pair[0]}:{pair[1]}"),
    st.tuples(st.integers(-1, 12), numbers).map(lambda pair: f"{pair[0]}:{pair[1]}"),
    st.sampled_from(
        ["qid:3", "qid:x", "5", "5:", ":5", "1:2:3", "01:2", "9" * 25 + ":1", "#", "# 3:4", "3:1#", "é:1"]
    ),
)


@st.composite
def libsvm_files(draw):
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            indices = sorted(draw(st.sets(st.integers(1, 8))))
            parts = [
                draw(st.sampled_from(["+1", "-1", "0.5"])),
                *(f"{index}:{draw(fine)}" for index in indices),
            ]
        else:
            parts = [draw(numbers), *draw(st.lists(entries, max_size=5))]
        lines.append(draw(st.sampled_from([" ", " ", "  ", "\t"])).join(parts) + draw(blanks))
    return "\n".join(lines).encode()


@given(libsvm_files(), st.booleans(), st.booleans(), st.integers(1, 100))
@example(b"1 3:1 2:5\n1 2:1 2:1\n1 qid:4 2:1\n1 0:1\n1 9:1\n2 8:1e39", True, False, 50)
@settings(max_examples=300, deadline=None)
def test_libsvm_is_read_as_its_slow_twin_does(data, single, strings, block_bytes):
    found = libsvm(data, 8, single=single, strings=strings, block_bytes=block_bytes)
    assert found == read_libsvm(data, 8, single=single, strings=strings)


@given(libsvm_files(), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_libsvm_goes_on_at_any_record(data, skip):
    whole = read_libsvm(data, 8)
    if skip > whole.records:
        return
    rest = libsvm(data, 8, skip=skip)
    passed = sorted([one[-1] for one in whole.points] + [one[0] for one in whole.rejected])[:skip]
    behind = passed[-1] if passed else 0
    assert rest.points == [one for one in whole.points if one[-1] > behind]
    assert rest.rejected == [one for one in whole.rejected if one[0] > behind]


@given(st.lists(st.integers(1, 2**31 - 1), max_size=5), st.integers(5, 60))
@settings(max_examples=50, deadline=None)
def test_the_width_of_a_libsvm_file_is_its_greatest_index(indices, block_bytes):
    data = b"".join(b"-1 %d:0.5 # %d:1\n" % (index, 2**31 - 1) for index in indices)
    assert libsvm_width(io.BytesIO(data), "test", block_bytes=block_bytes) == max([1, *indices])


def test_a_file_may_be_packed():
    data = b"label,age\n1,2\n0,x\n"
    assert csv(gzip.compress(data)) == read_csv(data)
    svm = b"1 2:1\n0 3:x\n"
    assert libsvm(gzip.compress(svm), 3) == read_libsvm(svm, 3)


def reasons(data, **options):
    return [reason for _, _, reason in csv(data, **options).rejected]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("7,1,nan,2,+", "feature 'age' is NaN"),
        ("7,1,inf,2,+", "feature 'age' is not finite: 'inf'"),
        ("7,1,1e999,2,+", "feature 'age' is not finite: '1e999'"),
        ("7,yes,1,2,+", "label is not a number: 'yes'"),
        ("7,nan,1,2,+", "label is NaN"),
        ("7,1,1,,+", "feature 'height' is missing"),
        ("7,1,1,2,+,9", "the line has 6 columns, but the header has 5"),
        ("7,1,1", "op is missing"),
        (",,,,-", "id is missing"),
        ("7,1,1,2,?", "op is unknown: '?'"),
        ("1.5,1,1,2,+", "id is not an integer: '1.5'"),
        ("9223372036854775808,1,1,2,+", "id is beyond 64 bits: '9223372036854775808'"),
    ],
)
def test_a_bad_line_is_rejected_with_its_number_and_the_good_ones_go_on(line, reason):
    found = csv(f"id,label,age,height,op\n1,1,1,1,+\n{line}\n3,0,3,3,=\n".encode())
    assert found.rejected == [(3, line, reason)]
    assert [(one[0], one[-1]) for one in found.points] == [(1, 2), (3, 4)]


def test_a_line_that_is_too_short_says_so():
    assert reasons(b"label,age,height\n1,2\n") == ["the line has 2 columns, but the header has 3"]


def test_a_weight_is_not_negative():
    assert reasons(b"weight,age\n-1,2\n0,2\n") == ["weight is negative: '-1'"]


def test_a_removal_needs_an_id_that_its_source_gives():
    assert reasons(b"age,op\n2,-\n2,+\n") == ["id is missing, by which a removal names its point"]


def test_an_id_that_repeats_is_no_fault():
    assert [one[0] for one in csv(b"id,age\n7,1\n7,2\n").points] == [7, 7]


def test_a_long_line_is_rejected():
    assert reasons(b"age\n" + b"1" * 50 + b"\n2\n", longest=40) == ["line is longer than 40 bytes"]


def test_the_header_declares_the_points_and_names_may_be_chosen():
    layout = PointLayout.of_header(
        b"key;y;a;weight;b", PointFormat(label="y", id="key", dtype="float32"), source="x"
    )
    assert layout.points == Points(2, dtype="float32", names=("a", "b"))
    assert layout.has_ids
    found = csv(b"key,y,a\n7,1,2\n", label="y", id="key")
    assert found == read_csv(b"key,y,a\n7,1,2\n", label="y", key="key")


def test_columns_of_a_declared_stream_may_come_in_any_order():
    points = Points(2, names=["a", "b"])
    [point] = csv(b"b,a\n1,2\n", points=points).points
    assert point[4] == [(2.0).hex(), (1.0).hex()]


@pytest.mark.parametrize(
    ("header", "points", "message"),
    [
        (b"1,2,3", None, "no header"),
        (b"label,id", None, "none is a feature"),
        (b"a,a", None, "another column"),
        (b"a,,b", None, "has no name"),
        (b"a,c", Points(2, names=["a", "b"]), "no feature of that name"),
        (b"a,b,c", Points(2), "declares 2 features"),
        (b"a,b", Points(2, sparse=True), "declares sparse points"),
        (b'a,"b', None, "cannot be read"),
        (b"a,b\r1,2", None, "carriage returns"),
    ],
)
def test_a_header_that_does_not_fit_refuses_the_source(header, points, message):
    with pytest.raises(InvalidArgument, match=message):
        csv(header + b"\n1,2,3\n", points=points)


def test_a_column_that_the_caller_names_must_be_there():
    with pytest.raises(InvalidArgument, match="'y' must be among them"):
        csv(b"label,a\n1,2\n", label="y")


def test_libsvm_is_refused_on_a_stream_of_dense_points():
    with pytest.raises(InvalidArgument, match="declares dense points"):
        libsvm_points(io.BytesIO(b""), "test", points=Points(3))


def test_batches_of_wide_points_are_small():
    header = ",".join(f"f{place}" for place in range(1000))
    data = (header + "\n" + "7\n" * 5000).encode()
    sizes = [parsed.records for parsed in csv_points(io.BytesIO(data), "test")]
    assert max(sizes) == (1 << 22) // 1000
    assert sum(sizes) == 5000


def numbers_read(texts):
    data = "x\n" + "\n".join(texts)
    parts = [parsed.batch.features[:, 0] for parsed in csv_points(io.BytesIO(data.encode()), "test")]
    return np.concatenate(parts)


def assert_nearest(texts):
    found, expected = numbers_read(texts), np.array([float(one) for one in texts])
    assert np.array_equal(found.view(np.int64), expected.view(np.int64))


def test_numbers_are_the_nearest_ones():
    generator = np.random.default_rng(7)
    values = generator.integers(0, 2**63, 20_000).view(np.float64)
    values = values[np.isfinite(values)].tolist()
    assert_nearest(
        [f"{value:.{digits}e}" for value, digits in zip(values, [16, 18, 3, 25] * 5000, strict=False)]
    )


def test_what_is_half_way_between_two_numbers_goes_to_the_even_one():
    whole = np.random.default_rng(8).integers(2**53, 2**59, 5000)
    whole = whole - whole % 64 + 32  # halves of many numbers among them
    small = [f"{mantissa}.5" for mantissa in range(2**52, 2**52 + 100)]
    assert_nearest([*map(str, whole.tolist()), *small, *(str(2**53 + odd) for odd in range(1, 200, 2))])


def test_digits_that_are_cut_off_decide_where_they_must():
    halves = [Decimal(mantissa) + Decimal("0.5") for mantissa in range(2**52, 2**52 + 60)]
    texts = [f"{half}{tail}" for half in halves for tail in ("", "0" * 9, "0" * 9 + "1", "000")]
    below = [f"{half - Decimal('1e-9')}" for half in halves]
    assert_nearest([*texts, *below])
