"""Tables of an answer other than that of its values, over HTTP."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.csv
from starlette.requests import Request
from starlette.responses import Response

from . import problems
from .answers import Answer
from .findings import Findings, table_rows
from .formats import ARROW, CSV, JSON, NDJSON, json_bytes

PAGE_ROWS = 100_000


def table_response(
    found: Findings | None, answer: Answer, name: str, request: Request, *, accepted: str, limit: int | None
) -> Response:
    """A page of a table as JSON, NDJSON, CSV or Arrow; `after` counts the rows before it.

    Parameters
    ----------
    found
        What the answer has beside values.
    accepted : str
        The media type.
    """
    if found is None:
        raise problems.invalid(
            f"table is {name!r}, but this answer has values only", hint="Ask the question again."
        )
    table, following = table_rows(
        found.table(name, answer.form, answer.columns), limit or PAGE_ROWS, _after(request)
    )
    headers = {}
    if following is not None:
        headers["Link"] = f'<{request.url.include_query_params(after=following)}>; rel="next"'
    return Response(_written(table, accepted, following), media_type=accepted, headers=headers)


def refuse_selection(request: Request) -> None:
    """Refuse what selects vertices: rows of other tables are none."""
    for name in ("vertices", "top"):
        if name in request.query_params:
            raise problems.invalid(
                f"{name} selects vertices, but table {request.query_params['table']!r} is of something else",
                hint="Page through it with limit and after.",
            )


def _after(request: Request) -> int:
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise problems.invalid(f"after is {text[:40]!r}, but in this table it is a number of rows")
    return int(text)


def _written(table: pa.Table, media_type: str, following: int | None) -> bytes:
    sink = io.BytesIO()
    if media_type == ARROW:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue()
    if media_type == CSV:
        sink.write(",".join(table.column_names).encode() + b"\n")  # without quotes, as the table of values
        pa.csv.write_csv(table, sink, pa.csv.WriteOptions(include_header=False, quoting_style="needed"))
        return sink.getvalue()
    rows: list[dict[str, Any]] = table.to_pylist()
    if media_type == NDJSON:
        return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    assert media_type == JSON
    return json_bytes({"values": rows, "unknown": [], "next": following})
