"""Tables of an answer other than that of its values, over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from . import problems
from .answers import Answer, SmallAnswer
from .csv_text import ROWS_AT_ONCE, csv_header, csv_lines
from .findings import Findings, table_rows
from .formats import ARROW, CSV, JSON, NDJSON, json_bytes
from .rows import PATHS, VALUES


def table_to_read(named: str | None, answer: Answer, found: Findings | None, *, selects: bool) -> str:
    """Which table of an answer is read where this one is named, or none.

    Parameters
    ----------
    found
        What the answer has beside values.
    selects
        Whether vertices are named, or the best so many: values are read then, as of a question that did so.
    """
    if named is not None:
        return named
    if selects or found is None or isinstance(answer, SmallAnswer):
        return VALUES
    return answer.form.first_table


def table_response(
    found: Findings | None,
    answer: Answer,
    name: str,
    request: Request,
    *,
    accepted: str,
    limit: int | None,
    as_text: bool,
) -> Response:
    """A table as JSON, NDJSON, CSV or Arrow: a page where that has a limit, else all of it; `after` counts the rows before it.

    Parameters
    ----------
    found
        What the answer has beside values.
    accepted : str
        The media type.
    as_text
        Whether ids that are numbers are written as strings.
    """
    whole = _table(found, answer, name, as_text=as_text)
    table, following = table_rows(whole, limit, _after(request))
    headers = {}
    if following is not None:
        headers["Link"] = f'<{request.url.include_query_params(after=following)}>; rel="next"'
    parts = _written(table, accepted, following)
    if len(table) <= ROWS_AT_ONCE:
        return Response(b"".join(parts), media_type=accepted, headers=headers)
    return StreamingResponse(parts, media_type=accepted, headers=headers)


def table_dict(
    found: Findings | None, answer: Answer, name: str, *, limit: int, as_text: bool
) -> dict[str, Any]:
    """The first rows of a table as JSON content."""
    table, following = table_rows(_table(found, answer, name, as_text=as_text), limit, None)
    return {"values": table.to_pylist(), "unknown": [], "next": following}


def refuse_selection(request: Request) -> None:
    """Refuse what selects vertices: rows of other tables are none."""
    for name in ("vertices", "top"):
        if name in request.query_params:
            raise problems.invalid(
                f"{name} selects vertices, but table {request.query_params['table']!r} is of something else",
                hint="Page through it with limit and after.",
            )


def _table(found: Findings | None, answer: Answer, name: str, *, as_text: bool) -> pa.Table:
    if name == PATHS:
        return _ways(answer, as_text=as_text)
    if found is None:
        raise problems.invalid(
            f"table is {name!r}, but this answer has values only", hint="Ask the question again."
        )
    table = found.table(name, answer.form, answer.columns)
    if not as_text:
        return table
    (described,) = (one for one in answer.form.further_tables if one.name == name)
    for place, (column, kind) in enumerate(described.columns):
        if kind == "id":
            table = table.set_column(place, column, table[column].cast(pa.string()))
    return table


def _ways(answer: Answer, *, as_text: bool) -> pa.Table:
    if answer.paths is None:
        raise problems.invalid(
            f"table is {PATHS!r}, but the question of this answer named no paths",
            hint='Ask with "paths": the vertices to which the way is wanted.',
        )
    return (answer.paths.as_text() if as_text else answer.paths).table()


def _after(request: Request) -> int:
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise problems.invalid(f"after is {text[:40]!r}, but in this table it is a number of rows")
    return int(text)


def _written(table: pa.Table, media_type: str, following: int | None) -> Iterator[bytes]:
    """The bytes of a table, some rows at a time."""
    if media_type == ARROW:
        return _arrow(table)
    if media_type == CSV:
        return _csv(table)
    if media_type == NDJSON:
        return _ndjson(table)
    assert media_type == JSON
    return _json(table, following)


def _arrow(table: pa.Table) -> Iterator[bytes]:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def _csv(table: pa.Table) -> Iterator[bytes]:
    yield csv_header(table)
    yield from map(bytes, csv_lines(table))


def _ndjson(table: pa.Table) -> Iterator[bytes]:
    for rows in _rows(table):
        yield b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _json(table: pa.Table, following: int | None) -> Iterator[bytes]:
    yield b'{"values":['
    for place, rows in enumerate(_rows(table)):
        yield (b"," if place else b"") + json_bytes(rows)[1:-1]
    yield b'],"unknown":[],"next":' + json_bytes(following) + b"}"


def _rows(table: pa.Table) -> Iterator[list[dict[str, Any]]]:
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        if len(batch):
            yield batch.to_pylist()
