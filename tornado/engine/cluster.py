"""Workers in processes of their own: commands and requests to them, what they report, and what happens when one is lost.

A set of workers lives and dies together, since what was under way between them is gone with any of them. When one ends, or gives
no signs of life, or is stuck, all are ended; a new set is started with another *fence*, by which whatever the old ones still send
is told apart and dropped; and whoever owns the loops restores them there (Tornado, SIGMOD 2016, section 5.3). Where workers run,
and how they are started and ended, is the launcher's.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, Protocol

from ..clock import SYSTEM_CLOCK, Clock
from ..errors import InternalError, StoreUnreachable, TornadoError, WorkerLost
from .engine_contract import WorkerUse
from .member import MemberConfig
from .transport import LOOK_S, SILENT_S, Awaited, Link, SocketTransport, Transport
from .wire import FENCE_BYTES, Wire, WrongFence

_log = logging.getLogger(__name__)

_STUCK_S = 60.0  # a worker that lives and has not finished a step for so long is as good as gone
_STARTING_S = 90.0
_ENDS_WITHIN_S = 2.0
_MOST_LOSSES = 10
_LIVES_S = 1.0  # a set that is lost sooner after the loops were restored is lost for a reason that stays


class Launcher(Protocol):
    """Starts worker processes and ends them."""

    def launch(self, configs: Sequence[MemberConfig]) -> None:
        """Start a worker for each configuration; it comes to the driver by itself."""
        ...

    def ended(self) -> str | None:
        """What ended by itself, in words; None where all that were started run."""
        ...

    def require(self, workers: int) -> None:
        """Refuse more workers than there is room for; those that run are ended before others are launched.

        Raises
        ------
        InvalidArgument
            With how many there is room for.
        """
        ...

    def kill(self, pids: Sequence[int]) -> None:
        """End all that were started, at once, and wait for them where that can be done; `pids` as they said themselves."""
        ...

    def close(self) -> None:
        """Free what starting workers takes; nothing is launched afterwards."""
        ...


class ClusterEngine:
    """See the module and `Engine`.

    Parameters
    ----------
    workers
        How many.
    launcher
        Where they run.
    interface
        The address of this machine that workers can reach.
    clock
        By which workers are stuck, and whoever waits for them gives up.
    transport
        How they are reached; None: by sockets at that address.

    Attributes
    ----------
    losses
        How many sets of workers were lost so far, or ended for others.
    recovered_s
        How long the last recovery took, from when the loss was noticed until the loops were restored; None before any.
    on_loss
        Called when a set of workers is lost; from any thread, quick.
    on_restart
        Called when a new set of workers has started in place of a lost one: to restore the loops there.
    """

    fabric = None

    def __init__(
        self,
        workers: int,
        launcher: Launcher,
        interface: str = "127.0.0.1",
        *,
        clock: Clock = SYSTEM_CLOCK,
        transport: Transport | None = None,
    ) -> None:
        self.workers = workers
        self.clock = clock
        self.losses = 0
        self.recovered_s: float | None = None
        self.on_loss: Callable[[], None] = lambda: None
        self.on_restart: Callable[[], None] = lambda: None
        self._launcher = launcher
        self._hosts: Sequence[Any] = ()
        self._on_failure: Callable[[int, BaseException], None] = lambda _index, _error: None
        self._transport: Transport = SocketTransport(interface, clock) if transport is None else transport
        self._waiting = self._transport.waiting
        # Two, since a report may have workers asked, and whoever waits for their answer cannot see that they are gone.
        self._beats = self._transport.inbox("tornado-monitor", self._take_beat, self._look)
        self._reports = self._transport.inbox("tornado-receiver", self._take_report)
        self._links: list[Link] = []
        self._wire = Wire(bytes(FENCE_BYTES))
        self._hellos: dict[int, tuple[str, str, str, int]] = {}
        self._stepped: dict[int, tuple[int, float]] = {}
        self._use: dict[int, WorkerUse] = {}
        self._broken: dict[int, float] = {}  # when workers said that connections of theirs were
        self._restored_at = math.inf
        self._lost_in_a_row = 0  # without having lived
        self._reason: str | None = None  # why this set of workers is lost
        self._wanted = workers  # how many the next set of workers has
        self._before: int | None = None  # how many there were, while others are to take their place
        self._not_had: Exception | None = None  # why these could not be had
        self._turning = Lock()  # between the end of a recovery and a call for the next one
        self._is_watched = False  # whether a connection that breaks means loss
        self._is_open = False  # whether commands are for the present set of workers
        self._given_up: WorkerLost | None = None  # why no others are started
        self._is_closing = False
        self._supervisor = self._transport.alarm("tornado-supervisor", self._supervise)

    def start(self, hosts: Sequence[Any], on_failure: Callable[[int, BaseException], None]) -> None:
        """Start the workers and wait until they have joined.

        Raises
        ------
        WorkerLost
            When they do not.
        """
        self._hosts = hosts
        self._on_failure = on_failure
        self._beats.start()
        self._reports.start()
        try:
            self._launch()
        except BaseException:
            self.close()
            raise
        self.open()
        self._restored_at = self.clock.monotonic()
        self._supervisor.start()

    def replace(self, workers: int) -> None:
        """See `Engine.replace`; one caller at a time."""
        self.await_workers()
        self._launcher.require(workers)
        with self._turning:
            before, self._before, self._not_had = self.workers, self.workers, None
            self._wanted = workers
            self.recovered_s = None
            self._restored_at = -math.inf  # these have lived
            self._lose(f"{workers} workers take the place of {before}")
        if not self._waiting.wait_for(
            lambda: self.recovered_s is not None or self._given_up is not None, None
        ):
            raise WorkerLost("the workers are ended, and no others are started")
        if self._given_up is not None:
            raise self._given_up
        if self._not_had is not None:
            raise WorkerLost(
                f"the loops could not be put on {workers} workers, and go on on {before}: {self._not_had}",
                hint="",
            ) from self._not_had

    def open(self) -> None:
        """Send commands to the present set of workers from now on; called when the loops can be restored there."""
        self._is_open = True

    def await_workers(self) -> int:
        """See `Engine.await_workers`."""
        while True:
            losses = self.losses
            if self._has_workers():
                return losses
            if self._is_closing or self._given_up is not None:
                raise self._given_up or WorkerLost("the workers are ended, and no others are started")
            self._waiting.wait_for(
                lambda: self._has_workers() or self._is_closing or self._given_up is not None, LOOK_S
            )

    def _has_workers(self) -> bool:
        """Whether there is a set of workers that is not lost, as far as is known, and commands are for it."""
        return self._is_open and self._reason is None

    def send(self, worker: int, command: tuple[Any, ...]) -> None:
        """Send a command. While workers are replaced it is dropped: whoever owns the loops says it again."""
        links = self._links
        if worker < len(links) and self._is_open:
            links[worker].send("command", command)

    def ask(self, worker: int, request: tuple[Any, ...]) -> Any:
        """Ask a worker and wait for its answer; from any thread.

        Raises
        ------
        WorkerLost
            When it is gone.
        """
        return self.begin_asking(worker, request)()

    def begin_asking(self, worker: int, request: tuple[Any, ...]) -> Callable[[], Any]:
        """Ask a worker; what is returned waits for its answer. Both raise what `ask` does."""
        links = self._links
        if worker >= len(links):
            raise WorkerLost("the workers are being started again")
        return partial(_reply_of, links[worker].begin_asking(request))

    def use(self) -> list[WorkerUse]:
        """See `Engine.use`."""
        return [use for _, use in sorted(self._use.copy().items())]

    def wait_for(
        self, condition: Callable[[], bool], timeout_s: float | None, *, about: object = None
    ) -> bool:
        """Block until the condition holds."""
        return self._waiting.wait_for(condition, timeout_s, about=about)

    def notify(self, *about: object) -> None:
        """Look at the conditions again."""
        self._waiting.notify(*about)

    def close(self) -> None:
        """End the workers: by message, then by force."""
        self._is_closing = True
        self._is_watched = False
        self._is_open = False
        self._waiting.close()  # who restores loops waits for reports, which nobody takes any more
        self._supervisor.close()
        for link in self._links:
            link.send("stop")
        if self._links:
            self._transport.linger(lambda: self._launcher.ended() is not None, _ENDS_WITHIN_S)
        self._end_workers()
        self._launcher.close()
        self._beats.close()
        self._reports.close()
        self._transport.close()

    # Starting and ending

    def _launch(self) -> None:
        """Start a set of workers with a fence of its own, and connect to them."""
        fence = self._transport.new_fence()
        self._hellos.clear()
        self._broken.clear()
        self._wire = Wire(fence)
        self._is_open = False
        self._reason = None
        self._launcher.launch(
            [
                MemberConfig(self._beats.address, self._reports.address, index, self.workers, fence.hex())
                for index in range(self.workers)
            ]
        )
        self._waiting.wait_for(
            lambda: (
                len(self._hellos) == self.workers or self._launcher.ended() is not None or self._is_closing
            ),
            _STARTING_S,
        )
        if len(self._hellos) < self.workers:
            why = self._launcher.ended() or f"the others did not come within {_STARTING_S:.0f} s"
            raise WorkerLost(
                f"{len(self._hellos)} of {self.workers} workers started: {why}",
                hint="What they wrote to standard error says why.",
            )
        hellos = [self._hellos[index] for index in range(self.workers)]
        self._links = [
            self._transport.link(self._wire, commands, requests) for commands, requests, *_ in hellos
        ]
        for link in self._links:
            link.send("peers", [peers for _, _, peers, _ in hellos])
        now = self.clock.monotonic()
        self._stepped = dict.fromkeys(range(self.workers), (-1, now))
        self._use = {}
        self._is_watched = True

    def _end_workers(self) -> None:
        links, self._links = self._links, []
        for link in links:
            link.close()
        self._launcher.kill([pid for *_, pid in self._hellos.values()])

    # The monitor

    def _look(self, now: float) -> None:
        """See whether the workers are there."""
        if self._is_watched and self._reason is None:
            reason = self._loss(now)
            if reason is not None:
                self._lose(reason)

    def _take_beat(self, frames: Sequence[memoryview]) -> None:
        try:
            index, kind, *body = self._wire.read(frames)
        except WrongFence:
            return
        if kind == "beat":
            steps, *use = body
            now = self.clock.monotonic()
            self._use[index] = WorkerUse(*use)
            if steps != self._stepped.get(index, (-1, now))[0]:
                self._stepped[index] = steps, now
        elif kind == "broken":
            self._broken.setdefault(index, self.clock.monotonic())
        elif kind == "hello":
            commands, requests, peers, pid = body
            self._hellos[index] = commands, requests, peers, pid
            self._waiting.notify()

    def _loss(self, now: float) -> str | None:
        """Why the present set of workers is lost, or None."""
        ended = self._launcher.ended()
        if ended is not None:
            return ended
        for index, link in enumerate(self._links):
            if now > link.broke_at():  # not at once: the launcher may know more
                return (
                    f"worker {index} ended, gave no signs of life for {SILENT_S:g} s, or its connection broke"
                )
        for index in range(len(self._links)):
            if now > self._broken.get(index, math.inf):  # behind those that ended, which breaks the others'
                return f"a connection of worker {index} to the driver or to another worker broke"
            if now - self._stepped[index][1] > _STUCK_S:
                return f"worker {index} has not finished a step for {now - self._stepped[index][1]:.0f} s"
        return None

    def _lose(self, reason: str) -> None:
        self._reason = reason  # before it is counted, see `await_workers`
        self.on_loss()
        self.losses += 1
        for link in self._links:
            link.send("stop")  # those that can hear it need not be ended by force
            link.is_dead = True
        self._supervisor.ring()
        self._waiting.notify()

    # The receiver

    def _take_report(self, frames: Sequence[memoryview]) -> None:
        try:
            index, kind, *report = self._wire.read(frames)
        except WrongFence:
            return
        if kind != "report" or self._reason is not None:
            return
        try:
            if report[0] == "failure":
                self._on_failure(index, error_of(tuple(report[1:4])))
            else:
                self._hosts[index].take(tuple(report))
        except Exception:  # noqa: BLE001  the receiver must go on, whatever it was
            _log.exception("what worker %d reported could not be taken: %r", index, report[:1])

    # The supervisor

    def _supervise(self) -> bool:
        """Recover from a loss; return whether there are workers, or may be."""
        error = None if self._reason is None else self._recover(self._reason)
        if error is None:
            return True
        self._end_workers()
        self._given_up = (
            error if isinstance(error, WorkerLost) else WorkerLost(f"no workers are left: {error!r}")
        )
        self._waiting.notify()
        for index in range(self.workers):
            self._on_failure(index, error)
        return False

    def _recover(self, reason: str) -> Exception | None:
        """Start other workers and have the loops restored there; what makes that hopeless, or None."""
        begun = self.clock.monotonic()
        self._is_watched = False
        _log.warning("%s; the workers are started again", reason)
        self._lost_in_a_row = 1 if begun - self._restored_at >= _LIVES_S else self._lost_in_a_row + 1
        self._restored_at = math.inf
        if self._lost_in_a_row >= _MOST_LOSSES:
            return WorkerLost(
                f"{_MOST_LOSSES} sets of workers in a row were lost within {_LIVES_S:g} s, the last because {reason}",
                hint="Look for what ends them; then start again: stored snapshots are as they were.",
            )
        try:
            self._end_workers()
            self.workers = self._wanted
            self._launch()
            self.on_restart()
        except Exception as error:  # noqa: BLE001  whoever waits for a loop must hear of it
            before, self._before = self._before, None
            if before is not None:
                self._wanted, self._not_had = before, error
            elif isinstance(error, StoreUnreachable):
                self._lost_in_a_row -= 1  # no fault of the workers: the store is waited for
            elif not isinstance(error, WorkerLost):
                return error
            if self._reason is None:  # or the monitor has seen it, and it is counted
                self._lose(str(error))
        else:
            with self._turning:
                # Lost again, or to be replaced: the next recovery is the one that counts.
                if self._reason is not None:
                    return None
                self._before = None
                self._restored_at = self.clock.monotonic()
                took_s = self.recovered_s = self._restored_at - begun
            self._waiting.notify()
            _log.warning("the loops go on after %.1f s", took_s)
        return None


def _reply_of(awaited: Awaited) -> Any:
    failure, reply = awaited()
    if failure is not None:
        raise error_of(failure)
    return reply


def error_of(described: tuple[str, str, str]) -> Exception:
    """The error that a worker described; one of ours where it is one of ours."""
    name, message, hint = described
    kinds = {kind.__name__: kind for kind in _kinds_of(TornadoError)}
    kind = kinds.get(name)
    if kind is None:
        return InternalError(f"on a worker: {message}")
    return kind(message, hint=hint)


def _kinds_of(kind: type[TornadoError]) -> list[type[TornadoError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _kinds_of(child))]
