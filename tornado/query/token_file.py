"""Where tokens come from: a file that is looked at again when it changes, or an environment variable.

A look at the file's size and time costs microseconds, so each request makes one: a token that is taken out of the file is worth
nothing from the next request on. A file that has become unreadable or wrong changes nothing, and is complained of once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Self

from ..errors import InvalidArgument
from .bearer_tokens import BearerToken, TokenTable, digest_of, parse_tokens

VARIABLE = "TORNADO_TOKENS"
_LARGEST_BYTES = 64 << 20

_log = logging.getLogger(__name__)


class TokenFile:
    """The tokens of a service.

    Parameters
    ----------
    read : callable
        Returns the lines.
    where : str
        What messages call it.
    path : Path, optional
        The file to watch.

    Raises
    ------
    InvalidArgument
        When it cannot be read, or a line of it cannot: the message has the number of the line.
    """

    def __init__(self, read: Callable[[], str], *, where: str, path: Path | None = None) -> None:
        self._read = read
        self._where = where
        self._path = path
        self._own: list[BearerToken] = []
        self._seen = self._mark()
        self._listed = parse_tokens(read(), where=where)
        self._table = TokenTable(self._listed)

    @classmethod
    def of(cls, given: str | Path) -> Self:
        """Return those of a file, or of lines as `TORNADO_TOKENS` may have them itself: several, or one that begins with `read` or `write`."""
        if isinstance(given, str) and ("\n" in given or given.split(None, 1)[:1] in (["read"], ["write"])):
            return cls(lambda: given, where=VARIABLE)
        path = Path(given)
        where = _shown(path)
        return cls(lambda: _text_of(path, where), where=where, path=path)

    @property
    def table(self) -> TokenTable:
        """The tokens that hold now."""
        if self._path is not None and self._mark() != self._seen:
            try:
                self.reload()
            except InvalidArgument as error:
                _log.error("the tokens stay as they were: %s", error)
        return self._table

    def reload(self) -> None:
        """Read them anew.

        Raises
        ------
        InvalidArgument
            As at the beginning; they stay as they were then.
        """
        self._seen = self._mark()
        self._listed = parse_tokens(self._read(), where=self._where)
        self._table = TokenTable([*self._listed, *self._own])

    def issue(self, *, name: str, streams: frozenset[str] | None) -> str:
        """Return a new token that writes, for what this process starts itself; it is in no file, and ends with the process."""
        token = secrets.token_urlsafe(32)
        self._own.append(BearerToken(digest=digest_of(token), writes=True, streams=streams, given_name=name))
        self._table = TokenTable([*self._listed, *self._own])
        return token

    def _mark(self) -> tuple[int, int, int, int] | None:
        """Return what is another where the file is; None where there is none."""
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)  # noqa: PTH116  half the time of Path.stat, at each request
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _shown(path: Path) -> str:
    """Return what messages call a file: what is in no folder that is there may be a token, in place of the file that it should be in."""
    folder = path.parent
    with contextlib.suppress(OSError):  # a name may be too long to be looked up
        if path.exists() or (folder != Path() and folder.is_dir()):
            return f"--tokens {path}"
    return "--tokens"


def _text_of(path: Path, where: str) -> str:
    try:
        if stat.S_ISFIFO(path.stat().st_mode) and Path(os.path.realpath(path)).exists():
            # One without a name, such as /dev/fd/63 of a shell's <(…), has somebody who writes; here nobody may ever.
            raise InvalidArgument(
                f"{where} is a named pipe, which may have no end",
                hint="Name a file, or <(COMMAND) in a shell.",
            )
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise InvalidArgument(f"{where} is larger than {_LARGEST_BYTES >> 20} MiB")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidArgument(
            f"{where} cannot be read: {error.strerror}",
            hint="It is a file with a token a line, readable for whoever runs the service and nobody else.",
        ) from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{where} is not text in UTF-8") from None
