"""A fork under full load is consistent: every branch equals the oracle on the prefix that its snapshot names."""

import pytest

from tests.loops.streaming import TIMEOUT_S, streaming
from tornado.errors import QueueFull
from tornado.testing import mixed, random_multigraph, rmat, root_of, sliding_window

BRANCHES = 200


def check_forks_under_load(
    records, source, workers, bound, *, batch, in_flight, spacing=1, branches=BRANCHES
):
    """Admit as fast as the loop takes it, and fork all the while; branches are compared once they are over."""
    running = []
    prefixes = []
    most = 0
    with streaming(records, source, workers, bound) as stream:
        number = 0
        while len(prefixes) + len(running) < branches:
            assert stream.admit(batch), f"the stream ended after {len(prefixes) + len(running)} forks"
            number += 1
            if number % spacing:
                continue
            running.append(stream.loop.fork())
            most = max(most, sum(not branch.wait(0) for branch in running))
            while len(running) >= in_flight or (running and running[0].wait(0)):
                branch = running.pop(0)
                assert branch.wait(TIMEOUT_S)
                prefixes.append(stream.check_branch(branch))
        prefixes += [stream.check_branch(branch) for branch in running]
        stream.check_main()
    print(f"{len(set(prefixes))} prefixes, {most} branches at once")
    assert len(set(prefixes)) == branches
    assert most > 1


def test_200_branches_of_a_sliding_window_at_full_speed_on_four_workers_are_exact():
    edges = random_multigraph(2000, 120_000, seed=1)
    records = sliding_window(edges, 12_000)
    check_forks_under_load(records, 0, 4, 64, batch=1000, in_flight=8)


@pytest.mark.parametrize("bound", [1, 2, None])
def test_branches_of_a_mixed_stream_at_full_speed_are_exact(bound):
    records = mixed(random_multigraph(800, 40_000, seed=2), seed=3)
    check_forks_under_load(records, 0, 4, bound, batch=500, in_flight=8, branches=60)


@pytest.mark.soak
@pytest.mark.parametrize("bound", [1, 4, 64, None])
@pytest.mark.parametrize("workers", [2, 4])
def test_200_branches_of_a_large_sliding_window_are_exact(workers, bound):
    edges = rmat(17, seed=workers)
    records = sliding_window(edges, len(edges) // 2)
    check_forks_under_load(records, root_of(edges), workers, bound, batch=4000, in_flight=8)


def test_admission_is_refused_in_time_and_whole_when_the_loop_lags():
    """The loop takes no more than its backlog; what it refuses is nowhere."""
    edges = random_multigraph(60_000, 1_500_000, seed=5)
    with streaming(edges, 0, 1, 64) as stream:
        with pytest.raises(QueueFull, match="nothing of this batch was admitted"):
            admit_without_waiting(stream, 300_000)
        assert stream.loop.offsets() == {"stream": stream.admitted}
        stream.check_branch(stream.loop.fork())
        stream.check_main()


def admit_without_waiting(stream, size):
    while stream.admitted < len(stream.records):
        batch = stream.records.slice(stream.admitted, stream.admitted + size)
        stream.loop.admit(batch, "stream", stream.admitted + len(batch), timeout_s=0.0)
        stream.prefixes.append(stream.admitted + len(batch))
