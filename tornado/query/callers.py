"""Who asks: what a request may, once it is known which token it brought.

A service without tokens is asked by `ANYBODY`, who may everything: it listens on this machine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from ..errors import Forbidden
from .bearer_tokens import BearerToken
from .query import Query
from .token_use import TokenUse


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request.

    Attributes
    ----------
    token : BearerToken or None
        What it showed; None where nobody has to show one.
    is_known : bool
        Whether it showed what it had to; who did not can only ask what everybody may.
    use : TokenUse or None
        What its token uses; None where that is not limited.
    """

    token: BearerToken | None
    is_known: bool = True
    use: TokenUse | None = None

    @property
    def name(self) -> str:
        """What the audit calls it."""
        return "anybody" if self.token is None else self.token.name

    @property
    def digest(self) -> bytes | None:
        """Whom what it makes belongs to; None where nobody is told from others."""
        return None if self.token is None else self.token.digest

    @property
    def writes(self) -> bool:
        """Whether it may change what there is."""
        return self.is_known and (self.token is None or self.token.writes)

    @property
    def streams(self) -> frozenset[str] | None:
        """Which streams it may see; None is all."""
        if not self.is_known:
            return frozenset()
        return None if self.token is None else self.token.streams

    def sees(self, stream: str) -> bool:
        """Return whether it may see a stream."""
        streams = self.streams
        return streams is None or stream in streams

    def pushed(self, count: int) -> None:
        """Count records that it has pushed."""
        if self.use is not None:
            self.use.spend_records(count)

    def asking(self) -> AbstractContextManager[Callable[[Query], None]]:
        """Hold a place for a question; see `TokenUse.asking`."""
        return nullcontext(lambda _: None) if self.use is None else self.use.asking()

    def require_writing(self) -> None:
        """Refuse who only reads.

        Raises
        ------
        Forbidden
            When it does.
        """
        if not self.writes:
            raise Forbidden(f"the token {self.name} only reads, and this changes what there is")

    def require_own(self, owner: object, what: str) -> None:
        """Refuse who only reads what is another's.

        Parameters
        ----------
        owner
            Whose it is, as `digest`; None where nobody knows.
        what
            As messages call it.

        Raises
        ------
        Forbidden
            When it is.
        """
        if self.digest != owner and not self.writes:
            raise Forbidden(
                f"{what} is of another token, and the token {self.name} only reads",
                hint="Take a name of your own, or a token that may write.",
            )

    def require(self, stream: str | None, what: str) -> None:
        """Refuse who may not see a stream.

        Parameters
        ----------
        stream
            None where there is none of the name that was asked for: then whoever may not see all hears no more than of others.
        what
            What was asked for, as messages call it.

        Raises
        ------
        Forbidden
            When it may not.
        """
        if self.streams is not None and (stream is None or not self.sees(stream)):
            raise Forbidden(f"the token {self.name} is not for {what}, or there is none")

    def require_all(self, streams: Iterable[str], what: str) -> None:
        """Refuse who may not see every one of these.

        Raises
        ------
        Forbidden
            When there is one.
        """
        if not all(self.sees(stream) for stream in streams):
            raise Forbidden(f"the token {self.name} is not for all streams, and {what} concerns each of them")


ANYBODY: Final = Caller(None)
NOBODY: Final = Caller(None, is_known=False)
