"""Rows and statuses as bytes: JSON, NDJSON, CSV and Arrow, whole or a chunk at a time.

Numbers are written as the shortest decimal that reads back to the same bits, whole numbers with all their digits. What was not
reached is null in JSON and Arrow and empty in CSV. An infinity that is a value (the width of the way to where it begins) is the
string "Infinity" in JSON, which has no number for it, and `inf` in CSV.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from .findings import Findings, predicted_rows
from .ids import Vertex
from .query import NamedSnapshot, QueryStatus
from .rows import Columns, Page, Rows

JSON = "application/json"
NDJSON = "application/x-ndjson"
CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"


def json_bytes(content: Any) -> bytes:
    """Return JSON without NaN or infinity: orjson writes null for both."""
    return orjson.dumps(content)


def row_dicts(rows: Rows) -> list[dict[str, Any]]:
    """Return `[{"vertex": 4, "value": 3.0}, …]`; the value is None for what was not reached."""
    return [
        {"vertex": vertex, "value": value} for vertex, value in zip(rows.ids, _json_values(rows), strict=True)
    ]


def _json_values(rows: Rows) -> list[Any]:
    if rows.names is not None:
        return list(rows.names)
    values: list[Any] = rows.values.tolist()
    for place in np.flatnonzero(~rows.reached | np.isinf(rows.values)).tolist():
        values[place] = ("Infinity" if values[place] > 0 else "-Infinity") if rows.reached[place] else None
    return values


def page_dict(page: Page, found: Findings | None = None) -> dict[str, Any]:
    """Return a page as JSON content, with what was predicted for the question."""
    content = {"values": row_dicts(page.rows), "unknown": list(page.unknown), "next": page.next}
    if found is not None and found.predictions is not None:
        content["predictions"] = predicted_rows(found.predictions)
    if page.paths is not None:
        content["paths"] = page.paths.as_json()
    return content


def number(value: float | None) -> float | None:
    """Return a value, or None where JSON has no number for it."""
    return value if value is not None and math.isfinite(value) else None


def snapshot_dict(snapshot: NamedSnapshot | None) -> dict[str, Any] | None:
    """Return a snapshot as JSON content; the instant in UTC with milliseconds."""
    if snapshot is None:
        return None
    return {
        "stream": snapshot.stream,
        "offsets": dict(snapshot.offsets),
        "instant": snapshot.instant.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "version": snapshot.version,
        "iteration": snapshot.iteration,
        "delay_bound": snapshot.delay_bound,
        "durable": snapshot.is_durable,
    }


def status_dict(status: QueryStatus) -> dict[str, Any]:
    """Return the body of `GET /v1/queries/{id}`."""
    return {
        "id": status.id,
        "loop": status.loop,
        "mode": status.mode.value,
        "state": status.state.value,
        "snapshot": snapshot_dict(status.snapshot),
        "iteration": status.progress.iteration,
        "updates": status.progress.updates,
        "prepares": status.progress.prepares,
        "residual": number(status.progress.residual),
        "elapsed_s": round(status.elapsed_s, 6),
        "certificate": None if status.certificate is None else dict(status.certificate),
        "stopped_by": status.stopped_by,
        "start": status.start,
    }


@dataclass(frozen=True, slots=True)
class Format:
    """One media type: how a stream of chunks is written in it."""

    media_type: str
    stream: Callable[[Iterable[Rows], Page], Iterator[bytes]]


def _stream_json(chunks: Iterable[Rows], end: Page) -> Iterator[bytes]:
    # Written by hand around the rows, so that a result of any size is never in memory as a whole.
    yield b'{"values":['
    first = True
    for rows in chunks:
        if rows.ids:
            yield (b"" if first else b",") + json_bytes(row_dicts(rows))[1:-1]
            first = False
    yield b'],"unknown":' + json_bytes(list(end.unknown)) + b',"next":' + json_bytes(end.next)
    if end.paths is not None:
        yield b',"paths":' + json_bytes(end.paths.as_json())
    yield b"}"


def _stream_ndjson(chunks: Iterable[Rows], _end: Page) -> Iterator[bytes]:
    for rows in chunks:
        yield b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in row_dicts(rows))


def _stream_csv(chunks: Iterable[Rows], _end: Page) -> Iterator[bytes]:
    yield b"vertex,value\n"
    for rows in chunks:
        yield csv_rows(rows).encode()


def csv_rows(rows: Rows) -> str:
    """Return CSV lines; only strings that need them get quotes."""
    if rows.names is None:
        values = list(map(repr, rows.values.tolist()))
        for place in np.flatnonzero(~rows.reached).tolist():
            values[place] = ""
    else:
        values = [name or "" for name in rows.names]
    if rows.names or (rows.ids and isinstance(rows.ids[0], str)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(zip(rows.ids, values, strict=True))
        return text.getvalue()
    return "".join(f"{vertex},{value}\n" for vertex, value in zip(rows.ids, values, strict=True))


def _stream_arrow(chunks: Iterable[Rows], end: Page) -> Iterator[bytes]:
    sink = io.BytesIO()
    writer: Any = None
    for rows in chunks:
        batch = arrow_batch(rows)
        if writer is None:
            writer = pa.ipc.new_stream(sink, batch.schema)
        writer.write_batch(batch)
        yield _drained(sink)
    if writer is None:
        writer = pa.ipc.new_stream(sink, arrow_batch(end.rows).schema)
    writer.close()
    yield _drained(sink)


def _drained(sink: io.BytesIO) -> bytes:
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data


def arrow_batch(rows: Rows) -> pa.RecordBatch:
    """Return columns `vertex` (int64, or string) and `value` (float64, int64 or string; null where not reached)."""
    vertex_type = pa.string() if rows.ids and isinstance(rows.ids[0], str) else pa.int64()
    return pa.record_batch({"vertex": pa.array(rows.ids, vertex_type), "value": arrow_values(rows)})


def arrow_values(rows: Rows | Columns) -> pa.Array:
    """Return the values of rows as a column."""
    if rows.names is not None:
        return pa.array(rows.names, pa.string())
    values = rows.values if isinstance(rows, Rows) else rows.value
    return pa.array(values, pa.from_numpy_dtype(values.dtype), mask=~rows.reached)


FORMATS: dict[str, Format] = {
    JSON: Format(JSON, _stream_json),
    NDJSON: Format(NDJSON, _stream_ndjson),
    CSV: Format(CSV, _stream_csv),
    ARROW: Format(ARROW, _stream_arrow),
}


def accepted_format(accept: str | None) -> Format | None:
    """Choose by an Accept header (RFC 9110, 12.5.1), JSON where all are as welcome; None where none is.

    Examples
    --------
    >>> accepted_format("text/csv, application/json;q=0.5").media_type
    'text/csv'
    >>> accepted_format("text/*").media_type, accepted_format("image/png")
    ('text/csv', None)
    """
    if accept is None or not accept.strip():
        return FORMATS[JSON]
    chosen, chosen_quality = None, 0.0
    ranges = [_media_range(part) for part in accept.split(",")]
    for name, one in FORMATS.items():
        matching = [(specific, quality) for media, specific, quality in ranges if _matches(media, name)]
        # The most specific range that matches says how welcome a type is.
        quality = max(matching)[1] if matching else 0.0
        if quality > chosen_quality:
            chosen, chosen_quality = one, quality
    return chosen


def _media_range(part: str) -> tuple[str, int, float]:
    media, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                quality = min(max(float(parameter[2:]), 0.0), 1.0)
            except ValueError:
                quality = 0.0
    specific = 0 if media == "*/*" else 1 if media.endswith("/*") else 2
    return media, specific, quality


def _matches(media: str, name: str) -> bool:
    return media in {"*/*", name} or (media.endswith("/*") and name.startswith(media[:-1]))


def vertices_of(texts: Iterable[str], kind: str) -> tuple[Vertex, ...]:
    """Read `4,5` (any number of them) as vertex ids; a string id with a comma stands in double quotes.

    Raises
    ------
    ValueError
        For the first that is no whole number, where ids are numbers; for a text with the end of a line outside of double quotes.
    """
    names: list[str] = []
    for text in texts:
        try:
            names += (name for line in csv.reader([text]) for name in line)
        except csv.Error:
            raise ValueError(text) from None
    return tuple(names) if kind == "string" else tuple(vertex_of(name, kind) for name in names)


def vertex_of(text: str, kind: str) -> Vertex:
    """Read one vertex id; raises ValueError where it is no whole number and ids are numbers."""
    # Python would also take "1_000", " 5 " and digits of other scripts, which no result ever shows.
    if kind == "string":
        return text
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        raise ValueError(text)
    return int(text)
