"""A certificate of the user for the server: checked before anything begins, and read again while it serves.

The check is a handshake of the server with itself, in memory: what a client would refuse (a key of another certificate, one that has
run out or does not hold yet) is found by the same library that refuses it there. Whether a client trusts it is not asked.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..errors import InvalidArgument

# Of X509_verify_cert: the two that a client whose clock is right cannot be talked out of.
_NOT_YET_VALID: Final = 9
_HAS_EXPIRED: Final = 10
_MOST_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """Where a certificate and its key are.

    Attributes
    ----------
    certificate : Path
        PEM: the certificate, and those that it was issued by where clients need them.
    key : Path
        PEM: its key, without a password.
    """

    certificate: Path
    key: Path

    def load_into(self, context: ssl.SSLContext) -> datetime:
        """Have connections that begin from now on show it; return until when it holds.

        Raises
        ------
        InvalidArgument
            When it cannot be read, is not of that key, has run out or does not hold yet; the context is as it was then.
        """
        until = self.check()
        context.load_cert_chain(self.certificate, self.key)
        return until

    def check(self) -> datetime:
        """Return until when it holds.

        Raises
        ------
        InvalidArgument
            As `load_into`.
        """
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname = False
        client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it is its own anchor, whoever issued it
        for option, path in (("--tls-certificate", self.certificate), ("--tls-key", self.key)):
            try:
                path.read_bytes()
            except OSError as error:
                raise InvalidArgument(
                    f"{option} {path} cannot be read: {error.strerror}", hint="It is a file in PEM."
                ) from None
        try:
            server.load_cert_chain(self.certificate, self.key, password=self._no_password)
            client.load_verify_locations(self.certificate)
        except ssl.SSLError as error:
            raise InvalidArgument(
                f"--tls-certificate {self.certificate} and --tls-key {self.key} are no certificate with its key: {_words(error)}",
                hint="Both are PEM, the key without a password; the certificate stands first in its file.",
            ) from None
        try:
            return _until(server, client)
        except ssl.SSLCertVerificationError as error:
            why = {_NOT_YET_VALID: "does not hold yet", _HAS_EXPIRED: "has run out"}
            raise InvalidArgument(
                f"--tls-certificate {self.certificate} {why.get(error.verify_code, f'is refused: {error.verify_message}')}",
                hint="Renew it, and look at this machine's clock.",
            ) from None

    def _no_password(self) -> str:
        raise InvalidArgument(
            f"--tls-key {self.key} needs a password, which nobody is there to type",
            hint="openssl pkey -in KEY -out PLAIN.KEY, and let nobody else read it.",
        )


def _until(server: ssl.SSLContext, client: ssl.SSLContext) -> datetime:
    """Let both shake hands in memory, and return until when the server's certificate holds."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    steps: list[Callable[[], None]] = [asking.do_handshake, answering.do_handshake]
    for _ in range(_MOST_ROUNDS):
        waiting = []
        for step in steps:
            try:
                step()
            except ssl.SSLWantReadError:
                waiting.append(step)
        if not (steps := waiting):
            break
    shown = asking.getpeercert()
    assert shown is not None
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(shown["notAfter"])), UTC)


def _words(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).lower().replace("_", " ")
