"""Who may send anything to the sockets of a process: who has the key of its set of workers; others get no further than the handshake.

ZeroMQ bounds a frame, not a message: of one without an end it would hold every frame. And whoever sends to a worker can have any code
run there. So a socket that listens lets in only who proves that it has the secret key of the set (CurveZMQ, RFC 26), about whose
public half ZeroMQ asks a socket of this process (ZAP, RFC 27). What is sent is encrypted and cannot be changed on the way; who can read along
learns lengths and times.
"""

from __future__ import annotations

import secrets
import threading

import zmq

from .sockets import Context, public_key_of_set

_ADDRESS = "inproc://zeromq.zap.01"
_ENOUGH = 7  # version, number, domain, address, identity, mechanism, and the key


class Authenticator:
    """Answers the questions of one context on a thread of its own, until the context is terminated.

    To be made before a socket of the context listens.

    Parameters
    ----------
    context : Context
        ZeroMQ's.
    fence : bytes
        The secret of the set that is let in.
    """

    def __init__(self, context: Context, fence: bytes) -> None:
        self._known = public_key_of_set(fence)
        self._questions = context.socket(zmq.REP)
        self._questions.linger = 0
        self._questions.bind(_ADDRESS)
        threading.Thread(target=self._run, name="tornado-authenticator", daemon=True).start()

    def let_in(self, fence: bytes) -> None:
        """Let in another set, and no more the one before; connections that were let in stay."""
        self._known = public_key_of_set(fence)

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
            len(question) == _ENOUGH
            and question[5] == b"CURVE"
            and secrets.compare_digest(question[-1], self._known)
        )
        code, text = (b"200", b"OK") if known else (b"400", b"another set of workers")
        return [b"1.0", question[1] if len(question) > 1 else b"", code, text, b"", b""]
