"""Streams of edges that come, go and are replaced, round and round: loops, parallel and reciprocal edges, and such that are not there."""

import math
from random import Random

import numpy as np

from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE


def batch_of(rows):
    source, target, weight, operation = zip(*rows, strict=True)
    return EdgeBatch(
        np.array(source, np.int64), np.array(target, np.int64), np.array(weight), np.array(operation, np.int8)
    )


def changes(seed, *, batches=12, size=10, ids=tuple(range(14))):
    """Batches of changes between a few vertices."""
    random, alive, found = Random(seed), [], []
    for _ in range(batches):
        rows = []
        for _ in range(size):
            source, target, weight = random.choice(ids), random.choice(ids), float(random.randint(1, 3))
            kind = random.random()
            if kind < 0.1:
                target = source
            if kind < 0.55 or not alive:
                rows.append((source, target, weight, INSERT))
                alive.append((source, target, weight))
            elif kind < 0.85:
                source, target, weight = alive.pop(random.randrange(len(alive)))
                rows.append((source, target, math.nan if random.random() < 0.4 else weight, REMOVE))
            elif kind < 0.92:
                rows.append((source, target, weight, REMOVE))
            else:
                source, target, _ = random.choice(alive)
                rows.append((source, target, weight, REPLACE))
        found.append(batch_of(rows))
    return found
