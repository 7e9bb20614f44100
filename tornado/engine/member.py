"""The worker's end of the connection between a worker process and the process that started it.

Three threads: the *worker's*, which steps the host, reaches the other workers and reports; the *listener's*, which takes commands
and answers requests; and the *counter's*, which says every so often how many steps the worker did. Signs of life are none of
their business: ZeroMQ gives them (`sockets.keep_alive`). A driver whose connection breaks is gone, and then so is this process:
nothing is left behind.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import zmq

from ..clock import SYSTEM_CLOCK, Clock
from ..errors import TornadoError
from ..timely import Fabric
from .authenticator import Authenticator
from .engine_contract import Host, WorkerUse
from .peers import PeerFabric
from .sockets import Breaks, Context, Socket, connected, listening, receive, send
from .thread_time import busy_s_of
from .waiting import WaitedFor
from .wire import Wire, WireType, WrongFence

DRIVER_SILENT_S = 10.0
_COMMANDS_AT_ONCE = 64  # before it is looked whether somebody asks
_COUNT_S = 1.0
_LOOK_S = 0.5
_WAIT_S = 0.5
_COLLECT_S = 30.0
_JOIN_S = 60.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MemberConfig:
    """What a worker process must know to join.

    Attributes
    ----------
    beats, reports
        Addresses of the driver's two inboxes, with their keys: for numbers of steps, and for what happens.
    index, workers
        Which worker, of how many.
    fence
        The secret of this set of workers, in hexadecimal: what it is let in by, and lets others in.
    interface
        The address to listen at.
    """

    beats: str
    reports: str
    index: int
    workers: int
    fence: str = field(repr=False)
    interface: str = "127.0.0.1"

    def to_json(self) -> str:
        """Write it as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> MemberConfig:
        """Read it from such a line."""
        return cls(**json.loads(text))


class Served(Protocol):
    """What a worker process serves: its host, fed by commands, and what can be asked of it."""

    @property
    def host(self) -> Host:
        """What is stepped."""
        ...

    def obey(self, command: tuple[Any, ...]) -> None:
        """Take a command; on the listener's thread, in the order in which commands were sent."""
        ...

    def answer(self, request: tuple[Any, ...]) -> Any:
        """Answer a request; on the listener's thread."""
        ...


class Membership(Protocol):
    """What a worker reaches others by.

    Attributes
    ----------
    fabric
        The other workers.
    """

    @property
    def fabric(self) -> Fabric:
        """See the class."""
        ...

    def report(self, *message: Any) -> None:
        """Tell the driver; on the worker's thread."""
        ...


class Member:
    """See the module.

    Parameters
    ----------
    config
        Who this is.
    types
        What travels, see `Wire`.
    clock
        By which it gives up joining, and collects garbage.
    """

    def __init__(
        self, config: MemberConfig, types: tuple[WireType, ...], *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.config = config
        self._clock = clock
        self._wire = Wire(bytes.fromhex(config.fence), types)
        self._context: Context = zmq.Context()
        Authenticator(self._context, self._wire.fence)
        self.fabric = PeerFabric(config.index, config.workers, self._wire, self._context, config.interface)
        self._commands, commands = listening(
            self._context, zmq.PULL, config.interface, silent_s=DRIVER_SILENT_S
        )
        self._breaks = Breaks(self._commands)
        self._driver = -1  # the file descriptor of its connection
        self._requests, requests = listening(self._context, zmq.ROUTER, config.interface)
        self._beats, beats_breaks = connected(self._context, zmq.PUSH, config.beats, self._wire.fence)
        self._reports, self._reports_breaks = connected(
            self._context, zmq.PUSH, config.reports, self._wire.fence
        )
        beats_breaks.close()  # nothing could be said of it: who does not hear of steps any more takes this worker for stuck
        self._addresses = commands, requests, self.fabric.address
        self._served: Served
        self._stop = threading.Event()
        self._steps = 0
        self._waited = WaitedFor(clock)

    def run(self, served: Served) -> None:
        """Join the others and serve until the driver says stop, or is gone."""
        self._served = served
        self._say(self._beats, "hello", *self._addresses, os.getpid())
        worker = threading.current_thread()
        threads = [
            threading.Thread(target=self._listen, name="listener", daemon=True),
            threading.Thread(target=self._count, args=(worker,), name="counter", daemon=True),
        ]
        joined = self._receive_peers()
        if joined:
            gc.collect()
            gc.freeze()  # what is there now stays, so that a collection is short
            gc.disable()
            for thread in threads:
                thread.start()
            self._work(served.host)
            for thread in threads:
                thread.join()
            gc.enable()  # a process may be used for something else afterwards
            gc.unfreeze()
        self.fabric.close()
        self._breaks.close()
        self._reports_breaks.close()
        for socket in (self._commands, self._requests, self._beats, self._reports):
            socket.close(linger=200)
        self._context.term()

    def report(self, *message: Any) -> None:
        """Tell the driver; on the worker's thread."""
        self._say(self._reports, "report", *message)

    def _work(self, host: Host) -> None:
        collected = self._clock.monotonic()
        while not self._stop.is_set():
            self._steps += 1
            try:
                if not host.step() and not self._waited.wait(host, _WAIT_S):
                    host.idle()
                if self._steps % 64 == 0 and self._clock.monotonic() - collected > _COLLECT_S:
                    gc.collect()
                    collected = self._clock.monotonic()
            except Exception as error:  # noqa: BLE001  whatever it is, the loop it happened in is reported as failed
                self.report("failure", *described(error))
        host.close()

    def _receive_peers(self) -> bool:
        """Wait for the addresses of the others; False when they do not come."""
        deadline = self._clock.monotonic() + _JOIN_S
        while self._clock.monotonic() < deadline:
            if not self._commands.poll(500):
                continue
            frame = self._commands.recv(copy=False)
            kind, *body = self._read([frame.buffer]) or ("",)
            if kind == "peers":
                self._breaks.taken()  # a stranger's connection may have had that file descriptor before
                self._driver = int(frame.get(zmq.SRCFD))
                self.fabric.connect(body[0])
                return True
            if kind == "stop":
                return False
        return False

    def _listen(self) -> None:
        try:
            self._listen_until_stopped()
        except BaseException:  # noqa: BLE001  whatever it was
            _log.exception("worker %d: the listener failed", self.config.index)
            os._exit(4)  # nobody could say stop any more

    def _listen_until_stopped(self) -> None:
        poller = zmq.Poller()
        for socket in (self._commands, self._requests, self._breaks.events):
            poller.register(socket, zmq.POLLIN)
        while not self._stop.is_set():
            ready = dict(poller.poll(int(_LOOK_S * 1000)))
            if self._requests in ready:
                self._answer()
            if self._commands in ready:
                self._obey()  # before it is seen that the driver is gone: it may have said stop
            elif self._driver in self._breaks.taken():
                os._exit(3)

    def _count(self, worker: threading.Thread) -> None:
        while not self._stop.wait(_COUNT_S):
            if self.fabric.is_broken() or self._reports_breaks.taken():
                self._say(self._beats, "broken")
            self._say(self._beats, "beat", self._steps, *self._use(worker))

    def _use(self, worker: threading.Thread) -> WorkerUse:
        return WorkerUse(busy_s_of(worker), self._waited.seconds, self.fabric.sent_bytes)

    def _obey(self) -> None:
        """Take in commands that are there: not all, as the driver may send more as fast as this takes them, and asks besides."""
        for _ in range(_COMMANDS_AT_ONCE):
            try:
                frames = receive(self._commands, zmq.NOBLOCK)
            except zmq.Again:
                return
            kind, *body = self._read(frames) or ("",)
            if kind == "command":
                self._served.obey(body[0])
            elif kind == "stop":
                self._stop.set()
                self._served.host.wake()
                return

    def _answer(self) -> None:
        sender, *frames = receive(self._requests)
        request = self._read(frames) if frames else None  # a stranger's may have any number
        if request is None:
            return
        number, body = request
        failure = result = None
        try:
            result = self._served.answer(body)
        except Exception as error:  # noqa: BLE001  for whoever asked
            failure = described(error)
        send(self._requests, [bytes(sender), *self._wire.write((number, failure, result))])

    def _read(self, frames: Sequence[memoryview]) -> Any:
        try:
            return self._wire.read(frames)
        except WrongFence:
            return None

    def _say(self, socket: Socket, *message: Any) -> None:
        send(socket, self._wire.write((self.config.index, *message)))


def kill_all(pids: Iterable[int]) -> None:
    """End processes of this machine by force, those that still are."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def described(error: BaseException) -> tuple[str, str, str]:
    """An error as it travels: the name of its class, its message and its hint."""
    if isinstance(error, TornadoError):
        return type(error).__name__, error.message, error.hint
    notes = "; ".join(getattr(error, "__notes__", ()))
    return type(error).__name__, f"{error!r}{f' ({notes})' if notes else ''}", ""
