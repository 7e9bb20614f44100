"""What the laws of kinds are tried on for programs that learn: points that come, go and are replaced, and what they come to."""

from random import Random

import numpy as np

from tests.kinds.conformance import Prefix
from tests.templates.ellipse import Ellipse
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

WIDTH = 2
POINTS = Points(features=WIDTH)


class PointPrefix(Prefix):
    """What some records come to: features and weights by id."""

    def __init__(self):
        super().__init__()
        self.points = {}

    @property
    def vertices(self):
        return self.points.keys()

    @vertices.setter
    def vertices(self, _):
        """Of points alone."""

    def apply(self, batch):
        for identity, sign, weight, row in zip(
            batch.id.tolist(), batch.op.tolist(), batch.weight, batch.features, strict=True
        ):
            if sign < 0:
                self.missing += identity not in self.points
                self.points.pop(identity, None)
            else:
                self.points[identity] = (float(weight), row.astype(np.float64))

    def count(self):
        return 0


class LearningSample:
    """See `tests.kinds.samples.Sample`."""

    program = Ellipse(points=POINTS)
    other = {"ridge": 2.0}  # noqa: RUF012  # as samples have it
    prefix = PointPrefix
    updates_of_restored = 1  # of the block, which says its parameters

    def batches(self, seed, *, count=20, size=12):
        random, found = Random(seed), []
        for _ in range(count):
            ids = [random.randrange(60) for _ in range(size)]
            ops = random.choices(["+", "-", "="], [6, 3, 1], k=size)
            features = [[random.gauss(1, 2) for _ in range(WIDTH)] for _ in range(size)]
            weights = [random.choice([0.5, 1.0, 3.0]) for _ in range(size)]
            found.append(PointBatch.of(POINTS, ids=ids, features=features, weights=weights, op=ops))
        return found

    def chain(self, edges):
        numbers = np.arange(1.0, edges + 1)
        return PointBatch.of(
            POINTS, ids=range(1000, 1000 + edges), features=np.stack([numbers, numbers**0.5], 1)
        )

    def expected(self, prefix, parameters=None):
        ridge = (parameters or {}).get("ridge", 0.0)
        mean, covariance = np.zeros(WIDTH), np.zeros((WIDTH, WIDTH))
        if prefix.points:
            weights = np.array([weight for weight, _ in prefix.points.values()])
            rows = np.array([row for _, row in prefix.points.values()])
            mean = weights @ rows / weights.sum()
            covariance = ((rows - mean).T * weights) @ (rows - mean) / weights.sum()
        values = np.concatenate([mean, (covariance + ridge * np.eye(WIDTH)).ravel()])
        return dict(enumerate(values.tolist()))

    def check_answer(self, found, certificate, expected, said=""):
        assert certificate == {"kind": "exact"}
        self._check_near(found, expected, said)

    def check_stopped(self, found, certificate, expected, program):
        assert certificate == {"kind": "none"}

    def check_main(self, found, expected):
        """The variances alone."""
        alone = {place: value for place, value in expected.items() if place not in (WIDTH + 1, WIDTH + 2)}
        self._check_near(found, alone | {WIDTH + 1: 0.0, WIDTH + 2: 0.0}, "the main loop")

    def _check_near(self, found, expected, said):
        assert found.keys() == expected.keys(), said
        apart = max(abs(found[place] - expected[place]) for place in expected)
        assert apart <= 1e-8 * (1.0 + max(map(abs, expected.values()))), said
