"""A store as it was left by a version that wrote snapshots in format 1: of one loop, the name of which it did not write.

This writer is the whole of that format, and shares nothing with what reads it. All numbers are little-endian:

- ``v/PAGE``: ids (int64), values (float64) and the ids of parents (int64), each column whole, one after another;
- ``e/PAGE``: ids of sources (int64) and of targets (int64), weights (float64);
- ``digests``: BLAKE2b of 16 bytes, in hex, of every page by its key: JSON;
- the metadata: JSON.
"""

import hashlib
import json
import struct
from datetime import UTC, datetime

from tornado.testing import exact_distances


def write_format_1(store, line, version, edges, source, offsets, identity, pages=1):
    """The fixed point of shortest paths from a vertex on these edges; all of it in `pages` pages, by the id of the vertex."""
    src, dst, weight = edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist()
    vertices = sorted({*src, *dst})
    distance = dict(zip(vertices, exact_distances(edges, source).lookup(edges.ids()).tolist(), strict=True))
    parent = {vertex: vertex for vertex in vertices} | {
        other: one
        for one, other, length in zip(src, dst, weight, strict=True)
        if other != source and distance[one] + length == distance[other] < float("inf")
    }
    items = {}
    for page in range(pages):
        own = [vertex for vertex in vertices if vertex % pages == page]
        if own:
            items[b"v/%06x" % page] = (
                struct.pack(f"<{len(own)}q", *own)
                + struct.pack(f"<{len(own)}d", *(distance[vertex] for vertex in own))
                + struct.pack(f"<{len(own)}q", *(parent[vertex] for vertex in own))
            )
        ends = [row for row in zip(src, dst, weight, strict=True) if row[1] % pages == page]
        if ends:
            columns = zip(*ends, strict=True)
            items[b"e/%06x" % page] = b"".join(
                struct.pack(f"<{len(ends)}{kind}", *column)
                for kind, column in zip("qqd", columns, strict=True)
            )
    digests = {key.decode(): hashlib.blake2b(page, digest_size=16).hexdigest() for key, page in items.items()}
    items[b"digests"] = json.dumps(digests).encode()
    metadata = {
        "format": 1,
        "offsets": offsets,
        "instant": datetime.now(UTC).isoformat(),
        "version": version,
        "iteration": 7,
        "delay_bound": 64,
        "program": {
            "class": "ShortestPaths",
            "parameters": {"source": repr(source)},
            "identity": identity,
        },
        "counts": {"vertices": len(vertices), "edges": len(src)},
    }
    store.write(line, version, items, metadata=json.dumps(metadata).encode())
