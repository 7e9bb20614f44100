"""The worker's end of the connection between a worker process and the process that started it.

Two threads: the *worker's*, which steps the host, reaches the other workers and reports; and the *listener's*, which takes
commands, answers requests and says every so often that it is alive and how many steps the worker did. A driver that falls
silent is gone, and then so is this process: nothing is left behind.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import zmq

from ..errors import TornadoError
from .contract import Host
from .peers import PeerFabric
from .wire import Wire, WireType, WrongFence

BEAT_S = 0.2
DRIVER_SILENT_S = 10.0
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
        Addresses of the driver's two inboxes: for signs of life, and for what happens.
    index, workers
        Which worker, of how many.
    fence
        The secret of this set of workers, in hexadecimal.
    interface
        The address to listen at.
    """

    beats: str
    reports: str
    index: int
    workers: int
    fence: str
    interface: str = "127.0.0.1"

    def to_json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> MemberConfig:
        """Of that line."""
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


class Member:
    """See the module.

    Parameters
    ----------
    config
        Who this is.
    types
        What travels, see `Wire`.
    """

    def __init__(self, config: MemberConfig, types: tuple[WireType, ...]) -> None:
        self.config = config
        self._wire = Wire(bytes.fromhex(config.fence), types)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.fabric = PeerFabric(config.index, config.workers, self._wire, self._context, config.interface)
        self._commands = self._context.socket(zmq.PULL)
        self._requests = self._context.socket(zmq.ROUTER)
        self._beats = self._outlet(config.beats)
        self._reports = self._outlet(config.reports)
        self._ports = [self._bound(self._commands), self._bound(self._requests)]
        self._served: Served
        self._is_stopping = False
        self._steps = 0

    def run(self, served: Served) -> None:
        """Join the others and serve until the driver says stop, or is gone."""
        self._served = served
        self._say(self._beats, "hello", *self._ports, self.fabric.address, os.getpid())
        listener = threading.Thread(target=self._listen, name="listener", daemon=True)
        joined = self._receive_peers()
        if joined:
            gc.collect()
            gc.freeze()  # what is there now stays, so that a collection is short
            gc.disable()
            listener.start()
            self._work(served.host)
            listener.join()
            gc.enable()  # a process may be used for something else afterwards
            gc.unfreeze()
        self.fabric.close()
        for socket in (self._commands, self._requests, self._beats, self._reports):
            socket.close(linger=200)
        self._context.term()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Say that the listener is going to be busy for a while, and when it is no more; on the listener's thread."""
        self._say(self._beats, "loading")
        yield
        self._say(self._beats, "beat", self._steps)  # at once: until then silence is no sign of loss

    def report(self, *message: Any) -> None:
        """Tell the driver; on the worker's thread."""
        self._say(self._reports, "report", *message)

    def _work(self, host: Host) -> None:
        collected = time.monotonic()
        while not self._is_stopping:
            self._steps += 1
            try:
                if not host.step() and not host.wait(_WAIT_S):
                    host.idle()
                if self._steps % 64 == 0 and time.monotonic() - collected > _COLLECT_S:
                    gc.collect()
                    collected = time.monotonic()
            except Exception as error:  # noqa: BLE001  whatever it is, the loop it happened in is reported as failed
                self.report("failure", *described(error))
        host.close()

    def _receive_peers(self) -> bool:
        """Wait for the addresses of the others; False when they do not come."""
        deadline = time.monotonic() + _JOIN_S
        while time.monotonic() < deadline:
            if not self._commands.poll(500):
                continue
            kind, *body = self._read(self._commands.recv()) or ("",)
            if kind == "peers":
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
        poller.register(self._commands, zmq.POLLIN)
        poller.register(self._requests, zmq.POLLIN)
        heard = beaten = time.monotonic()
        while not self._is_stopping:
            ready = dict(poller.poll(int(BEAT_S * 1000)))
            now = time.monotonic()
            if now - beaten >= BEAT_S:
                beaten = now
                self._say(self._beats, "beat", self._steps)
            if self._requests in ready:
                self._answer()
            if self._commands in ready:
                heard = now
                self._obey()
            elif now - heard > DRIVER_SILENT_S:
                os._exit(3)

    def _obey(self) -> None:
        """Take in all commands that are there."""
        while True:
            try:
                data = self._commands.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            kind, *body = self._read(data) or ("",)
            if kind == "command":
                self._served.obey(body[0])
            elif kind == "stop":
                self._is_stopping = True
                self._served.host.wake()
                return

    def _answer(self) -> None:
        sender, *parts = self._requests.recv_multipart()
        request = self._read(parts[-1])  # a stranger's may have any number of parts
        if request is None:
            return
        number, body = request
        failure = result = None
        try:
            result = self._served.answer(body)
        except Exception as error:  # noqa: BLE001  for whoever asked
            failure = described(error)
        reply = number, failure, result
        self._requests.send_multipart([sender, self._wire.write(reply)])

    def _read(self, data: bytes) -> Any:
        try:
            return self._wire.read(data)
        except WrongFence:
            return None

    def _say(self, socket: zmq.Socket[bytes], *message: Any) -> None:
        socket.send(self._wire.write((self.config.index, *message)))

    def _outlet(self, address: str) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.PUSH)
        socket.set_hwm(0)
        socket.connect(f"tcp://{address}")
        return socket

    def _bound(self, socket: zmq.Socket[bytes]) -> str:
        socket.set_hwm(0)
        interface = self.config.interface
        return f"{interface}:{socket.bind_to_random_port(f'tcp://{interface}')}"


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
