"""Some kilobytes that stand for gigabytes, and what a process takes while it looks at them."""

import contextlib
import gzip
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

MEBIBYTE = 1 << 20
MOST_BYTES = 400 * MEBIBYTE
GIBIBYTE = 1 << 30


def stream(*batches, compression=None, deltas=False):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=deltas)
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def many_rows(rows=40_000_000, batches=10, compression="zstd"):
    """Edges in few bytes: 40 million of them in some 20 kB."""
    column = pa.array(np.zeros(rows // batches, np.int64))
    return stream(
        *[pa.record_batch([column, column], names=["src", "dst"])] * batches, compression=compression
    )


def weights_of_nothing(rows=40_000_000):
    """A column of a type that has rows and no bytes, beside two of one byte a row."""
    column = pa.array(np.zeros(rows, np.int8))
    return stream(
        pa.record_batch([column, column, pa.nulls(rows)], names=["src", "dst", "weight"]), compression="zstd"
    )


def long_name_in_every_row(rows=1_000_000, name_bytes=100_000):
    """Ids that are strings: one long one in the dictionary, and a small number for each row."""
    ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["x" * name_bytes]))
    return stream(pa.record_batch([ids, ids], names=["src", "dst"]), compression="zstd")


def growing_dictionary(steps=10, names=1_000_000):
    """Each batch adds to the dictionary, of which every batch before keeps the older part."""
    numbers = np.arange(steps * names)
    digits = (numbers[:, None] // 10 ** np.arange(7, -1, -1) % 10 + ord("0")).astype(np.uint8)
    places = np.arange(len(numbers) + 1, dtype=np.int32) * 8
    words = pa.StringArray.from_buffers(len(numbers), pa.py_buffer(places), pa.py_buffer(digits))
    batches = []
    for step in range(1, steps + 1):
        dictionary = words[: step * names]
        ids = pa.DictionaryArray.from_arrays(pa.array([step * names - 1], pa.int32()), dictionary)
        batches.append(pa.record_batch([ids, ids], names=["src", "dst"]))
    return stream(*batches, compression="zstd", deltas=True)


def gzip_of_zeros(size_bytes=GIBIBYTE):
    piece = gzip.compress(bytes(64 * MEBIBYTE))
    # Members that follow each other are read as one.
    return piece * (size_bytes // (64 * MEBIBYTE))


def deep(depth=10_000):
    return b'{"src": 1, "dst": ' + b"[" * depth + b"]" * depth + b"}"


def memory_of(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no {field}")


@contextlib.contextmanager
def little_memory(*pids, most_bytes=MOST_BYTES):
    """Fail where the processes together take more than that for a moment."""
    before = {pid: memory_of(pid, "VmRSS") for pid in pids}
    for pid in pids:
        # Forget the peak of what came before.
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    yield
    more = {pid: memory_of(pid, "VmHWM") - before[pid] for pid in pids}
    assert sum(more.values()) <= most_bytes, {pid: f"{one // MEBIBYTE} MiB" for pid, one in more.items()}


def until(condition, timeout_s=60):
    end_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end_s, f"not within {timeout_s} s"
        time.sleep(0.02)
