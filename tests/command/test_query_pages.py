"""`tornado query` reads on where the service gives a result in pages, and prints values as they are."""

from __future__ import annotations

import pytest

from tornado.command.query import TableToRead, _print_rows, read_on


class PagedClient:
    """Gives 7 rows, 3 at a time."""

    def result(self, _identifier, *, after=None, limit=None, table=None):
        rows = [{"vertex": vertex, "value": float(vertex)} for vertex in range(7)]
        start = 0 if after is None else after + 1
        page = rows[start : start + min(3, limit or 3)]
        last = page[-1]["vertex"]
        return {"values": page, "unknown": [], "next": last if last < 6 else None}


def test_every_page_is_read():
    client = PagedClient()
    result = client.result("q")
    read_on(client, "q", result)
    assert [row["vertex"] for row in result["values"]] == list(range(7))
    assert result["next"] is None


def test_a_result_of_one_page_is_left_as_it_is():
    result = {"values": [{"vertex": 1, "value": 0.0}], "unknown": [9], "next": None}
    read_on(None, "q", result)
    assert result == {"values": [{"vertex": 1, "value": 0.0}], "unknown": [9], "next": None}


@pytest.mark.parametrize(
    ("value_type", "values", "printed"),
    [
        ("float64", [0.1, None, 3.0, "Infinity", "-Infinity"], ["0.1", "", "3.0", "inf", "-inf"]),
        (
            "int64",
            [2**63 - 1, -(2**63), 2**53 + 1],
            ["9223372036854775807", "-9223372036854775808", "9007199254740993"],
        ),
        ("string", ["Infinity", "a,b", "7", None], ["Infinity", '"a,b"', "7", ""]),
    ],
)
def test_values_are_printed_with_all_their_digits_and_names_as_they_are(capsys, value_type, values, printed):
    table = {
        "name": "values",
        "columns": [{"name": "vertex", "type": "int64"}, {"name": "value", "type": value_type}],
    }
    rows = [{"vertex": 1, "value": value} for value in values]
    _print_rows(rows, TableToRead.of({"tables": [table]}, None, selects=False).types)
    assert capsys.readouterr().out.splitlines() == ["vertex,value", *(f"1,{value}" for value in printed)]
