"""Ports for servers that bind them some time after they were chosen, or once more after they were stopped."""

import contextlib
import random
import socket
from pathlib import Path

_LEAST = 10_000
# From here on the system gives ports to whoever connects, at any time.
_END = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


def free_ports(count):
    """So many ports of loopback that nobody has, none of them twice."""
    with contextlib.ExitStack() as stack:
        return [_bound(stack) for _ in range(count)]


def free_port():
    [port] = free_ports(1)
    return port


def _bound(stack):
    # Not the generator that a test has seeded: two processes would choose the same ones.
    for port in random.SystemRandom().sample(range(_LEAST, _END), 1_000):
        taken = stack.enter_context(socket.socket())
        with contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
