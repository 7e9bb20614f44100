"""Who holds a frontier back: the pointstamps that could result in it, by operator and port, and which of them are here.

A frontier at an input is the antichain of s(t) over all pointstamps (l, t) (Naiad, section 2.3). So each of them keeps it from passing
its s(t), and those whose s(t) is in it hold it where it is. A pointstamp at an output is a timestamp token, one at an input is a message that nobody has handled yet.

Guaranteed: nothing is counted for it while a dataflow runs, and nothing changes. Any thread may ask, and what it is told is a little old:
pointstamps of other workers as they have said, of this one as they are.
"""

from __future__ import annotations

from typing import NamedTuple

from .antichain import Antichain
from .dataflow import Dataflow
from .operator import InputPort, OutputPort
from .order import Time


class Holder(NamedTuple):
    """A pointstamp that keeps a frontier from passing.

    Attributes
    ----------
    waiting, until
        The input whose frontier it is, and the time that it cannot pass.
    holds
        Whether the frontier is there, and not before because of others.
    operator, port, time
        Where and when the pointstamp is.
    is_token
        Whether it is a token, and not a message.
    known
        How many there are on all workers, as this one knows.
    here
        How many of them are on this worker.
    """

    waiting: str
    until: Time
    holds: bool
    operator: str
    port: str
    time: Time
    is_token: bool
    known: int
    here: int


def holders(dataflow: Dataflow) -> list[Holder]:
    """Return what the frontier of each input of a dataflow cannot pass, as this worker knows; by input, location and time.

    Parameters
    ----------
    dataflow : Dataflow
        As it was finished; not changed. Cost: all pointstamps that it knows, for each input.

    Examples
    --------
    >>> from tornado.timely import ThreadFabric, Worker
    >>> from tornado.timely.operators import inspect, new_input
    >>> worker = Worker(0, 1, ThreadFabric(1))
    >>> dataflow = worker.dataflow(lambda scope: inspect(new_input(scope, "edges")[1], print))
    >>> [holder] = holders(dataflow)
    >>> holder.waiting, holder.until, holder.port, holder.time, holder.is_token, holder.here
    ('input 0 of inspect', (0,), 'output 0 of edges', (0,), True, 1)
    """
    ports: dict[int, InputPort | OutputPort] = {}
    for operator in dataflow.operators:
        ports |= {port.location: port for port in operator.inputs}
        ports |= {port.location: port for port in operator.outputs}
    tracker = dataflow.tracker
    known = {location: tracker.counts(location) for location in sorted(ports)}
    found = []
    for operator in dataflow.operators:
        for waiting in operator.inputs:
            images = {
                (location, time): [time if summary is None else summary(time) for summary in summaries]
                for location, summaries in tracker.reachability.sources[waiting.location]
                for time, count in sorted(known.get(location, {}).items())
                if count > 0
            }
            frontier = set(Antichain(waiting.order, (one for times in images.values() for one in times)))
            found += [
                _held(waiting, until, until in frontier, ports[location], time, known[location][time])
                for (location, time), times in sorted(images.items())
                for until in Antichain(waiting.order, times)
            ]
    return found


def _held(
    waiting: InputPort,
    until: Time,
    holds: bool,  # noqa: FBT001
    port: InputPort | OutputPort,
    time: Time,
    known: int,
) -> Holder:
    if isinstance(port, OutputPort):
        here = sum(token.time == time for token in list(port.tokens))
    else:
        here = port.here().count(time)
    return Holder(
        waiting=waiting.name,
        until=until,
        holds=holds,
        operator=port.operator.name,
        port=port.name,
        time=time,
        is_token=isinstance(port, OutputPort),
        known=known,
        here=here,
    )
