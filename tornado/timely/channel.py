"""Channels between operators, and the pacts that say which worker a batch goes to.

A pact is a promise about placement (Naiad, section 3.1, "partitioning function"): `Pipeline` stays on the worker, `Exchange`
partitions a batch by a key so that equal keys meet, `Routed` lets the sender name the worker. Delivery is FIFO for each
(sending worker, receiving worker, channel). Coordination counts messages, that is batches, never records.

A batch is handed over by reference, to several consumers perhaps: whoever sent it must not write to it again, whoever receives
it must not write to it at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any, Protocol

import numpy as np

from ..errors import InvalidArgument
from .operator import InputPort
from .order import Time


class Pact(Protocol):
    """Says which part of a batch goes to which worker."""

    def route(self, payload: Any, own: int, peers: int, target: int | None) -> Iterable[tuple[int, Any]]:
        """The parts of `payload`, sent by worker `own` of `peers`, each with the worker that gets it."""


class Pipeline:
    """Everything stays on the worker that sent it."""

    __slots__ = ()

    def route(self, payload: Any, own: int, peers: int, target: int | None) -> Iterable[tuple[int, Any]]:  # noqa: ARG002
        """See `Pact.route`."""
        return ((own, payload),)


class Routed:
    """The sender names the worker: ``output.send(token, payload, target=worker)``."""

    __slots__ = ()

    def route(self, payload: Any, own: int, peers: int, target: int | None) -> Iterable[tuple[int, Any]]:  # noqa: ARG002
        """See `Pact.route`.

        Raises
        ------
        InvalidArgument
            When `target` is none of the workers.
        """
        if target is None or not 0 <= target < peers:
            raise InvalidArgument(
                f"the target worker of a routed message is {target}, but the workers are 0 to {peers - 1}",
                hint="Name it with output.send(token, payload, target=worker).",
            )
        return ((target, payload),)


class Exchange:
    """Equal keys meet: the record with key k goes to worker k modulo the number of workers.

    Parameters
    ----------
    key : callable
        Gets the whole batch and returns one integer for each record: an array for NumPy batches (one pass, no loop over
        records), any sequence for lists. A tuple of arrays of equal length is a batch of columns and is split column by
        column. Keys that are not spread evenly need a hash of the caller's choice. It is asked with one worker too, so that what
        is refused with several does not pass there.

    Examples
    --------
    >>> parts = Exchange(lambda batch: batch).route(np.array([4, 7, 6, 9]), own=0, peers=2, target=None)
    >>> [(worker, part.tolist()) for worker, part in parts]
    [(0, [4, 6]), (1, [7, 9])]
    """

    __slots__ = ("key",)

    def __init__(self, key: Callable[[Any], Any]) -> None:
        self.key = key

    def route(self, payload: Any, own: int, peers: int, target: int | None) -> Iterable[tuple[int, Any]]:  # noqa: ARG002
        """See `Pact.route`. Keeps the order of records inside each part; empty parts are not sent.

        Raises
        ------
        InvalidArgument
            When there are not as many keys as records, when one is no integer (nor a truth value), or when columns of a batch
            differ in length.
        """
        keys = _integers(
            one_each(payload, self.key(payload), "the key of an exchange", "keys", each="integer")
        )
        if peers == 1:
            return ((own, payload),) if len(keys) else ()
        if isinstance(payload, list):
            return _split_list(payload, keys, peers)
        workers = (keys % peers).astype(np.uint16)
        if len(workers) == 0:
            return ()
        # A stable sort of 16-bit numbers is a radix sort: one pass whatever the number of workers.
        by_worker = np.argsort(workers, kind="stable")
        bounds = np.searchsorted(workers[by_worker], np.arange(peers + 1))
        parts = []
        for worker in range(peers):
            start, stop = bounds[worker], bounds[worker + 1]
            if stop > start:
                chosen = by_worker[start:stop]
                part = (
                    tuple(column[chosen] for column in payload)
                    if isinstance(payload, tuple)
                    else payload[chosen]
                )
                parts.append((worker, part))
        return parts


def _split_list(payload: list[Any], keys: Sequence[int], peers: int) -> Iterable[tuple[int, list[Any]]]:
    parts: dict[int, list[Any]] = {}
    for record, key in zip(payload, keys, strict=True):
        parts.setdefault(int(key) % peers, []).append(record)
    return sorted(parts.items())


def _integers(keys: Any) -> Any:
    """Return the keys of a batch, those of a list as integers of Python; `InvalidArgument` where one is none."""
    if isinstance(keys, np.ndarray):
        # One look at the type and none at the values: nothing is paid per record.
        if keys.dtype.kind in "biu" or len(keys) == 0:
            return keys
        raise _no_integer(keys[0], f" in an array of {keys.dtype}")
    found = []
    for key in keys:
        try:
            found.append(int(key) if isinstance(key, np.bool_) else index(key))
        except TypeError:
            raise _no_integer(key, "") from None
    return found


def _no_integer(key: Any, where: str) -> InvalidArgument:
    # The remainder of a float can be the number of workers itself, -1e-20 % 3 is 3.0, and that is none of them.
    return InvalidArgument(
        f"the key of an exchange gave {key!r}{where}, but a key is an integer: others name no worker, and their records would be lost",
        hint="Return integers, such as np.floor(values).astype(np.int64), which are equal where records are to meet.",
    )


def one_each(batch: Any, values: Any, whose: str, what: str, *, each: str) -> Any:
    """Return what a function gave for a batch as an array, or for a list as any sequence: one value for each record.

    Anything else is refused: some records would go nowhere.

    Parameters
    ----------
    whose, what, each
        The function, what it gave, and what one of these is, in words.

    Raises
    ------
    InvalidArgument
        Or where columns of the batch differ in length.
    """
    if not isinstance(batch, list):
        values = np.asarray(values)
    elif isinstance(values, Iterable) and not isinstance(values, np.ndarray):
        values = list(values)
    records = [len(column) for column in batch] if isinstance(batch, tuple) else [len(batch)]
    shape = (len(values),) if isinstance(values, list) else np.shape(values)
    if len(shape) == 1 and all(count == shape[0] for count in records):
        return values
    said = f"{shape[0]} {what}" if len(shape) == 1 else f"{what} of shape {shape}"
    of = f"columns of {records} records" if len(records) > 1 else f"{sum(records)} records"
    raise InvalidArgument(
        f"{whose} gave {said} for a batch of {of}",
        hint=f"It gets the whole batch and returns one {each} for each record; all columns of a batch are of one length.",
    )


class Channel:
    """One edge of the graph, seen from the sending worker.

    Parameters
    ----------
    number : int
        The same on all workers.
    target : InputPort
        This worker's instance of the receiving port.
    pact : Pact
        Where batches go.
    summary : callable or None
        What the edge does to times: loops entered, left, fed back. None for nothing.
    """

    __slots__ = ("dataflow", "number", "own", "pact", "peers", "summary", "target")

    def __init__(
        self,
        number: int,
        target: InputPort,
        pact: Pact,
        summary: Callable[[Time], Time] | None,
        own: int,
        peers: int,
    ) -> None:
        self.number = number
        self.target = target
        self.pact = pact
        self.summary = summary
        self.own = own
        self.peers = peers
        self.dataflow = target.operator.dataflow

    def push(self, time: Time, payload: Any, worker: int | None) -> None:
        """Send a batch at the sender's `time`; `worker` is the target the sender named, if any."""
        if self.summary is not None:
            time = self.summary(time)
        dataflow = self.dataflow
        location = self.target.location
        for receiver, part in self.pact.route(payload, self.own, self.peers, worker):
            dataflow.record(location, time, 1)
            if receiver == self.own and not dataflow.loops_back:
                self.target.arrive(time, part)
            else:
                dataflow.send(receiver, self.number, time, part)
