"""Bounds change nothing: each pass assigns as plain Lloyd does."""

import numpy as np

from tornado.kinds.learning.lloyd import assign, centres_of


def test_bounds_assign_as_plain_lloyd_does():
    random = np.random.default_rng(0)
    features = np.round(random.standard_normal((600, 3)), 1)  # with ties
    live, centres, moved = np.arange(600), features[:8].copy(), np.zeros(8)
    which, upper, lower = np.full(600, -1), np.zeros(600), np.zeros(600)
    for _ in range(200):
        sums, counts = np.zeros((8, 3)), np.zeros(8, np.int64)
        changed = assign(features, live, centres, moved, which, upper, lower, sums, counts)
        plain = ((features[:, None] - centres) ** 2).sum(2).argmin(1)
        np.testing.assert_array_equal(which, plain)
        if not changed:
            break
        centres, moved = centres_of(sums, counts, centres)
    assert not changed
