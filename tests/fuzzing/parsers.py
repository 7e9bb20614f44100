"""Everything that reads what strangers send, as functions of bytes: each takes any bytes, and raises only what callers are told of."""

import contextlib
import io
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tests.fuzzing.outside import OUTSIDE
from tests.fuzzing.outside import TOLD as TOLD_OUTSIDE
from tornado.errors import CallerError, RecordError
from tornado.ingest.arrow import parse_arrow, parse_vertex_table, read_table
from tornado.ingest.interner import Interner
from tornado.ingest.ndjson import parse_ndjson, parse_vertices
from tornado.ingest.point_arrow import parse_point_arrow
from tornado.ingest.point_json import parse_json_points
from tornado.ingest.point_text import csv_points, libsvm_points
from tornado.ingest.text import parsed_batches
from tornado.query.batch_tables import parse_batch_table
from tornado.query.bearer_tokens import parse_tokens
from tornado.query.formats import accepted_format, vertices_of
from tornado.query.http_hosts import name_of
from tornado.query.http_models import parse_body, parse_query
from tornado.query.http_origins import is_ours
from tornado.query.http_routes_batches import CommitBody
from tornado.query.http_routes_streams import StartBody
from tornado.query.problems import ProblemError
from tornado.records.point_schema import Points

POINTS, SPARSE = Points(2), Points(9, sparse=True)
TOLD = (CallerError, RecordError, ProblemError, *TOLD_OUTSIDE)
"""What whoever sent it hears of."""


def _edges_in_text(data: bytes) -> None:
    for _ in parsed_batches(io.BytesIO(data), "fuzzed", block_bytes=64):
        pass


def _edges_in_json(data: bytes) -> None:
    parse_ndjson(data)
    parse_ndjson(data, interner=Interner(), quoted_ids=True, times=True)
    parse_vertices(data)


def _edges_in_arrow(data: bytes) -> None:
    parse_arrow(data, times=True)


def _vertices_in_arrow(data: bytes) -> None:
    parse_vertex_table(read_table(data))


def _batches_in_arrow(data: bytes) -> None:
    parse_batch_table(read_table(data), source="spark:fuzzed", points=POINTS, interner=None, times=False)


def _points_in_json(data: bytes) -> None:
    parse_json_points(data, POINTS, source="fuzzed")
    parse_json_points(data, SPARSE, interner=Interner())


def _points_in_arrow(data: bytes) -> None:
    parse_point_arrow(data, POINTS, source="fuzzed")


def _points_in_csv(data: bytes) -> None:
    for _ in csv_points(io.BytesIO(data), "fuzzed", block_bytes=64):
        pass


def _points_in_libsvm(data: bytes) -> None:
    for _ in libsvm_points(io.BytesIO(data), "fuzzed", points=SPARSE, block_bytes=64):
        pass


def _question(data: bytes) -> None:
    parse_query(data, lambda _: POINTS)


def _loop_or_batch(data: bytes) -> None:
    for model in (StartBody, CommitBody):
        with contextlib.suppress(TOLD):
            parse_body(model, data, "fuzzed", "{}")


def _tokens(data: bytes) -> None:
    parse_tokens(data.decode("utf-8", "replace"), where="fuzzed")


def _headers(data: bytes) -> None:
    text = data.decode("latin-1")
    name_of(text)
    is_ours(text, "localhost:8080")
    accepted_format(text)
    for kind in ("int", "string"):
        with contextlib.suppress(ValueError):  # what its caller turns into an answer
            vertices_of([text], kind)


def _arrow(columns: dict[str, object]) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


PARSERS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "headers": (
        _headers,
        [b"localhost:8080", b"http://[::1]:80/x?y#z", b"null", b"text/*;q=0.5, */*", b'4,"a ""b",-5'],
    ),
    "edges_in_arrow": (
        _edges_in_arrow,
        [_arrow({"src": np.arange(3), "dst": np.arange(3), "weight": np.ones(3), "op": ["+", "-", "="]})],
    ),
    "edges_in_json": (
        _edges_in_json,
        [b'{"src": 1, "dst": 2, "weight": 3.5, "op": "+"}\n{"id": "7", "time": "2026-01-01T00:00:00Z"}\n'],
    ),
    "question": (
        _question,
        [
            b'{"loop": "sssp", "mode": "exact", "vertices": [4, "5"], "top": null, "parameters": {"a": 1}, "points": [[0.1, 2]]}'
        ],
    ),
    "points_in_json": (
        _points_in_json,
        [
            b'{"id": 7, "label": 1, "features": [0.1, 0.2]}\n',
            b'[{"id": 8, "features": {"3": 0.5}}, {"id": 8, "op": "-"}]',
        ],
    ),
    "batches_in_arrow": (
        _batches_in_arrow,
        [
            _arrow({"src": np.arange(3), "dst": np.arange(3), "order": [{"0": 1, "1": 2}] * 3}),
            _arrow({"id": np.arange(2), "label": np.ones(2), "features": [[0.1, 0.2]] * 2, "order": [1, 2]}),
        ],
    ),
    "points_in_arrow": (
        _points_in_arrow,
        [_arrow({"id": np.arange(3), "label": np.ones(3), "features": [[0.1, 0.2]] * 3})],
    ),
    "loop_or_batch": (
        _loop_or_batch,
        [
            b'{"program": "bfs", "stream": "roads", "name": "b", "parameters": {"source": 1}, "delay_bound": "auto"}',
            b'{"parts": [{"part": "0", "chunks": 2}]}',
        ],
    ),
    "vertices_in_arrow": (_vertices_in_arrow, [_arrow({"id": np.arange(3)})]),
    "edges_in_text": (
        _edges_in_text,
        [b"src,dst,weight,op\n1,2,3.5,+\n2,x,1\n", b"# c\n1 2\n3\t4\n", b"1,2,1e400\n"],
    ),
    "points_in_csv": (_points_in_csv, [b"id,label,x,y,op\n1,1,0.5,2,+\n2,-1,nan,1e9,-\n"]),
    "points_in_libsvm": (_points_in_libsvm, [b"+1 1:0.5 3:2 # c\n-1 2:1e-3\n1 9:nan\n"]),
    "tokens": (
        _tokens,
        [b"# c\nread t#1 roads name=a queries=4\nwrite sha256:" + b"0" * 64 + b" edges/s=10\n"],
    ),
    **OUTSIDE,
}
"""By name, those that most strangers reach first: what reads, and what it reads without complaint."""


def tried(name: str, data: bytes) -> None:
    """Have bytes read; whatever is raised that nobody is told of is a fault."""
    with contextlib.suppress(TOLD):
        PARSERS[name][0](data)
