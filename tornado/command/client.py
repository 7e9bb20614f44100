"""The HTTP interface, seen from the command line: the client of notebooks, whose errors become those of this package.

Guarantees: every failure is a `TornadoError`: what the service says (a problem document, RFC 9457) as the error of that
code, a service that is not there as `ConnectionLost`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from .. import errors
from ..client.errors import InvalidInput, ServiceError, Unreachable
from ..client.operations import NDJSON, Operations, events_of_query
from ..client.steps import Document, Steps
from ..client.transport import Connection, ServiceAddress
from ..errors import ConnectionLost, InvalidArgument, PeerError, TornadoError

Result = TypeVar("Result")

# A command that is run again asks again; one that waits says nothing meanwhile.
_PATIENCE_S = 0.0


def default_url() -> str:
    """Return the address that is asked when none is given."""
    return ServiceAddress.given(None, None).url


class ServiceClient:
    """One service. A context manager.

    Parameters
    ----------
    url : str
        Where it answers, without `/v1`.
    token : str, optional
        What it asks for, if it asks for any.

    Raises
    ------
    InvalidArgument
        The URL is not an http or https address, or the token is none that a header can carry.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        with as_ours():
            self._connection = Connection(ServiceAddress(url.rstrip("/"), token or None))
        self.url = self._connection.url
        self._operations = Operations(_PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def loops(self) -> list[Document]:
        """Return what `GET /v1/loops` lists."""
        return self._run(self._operations.listed("loops"))

    def loop(self, name: str) -> Document:
        """Return one loop with its sources and statistics."""
        return self._run(self._operations.described("loops", name))

    def start(self, wanted: Document) -> Document:
        """Start a loop on a stream and return it."""
        return self._run(self._operations.start(wanted))

    def stop(self, name: str) -> None:
        """Remove a loop."""
        self._run(self._operations.stop(name))

    def rescale(self, stream: str, workers: int) -> Document:
        """Put the loops of a stream on so many workers, and return what became of it."""
        return self._run(self._operations.rescale(stream, workers))

    def queries(self) -> list[Document]:
        """Return the queries that the service keeps, newest first."""
        return self._run(self._operations.listed("queries"))

    def submit(self, question: Document, *, wait_s: float | None = None) -> Document:
        """Ask; with `wait_s` the answer may already have its result inside."""
        return self._run(self._operations.ask(question, wait_s=wait_s))

    def query(self, identifier: str) -> Document:
        """Return a query as it is now."""
        return self._run(self._operations.status(identifier))

    def result(self, identifier: str, **parameters: Any) -> Document:
        """Return the values of a finished query: `vertices`, `top`, `limit`, `after` as in the interface."""
        return self._run(self._operations.result(identifier, **parameters))

    def columns(self, identifier: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return all ids and values of a finished query whose values are float64, ascending by id; infinity where one is null."""
        import pyarrow.compute

        table = self._run(self._operations.table(identifier, "values"))
        values = pyarrow.compute.fill_null(table["value"], float("inf"))
        return table["vertex"].to_numpy(), values.to_numpy()

    def cancel(self, identifier: str) -> None:
        """Cancel a query and free what it holds."""
        self._run(self._operations.cancel(identifier))

    def give_up(self, identifier: str) -> None:
        """Cancel a query as one leaves: tried once and soon over, and no failure of it is told."""
        self._run(self._operations.give_up(identifier))

    def report(self) -> bytes:
        """Return how the service stands, as one HTML document."""
        return self._run(self._operations.report())

    def push(self, loop: str, lines: bytes) -> Document:
        """Push edges as NDJSON and return how many were accepted and rejected."""
        pushed = self._run(self._operations.push(f"loops/{loop}", "edges", lines, NDJSON))
        return {"accepted": pushed.accepted, "rejected": pushed.rejected, "offsets": pushed.offsets}

    def events(self, identifier: str) -> Iterator[tuple[str, Document]]:
        """Yield the server-sent events of a query: (`progress`, query) …, and last (`done`, query)."""
        with as_ours():
            for event in self._connection.events(events_of_query(identifier)):
                yield event.name, event.data

    def _run(self, steps: Steps[Result]) -> Result:
        with as_ours():
            return self._connection.run(steps)


@contextlib.contextmanager
def as_ours() -> Iterator[None]:
    """Have what the client raises as an error of this package."""
    try:
        yield
    except ServiceError as error:
        raise translated(error) from error


def translated(error: ServiceError) -> TornadoError:
    """Return the error of our tree that an error of the client stands for: by its code where it has one, else by its kind."""
    kind: type[TornadoError] = PeerError
    if error.code is not None:
        kind = _kinds().get(error.code, PeerError)
    elif isinstance(error, Unreachable):
        kind = ConnectionLost
    elif isinstance(error, InvalidInput):
        kind = InvalidArgument
    return kind(error.message, hint=error.hint)


def _kinds() -> dict[str, type[TornadoError]]:
    # Those of the tree alone: what another room derives for its own use may share a code, and take other arguments.
    kinds = (
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TornadoError)
    )
    return {kind.code: kind for kind in kinds}
