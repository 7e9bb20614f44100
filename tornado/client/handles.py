"""What both faces know of a service, a stream, a loop and a query without asking: names, what was said last, and how a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from .errors import NotFound
from .html import certificate_text, facts_html, snapshot_text, table_html
from .operations import Operations, quoted
from .steps import Document


class HasAddress(Protocol):
    """A connection of either face."""

    @property
    def url(self) -> str:
        """Where the service answers."""
        ...


Asked = TypeVar("Asked", bound=HasAddress)
Shown = TypeVar("Shown", bound="Row")


class Row(Protocol):
    """What a listing has a row of."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Names and what they stand for."""
        ...


class Listing(list[Shown]):
    """A list that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        rows = [one.facts for one in self]
        return table_html(
            f"{len(rows)} in all", list(rows[0]) if rows else [], [list(row.values()) for row in rows]
        )


def listing(entries: Iterable[Shown]) -> Listing[Shown]:
    """Return entries as a list that shows as a table."""
    return Listing(entries)


class KnownService(Generic[Asked]):
    """A service: how it is asked."""

    def __init__(self, connection: Asked, *, patience_s: float) -> None:
        self._connection = connection
        self._operations = Operations(patience_s)

    @property
    def url(self) -> str:
        """Where it answers."""
        return self._connection.url

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.url}>"


class _Described(Generic[Asked]):
    def __init__(
        self, connection: Asked, operations: Operations, name: str, document: Document | None = None
    ) -> None:
        self._connection = connection
        self._operations = operations
        self.name = name
        self.document = document

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at {self._connection.url}>"

    def _repr_html_(self) -> str:
        return facts_html(repr(self)[1:-1], self.facts)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was said last, for people; call `describe` for what is so now."""
        raise NotImplementedError


class KnownStream(_Described[Asked]):
    """A stream: its name, and what the service said of it last."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was said last, for people; call `describe` for what is so now."""
        said = self.document or {}
        return {
            "stream": self.name,
            "loops": ", ".join(said.get("loops", ())) or None,
            **{key: said.get(key) for key in ("version", "vertices", "edges", "points", "backlog_records")},
            "offsets": _offsets(said),
        }

    @property
    def _place(self) -> str:
        return f"streams/{quoted(self.name)}"

    def _document_of_any(self, said: Document) -> str:
        if not said["loops"]:
            raise NotFound(f"no loop reads the stream {self.name!r}")
        return str(said["loops"][0])


class KnownLoop(_Described[Asked]):
    """A loop: its name, and what the service said of it last."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was said last, for people; call `describe` for what is so now."""
        said = self.document or {}
        keys = (
            "state",
            "program",
            "stream",
            "vertices",
            "edges",
            "version",
            "iteration",
            "residual",
            "error",
        )
        return {"loop": self.name, **{key: said.get(key) for key in keys}, "offsets": _offsets(said)}


class KnownQuery(Generic[Asked]):
    """A query: what the service said of it last."""

    def __init__(self, connection: Asked, operations: Operations, document: Document) -> None:
        self._connection = connection
        self._operations = operations
        self.document = document

    @property
    def id(self) -> str:
        """Its name for `tornado cancel`, and for `Service.query`."""
        return str(self.document["id"])

    @property
    def loop_name(self) -> str:
        """Of the loop that was asked."""
        return str(self.document["loop"])

    @property
    def state(self) -> str:
        """As it was said last: `queued`, `running`, `converged`, `deadline`, `cancelled` or `failed`."""
        return str(self.document["state"])

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was said last, for people."""
        said = self.document
        return {
            "query": said["id"],
            **{key: said.get(key) for key in ("loop", "mode", "state", "iteration", "updates", "residual")},
            "seconds": said.get("elapsed_s"),
            "worth": certificate_text(said["certificate"]) if said.get("certificate") else None,
            "of": snapshot_text(said["snapshot"]) if said.get("snapshot") else None,
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.loop_name!r}: {self.state}>"

    def _repr_html_(self) -> str:
        return facts_html(repr(self)[1:-1], self.facts)


def start_document(
    program: str,
    stream: str,
    name: str | None,
    delay_bound: int | str | None,
    parameters: Mapping[str, Any],
) -> Document:
    """Return what `POST /v1/loops` takes."""
    wanted = {
        "program": program,
        "stream": stream,
        "name": name,
        "delay_bound": delay_bound,
        "parameters": dict(parameters) or None,
    }
    return {key: value for key, value in wanted.items() if value is not None}


def _offsets(said: Document) -> str | None:
    offsets = said.get("offsets")
    return ", ".join(f"{source}: {count:,}" for source, count in offsets.items()) if offsets else None
