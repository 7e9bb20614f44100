"""One connection of a set of workers breaks, and no process: the workers are lost and replaced, and nobody waits for ever.

The connections go through a relay of the test, which cuts them off in the middle of what is under way.
"""

import contextlib
import socket
import threading

import pytest
import zmq

from tests.engine.places import Placed, is_restored, stream
from tests.promised import eventually
from tornado.clock import SYSTEM_CLOCK
from tornado.engine import transport
from tornado.engine.cluster import ClusterEngine
from tornado.engine.transport import SocketTransport
from tornado.engine.wire import WrongFence
from tornado.loops import Master


class Relay:
    """Passes on what comes in to another address, until it is cut; then it refuses."""

    def __init__(self, address):
        place, _, key = address.partition("/")
        host, port = place.split(":")
        self._to = host, int(port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}/{key}"
        self._ends, self._passing = [], []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self):
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.cut()
        for thread in (self._accepting, *self._passing):
            thread.join()
        for end in self._ends:
            end.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, far = self._listening.accept()[0], socket.create_connection(self._to)
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    passing = threading.Thread(target=self._pass, args=(one, other), daemon=True)
                    self._passing.append(passing)
                    passing.start()

    @staticmethod
    def _pass(one, other):
        with contextlib.suppress(OSError):
            while some := one.recv(1 << 16):
                other.sendall(some)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relays(monkeypatch):
    """The relays by what goes through them: of the first set of workers."""
    made = {}
    take_beat, launch = ClusterEngine._take_beat, ClusterEngine._launch

    def relayed(what, address):
        if what not in made:
            made[what] = Relay(address)
        return made[what].address

    def take(engine, frames):
        try:
            said = engine._wire.read(frames)
        except WrongFence:  # of workers that are gone
            return
        if said[1] == "hello" and not engine.losses:
            index, kind, commands, requests, peers, pid = said
            requests, peers = relayed(f"requests {index}", requests), relayed(f"peers {index}", peers)
            frames = engine._wire.write((index, kind, commands, requests, peers, pid))
        take_beat(engine, frames)

    def launched(engine):
        inbox = engine._reports
        if not engine.losses:
            address, inbox.address = inbox.address, relayed("reports", inbox.address)
            try:
                launch(engine)
            finally:
                inbox.address = address
        else:
            launch(engine)

    monkeypatch.setattr(ClusterEngine, "_take_beat", take)
    monkeypatch.setattr(ClusterEngine, "_launch", launched)
    yield made
    for relay in made.values():
        relay.close()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("what", ["peers 1", "requests 0", "reports"])
def test_a_connection_that_breaks_alone_is_a_loss_of_the_workers(relays, what):
    records = stream(seed=5)
    with Master(workers=2, engine="processes") as master, Placed(master, "streamed", records) as streamed:
        streamed.admit(1000)
        streamed.check_branch(streamed.loop.fork())
        master.engine.recovered_s = None
        relays[what].cut()
        streamed.admit(1000)
        eventually(lambda: is_restored(master))
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        assert master.engine.losses == 1


def test_what_never_ends_is_left_and_said(monkeypatch, caplog):
    monkeypatch.setattr(transport, "_ENDS_WITHIN_S", 0.2)
    sockets = SocketTransport("127.0.0.1", SYSTEM_CLOCK)
    left = sockets._context.socket(zmq.PUSH)
    closing = threading.Thread(target=sockets.close, daemon=True)
    closing.start()
    closing.join(10)
    is_over = not closing.is_alive()
    left.close(linger=0)
    eventually(lambda: sockets._context.closed)
    assert is_over
    assert "are left" in caplog.text
