"""Where a run serves, and who is let in there: what `--http`, `--tokens` and `--tls-certificate` say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from ..errors import InvalidArgument
from ..query.exposure import tokens_at
from ..query.server_certificate import ServerCertificate
from ..query.token_file import VARIABLE, TokenFile


@dataclass(frozen=True, slots=True)
class Address:
    """Where the HTTP interface listens; port 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse HOST:PORT; an IPv6 address stands in brackets.

        Examples
        --------
        >>> Address.parse("127.0.0.1:8080"), Address.parse("[::1]:0")
        (Address(host='127.0.0.1', port=8080), Address(host='::1', port=0))
        """
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
            raise InvalidArgument(
                f"--http {text} is not HOST:PORT",
                hint="For example --http 127.0.0.1:8080; port 0 takes a free one.",
            )
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    @property
    def url(self) -> str:
        """The address as one a client can open."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104  # compared, not bound
        return (
            f"http://[{host}]:{self.port}" if ":" in host and host[0] != "[" else f"http://{host}:{self.port}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Who is let in, and what is shown to them.

    Attributes
    ----------
    tokens : TokenFile or None
        Who is let in; None: anybody on this machine.
    certificate : ServerCertificate or None
        With which the service speaks TLS; None: it does not.
    """

    tokens: TokenFile | None = None
    certificate: ServerCertificate | None = None

    @classmethod
    def of(cls, address: Address | None, options: Mapping[str, Any]) -> Self:
        """Check what options say of it.

        Raises
        ------
        InvalidArgument
            When a file is of no use, an address that other machines can reach has no tokens, or there is none that they could be for.
        """
        certificate, key = options["tls_certificate"], options["tls_key"]
        if (certificate is None) != (key is None):
            there, missing = ("certificate", "key") if key is None else ("key", "certificate")
            raise InvalidArgument(
                f"--tls-{there} is given without --tls-{missing}", hint="One belongs to the other."
            )
        if address is None:
            # The variable may be there for other runs.
            given = options["tokens"] and options["tokens"] != os.environ.get(VARIABLE)
            for option, is_given in (("--tokens", given), ("--tls-certificate", certificate is not None)):
                if is_given:
                    raise InvalidArgument(
                        f"{option} is for the HTTP interface, and there is none",
                        hint="Serve with --http HOST:PORT, or leave it out.",
                    )
            return cls()
        found = None if certificate is None else ServerCertificate(Path(certificate), Path(key))
        if found is not None:
            found.check()
        return cls(tokens=tokens_at(address.host, options["tokens"]), certificate=found)


OPEN: Final = Door()
"""Anybody on this machine, without TLS."""
