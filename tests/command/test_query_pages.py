"""`tornado query` reads on where the service gives a result in pages."""

from __future__ import annotations

from tornado.command.query import read_on


class PagedClient:
    """Gives 7 rows, 3 at a time."""

    def result(self, _identifier, *, after=None, limit=None):
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
