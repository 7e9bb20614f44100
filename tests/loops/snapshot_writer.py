"""A process that streams edges, stores snapshots meanwhile, and is killed in the middle; started by `test_stored_snapshots`."""

import json
import resource
import signal
import sys

from apps.sssp import ShortestPaths
from tornado.errors import StoreFull
from tornado.loops import Master
from tornado.storage import open_store
from tornado.testing import batches, mixed, random_multigraph

SOURCE = 1


def stream(seed=7):
    """The records that every process of these tests knows."""
    return mixed(random_multigraph(400, 4000, seed=seed), seed=seed)


def store_some(url, workers, count):
    """Admit the stream and store `count` snapshots; then go on admitting until killed."""
    records = stream()
    master = Master(open_store(url), workers)
    loop = master.start(ShortestPaths(source=SOURCE), "roads", 64)
    offset = 0
    for number, batch in enumerate(batches(records, 200), start=1):
        offset += len(batch)
        loop.admit(batch, "edges", offset)
        if number <= count:
            print(json.dumps([loop.checkpoint(), offset]), flush=True)
    print("done", flush=True)
    while True:
        loop.admit(records, "edges", offset)


def fill(url, workers, limit_bytes):
    """Store snapshots until there is no room, look at what is left, and go on; report it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    kept, report = {}, {}
    with open_store(url) as store, Master(store, workers) as master:
        loop = master.start(ShortestPaths(source=SOURCE), "roads", 64)
        for number in range(1000):
            batch = random_multigraph(2000, 5000, seed=number).records()
            try:
                loop.admit(batch, "edges", 5000 * (number + 1))
                version = loop.checkpoint()
            except StoreFull as error:
                report["message"] = str(error)
                break
            kept[version] = answer(loop.fork(at=version))
        report["kept"] = len(kept)
        report["listed"] = [snapshot.version for snapshot in loop.snapshots()] == list(kept)
        report["intact"] = all(answer(loop.fork(at=version)) == values for version, values in kept.items())
        report["goes on"] = len(answer(loop.fork())) > 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        loop.admit(batch, "edges", 5000 * (number + 2))
        with_room = loop.checkpoint()
        report["with room"] = answer(loop.fork(at=with_room)) == answer(loop.fork())
    print(json.dumps(report))


def answer(branch):
    """Values as bytes, to be compared."""
    branch.wait()
    ids, values = branch.values().arrays()
    branch.release()
    return ids.tobytes() + values.tobytes()


if __name__ == "__main__":
    {"store": store_some, "fill": fill}[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
