"""Messages between processes: they come back as they were, and what others send does nothing."""

import contextlib
import math
import os
import pickle
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from zmq.utils.monitor import recv_monitor_message

from tests.bombs import little_memory
from tests.engine.places import Placed, pids_of, runs, stream
from tests.promised import eventually
from tornado.config import cache_dir
from tornado.engine import MemberConfig, WireType, wire
from tornado.engine.authenticator import Authenticator
from tornado.engine.peers import PeerFabric
from tornado.engine.sockets import connect, connected, listening, send
from tornado.engine.wire import FENCE_BYTES, Wire, WrongFence
from tornado.errors import ConnectionLost
from tornado.kernel_modules import name_of
from tornado.kinds.selective.bundle import Bundle, Messages
from tornado.loops import Master
from tornado.loops.remote_worker import WIRE_TYPES

FENCE, OTHER = bytes(range(16)), bytes(16)
REFUSED = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_DISCONNECTED
)
KINDS = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float64")

shapes = st.integers(0, 70) | st.tuples(st.integers(0, 9), st.integers(0, 9))
arrays = st.sampled_from(KINDS).flatmap(lambda kind: arrays_of.arrays(kind, shapes))
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20)
)
messages = st.recursive(
    plain | arrays,
    lambda inner: (
        st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(0, 9), inner, max_size=4)
    ),
    max_leaves=20,
)


def same(one, other):
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes() or (
            math.isnan(one) and math.isnan(other)
        )
    return type(one) is type(other) and one == other


def arrays_in(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(inner)


@given(message=messages)
@settings(max_examples=100, deadline=None)
def test_messages_come_back_as_they_were_with_arrays_that_can_be_written_to(message):
    back = Wire(FENCE).read(list(map(memoryview, Wire(FENCE).write(message))))
    assert same(message, back)
    for array in arrays_in(back):
        assert array.flags.writeable and array.flags.aligned and array.flags.c_contiguous
        array[:] = 0  # and nothing beside it changes
    for before, after in zip(arrays_in(message), arrays_in(back), strict=True):
        assert len(before) == len(after) and not after.any()


@given(message=messages, bundle_of=st.integers(0, 50), changes=st.booleans())
@settings(max_examples=50, deadline=None)
def test_bundles_travel_inside_of_messages(message, bundle_of, changes):
    columns = Messages.of(
        np.arange(bundle_of, dtype=kind) for kind in (np.uint8, np.int64, np.float64, np.int64)
    )
    sent = Bundle(3, columns, 7, ((4, 1), (5, -1)) if changes else ())
    ours = Wire(FENCE, WIRE_TYPES)
    _, (back, _), _ = ours.read(ours.write((message, (sent, 1), message)))
    assert (back.sender, back.wave, back.wave_changes) == (3, 7, sent.wave_changes)
    assert all(map(same, sent.messages, back.messages))


@given(message=messages, frame=st.integers(16, 300))
@settings(max_examples=100, deadline=None)
def test_a_message_of_any_size_travels_in_frames_of_bounded_size(message, frame):
    before, wire.FRAME_BYTES = wire.FRAME_BYTES, max(frame, FENCE_BYTES + 4)
    try:
        frames = Wire(FENCE).write(message)
        assert max(map(len, frames)) <= wire.FRAME_BYTES
        assert same(message, Wire(FENCE).read(frames))
        for other in (frames[1:], [Wire(OTHER).write(message)[0], *frames[1:]]):
            if other:
                with pytest.raises(WrongFence):
                    Wire(FENCE).read(other)
    finally:
        wire.FRAME_BYTES = before


@given(data=st.data(), frame=st.integers(32, 400))
@settings(max_examples=50, deadline=None)
def test_arrays_of_several_dimensions_keep_their_shape_in_frames_of_any_size(data, frame):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=4))
    array = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    sent = data.draw(st.sampled_from([array, array.T, array[::2]]))
    before, wire.FRAME_BYTES = wire.FRAME_BYTES, frame
    try:
        back, after = Wire(FENCE).read(Wire(FENCE).write((sent, np.arange(3.0))))
    finally:
        wire.FRAME_BYTES = before
    assert (back.shape, back.dtype, back.tolist()) == (sent.shape, sent.dtype, sent.tolist())
    assert after.tolist() == [0.0, 1.0, 2.0]


def test_slices_and_numbers_of_numpy_travel_as_what_they_are():
    ours = Wire(FENCE)
    back, number = ours.read(ours.write((np.arange(20)[3:15:4], np.int64(7))))
    assert (back.tolist(), number) == ([3, 7, 11], 7)


@pytest.mark.parametrize("rows", [3, 1 << 17], ids=["in one frame", "in several"])
def test_pairs_of_whole_numbers_travel_as_pairs_however_they_lie_in_memory(rows):
    ours = Wire(FENCE)
    pairs = np.arange(2 * rows, dtype=np.int64).reshape(2, rows).T[::-1]
    pairs[0] = 2**63 - 1, -(2**63)
    frames = ours.write(("values", pairs))
    assert (len(frames) == 1) == (rows == 3)
    _, back = ours.read(frames)
    assert (back.dtype, back.shape) == (np.int64, (rows, 2))
    assert np.array_equal(back, pairs)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "object cannot travel between processes"),
        (np.array(2.0), "float64 with 0 dimensions cannot travel"),
        (np.zeros(2, "complex64"), "complex64 with 1 dimensions cannot travel"),
        (np.array([None]), "object with 1 dimensions cannot travel"),
        (Bundle(0), "Bundle cannot travel"),
    ],
)
def test_what_cannot_travel_is_refused_where_it_is_sent(value, said):
    with pytest.raises(TypeError, match=said):
        Wire(FENCE).write((1, value))


@given(garbage=st.binary(max_size=64))
def test_what_has_another_fence_is_not_looked_into(garbage):
    ours = Wire(FENCE)
    for data in (garbage, garbage + OTHER, *Wire(OTHER).write((1, 2)), FENCE[:-1], FENCE):
        with pytest.raises(WrongFence):
            ours.read([data])
    assert issubclass(WrongFence, ConnectionLost)


def connect_bare(socket, address):
    """Connect as somebody who has no key at all."""
    socket.connect(f"tcp://{address.partition('/')[0]}")


class Trap:
    def __reduce__(self):
        return os._exit, (77,)


def test_nothing_is_unpickled():
    """Not even with the right fence: there is nothing that would."""
    ours = Wire(FENCE)
    trap = pickle.dumps(Trap())
    assert ours.read(ours.write((trap, np.frombuffer(trap, np.uint8))))[0] == trap
    imported = "import sys, tornado.loops.remote_worker as w; print([m for m in ('pyspark', 'dill') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", imported], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_workers_reach_each_other_in_order_and_drop_what_strangers_send():
    context = zmq.Context()
    Authenticator(context, FENCE)
    fabrics = [PeerFabric(index, 2, Wire(FENCE, WIRE_TYPES), context, "127.0.0.1") for index in range(2)]
    stranger = context.socket(zmq.PUSH)
    try:
        for fabric in fabrics:
            fabric.connect([each.address for each in fabrics])
        connect(stranger, fabrics[1].address, FENCE)
        for garbage in (b"", b"garbage", *Wire(OTHER).write(("progress", 1)), pickle.dumps(Trap())):
            stranger.send(garbage)
        stranger.send_multipart([b"in", b"parts"])
        for number in range(200):
            fabrics[0].send(0, 1, (number, np.full(5, number)))
        received, until = [], time.monotonic() + 20
        while (len(received) < 200 or fabrics[1].dropped < 5) and time.monotonic() < until:
            fabrics[1].wait(1, 0.1)
            received += fabrics[1].receive(1)
        assert [number for number, _ in received] == list(range(200))
        assert all((column == number).all() for number, column in received)
        assert fabrics[1].dropped == 5
    finally:
        stranger.close(linger=0)
        for fabric in fabrics:
            fabric.close()
        context.term()


@pytest.mark.parametrize("kind", [zmq.PUSH, zmq.DEALER])
def test_what_is_sent_over_a_connection_that_broke_is_lost_and_nobody_waits(kind):
    context, other = zmq.Context(), zmq.Context()
    Authenticator(other, FENCE)
    end, address = listening(other, zmq.PULL if kind == zmq.PUSH else zmq.ROUTER, "127.0.0.1")
    socket, breaks = connected(context, kind, address, FENCE)
    try:
        send(socket, [b"one", b"message"])
        assert end.poll(20_000)
        end.close(linger=0)
        other.term()
        assert breaks.events.poll(20_000) and breaks.taken()
        sender = threading.Thread(target=send, args=(socket, [b"another", b"message"]), daemon=True)
        sender.start()
        sender.join(60)
        assert not sender.is_alive()
    finally:
        breaks.close()
        socket.close(linger=0)
    context.term()


def test_nothing_of_a_message_can_be_read_on_its_way_and_nobody_else_can_take_its_place():
    """Whoever passes the bytes on sees no word of them, and whoever listens there with another key hears nothing."""
    context, seen = zmq.Context(), bytearray()
    Authenticator(context, FENCE)
    end, address = listening(context, zmq.PULL, "127.0.0.1")
    host, port = address.partition("/")[0].split(":")

    def pass_on(near, far):
        with contextlib.suppress(OSError):
            while some := near.recv(1 << 16):
                seen.extend(some)
                far.sendall(some)

    with socket.create_server(("127.0.0.1", 0)) as relay:
        place = f"127.0.0.1:{relay.getsockname()[1]}"
        outlet, breaks = connected(context, zmq.PUSH, f"{place}/{address.partition('/')[2]}", FENCE)
        with relay.accept()[0] as near, socket.create_connection((host, int(port))) as far:
            threads = [threading.Thread(target=pass_on, args=ends) for ends in ((near, far), (far, near))]
            for thread in threads:
                thread.start()
            send(outlet, Wire(FENCE).write(("program", "def step(): return 'of nobody else'")))
            assert end.poll(20_000)
            assert Wire(FENCE).read([end.recv()])[0] == "program"
            for one in (near, far):
                one.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
    assert len(seen) > 200 and b"nobody" not in seen and FENCE not in seen
    breaks.close()
    outlet.close(linger=0)
    other, stolen = listening(context, zmq.PULL, "127.0.0.1")
    stolen = stolen.partition("/")[0]
    outlet, breaks = connected(context, zmq.PUSH, f"{stolen}/{address.partition('/')[2]}", FENCE)
    send(outlet, [b"for somebody else"])
    assert breaks.events.poll(20_000) and breaks.taken()
    assert not other.poll(0)
    breaks.close()
    for one in (outlet, end, other):
        one.close(linger=0)
    context.term()


def test_a_worker_that_waits_is_woken_by_a_message_and_by_other_threads():
    context = zmq.Context()
    fabric = PeerFabric(0, 1, Wire(FENCE), context, "127.0.0.1")
    try:
        assert not fabric.wait(0, 0.01)
        for _ in range(50):
            threading.Thread(target=fabric.wake, args=(0,)).start()
            assert fabric.wait(0, 20)
    finally:
        fabric.close()
        context.term()


@pytest.mark.usefixtures("patient")
def test_strangers_who_talk_to_driver_and_workers_change_nothing(lossy):
    with Placed(lossy, "streamed", stream()) as streamed:
        streamed.admit(2000)
        engine = lossy.engine
        context = zmq.Context()
        sockets = []
        try:
            for commands, requests, peers, _ in engine._hellos.values():
                for kind, address in (
                    (zmq.PUSH, commands),
                    (zmq.DEALER, requests),
                    (zmq.REQ, requests),
                    (zmq.PUSH, peers),
                ):
                    sockets.append(context.socket(kind))
                    connect_bare(sockets[-1], address)
            sockets.append(context.socket(zmq.PUSH))
            connect_bare(sockets[-1], engine._beats.address)
            sockets.append(context.socket(zmq.PUSH))
            connect_bare(sockets[-1], engine._reports.address)
            [stop] = Wire(OTHER).write(("stop",))
            for socket in sockets:
                for garbage in ([stop], [b""], [pickle.dumps(Trap())], [b"a", b"b", b"c"]):
                    send(socket, garbage)  # unless it was refused already
                    if socket.type == zmq.REQ:
                        break  # it would wait for an answer
            pids = pids_of(lossy)
            time.sleep(0.3)
            while streamed.admit(1000):
                streamed.check_branch(streamed.loop.fork())
            streamed.check_main()
            assert (pids_of(lossy), engine.losses, all(map(runs, pids))) == (pids, 0, True)
        finally:
            for socket in sockets:
                socket.close(linger=0)
            context.term()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("fence", [None, OTHER], ids=["without a key", "with the key of another set"])
def test_the_text_of_a_kernel_and_the_name_of_a_program_are_run_for_nobody_but_who_has_the_key(
    lossy, fence, tmp_path
):
    """Not even where the rest of the message is right to the last byte: whoever has the key is heard, and all of it runs."""
    ran, imported, program = tmp_path / "ran", tmp_path / "imported", tmp_path / f"program_{tmp_path.name}.py"
    text = f"open({str(ran)!r}, 'w').close()\nraise SystemExit"
    program.write_text(f"open({str(imported)!r}, 'w').close()\n")
    compiled = cache_dir() / "kernels" / f"{name_of(text)}.py"
    reference = (("", str(program), "Program", ""), b"")
    start = ("command", ("start", 99, "elsewhere", "selective", (text, (), None, 0, True)))
    require = (1, ("require", "general", (reference,)))
    with Placed(lossy, "streamed", stream()) as streamed:
        streamed.admit(2000)
        engine = lossy.engine
        wire = Wire(engine._wire.fence, WIRE_TYPES)  # what is in front of each message, and no key
        workers = [engine._hellos[index] for index in range(lossy.workers)]
        elsewhere = ("hello", "127.0.0.1:1/00", "127.0.0.1:1/00", "127.0.0.1:1/00", 1)
        said = [
            *((zmq.PUSH, commands, start) for commands, *_ in workers),
            *((zmq.DEALER, requests, require) for _, requests, *_ in workers),
            *((zmq.PUSH, peers, start) for _, _, peers, _ in workers),
            # A worker that nobody started: the driver would send it the kernels of its loops.
            (zmq.PUSH, engine._beats.address, (0, *elsewhere)),
            (zmq.PUSH, engine._reports.address, (0, "report", "failed", 1, None, ("KeyError", "", ""))),
        ]
        context = zmq.Context()
        try:
            for kind, address, message in said:
                socket = context.socket(kind)
                told = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | REFUSED)
                if fence is None:
                    connect_bare(socket, address)
                else:
                    connect(socket, address, fence)
                send(socket, wire.write(message))
                assert told.poll(20_000), address
                assert recv_monitor_message(told)["event"] & REFUSED, address
                send(socket, wire.write(message))
                assert not (kind == zmq.DEALER and socket.poll(200)), address
                socket.disable_monitor()
                told.close(linger=0)
                socket.close(linger=0)
            pids = pids_of(lossy)
            streamed.admit(1000)
            streamed.check_branch(streamed.loop.fork())
            assert (pids_of(lossy), engine.losses, all(map(runs, pids))) == (pids, 0, True)
            assert engine._hellos == dict(enumerate(workers))
            assert [one for one in (ran, imported, compiled) if one.exists()] == []
            # The same of one who has the key, to one worker.
            commands, requests, *_ = workers[0]
            for kind, address, message in ((zmq.DEALER, requests, require), (zmq.PUSH, commands, start)):
                socket = context.socket(kind)
                connect(socket, address, engine._wire.fence)
                send(socket, wire.write(message))
                eventually((imported if kind == zmq.DEALER else ran).exists)
                socket.close(linger=0)
            assert compiled.exists()
        finally:
            context.destroy(linger=0)
            compiled.unlink(missing_ok=True)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("fence", [None, OTHER])
def test_a_message_without_an_end_is_not_held_for_whoever_does_not_know_the_fence(fence):
    part = bytes(wire.FRAME_BYTES)
    with Master(workers=2, engine="processes") as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(2000)
        engine = master.engine
        links = [
            (kind, address)
            for commands, requests, peers, _ in engine._hellos.values()
            for kind, address in ((zmq.PUSH, commands), (zmq.DEALER, requests), (zmq.PUSH, peers))
        ]
        links += [(zmq.PUSH, engine._beats.address), (zmq.PUSH, engine._reports.address)]
        context = zmq.Context()
        # The driver is this process, and holds the one part that all of them send.
        try:
            with little_memory(os.getpid(), *pids_of(master), most_bytes=100 << 20):
                for kind, address in links:
                    socket = context.socket(kind)
                    socket.set_hwm(0)
                    told = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | REFUSED)
                    if fence is None:
                        connect_bare(socket, address)
                    else:
                        connect(socket, address, fence)
                    # Where nobody listens any more because it was refused, there is nowhere to send to.
                    socket.setsockopt(zmq.SNDTIMEO, 1_000)
                    with contextlib.suppress(zmq.Again):
                        for _ in range(100):
                            socket.send(part, zmq.SNDMORE, copy=False)
                    assert told.poll(20_000), address
                    assert recv_monitor_message(told)["event"] & REFUSED, address
                    socket.disable_monitor()
                    told.close(linger=0)
                    socket.close(linger=0)
        finally:
            context.destroy(linger=0)
        while streamed.admit(2000):
            pass
        streamed.check_main()
        assert engine.losses == 0


@pytest.mark.usefixtures("patient")
def test_nothing_larger_than_a_frame_is_taken_in_from_strangers_and_larger_messages_of_ours_come_in_whole():
    records = stream(vertices=50_000, edges=200_000)
    with Master(workers=2, engine="processes") as master, Placed(master, "streamed", records) as streamed:
        engine = master.engine
        context = zmq.Context()
        links = [
            (kind, address)
            for commands, requests, peers, _ in engine._hellos.values()
            for kind, address in ((zmq.PUSH, commands), (zmq.DEALER, requests), (zmq.PUSH, peers))
        ]
        links += [(zmq.PUSH, engine._beats.address), (zmq.PUSH, engine._reports.address)]
        try:
            for kind, address in links:
                socket = context.socket(kind)
                cut_off = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
                connect(socket, address, engine._wire.fence)
                socket.send(bytes(wire.FRAME_BYTES))
                assert not cut_off.poll(200), address  # what is as large as may be is dropped like any other
                socket.send(bytes(wire.FRAME_BYTES + 1))
                assert cut_off.poll(20_000), address
                socket.disable_monitor()
                cut_off.close(linger=0)
                socket.close(linger=0)
            pids = pids_of(master)
            assert streamed.admit(150_000)  # more than a frame for each worker
            streamed.check_branch(streamed.loop.fork())
            while streamed.admit(20_000):
                pass
            streamed.check_main()
            assert (pids_of(master), engine.losses) == (pids, 0)
        finally:
            context.destroy(linger=0)


def test_a_configuration_travels_as_one_line():
    config = MemberConfig("127.0.0.1:9/00", "127.0.0.1:10/00", 1, 2, FENCE.hex())
    assert "\n" not in config.to_json()
    assert MemberConfig.of_json(config.to_json()) == config
    assert len(FENCE) == FENCE_BYTES
    assert isinstance(WIRE_TYPES[0], WireType)
