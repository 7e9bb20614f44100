"""Addresses of Postgres databases, ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``: what is wrong with one is said without its password.

libpq reads an address in another way than the standard library wherever a mark stands in it that has a meaning of its own. What is
not the same to both would show a part of the password as a host or a database, so it is refused.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from ..errors import InvalidArgument

_SCHEMES: Final = frozenset({"postgresql", "postgres"})
_STORE: Final = "a Postgres store"
_STORE_FORM: Final = "Use postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
_ESCAPES: Final = "Write %40 for an at sign, %2F for a slash, %3F for a question mark and %23 for a number sign, also in a password."


def address_parts(url: str, *, of: str = _STORE, form: str = _STORE_FORM) -> SplitResult:
    """Take an address apart.

    Parameters
    ----------
    url
        With its password; no message shows that.
    of, form
        What it is the address of, and how such a one looks, for messages.

    Raises
    ------
    InvalidArgument
        It is of no Postgres, or cannot be read in one way only.
    """
    if re.search("%(?![0-9A-Fa-f]{2})", url):
        # The library would say so, and show what it stands in: that may be the password.
        raise InvalidArgument(
            f"the address of {of} has a percent sign without two hexadecimal digits behind it",
            hint="Write %25 for a percent sign, also in a password.",
        )
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidArgument(f"the address of {of} cannot be read", hint=form) from error
    if parts.scheme not in _SCHEMES:
        raise InvalidArgument(
            f"the address of {of} begins with {parts.scheme}://, but must with postgresql://", hint=form
        )
    user, at, _ = parts.netloc.rpartition("@")
    if "@" in user or "#" in url or (not at and "@" in url):
        raise InvalidArgument(
            f"the address of {of} has an at sign, a slash, a question mark or a number sign that stands for itself",
            hint=_ESCAPES,
        )
    try:
        parts.port  # noqa: B018  looks whether it is one
    except ValueError as error:
        port = parts.netloc.rpartition(":")[2]
        what = f"the port {port}" if port.isdecimal() else "a port that is no number"
        raise InvalidArgument(
            f"the address of {of} cannot be read: it has {what}, and ports are from 1 to 65535", hint=form
        ) from error
    return parts


def label_of(url: str, *, of: str = _STORE, form: str = _STORE_FORM) -> str:
    """An address without its password; see `address_parts`.

    Examples
    --------
    >>> label_of("postgresql://ann:secret@db:5433/loops")
    'postgresql://ann@db:5433/loops'
    """
    parts = address_parts(url, of=of, form=form)
    name = unquote(parts.path.lstrip("/"))
    if not name or "/" in name:
        raise InvalidArgument(f"the address of {of} names no database", hint=form)
    user = f"{quote(unquote(parts.username))}@" if parts.username else ""
    host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    return f"postgresql://{user}{host}/{quote(name)}"


def without_password(said: str, url: str) -> str:
    """What the library says of an address, in one line, without the address and its password."""
    password = urlsplit(url).password or url
    for secret in (url, password, unquote(password)):
        said = said.replace(secret, "***")
    return " ".join(said.split())
