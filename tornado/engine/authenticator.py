"""Who may send anything to the sockets of a process: those who know the fence, and nobody else gets further than the handshake.

ZeroMQ bounds a frame, not a message: of one without an end it would hold every frame. So a socket that listens lets in only who
brings the fence as a password (ZMTP mechanism PLAIN, RFC 24), about which ZeroMQ asks a socket of this process (ZAP, RFC 27).
Encryption would keep strangers out as well (CURVE), and makes messages two to five times as slow. Left out on purpose: who can
read along on the network can learn the fence.
"""

from __future__ import annotations

import secrets
import threading

import zmq

from .sockets import Context

_ADDRESS = "inproc://zeromq.zap.01"
_ENOUGH = 7  # version, number, domain, address, identity, mechanism, and one credential at least


class Authenticator:
    """Answers the questions of one context on a thread of its own, until the context is terminated.

    To be made before a socket of the context listens.

    Parameters
    ----------
    context : Context
        ZeroMQ's.
    fence : bytes
        What is let in.

    Attributes
    ----------
    fence
        May be changed: connections that were let in stay.
    """

    def __init__(self, context: Context, fence: bytes) -> None:
        self.fence = fence
        self._questions = context.socket(zmq.REP)
        self._questions.linger = 0
        self._questions.bind(_ADDRESS)
        threading.Thread(target=self._run, name="tornado-authenticator", daemon=True).start()

    def _run(self) -> None:
        with self._questions:
            while True:
                try:
                    question = self._questions.recv_multipart()
                    self._questions.send_multipart(self._answer(question))
                except zmq.ContextTerminated:
                    return

    def _answer(self, question: list[bytes]) -> list[bytes]:
        known = (
            len(question) >= _ENOUGH
            and question[5] == b"PLAIN"
            and secrets.compare_digest(question[-1], self.fence.hex().encode())
        )
        code, text = (b"200", b"OK") if known else (b"400", b"another fence")
        return [b"1.0", question[1] if len(question) > 1 else b"", code, text, b"", b""]
