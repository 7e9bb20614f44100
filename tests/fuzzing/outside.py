"""What comes in beside HTTP, as functions of bytes: messages of topics and how batches of them are packed, files that are named, words.

Each takes any bytes, and raises only what callers are told of; see `parsers`.
"""

import contextlib
import gzip
import io
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tests.kafka.chunks import arrow_message, chunk_of
from tests.kafka.test_unpacking import CODECS, batch_of
from tornado.command.result_file import read_header, read_result
from tornado.errors import CallerError, InvalidArgument
from tornado.ingest.kafka import unpacking
from tornado.ingest.kafka.decoding import Decoder
from tornado.ingest.kafka.library import CorruptRecordError, DefaultRecordBatch
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat
from tornado.ingest.placement_file import read_placement
from tornado.ingest.vertex_table import read_vertex_weights
from tornado.query.bearer_tokens import digest_of
from tornado.query.http_access import _take_ticket
from tornado.query.naming import checked_loop_name
from tornado.records.point_schema import Points
from tornado.records.window_width import WindowWidth

BETWEEN = b"\xff\xfe"  # messages
POINTS = Points(2)
RESULTS, TABLES = (".csv", ".csv.gz", ".parquet", ".arrow"), (".csv", ".gz", ".parquet", ".arrow")


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzzed-"))


@cache
def _decoder(form: ValueFormat, points: Points | None) -> Decoder:
    settings = KafkaSettings(brokers=("127.0.0.1:9092",), topic="fuzzed", value_format=form)
    return Decoder(settings, points=points)


def _messages(data: bytes) -> None:
    """No value makes decoding fail: what is no record is rejected with its offset."""
    for form in ValueFormat:
        for points in (None, POINTS):
            if points is not None and form is ValueFormat.CSV:
                continue  # their columns are named on the command line
            chunk = chunk_of(data.split(BETWEEN))
            while len(chunk):
                chunk = chunk.since(_decoder(form, points).decode(chunk).next_offset)


def _packed(data: bytes) -> None:
    """The first byte says how it is packed, and whether it is read as a whole."""
    codec = list(CODECS.values())[data[0] % len(CODECS)] if data else 0
    header = bytearray(
        batch_of([(b"", None, [])] * 3, "none")._buffer[: DefaultRecordBatch.HEADER_STRUCT.size]
    )
    header[DefaultRecordBatch.ATTRIBUTES_OFFSET + 1] |= codec
    for _ in unpacking._Batch(DefaultRecordBatch(header + data[1:]), 0, {}):
        pass


def _as_file(data: bytes, endings: tuple[str, ...]) -> str:
    """The first byte chooses the ending; a text that is packed is packed here, so that it can be changed."""
    ending = endings[data[0] % len(endings)] if data else endings[0]
    path = _folder() / f"given{ending}"
    body = data[1:]
    path.write_bytes(
        gzip.compress(body, 1) if ending.endswith(".gz") and not body.startswith(b"\x1f\x8b") else body
    )
    return str(path)


def _results(data: bytes) -> None:
    path = _as_file(data, RESULTS)
    with contextlib.suppress(CallerError):
        read_header(path)
    for kind in (pa.float64(), pa.int64()):
        with contextlib.suppress(CallerError):
            read_result(path, vertex=pa.int64(), value=kind)


def _vertices_of_a_file(data: bytes) -> None:
    path = _as_file(data, TABLES)
    for ids in ("int", "string"):
        with contextlib.suppress(CallerError):
            read_vertex_weights(path, ids=ids)
    with contextlib.suppress(CallerError):
        read_placement(Path(path))


def _words(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for read in (WindowWidth.of, checked_loop_name):
        with contextlib.suppress(InvalidArgument):
            read(text)
    digest_of(text)
    scope = {"query_string": data}
    _take_ticket(scope)
    assert b"ticket=" not in scope["query_string"].split(b"&")


def _parquet() -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table({"vertex": [1, 2], "value": [0.5, None]}), sink)
    return sink.getvalue()


def _file() -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"vertex": [1, 2], "weight": [0.5, 1.0], "value": [0.5, 1.0]})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _packed_seed(codec: str) -> bytes:
    data = batch_of(
        [(b'{"src": 1, "dst": 2}', b"key", []), (None, None, []), (b"x" * 99, None, [])], codec
    )._buffer
    return bytes([list(CODECS).index(codec)]) + bytes(data[DefaultRecordBatch.HEADER_STRUCT.size :])


OUTSIDE: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "messages": (
        _messages,
        [
            BETWEEN.join(
                [b'{"src": 1, "dst": 2, "weight": 0.5}', b"", b"1,2,0.5,+", b'{"id": 7, "features": [1, 2]}']
            ),
            arrow_message(src=[1, 2], dst=[2, 3]),
            arrow_message(id=[1], label=[1.0], features=[[0.5, 2.0]]),
        ],
    ),
    "packed_messages": (_packed, [_packed_seed(codec) for codec in CODECS]),
    "results": (
        _results,
        [b"\0vertex,value\n1,0.5\n2,\n", b"\1vertex,value\n1,0.5\n", b"\2" + _parquet(), b"\3" + _file()],
    ),
    "vertices_of_a_file": (
        _vertices_of_a_file,
        [b"\0vertex,weight\n1,0.5\n2,1\n", b"\1# c\n1 0\n2 1\n", b"\2" + _parquet(), b"\3" + _file()],
    ),
    "words": (_words, [b"90s", b"1000000", b"2.5h", b"roads-2", b"ticket=abc&ids=string&ticket=%20"]),
}
TOLD = (CorruptRecordError,)
"""What whoever reads a topic hears of."""
