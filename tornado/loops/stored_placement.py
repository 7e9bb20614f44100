"""Which vertex belonged to which worker, as the store of a stream remembers it, so that a restart has the same map.

It is written with the next snapshot, since all is shared out anew where there is none, and stands in a line of versions of its own
(`STREAM/placement`): how large blocks are, if vertices are in blocks, and which vertices were shared out beforehand. A placement that is named
at a start takes its place; one that is left to the first edges is the one before.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from ..errors import InvalidArgument, StoreCorrupt
from ..graph import PartitionMap, PlacedVertices
from ..storage import VersionedStore
from .stream import RecordStream

_IDS, _PARTS = b"ids", b"parts"


def begin_placed(stream: RecordStream, store: VersionedStore, *, is_shared: bool) -> None:
    """Have a stream that has no record yet begin with the map that its vertices had before, unless another one is named.

    Parameters
    ----------
    store
        Its own.
    is_shared
        Whether its loops are of a kind that shares streams; others know no map but the even one.

    Raises
    ------
    StoreCorrupt
        When what is stored is no placement.
    """
    workers, line = stream.workers, f"{stream.name}/placement"
    wanted = workers.partition
    if not is_shared:
        workers.begin_again(PartitionMap.even(wanted.workers))
        return
    if wanted.is_open:
        before = _remembered(store, line, wanted)
        if before is not None and (before.block_bits or not wanted.always_blocks):
            workers.begin_again(before)
    written: PartitionMap | None = None

    def remember() -> None:
        nonlocal written
        if workers.partition is not written:  # a map is never changed, but another one takes its place
            _remember(store, line, workers.partition)
            written = workers.partition

    workers.remember = remember


def _remembered(store: VersionedStore, line: str, wanted: PartitionMap) -> PartitionMap | None:
    versions = store.versions(line)
    if not versions:
        return None
    try:
        said = json.loads(store.metadata(line, versions[-1]) or b"")
        before = replace(
            wanted, is_open=False, block_bits=int(said["block_bits"]), blocks_for=int(said["blocks_for"])
        )
        ids, parts = (store.read(line, key, versions[-1]) for key in (_IDS, _PARTS))
        if ids is not None and parts is not None:
            found = np.frombuffer(ids, "<i8").astype(np.int64), np.frombuffer(parts, "<u2").astype(np.int64)
            before = replace(before, placed=PlacedVertices.of(*found))
    except (ValueError, KeyError, TypeError, InvalidArgument) as error:
        raise StoreCorrupt(f"{line} has an entry that is no placement: {error!r}") from error
    return before.on(wanted)


def _remember(store: VersionedStore, line: str, settled: PartitionMap) -> None:
    if settled.is_open:
        return
    metadata = json.dumps({"block_bits": settled.block_bits, "blocks_for": settled.blocks_for}).encode()
    entries: dict[bytes, bytes | None] = {_IDS: None, _PARTS: None}
    if settled.placed is not None:
        entries = {
            _IDS: settled.placed.ids.astype("<i8").tobytes(),
            _PARTS: settled.placed.parts.astype("<u2").tobytes(),
        }
    newest = max(store.versions(line), default=0)
    if newest and store.metadata(line, newest) == metadata:
        was = {key: store.read(line, key, newest) for key in entries}
        if was == entries:
            return
    given = {key: entry for key, entry in entries.items() if entry is not None}
    gone = entries.keys() - given.keys()
    store.write(line, newest + 1, given, deletes=gone, metadata=metadata)
    store.delete_before(line, newest + 1)
