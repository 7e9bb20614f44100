"""The files of the data folder, read whole and compared with reading them line by line; and how fast."""

import gzip
import io
import time

import numpy as np
import pytest

from tests.ingest.naive import float_text, read_text, times_of
from tornado.ingest.layout import TextFormat
from tornado.ingest.source import FileSource
from tornado.ingest.text import parsed_batches

FILES = {
    "college-msg.txt.gz": (("src", "dst", "time"), 59_835),
    "bitcoin-otc.csv.gz": (("src", "dst", "weight", "time"), 35_592),
    "soc-epinions1.txt.gz": (None, 405_739),
}


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_read_as_a_line_by_line_reader_reads_it(name, data_dir):
    columns, records = FILES[name]
    source = FileSource(data_dir / name, text_format=TextFormat(columns=columns))
    batches = list(source.batches())
    assert source.name == name
    assert sum(parsed.records for parsed in batches) == records
    edges = [
        edge
        for parsed in batches
        for edge in zip(
            parsed.batch.src.tolist(),
            parsed.batch.dst.tolist(),
            map(float_text, parsed.batch.weight.tolist()),
            parsed.batch.op.tolist(),
            parsed.positions.tolist(),
            times_of(parsed),
            strict=True,
        )
    ]
    expected = read_text(gzip.decompress((data_dir / name).read_bytes()), columns=columns)
    assert edges == expected.edges
    assert [
        (one.position, one.record, one.reason) for parsed in batches for one in parsed.rejected
    ] == expected.rejected
    assert expected.rejected == []


def test_clean_lines_are_read_by_the_million():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 1 << 20, (300_000, 2))
    data = "".join(f"{src}\t{dst}\n" for src, dst in rows.tolist()).encode()
    list(parsed_batches(io.BytesIO(data[:1000]), "warm up"))
    began_s = time.perf_counter()
    batches = list(parsed_batches(io.BytesIO(data), "clean"))
    seconds = time.perf_counter() - began_s
    print(f"\n{len(rows) / seconds / 1e6:.1f} M lines/s")
    assert np.array_equal(np.concatenate([parsed.batch.src for parsed in batches]), rows[:, 0])
    # A tenth of what an idle core does, so that a busy machine passes and a fall back to Python does not.
    assert len(rows) / seconds > 500_000
