"""Judges all answers that were ever given, and what a store has after each kill, by sources of which every record is known."""

import math
import time

import numpy as np

from tornado.errors import StoreLocked
from tornado.loops.admission_log import AdmissionLog
from tornado.loops.stored_snapshot import StoredSnapshots
from tornado.storage import open_store

_LOCK_GOES_S = 10.0


class Judge:
    """See the module.

    Attributes
    ----------
    named
        The offsets of every version that was seen anywhere: a version names one prefix for ever.
    durable
        How far each source is, as the store says.
    versions
        Of the snapshots that the store has.
    """

    def __init__(self, graph, url):
        self._graph, self._url = graph, url
        self.named, self.durable, self.versions = {}, {}, []
        self._checked = set()
        self.answers = 0

    def answer(self, answer):
        """It is exact for the prefix that it names; return the offsets."""
        assert answer["certificate"] == {"kind": "exact"}, answer
        snapshot = answer["snapshot"]
        assert snapshot["durable"]
        offsets = snapshot["offsets"]
        self._name(snapshot["version"], offsets)
        rows = answer["result"]["values"]
        self._require_distances(
            offsets,
            np.array([row["vertex"] for row in rows], np.int64),
            [math.inf if row["value"] is None else row["value"] for row in rows],
        )
        self.answers += 1
        return offsets

    def store(self):
        """Look at what a kill has left: every snapshot is that of its prefix, and the log goes on from the oldest, record by record."""
        with opened(self._url) as store:
            snapshots = StoredSnapshots(store, "sssp")
            self.versions = store.versions("sssp")
            kept = [snapshots.find(version) for version in self.versions]
            for stored in kept:
                self._stored(stored)
            log = AdmissionLog(store, "sssp")
            offsets = dict(kept[0].snapshot.offsets) if kept else {}
            for entry in log.replay(after=self.versions[0] if kept else 0, points=None):
                before = offsets.get(entry.source, 0)
                assert entry.offset >= before
                assert entry.batch.equals(self._graph.sources[entry.source].good(before, entry.offset)), (
                    f"version {entry.version} has other records of {entry.source} than those from {before} to {entry.offset}"
                )
                offsets[entry.source] = entry.offset
                self._name(entry.version, offsets)
            assert dict(log.offsets) == offsets
        for source, offset in self.durable.items():
            assert offsets[source] >= offset, f"{source} was at {offset}, and is at {offsets[source]}"
        self.durable = offsets

    def _stored(self, stored):
        version, offsets = stored.snapshot.version, dict(stored.snapshot.offsets)
        if version in self._checked:
            return
        self._checked.add(version)
        self._name(version, offsets)
        found, edges = stored.edges(), self._graph.edges(offsets)
        assert _sorted(found.sources, found.targets, found.weights) == _sorted(
            edges.src, edges.dst, edges.weight
        )
        vertices = stored.vertices()
        order = np.argsort(vertices.ids)
        self._require_distances(offsets, vertices.ids[order], vertices.values[order].tolist())

    def _name(self, version, offsets):
        assert self.named.setdefault(version, dict(offsets)) == offsets, (
            f"version {version} names two prefixes"
        )

    def _require_distances(self, offsets, ids, values):
        expected_ids, expected = self._graph.distances(offsets)
        assert ids.tolist() == expected_ids.tolist()
        assert values == expected.tolist(), f"not the distances of {offsets}"


def opened(url):
    """Open the store of a service that was killed: a server may take a moment until it notices."""
    until_s = time.monotonic() + _LOCK_GOES_S
    while True:
        try:
            return open_store(url)
        except StoreLocked:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.02)


def _sorted(src, dst, weight):
    order = np.lexsort((weight, dst, src))
    return [column[order].tolist() for column in (src, dst, weight)]
