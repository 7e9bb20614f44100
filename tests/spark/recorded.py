"""A stream that is recorded as files, one for each batch, so that an oracle can replay it up to any of them."""

import math
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.testing import EdgeHistory, batches, exact_distances, mixed, rmat

SIGNS = {INSERT: "+", REMOVE: "-", REPLACE: "="}


def mixed_stream(*, scale=7, seed=5):
    """A stream with insertions, removals, replacements and records of what is not there."""
    return mixed(rmat(scale, seed=seed, degree=8), seed=seed)


class Recording:
    """Batches of a stream as parquet files of a folder, which Spark reads in the order of their times."""

    def __init__(self, folder, stream, size):
        folder.mkdir()
        self.folder = folder
        self.stream = stream
        self.waiting = list(batches(stream, size))
        self.history = EdgeHistory.of(stream)
        self.ends = [0]
        self._files = 0

    def write(self, count=None):
        """Let so many more batches come; left out, all of them."""
        for _ in range(len(self.waiting) if count is None else count):
            batch = self.waiting.pop(0)
            first = self.ends[-1]
            table = pa.table(
                {
                    "src": batch.src,
                    "dst": batch.dst,
                    "weight": pa.array(batch.weight, mask=np.isnan(batch.weight)),
                    "op": [SIGNS[op] for op in batch.op.tolist()],
                    "seq": np.arange(first, first + len(batch)),
                }
            )
            self._files += 1
            hidden = self.folder / f".{self._files:05}"
            pq.write_table(table, hidden)
            os.utime(hidden, (1_700_000_000 + self._files,) * 2)
            hidden.rename(self.folder / f"{self._files:05}.parquet")
            self.ends.append(first + len(batch))

    def check(self, answer, source=None):
        """Compare an exact answer with the oracle at the batch that it names; return how many records that has."""
        assert (answer["state"], answer["certificate"]) == ("converged", {"kind": "exact"})
        offsets = answer["snapshot"]["offsets"]
        assert set(offsets) <= {source}
        prefix = offsets.get(source, 0)
        assert prefix in self.ends, "a snapshot has a part of a batch"
        values = answer["result"]["values"]
        ids = np.array([row["vertex"] for row in values], np.int64)
        found = [math.inf if row["value"] is None else row["value"] for row in values]
        assert found == exact_distances(self.history.at(prefix), 1).lookup(ids).tolist()
        return prefix
