"""Which shard a point belongs to: the highest bits of a hash of its id, whoever has the shard."""

import numba as nb
import numpy as np

SHARD_COUNT = 16
SHARD_SHIFT = 64 - 4  # the highest bits of the hash of an id are its shard


@nb.njit(cache=True)
def hash_point(identifier):
    """A 64-bit mix of the id of a point (the finaliser of SplitMix64). It says for ever which shard a stored point belongs to."""
    mixed = np.uint64(identifier)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@nb.njit(cache=True, nogil=True)
def find_shards(identifiers, shards):
    """The shard of each point.

    Parameters
    ----------
    identifiers : int64[n]
        Only read.
    shards : int64[n]
        Written.
    """
    for i in range(identifiers.size):
        shards[i] = np.int64(hash_point(identifiers[i]) >> np.uint64(SHARD_SHIFT))


@nb.njit(cache=True, nogil=True)
def order_by_worker(identifiers, workers, owners, first, order):
    """Put the records of each worker together, in the order in which they came: a counting sort.

    Parameters
    ----------
    identifiers : int64[n]
        Only read.
    workers : int
        How many there are.
    owners : uint8[n]
        Written: the worker of each record.
    first : int64[workers + 1]
        Written: where the records of each worker begin in `order`.
    order : int64[n]
        Written: the numbers of the records.
    """
    first[:] = 0
    for i in range(identifiers.size):
        shard = np.int64(hash_point(identifiers[i]) >> np.uint64(SHARD_SHIFT))
        owner = shard % workers
        owners[i] = owner
        first[owner + 1] += 1
    for worker in range(workers):
        first[worker + 1] += first[worker]
    for i in range(identifiers.size):
        owner = np.int64(owners[i])
        order[first[owner]] = i
        first[owner] += 1
    for worker in range(workers, 0, -1):
        first[worker] = first[worker - 1]
    first[0] = 0
