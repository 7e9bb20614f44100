"""Chunks of messages as the client hands them over."""

import numpy as np
import pyarrow as pa

from tornado.ingest.kafka.decoding import Chunk


def chunk_of(values, first_offset=100, step=1, partition=0):
    """A chunk of these values, None for tombstones."""
    sizes = np.array([-1 if value is None else len(value) for value in values], np.int32)
    offsets = first_offset + step * np.arange(len(values), dtype=np.int64)
    body = b"".join((value or b"") + b"\n" for value in values)
    return Chunk.of_payload(partition, len(values), offsets.tobytes() + sizes.tobytes() + body)


def arrow_message(**columns):
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
