"""A branch has the bases of its own parameters, and the program is asked for them only where these are not those of the main loop."""

import pytest

from apps.pagerank import PageRank
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tornado.engine import SimulationEngine
from tornado.loops import Master
from tornado.testing import rmat

TOLERANCE = 1e-10
NAMED = (3, 5, 3)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("parameters", "personalisation", "damping", "is_asked"),
    [
        ({}, NAMED, 0.85, False),
        ({"personalisation": (7,)}, (7,), 0.85, True),
        ({"damping": 0.6}, NAMED, 0.6, True),
        ({"personalisation": ()}, (), 0.85, False),
    ],
)
def test_bases_are_those_of_the_question(
    monkeypatch, workers, parameters, personalisation, damping, is_asked
):
    fills = []
    edges, truth = rmat(7, seed=2).records(), Multigraph()
    with Master(None, workers, SimulationEngine(workers, seed=1)) as master:
        loop = master.start(PageRank(personalisation=NAMED, tolerance=TOLERANCE), "ranks")
        kernel = loop.parts()[0].kernel
        fill = kernel.fill_bases
        monkeypatch.setattr(kernel, "fill_bases", lambda *loop: (fills.append(loop), fill(*loop)))
        half = len(edges) // 2
        for part, offset in ((edges.slice(0, half), half), (edges.slice(half, len(edges)), len(edges))):
            loop.admit(part, "edges", offset)
            truth.apply(part)
            fills.clear()
            branch = loop.fork(parameters)
            assert branch.wait(60)
            assert len(fills) == workers * is_asked
            ids, values = branch.values().arrays()
            found = dict(zip(ids.tolist(), values.tolist(), strict=True))
            expected = pagerank(truth.edges, truth.vertices, damping, personalisation)
            assert branch.certificate["bound"] <= TOLERANCE
            assert distance(found, expected) <= branch.certificate["bound"] + 1e-14
            branch.release()
