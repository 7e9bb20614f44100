"""Workers that send each other numbers over FIFO channels and record forks, judged by the laws of `tornado.protocol.cut`.

The judge knows nothing of markers: it remembers what was sent and delivered on each channel before each record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tornado.errors import InternalError, LawBroken
from tornado.protocol.cut import NO_FORK, Complete, Cut, Deliver, Effect, Keep, Mark

Channel = tuple[int, int]  # sender, receiver
Item = tuple[
    int, int, int
]  # sender, number on the channel or NO_FORK, fork that it is the marker of or NO_FORK
Action = tuple[str, int, int]


@dataclass(frozen=True)
class Setting:
    """What happens in some order: `sends` payloads on each channel, and every fork at each worker.

    Channels that are not in `busy` carry markers alone.
    """

    workers: int
    forks: tuple[int, ...] = (4, 9)
    sends: int = 2
    kind: type[Cut[Item]] = Cut
    busy: tuple[Channel, ...] | None = None

    def channels(self) -> list[Channel]:
        every = range(self.workers)
        return [(sender, receiver) for sender in every for receiver in every if sender != receiver]


class _Lane(NamedTuple):
    """One channel, and what the laws need to know of it."""

    under_way: tuple[Item, ...] = ()
    sent: int = 0
    delivered: int = 0
    sent_before: tuple[int, ...] = ()  # by fork that the sender recorded
    delivered_before: tuple[int, ...] = ()  # by fork that the receiver recorded
    kept: tuple[tuple[int, ...], ...] = ()  # likewise


class CutWorld:
    """A state; `branch` and `perform` lead to others."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.cuts = {worker: setting.kind(worker, setting.workers) for worker in range(setting.workers)}
        self.lanes = {channel: _Lane() for channel in setting.channels()}
        self.completed = dict.fromkeys(self.cuts, 0)
        self.records = dict.fromkeys(self.cuts, 0)
        self.keys = {worker: cut.key() for worker, cut in self.cuts.items()}

    def branch(self) -> "CutWorld":
        twin = object.__new__(type(self))
        twin.setting = self.setting
        twin.cuts, twin.lanes, twin.keys = self.cuts.copy(), self.lanes.copy(), self.keys.copy()
        twin.completed, twin.records = self.completed.copy(), self.records.copy()
        return twin

    def key(self) -> tuple[object, ...]:
        return (
            tuple(self.keys.values()),
            tuple(self.lanes.values()),
            tuple(self.completed.values()),
        )

    def enabled(self) -> Iterator[Action]:
        setting = self.setting
        for worker, records in self.records.items():
            if records < len(setting.forks):
                yield "record", worker, setting.forks[records]
        for (sender, receiver), lane in self.lanes.items():
            is_busy = setting.busy is None or (sender, receiver) in setting.busy
            if is_busy and lane.sent < setting.sends:
                yield "send", sender, receiver
            if lane.under_way:
                yield "arrive", sender, receiver

    def perform(self, action: Action) -> None:
        changing = action[2] if action[0] == "arrive" else action[1]
        self.cuts[changing] = self.cuts[changing].copy()  # shared with the state before
        match action:
            case ("send", sender, receiver):
                lane = self.lanes[sender, receiver]
                self._send((sender, receiver), (sender, lane.sent, NO_FORK))
                self._change((sender, receiver), sent=lane.sent + 1)
            case ("arrive", sender, receiver):
                lane = self.lanes[sender, receiver]
                item, *rest = lane.under_way
                self._change((sender, receiver), under_way=tuple(rest))
                self._obey(receiver, self.cuts[receiver].arrive(sender, item, item[2]))
            case ("record", worker, fork):
                self.records[worker] += 1
                for (sender, receiver), lane in self.lanes.items():
                    if sender == worker:
                        self._change((sender, receiver), sent_before=(*lane.sent_before, lane.sent))
                    elif receiver == worker:
                        self._change(
                            (sender, receiver),
                            delivered_before=(*lane.delivered_before, lane.delivered),
                            kept=(*lane.kept, ()),
                        )
                effects = self.cuts[worker].record(fork)
                if effects[:1] != [Mark(fork)]:
                    raise LawBroken("markers", f"the record of {fork} begins with {effects[:1]}")
                self._obey(worker, effects)
        self.keys[changing] = self.cuts[changing].key()

    def _obey(self, worker: int, effects: list[Effect[Item]]) -> None:
        for effect in effects:
            match effect:
                case Mark(fork):
                    for sender, receiver in self.lanes:
                        if sender == worker:
                            self._send((sender, receiver), (sender, NO_FORK, fork))
                case Deliver((sender, number, _)):
                    self._deliver((sender, worker), number)
                case Keep(fork, (sender, number, _)):
                    self._keep((sender, worker), self.setting.forks.index(fork), number)
                case Complete(fork, markers):
                    self._complete(worker, fork, markers)

    def _deliver(self, channel: Channel, number: int) -> None:
        lane = self.lanes[channel]
        if number != lane.delivered:
            raise LawBroken("C3", f"{number} is delivered on {channel} after {lane.delivered} others")
        records = len(lane.delivered_before)
        if len(lane.sent_before) > records and number >= lane.sent_before[records]:
            raise LawBroken(
                "C2", f"{number} of {channel} is from after fork {records}, recorded by its sender alone"
            )
        self._change(channel, delivered=number + 1)

    def _keep(self, channel: Channel, index: int, number: int) -> None:
        lane = self.lanes[channel]
        if index >= len(lane.kept):
            raise LawBroken("C1", f"{number} of {channel} is kept for a fork that is not recorded")
        if self.completed[channel[1]] > index:
            raise LawBroken("C4", f"{number} of {channel} is kept for a fork that is complete")
        kept = list(lane.kept)
        kept[index] = (*kept[index], number)
        self._change(channel, kept=tuple(kept))

    def _complete(self, worker: int, fork: int, markers: tuple[Item, ...]) -> None:
        index = self.completed[worker]
        senders = [sender for sender in self.cuts if sender != worker]
        if self.setting.forks[index : index + 1] != (fork,):
            raise LawBroken("C4", f"fork {fork} is complete on {worker} after {index} others")
        if list(markers) != [(sender, NO_FORK, fork) for sender in senders]:
            raise LawBroken("C4", f"fork {fork} is complete on {worker} with {markers}")
        for sender in senders:
            lane = self.lanes[sender, worker]
            expected = tuple(range(lane.delivered_before[index], lane.sent_before[index]))
            if lane.kept[index] != expected:
                raise LawBroken(
                    "C1", f"fork {fork} on {worker} gets {lane.kept[index]} from {sender}, not {expected}"
                )
        self.completed[worker] += 1

    def judge_end(self) -> None:
        """Everything was sent, recorded and arrived."""
        for worker, cut in self.cuts.items():
            if self.completed[worker] != len(self.setting.forks):
                raise LawBroken("C4", f"{self.completed[worker]} forks are complete on {worker}")
            if cut.is_awaited or cut.is_holding or list(cut.held()):
                raise LawBroken("C4", f"{list(cut.held())} are held on {worker}")
        for channel, lane in self.lanes.items():
            if lane.delivered != lane.sent:
                raise LawBroken("C3", f"{lane.delivered} of {lane.sent} were delivered on {channel}")

    def _send(self, channel: Channel, item: Item) -> None:
        self._change(channel, under_way=(*self.lanes[channel].under_way, item))

    def _change(self, channel: Channel, **fields: Any) -> None:
        self.lanes[channel] = self.lanes[channel]._replace(**fields)


class Counterexample(InternalError):
    """A schedule that breaks a law."""

    code = "counterexample"


def explore_cuts(setting: Setting) -> tuple[int, int]:
    """Follow every schedule; how many states there are, and how many of them are ends.

    Raises
    ------
    Counterexample
        If a schedule breaks a law or the legality of the cut.
    """
    start = CutWorld(setting)
    seen = {start.key()}
    path = [(start, start.enabled())]
    schedule: list[Action] = []
    ends = 0
    while path:
        world, actions = path[-1]
        action = next(actions, None)
        if action is None:
            path.pop()
            if schedule:
                schedule.pop()
            continue
        schedule.append(action)
        following = world.branch()
        try:
            following.perform(action)
            is_end = next(following.enabled(), None) is None
            if is_end:
                following.judge_end()
        except (InternalError, IndexError) as cause:
            raise Counterexample(f"{cause!r}, after {schedule}") from cause
        key = following.key()
        if key in seen:
            schedule.pop()
            continue
        seen.add(key)
        ends += is_end
        path.append((following, following.enabled()))
    return len(seen), ends
