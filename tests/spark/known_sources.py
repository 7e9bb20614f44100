"""Sources whose every record is known by its place: so the offsets of an answer name its graph, whatever became of any log.

Each source has edges of its own, between the vertices of all: what is in an answer hangs on how far each source is, and on nothing else.
"""

import json
import math

import numpy as np

from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE, SYMBOLS
from tornado.testing import EdgeHistory, concatenated, edge_list, exact_distances

VERTICES = 3000
SOURCES = 5  # edges of source k lead 1 + k, or 1 + k + 5, vertices on
_MODULUS = 2**31 - 1
_NEVER = np.iinfo(np.int64).max
# Of 20 records: so many remove, and so many more insert; the others replace.
_REMOVING, _INSERTING = 2, 8
_BAD_EVERY = 101


class KnownSource:
    """A source.

    Parameters
    ----------
    number
        Which of the `SOURCES` it is.
    each
        How many records an offset counts.
    """

    def __init__(self, number, each=1):
        self._number, self._each = number, each
        self._known = 0

    def records(self, low, high):
        """Return the records of offsets; one with a weight below 0 is nothing for shortest paths."""
        n = np.arange(low * self._each, high * self._each)
        x = (n * 48271 + 12345 * (self._number + 1)) % _MODULUS
        z = x * 69621 % _MODULUS
        src = z % VERTICES
        dst = (src + 1 + self._number + SOURCES * (z // VERTICES % 2)) % VERTICES
        kind = x % 20
        op = np.where(kind < _REMOVING, REMOVE, np.where(kind < _INSERTING, INSERT, REPLACE)).astype(np.int8)
        weight = (1 + z // (2 * VERTICES) % 1000).astype(float)
        weight[x % _BAD_EVERY == 0] = -1.0
        weight[op == REMOVE] = np.nan
        return EdgeBatch.of(src, dst, weight, op)

    def columns(self):
        """Return the same as expressions of Spark over a column `value` that counts them; of a source with one an offset."""
        x = f"(value * 48271 + {12345 * (self._number + 1)}) % {_MODULUS}"
        z = f"({x}) * 69621 % {_MODULUS}"
        removes, inserts = (f"({x}) % 20 < {bound}" for bound in (_REMOVING, _INSERTING))
        weight = f"if(({x}) % {_BAD_EVERY} = 0, -1D, cast(1 + ({z}) div {2 * VERTICES} % 1000 AS double))"
        return [
            f"({z}) % {VERTICES} AS src",
            f"(({z}) % {VERTICES} + {1 + self._number} + {SOURCES} * (({z}) div {VERTICES} % 2)) % {VERTICES} AS dst",
            f"if({removes}, cast(null AS double), {weight}) AS weight",
            f"if({removes}, '-', if({inserts}, '+', '=')) AS op",
            "value",
        ]

    def good(self, low, high):
        """Return the records of offsets that are no bad ones."""
        found = self.records(low, high)
        return found.take(~(found.weight < 0))

    def bad(self, high):
        """Return the numbers of the bad ones before an offset, counted from 0."""
        return np.flatnonzero(self.records(0, high).weight < 0)

    def edges(self, offset):
        """Return what lives when it is so far."""
        self._learn(offset)
        return self._history.at(int(self._good_before[offset * self._each]))

    def seen(self, offset):
        """Which vertices it has named by then, as a mask."""
        self._learn(offset)
        return self._first_seen < self._good_before[offset * self._each]

    def _learn(self, offset):
        if offset < self._known:
            return
        self._known = max(10_000, 2 * offset)
        found = self.records(0, self._known)
        is_good = ~(found.weight < 0)
        good = found.take(is_good)
        self._good_before = np.concatenate([[0], np.cumsum(is_good)])
        self._history = EdgeHistory.of(good)
        self._first_seen = np.full(VERTICES, _NEVER)
        for ends in (good.src, good.dst):
            np.minimum.at(self._first_seen, ends, np.arange(len(good)))


class KnownGraph:
    """What sources have made together, by their offsets.

    Parameters
    ----------
    sources
        By name.
    """

    def __init__(self, sources):
        self.sources = sources

    def edges(self, offsets):
        """Return the edges after so many records of each."""
        found = [self.sources[name].edges(offset) for name, offset in offsets.items()]
        return concatenated(*found) if found else edge_list()

    def distances(self, offsets):
        """Return the vertices that are known then, and how far each is."""
        seen = np.zeros(VERTICES, bool)
        for name, offset in offsets.items():
            seen |= self.sources[name].seen(offset)
        ids = np.flatnonzero(seen)
        return ids, exact_distances(self.edges(offsets), 1).lookup(ids)


def json_lines(batch):
    """Return records as the lines that are pushed, and sent through a topic."""
    rows = zip(batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True)
    return [
        json.dumps(
            {"src": src, "dst": dst, "op": SYMBOLS[op]} | ({} if math.isnan(weight) else {"weight": weight})
        )
        for src, dst, weight, op in rows
    ]


def csv_lines(batch):
    """Return records as the lines of a file."""
    rows = zip(batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True)
    return "".join(
        f"{src},{dst},{'' if math.isnan(weight) else weight},{SYMBOLS[op]}\n" for src, dst, weight, op in rows
    )
