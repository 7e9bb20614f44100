"""Bearer tokens (RFC 6750): what a line of a file of tokens says, and who a token stands for.

A line is `read|write TOKEN [STREAM …] [SETTING=VALUE …]`, with `sha256:HEX` in place of TOKEN where the file shall not have it. Write
includes read; without streams a token is for all of them. Settings are `name=` (what the token is called in the audit), `queries=`
(that may run at once), `edges/s=` and `bytes/s=`. `#` begins a comment.

Guarantees: a token is kept as its SHA-256 alone; who looks one up learns nothing from the time that takes, since it is found by a
hash under a key of this process and then compared in constant time; no message has a token in it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..errors import InvalidArgument

MOST_TOKENS: Final = 100_000
_RIGHTS: Final = ("read", "write")
_HASHED: Final = "sha256:"
_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
# What a header can carry as one word (RFC 6750 allows less, and people have tokens already).
_WORD = re.compile(r"[!-~]{1,4096}", re.ASCII)
_SETTINGS: Final = ("name", "queries", "edges/s", "bytes/s")
_EXAMPLE: Final = (
    "A line is `read|write TOKEN [STREAM …]`, with sha256:HEX in place of TOKEN where it is hashed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimits:
    """How much of the service whoever has a token may use; None is no limit of its own.

    Attributes
    ----------
    queries : int or None
        How many queries may run or wait at once.
    records_per_s : float or None
        How many edges, points and vertices may be pushed a second.
    bytes_per_s : float or None
        How many bytes of bodies may go in and out a second.
    """

    queries: int | None = None
    records_per_s: float | None = None
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerToken:
    """What one token may.

    Attributes
    ----------
    digest : bytes
        SHA-256 of the token.
    writes : bool
        Whether it may change what there is, or only look and ask.
    streams : frozenset of str or None
        Which streams it is for; None is all.
    limits : TokenLimits
        How much of each.
    given_name : str or None
        What its line calls it.
    """

    digest: bytes
    writes: bool
    streams: frozenset[str] | None = None
    limits: TokenLimits = TokenLimits()
    given_name: str | None = None

    @property
    def name(self) -> str:
        """What the audit calls it: the name of its line, or the beginning of its hash."""
        return self.given_name or f"{_HASHED}{self.digest.hex()[:12]}"


class TokenTable:
    """Tokens, found by what a request brings.

    Parameters
    ----------
    tokens : iterable of BearerToken
        Each digest once.
    """

    def __init__(self, tokens: Iterable[BearerToken] = ()) -> None:
        # Known to nobody outside: who measures how long a look takes cannot tell which digests are near his own.
        self._key = secrets.token_bytes(32)
        self._tokens = {self._place(token.digest): token for token in tokens}

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, digest: bytes) -> BearerToken | None:
        """Return the token with that digest; takes as long wherever they differ."""
        token = self._tokens.get(self._place(digest))
        return token if token is not None and hmac.compare_digest(token.digest, digest) else None

    def _place(self, digest: bytes) -> bytes:
        return hashlib.blake2b(digest, key=self._key, digest_size=16).digest()


def digest_of(token: str) -> bytes:
    """Return what a token is kept as."""
    return hashlib.sha256(token.encode()).digest()


def parse_tokens(text: str, *, where: str) -> list[BearerToken]:
    """Read the lines of a file of tokens.

    Parameters
    ----------
    where : str
        What messages call it.

    Raises
    ------
    InvalidArgument
        With the number of the line that cannot be read, and nothing of its token; or where there is no token at all.

    Examples
    --------
    >>> [token] = parse_tokens("write s3cret roads  # the loader", where="tokens")
    >>> token.writes, sorted(token.streams), token.digest == digest_of("s3cret")
    (True, ['roads'], True)
    """
    found: dict[bytes, int] = {}
    tokens = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split() if line.lstrip().startswith("#") else _words(line)
        if not words:
            continue
        token = _token_of(words, f"line {number} of {where}")
        if token.digest in found:
            raise InvalidArgument(
                f"lines {found[token.digest]} and {number} of {where} have the same token",
                hint="One line says all that a token may: write includes read, and several streams may be named.",
            )
        found[token.digest] = number
        tokens.append(token)
        if len(tokens) > MOST_TOKENS:
            raise InvalidArgument(f"{where} has more than {MOST_TOKENS:,} tokens")
    if not tokens:
        raise InvalidArgument(f"{where} has no token, so nobody could be let in", hint=_EXAMPLE)
    return tokens


def _words(line: str) -> list[str]:
    """Split a line up to a comment, which begins with a word of its own: a token may have a `#` in it."""
    words = line.split()
    for place, word in enumerate(words):
        if word.startswith("#"):
            return words[:place]
    return words


def _token_of(words: list[str], where: str) -> BearerToken:
    right, *rest = words
    if right not in _RIGHTS:
        # A line that begins with the token itself is the likeliest mistake, so its first word is not shown.
        raise InvalidArgument(f"{where} begins with neither read nor write", hint=_EXAMPLE)
    if not rest:
        raise InvalidArgument(f"{where} has no token behind {right!r}", hint=_EXAMPLE)
    given, *others = rest
    streams, settings = [], {}
    for word in others:
        name, equals, value = word.partition("=")
        if not equals:
            streams.append(word)
        elif name not in _SETTINGS:
            raise InvalidArgument(
                f"{where} has a setting that is none of: {', '.join(_SETTINGS)}",
                hint="A setting is NAME=VALUE; a stream with = in its name cannot be named here.",
            )
        elif name in settings:
            raise InvalidArgument(f"{where} has {name}= twice")
        else:
            settings[name] = value
    queries = _number(settings, "queries", where)
    if queries is not None and queries != int(queries):
        raise InvalidArgument(f"{where} has queries={settings['queries']}, which is not a whole number")
    called = settings.get("name")
    if called is not None and not re.fullmatch(r"[\w.@-]{1,60}", called):
        raise InvalidArgument(
            f"{where} has a name= that is not 1 to 60 letters, digits, dots, dashes, @ or _"
        )
    return BearerToken(
        digest=_digest(given, where),
        writes=right == "write",
        streams=frozenset(streams) if streams else None,
        limits=TokenLimits(
            queries=None if queries is None else int(queries),
            records_per_s=_number(settings, "edges/s", where),
            bytes_per_s=_number(settings, "bytes/s", where),
        ),
        given_name=called,
    )


def _digest(given: str, where: str) -> bytes:
    if given.startswith(_HASHED):
        digits = given.removeprefix(_HASHED)
        if not _HEX.fullmatch(digits):
            raise InvalidArgument(
                f"{where} has a hash of {len(digits)} characters, but SHA-256 has 64 hexadecimal digits",
                hint="printf %s TOKEN | sha256sum",
            )
        return bytes.fromhex(digits)
    if not _WORD.fullmatch(given):
        raise InvalidArgument(
            f"{where} has a token with characters that a header cannot carry, or more than 4096 of them",
            hint="openssl rand -hex 32 makes a good one.",
        )
    return digest_of(given)


def _number(settings: dict[str, str], name: str, where: str) -> float | None:
    text = settings.get(name)
    if text is None:
        return None
    # Up to 18 digits: greater than anything there is, and no infinity.
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII) or int(text) < 1:
        raise InvalidArgument(f"{where} has {name}={text[:40]!r}, which is not a whole number from 1")
    return float(int(text))
