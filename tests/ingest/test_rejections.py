"""Bodies of bad records: what is described of them is bounded, and the rest is not even looked at."""

import pyarrow as pa
import pytest

from tests.ingest.test_arrow import body as arrow_body
from tornado.config import REJECTED_LIMIT_RECORDS
from tornado.errors import BodyTooLarge
from tornado.ingest import arrow, ndjson
from tornado.ingest.arrow_bounds import Bounds
from tornado.ingest.parsed import REJECTED


@pytest.fixture
def looked_at(monkeypatch):
    """How many lines were put to the definition, and rows were shown."""
    counts = {"lines": 0, "rows": 0}
    parse_object, row_text = ndjson.parse_object, arrow.row_text

    def counted_line(*arguments, **options):
        counts["lines"] += 1
        return parse_object(*arguments, **options)

    def counted_row(*arguments):
        counts["rows"] += 1
        return row_text(*arguments)

    monkeypatch.setattr(ndjson, "parse_object", counted_line)
    monkeypatch.setattr(arrow, "row_text", counted_row)
    return counts


def test_of_four_million_bad_lines_no_more_are_looked_at_than_a_body_may_have(looked_at):
    with pytest.raises(
        BodyTooLarge, match=rf"more than {REJECTED_LIMIT_RECORDS} of its records.*record 1: not a"
    ):
        ndjson.parse_ndjson(b"x\n" * 4_000_000)
    assert looked_at["lines"] == REJECTED_LIMIT_RECORDS + 1


def test_as_many_bad_lines_as_a_body_may_have_cost_only_themselves():
    good = b'{"src": 1, "dst": 2}\n'
    parsed = ndjson.parse_ndjson(good + b"x\n" * REJECTED_LIMIT_RECORDS + good)
    assert (len(parsed.rejected), parsed.accepted) == (REJECTED_LIMIT_RECORDS, 2)
    assert [parsed.rejected[0].position, parsed.rejected[-1].position] == [2, REJECTED_LIMIT_RECORDS + 1]
    assert parsed.positions.tolist() == [1, REJECTED_LIMIT_RECORDS + 2]


def test_the_first_bad_record_of_a_refused_body_is_named_by_its_place_in_the_body():
    good = b'{"src": 1, "dst": 2}\n' * 100_000
    with pytest.raises(BodyTooLarge, match="the first is record 100001: not a JSON object"):
        ndjson.parse_ndjson(good + b"x\n" * (REJECTED_LIMIT_RECORDS + 1))


def test_no_row_of_an_arrow_body_with_too_many_bad_ones_is_shown(looked_at):
    rows = REJECTED_LIMIT_RECORDS + 1
    table = pa.table({"src": pa.nulls(rows, pa.int64()), "dst": pa.array(range(rows))})
    with pytest.raises(BodyTooLarge, match="the first is record 1: src is missing"):
        arrow.parse_arrow(arrow_body(table))
    assert looked_at["rows"] == 0
    assert len(arrow.parse_arrow(arrow_body(table.slice(1))).rejected) == REJECTED_LIMIT_RECORDS


def test_no_record_is_shown_where_a_program_refuses_too_many(looked_at):
    parsed = arrow.parse_arrow(arrow_body(pa.table({"src": [1, 2, 3], "dst": [1, 2, 3]})))
    bad = parsed.batch.src > 1
    with pytest.raises(BodyTooLarge, match=r"more than 1 of its records.*the first is record 2: odd"):
        parsed.without(bad, "odd", bounds=Bounds(REJECTED.size_bytes, 1))
    assert looked_at["rows"] == 0
    assert [one.position for one in parsed.without(bad, "odd", bounds=REJECTED).rejected] == [2, 3]
