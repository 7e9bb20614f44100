"""What do keys between processes, and tokens at the door, cost?

Run with ``python -m benchmarks.protection``. Messages go from one process to another through the sockets of the engine, as they are and with
the keys left out, by turns: how many bytes a second, how much processor time both ends take for them, and how long a small message and its
answer take. Then a service of one small loop is asked over one kept connection, with tokens and without, by turns, and what looks at a
token is called alone.
"""  # noqa: D400  # a question

from __future__ import annotations

import argparse
import asyncio
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx
import zmq
from starlette.types import Message, Scope

import tornado
from apps.sssp import ShortestPaths
from tornado.clock import SYSTEM_CLOCK
from tornado.engine.authenticator import Authenticator
from tornado.engine.sockets import connect, listening, receive, send
from tornado.engine.wire import FRAME_BYTES
from tornado.query.http_access import Access
from tornado.query.tickets import Tickets
from tornado.query.token_file import TokenFile

TURNS = 7
MEBIBYTE = 1 << 20
LARGE_BYTES = 8 * MEBIBYTE
LARGE_COUNT = 50
SMALL_COUNT = 3_000
REQUESTS = 1_000
CHECKS = 20_000


def open_end(context: Any, kind: int, *, keys: bool) -> tuple[Any, str]:
    """Listen as the engine does, or the same without keys; return the socket and its address."""
    if keys:
        return listening(context, kind, "127.0.0.1")
    socket = context.socket(kind)
    socket.set_hwm(0)
    return socket, f"127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}/"


def join(socket: Any, address: str, fence: bytes, *, keys: bool) -> None:
    """Connect as the engine does, or the same without keys."""
    socket.set_hwm(0)
    if keys:
        connect(socket, address, fence)
    else:
        socket.connect(f"tcp://{address.partition('/')[0]}")


def other_end(address: str, fence: bytes, *, keys: bool) -> None:
    """Be the other process: send many large messages, then answer small ones, and say how much processor time the first took."""
    context: zmq.Context[Any] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    join(socket, address, fence, keys=keys)
    send(socket, [b"here"])
    receive(socket)
    frame = secrets.token_bytes(FRAME_BYTES)
    message = [frame] * (LARGE_BYTES // FRAME_BYTES)
    began_s = time.process_time()
    for _ in range(LARGE_COUNT):
        send(socket, message)
    receive(socket)  # all have come
    send(socket, [str(time.process_time() - began_s).encode()])
    while (found := receive(socket)[0].tobytes()) != b"end":
        send(socket, [found])
    socket.close(linger=0)
    context.term()


def between_processes(*, keys: bool) -> dict[str, float]:
    """Measure once."""
    context: zmq.Context[Any] = zmq.Context()
    fence = secrets.token_bytes(16)
    Authenticator(context, fence)
    end, address = open_end(context, zmq.ROUTER, keys=keys)
    command = [sys.executable, "-m", "benchmarks.protection", "--other", address, fence.hex(), str(int(keys))]
    with subprocess.Popen(command) as other:
        name = receive(end)[0].tobytes()
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        end.send_multipart([name, b"begin"])
        size = 0
        for _ in range(LARGE_COUNT):
            size += sum(len(frame) for frame in receive(end)[1:])
        seconds, own_cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
        assert size == LARGE_COUNT * LARGE_BYTES
        end.send_multipart([name, b"all"])
        other_cpu_s = float(receive(end)[1].tobytes())
        times = []
        for _ in range(SMALL_COUNT):
            began_s = time.perf_counter()
            end.send_multipart([name, b"x" * 64])
            receive(end)
            times.append(time.perf_counter() - began_s)
        end.send_multipart([name, b"end"])
        assert other.wait(30) == 0
    end.close(linger=0)
    context.term()
    gigabytes = size / 1e9
    return {
        "large messages, GB/s": gigabytes / seconds,
        "processor time of who sends, s/GB": other_cpu_s / gigabytes,
        "processor time of who receives, s/GB": own_cpu_s / gigabytes,
        "64 bytes there and back, p50, µs": 1e6 * statistics.median(times),
    }


def over_http(*, tokens: bool) -> dict[str, float]:
    """Measure once how long a small GET takes."""
    token = secrets.token_hex(16)
    with tornado.open("memory:", workers=1) as session:
        session.start(ShortestPaths(source=1), "roads").insert([1, 2], [2, 3])
        server = session.serve(tokens=f"read {token} roads" if tokens else None)
        headers = {"Authorization": f"Bearer {token}"} if tokens else {}
        with httpx.Client(base_url=server.url, headers=headers) as client:
            times = []
            for _ in range(REQUESTS):
                began_s = time.perf_counter()
                assert client.get("/v1/loops/roads").status_code == 200
                times.append(time.perf_counter() - began_s)
    return {"GET /v1/loops/roads, p50, µs": 1e6 * statistics.median(times[REQUESTS // 10 :])}


def check_alone(*, tokens: bool) -> dict[str, float]:
    """Measure once what the check takes in front of something that does nothing."""
    token = secrets.token_hex(16)
    others = "\n".join(f"read {secrets.token_hex(16)} roads" for _ in range(100))
    with tornado.open("memory:", workers=1) as session:
        session.start(ShortestPaths(source=1), "roads").insert([1], [2])
        known = TokenFile.of(f"{others}\nread {token} roads") if tokens else None

        async def nothing(_scope: Scope, _receive: Any, _send: Any) -> None:
            pass

        access = Access(nothing, session.service, known, Tickets(clock=SYSTEM_CLOCK))
        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        seconds = asyncio.run(_checked(access, headers))
    return {"the check alone, beside 100 other tokens, µs": 1e6 * seconds / CHECKS}


async def _checked(
    access: Callable[[Scope, Any, Any], Awaitable[None]], headers: Sequence[tuple[bytes, bytes]]
) -> float:
    async def said(message: Message) -> None:
        raise AssertionError(message)

    began_s = time.perf_counter()
    for _ in range(CHECKS):
        scope = {"type": "http", "method": "GET", "path": "/v1/loops/roads", "query_string": b""}
        await access(scope | {"headers": list(headers)}, None, said)
    return time.perf_counter() - began_s


def main() -> None:
    """Print the table: the median of so many turns each, and how many times as much it is with protection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--other", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.other:
        address, fence, keys = given.other
        other_end(address, bytes.fromhex(fence), keys=bool(int(keys)))
        return
    measures: list[Callable[[bool], dict[str, float]]] = [
        lambda guarded: between_processes(keys=guarded),
        lambda guarded: over_http(tokens=guarded),
        lambda guarded: check_alone(tokens=guarded),
    ]
    for measure in measures:
        found: dict[bool, list[dict[str, float]]] = {False: [], True: []}
        for _ in range(given.turns):
            for guarded in (False, True):
                found[guarded].append(measure(guarded))
        for name in found[True][0]:
            without, with_ = (statistics.median(one[name] for one in found[kind]) for kind in (False, True))
            print(f"{name}: {without:.3g} without, {with_:.3g} with, x{with_ / without:.2f}")


if __name__ == "__main__":
    main()
