"""What was asked: every question that ended, as a line of JSON, the newest so many.

Guarantees: a line stays when its answer is forgotten. Whoever may see some streams has their lines numbered as if there were no others, so
no number tells it how much is asked elsewhere. Noting one takes microseconds, as it is done by whoever ends a question. Left out on purpose:
the answers, and lists that a caller made long.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any

from ..clock import Clock
from .formats import json_bytes, status_dict
from .problems import of_error
from .query import Query

LINES = 10_000
SHOWN = 8  # of a list: vertices, parameters, sources
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class _Line:
    loop: str
    stream: str
    state: str
    content: bytes


class QuestionLog:
    """See the module; `note` is a listener of a query service.

    Parameters
    ----------
    clock : Clock
        Which says when a question ended.
    lines : int
        How many are kept.
    """

    def __init__(self, clock: Clock, *, lines: int = LINES) -> None:
        self._clock = clock
        self._lines: deque[_Line] = deque(maxlen=lines)
        self._ended: Counter[str] = Counter()  # by stream
        self._lock = Lock()

    def ended(self, streams: Collection[str] | None) -> int:
        """Return how many questions of these streams have ended (None: of all), which is the number of the newest."""
        with self._lock:
            return self._ended_of(streams)

    def note(self, query: Query) -> None:
        """Append a question that has ended."""
        content = line_of(query) | {"ended": self._clock.now().timestamp()}
        line = _Line(content["loop"], query.stream, content["state"], json_bytes(content))
        with self._lock:
            self._ended[line.stream] += 1
            self._lines.append(line)

    def page(
        self,
        *,
        before: int | None = None,
        limit: int,
        loop: str | None = None,
        state: str | None = None,
        streams: Collection[str] | None = None,
    ) -> bytes:
        """Return `{"questions": […], "kept": …, "newest": …}`, newest first.

        Parameters
        ----------
        before : int or None
            Only those with a smaller number.
        limit : int
            At most so many.
        loop, state : str, optional
            Only of this loop, or that ended so.
        streams : collection of str, optional
            Only of these streams: the others are not counted either.
        """
        with self._lock:
            lines, newest = list(self._lines), self._ended_of(streams)
        if streams is not None:
            lines = [line for line in lines if line.stream in streams]

        def chosen() -> Iterator[bytes]:
            for number, line in zip(range(newest, 0, -1), reversed(lines), strict=False):
                if before is not None and number >= before:
                    continue
                if (loop is None or line.loop == loop) and (state is None or line.state == state):
                    yield b'%b,"number":%d}' % (line.content[:-1], number)

        found = b",".join(islice(chosen(), limit))
        return b'{"questions":[%b],"kept":%d,"newest":%d}' % (found, len(lines), newest)

    def _ended_of(self, streams: Collection[str] | None) -> int:
        return self._ended.total() if streams is None else sum(self._ended[name] for name in streams)


def line_of(query: Query) -> dict[str, Any]:
    """Return what is kept of a question that has ended."""
    status, request = query.status(asks=False), query.request
    content = status_dict(status)
    offsets = {} if status.snapshot is None else dict(status.snapshot.offsets)
    return {
        "id": query.id,
        "loop": status.loop,
        "mode": content["mode"],
        "state": content["state"],
        "elapsed_s": content["elapsed_s"],
        "iteration": content["iteration"],
        "updates": content["updates"],
        "prepares": content["prepares"],
        "residual": content["residual"],
        "start": content["start"],
        "stopped_by": content["stopped_by"],
        "version": None if status.snapshot is None else status.snapshot.version,
        "offsets": dict(list(offsets.items())[:SHOWN]),
        "records": sum(offsets.values()),
        "certificate": _certificate(content["certificate"]),
        "vertices": None if request.vertices is None else [_short(one) for one in request.vertices[:SHOWN]],
        "vertices_count": None if request.vertices is None else len(request.vertices),
        "paths_count": None if request.paths is None else len(request.paths),
        "top": request.top,
        "parameters": {name: _short(value) for name, value in list(request.parameters.items())[:SHOWN]},
        "error": None if status.error is None else of_error(status.error).detail[:SHOWN_CHARACTERS],
    }


def _certificate(certificate: dict[str, Any] | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    kept = ("kind", "norm", "bound", "side", "order", "reason", "checked", "primal", "dual", "inertia")
    return {name: certificate[name] for name in kept if name in certificate}


def _short(value: Any) -> Any:
    if isinstance(value, int | float | bool) or value is None:
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
