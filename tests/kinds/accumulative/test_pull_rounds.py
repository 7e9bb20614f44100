"""The rounds in which the parts of a main loop pull: by themselves under any order of delivery, and what they save a loop."""

import random

import numpy as np
import pytest

from apps.pagerank import PageRank
from tornado.kinds.accumulative.pull_rounds import PullRounds
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import MemoryStore
from tornado.testing import rmat


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(20))
def test_all_parts_weigh_every_round_by_the_same_numbers(workers, seed):
    """Parts begin when they like, messages of a channel stay in order, and series follow each other."""
    chooser = random.Random(seed)
    parts = [PullRounds(worker, workers) for worker in range(workers)]
    channels = {(one, other): [] for one in range(workers) for other in range(workers) if one != other}
    weighed = [[] for _ in range(workers)]
    swept = [0] * workers
    lengths = [chooser.randrange(1, 4) for _ in range(3)]  # of series, in rounds

    def weigh(worker):
        while (said := parts[worker].complete()) is not None:
            weighed[worker].append(said)
            rounds = sum(one[0].series == said[0].series for one in weighed[worker])
            if rounds < lengths[said[0].series]:
                parts[worker].go_on()
            else:
                parts[worker].close()

    for _ in range(100_000):
        moves = [("hear", *channel) for channel, waiting in channels.items() if waiting]
        for worker, part in enumerate(parts):
            ended = sum(lengths) == len(weighed[worker])
            if part.is_open and not part.is_waiting:
                moves.append(("sweep", worker, worker))
            elif not part.is_open and not ended and (part.is_called or chooser.random() < 0.2):
                moves.append(("open", worker, worker))
        if not moves:
            if all(len(each) == sum(lengths) for each in weighed):
                break
            continue
        move, one, other = chooser.choice(moves)
        if move == "open":
            parts[one].open()
        elif move == "hear":
            parts[other].hear(one, channels[one, other].pop(0))
            weigh(other)
        else:
            swept[one] += 1
            said = parts[one].say(float(swept[one]), float(one), 0.0, 1.0, has_heard=False)
            for target in range(workers):
                if target != one:
                    channels[one, target].append(said)
            weigh(one)
    assert all(each == weighed[0] for each in weighed)
    assert [len(each) for each in weighed] == [sum(lengths)] * workers
    assert swept == [sum(lengths)] * workers


@pytest.mark.parametrize("bound", [1, 4, None])
def test_two_workers_pull_hardly_more_often_than_one(bound):
    """Each once pulled whenever it heard something: twenty times as many updates, most of them for values out of date."""
    edges = rmat(scale=14, degree=16, seed=3)
    src, dst = (np.asarray(ids, np.int64) for ids in (edges.src, edges.dst))
    updates = {}
    for workers in (1, 2):
        with MemoryStore() as store, Master(store, workers) as master:
            loop = master.start(PageRank(accuracy=1e-6), "ranks", bound)
            half = len(src) // 2
            loop.admit(EdgeBatch.of(src[:half], dst[:half]), "edges", half)
            assert loop.wait_idle(60)
            before = loop.statistics().updates
            loop.admit(EdgeBatch.of(src[half:], dst[half:]), "edges", len(src))
            assert loop.wait_idle(60)
            main = loop.statistics().updates - before
            branch = loop.fork({"tolerance": 1e-9})
            assert branch.wait(60)
            assert branch.certificate["bound"] <= 1e-9
            updates[workers] = main, branch.progress().updates
    assert updates[2][0] < 2 * updates[1][0]
    assert updates[2][1] < 2 * updates[1][1]
