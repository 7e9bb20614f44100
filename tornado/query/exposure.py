"""Which addresses only this machine can reach: a service without tokens listens at no other."""

from __future__ import annotations

import ipaddress
import socket

from ..errors import InvalidArgument
from .token_file import TokenFile

_HINT = (
    "Name a file of tokens with --tokens PATH or TORNADO_TOKENS (in Python: tokens=), or bind to 127.0.0.1."
)


def is_loopback(address: str) -> bool:
    """Return whether an IP address is one of this machine's own.

    Examples
    --------
    >>> is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("fe80::1%eth0")
    (True, True, False, False)
    """
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def tokens_at(host: str, given: str | None) -> TokenFile | None:
    """Return the tokens of a service that listens at a host; None where none are named, and none are needed.

    Parameters
    ----------
    given
        As `TokenFile.of` takes it.

    Raises
    ------
    InvalidArgument
        When they cannot be read, or are needed.
    """
    if given:
        return TokenFile.of(given)
    require_loopback(host)
    return None


def require_loopback(host: str) -> None:
    """Refuse a host that other machines can reach, where nobody is asked for a token; one that has no address is told of later.

    Raises
    ------
    InvalidArgument
        When one of its addresses is not of this machine alone.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return
    if not all(is_loopback(str(address[0])) for *_, address in found):
        raise InvalidArgument(
            f"{host} can be reached from other machines, and there are no tokens to tell who may use the service",
            hint=_HINT,
        )
