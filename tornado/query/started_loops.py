"""Which loops were started on a stream while it ran, so that they are there again with it.

A loop that was started by the name of an app is a part of its service until somebody removes it. What it takes to start it again
is in the store before whoever asked for it hears that it runs, and a removal before it is acknowledged; so neither waits for a
snapshot, and a kill undoes neither. It is the page ``loops`` of the line `STREAM/loops`: JSON. Their fixed points are in the
snapshots of the stream.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

import numpy as np

from ..config import DelayBound
from ..errors import CallerError, InvalidArgument, StoreCorrupt
from ..storage.versioned_store import VersionedStore
from .programs import load_program

_KEY = b"loops"
_FORMAT = 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartedLoop:
    """What it takes to start a loop again.

    Attributes
    ----------
    name : str
        What it is called.
    app : str
        The app that its program is.
    parameters : dict
        Of the program, as JSON has them; a vertex is what callers know it by.
    delay_bound : int or None
        B of the paper; None is unbounded, `auto` is left to the program.
    """

    name: str
    app: str
    parameters: dict[str, Any]
    delay_bound: DelayBound

    @classmethod
    def of(cls, name: str, app: str, program: Any, delay_bound: DelayBound) -> Self:
        """Describe a loop that is to be started.

        Raises
        ------
        InvalidArgument
            When the program is not that app's, or a parameter has no form in JSON.
        """
        kind = load_program(app).kind
        fields = dataclasses.fields(program) if dataclasses.is_dataclass(program) else ()
        parameters = {field.name: getattr(program, field.name) for field in fields if field.init}
        if not _makes(kind, type(program), parameters):
            raise InvalidArgument(
                f"the program of the app {app!r} is {kind.__name__}, and not {type(program).__name__}",
                hint="Name the app that the program is from, or leave it out.",
            )
        try:
            return cls(name, app, json.loads(json.dumps(parameters, default=_plain)), delay_bound)
        except TypeError as error:
            raise InvalidArgument(
                f"{program!r} cannot be started by the name of its app: {error}",
                hint="Leave the app out: the loop is not started again then.",
            ) from error

    def say_refused(self, stream: str, error: CallerError) -> None:
        """Log why it is not there again where its stream begins."""
        _log.warning(
            "loop %s (%s) of stream %s is not there again, and the others go on: %s",
            *(self.name, self.app, stream, error),
        )


class StartedLoops:
    """Those of the streams in a store.

    Parameters
    ----------
    store : VersionedStore
        Not ours to close.
    """

    def __init__(self, store: VersionedStore) -> None:
        self._store = store
        self._lock = Lock()

    def of(self, stream: str) -> list[StartedLoop]:
        """Return those of a stream, in the order in which they were started.

        Raises
        ------
        StoreCorrupt
            When what is stored cannot be read.
        """
        line = _line_of(stream)
        versions = self._store.versions(line)
        page = self._store.read(line, _KEY, versions[-1]) if versions else None
        if page is None:
            return []
        try:
            found = json.loads(page)
            if found["format"] != _FORMAT:
                raise StoreCorrupt(
                    f"{line} has format {found['format']!r}, this program reads {_FORMAT}",
                    hint="Start the version of the program that wrote it, or a newer one.",
                )
            return [StartedLoop(**entry) for entry in found["loops"]]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(f"{line} has a page that is none: {error!r}") from error

    def add(self, stream: str, loop: StartedLoop) -> None:
        """Remember a loop; one of its name is forgotten.

        Raises
        ------
        StoreError
            When it cannot be written.
        """
        with self._lock:
            others = [other for other in self.of(stream) if other.name != loop.name]
            self._write(stream, [*others, loop])

    def remove(self, stream: str, name: str) -> None:
        """Forget a loop; one that is not remembered is no mistake.

        Raises
        ------
        StoreError
            When that cannot be written.
        """
        with self._lock:
            before = self.of(stream)
            left = [loop for loop in before if loop.name != name]
            if left != before:
                self._write(stream, left)

    def _write(self, stream: str, loops: list[StartedLoop]) -> None:
        line = _line_of(stream)
        page = json.dumps({"format": _FORMAT, "loops": list(map(dataclasses.asdict, loops))}).encode()
        # The newest version is written once more: nobody asks for an older one.
        self._store.write(line, max(self._store.versions(line), default=0), {_KEY: page})


def _line_of(stream: str) -> str:
    return f"{stream}/loops"


def _makes(kind: type, wanted: type, parameters: dict[str, Any]) -> bool:
    """Whether the class of an app makes such a program of these parameters: they may choose another class than that."""
    try:
        return type(kind(**parameters)) is wanted
    except TypeError:  # it has other parameters
        return False


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} has no form in JSON")
