"""A store as it was left by a version that wrote snapshots in format 3: pages of edges are int64, int64 and float64, and say no types.

What differs from the newest format is all here, and shares nothing with what reads it; the rest is that of a store of today.
"""

import hashlib
import json
import struct

from tornado.loops.stored_snapshot import StoredSnapshots


def as_format_3(store, line, version, to):
    """Write a snapshot of a store, and all other lines of it, into another one as they would have been."""
    items = dict(store.scan(line, version))
    digests = json.loads(items.pop(b"digests"))
    names = [key for key in items if key.startswith(b"e/")]
    for key, edges in zip(names, StoredSnapshots(store, line).find(version).edge_pages(), strict=True):
        columns = (edges.sources.tolist(), "q"), (edges.targets.tolist(), "q"), (edges.weights.tolist(), "d")
        items[key] = b"".join(struct.pack(f"<{len(column)}{kind}", *column) for column, kind in columns)
        digests[key.decode()] = hashlib.blake2b(items[key], digest_size=16).hexdigest()
    metadata = json.loads(store.metadata(line, version)) | {"format": 3}
    metadata["columns"]["edges"] = [["sources", "<i8", []], ["targets", "<i8", []], ["weights", "<f8", []]]
    metadata["counts"]["bytes"] = sum(len(items[key]) for key in names)
    to.write(
        line,
        version,
        items | {b"digests": json.dumps(digests).encode()},
        metadata=json.dumps(metadata).encode(),
    )
    for other in (one for one in store.loops() if one != line):
        for number in store.versions(other):
            to.write(other, number, dict(store.scan(other, number)), metadata=store.metadata(other, number))
    return to
