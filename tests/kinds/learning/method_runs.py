"""Methods run over the shards of some workers, and what they found compared."""

from tornado.kinds.learning.clusters.cluster_work import ClusterWork
from tornado.kinds.learning.clusters.kept_bounds import KeptBounds
from tornado.kinds.learning.rounds import joined, partial_sums


def run(method, works):
    """Run a method over the shards of some workers; returns what it found, and all that it asked."""
    asked, tasks = next(method), []
    while True:
        tasks.append(asked)
        sums = joined(partial for work in works for partial in partial_sums(work, asked, list(work.shards)))
        try:
            asked = method.send(sums)
        except StopIteration as ended:
            return ended.value, tasks


def works_of(streams, bounds=None, versions=None):
    """Return the side of each worker, at the newest version or at others."""
    bounds = bounds or [KeptBounds() for _ in streams]
    versions = versions or [stream.sequence for stream in streams]
    return [
        ClusterWork(stream.read() if version == stream.sequence else stream.read(version), kept)
        for stream, kept, version in zip(streams, bounds, versions, strict=True)
    ]


def same(found, expected):
    """All bits of parameters and findings."""
    for name, array in expected.parameters.items():
        assert found.parameters[name].tobytes() == array.tobytes(), name
    assert found.findings == expected.findings
