"""A driver that streams edges into a durable store until it is killed; it says who its workers are. Started by test_drivers."""

import json
import sys
import time

import tornado
from apps.sssp import ShortestPaths
from tests.engine.places import SOURCE, pids_of, stream


def main(url, place):
    engine, _, spark = place.partition(":")
    records = stream()
    with tornado.open(url, 2, engine=engine, spark_master=spark or None) as session:
        session.start(ShortestPaths(source=SOURCE), "streamed")
        loop = session.master.loops["streamed"]
        offset = loop.offsets().get("edges", 0)
        print(json.dumps({"pids": pids_of(session.master), "offset": offset}), flush=True)
        while offset < len(records):
            end = min(offset + 50, len(records))
            loop.admit(records.slice(offset, end), "edges", end)
            offset = end
            if offset % 500 == 0:
                loop.checkpoint()
            time.sleep(0.02)
            print(json.dumps({"offset": offset, "stored": len(loop.snapshots())}), flush=True)
        time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
