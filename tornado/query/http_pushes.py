"""What is pushed over HTTP, whatever route it takes: bodies of edges and of vertices, for a loop or for its stream.

Admission may block while a loop lags, and parsing takes its time: both run in a bulkhead. How many bodies are in memory at once is
bounded, and the next one is told to come back.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from ..ingest.arrow import parse_arrow, parse_vertex_table, read_table
from ..ingest.interner import Draft
from ..ingest.ndjson import parse_ndjson, parse_vertices
from ..ingest.parsed import ParsedBatch
from ..loop_views import MainLoopView
from .formats import ARROW, NDJSON
from .http_bulkheads import Bulkheads
from .http_requests import (
    Bodies,
    HttpLimits,
    JsonResponse,
    content_type,
    put_together,
    read_parts,
    refuse_unknown_parameters,
)
from .ids import IdCodec, StringIds
from .service import QueryService

SOURCE = "http"
PUSHED_TYPES = [NDJSON, ARROW]

EDGES_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {
                "schema": {"type": "string"},
                "example": '{"src": 1, "dst": 2, "weight": 3.5, "op": "+"}\n{"src": 1, "dst": 2, "op": "-"}\n',
            },
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
VERTICES_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {"schema": {"type": "string"}, "example": '{"id": 7}\n{"id": 8}\n'},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


class Pushes:
    """See the module. One for a server, since it counts the bodies in memory."""

    def __init__(self, service: QueryService, limits: HttpLimits, bulkheads: Bulkheads) -> None:
        self._service = service
        self._limits = limits
        self._bulkheads = bulkheads
        self._bodies = Bodies(limits.edge_requests)

    async def edges(self, request: Request, loop: MainLoopView, ids: str | None) -> Response:
        """Admit edges, added and removed in the order of the body."""
        times = self._service.served(loop).intake.checks_times

        def parse(codec: IdCodec, body: bytes) -> ParsedBatch:
            if content_type(request) == NDJSON:
                return parse_ndjson(body, interner=_draft(codec), quoted_ids=ids == "string", times=times)
            # Its integers are exact for whoever writes them.
            return parse_arrow(body, interner=_draft(codec), times=times)

        return await self._push(request, loop, parse)

    async def vertices(self, request: Request, loop: MainLoopView, ids: str | None) -> Response:
        """Admit vertices that need have no edge."""

        def parse(codec: IdCodec, body: bytes) -> ParsedBatch:
            if content_type(request) == NDJSON:
                return parse_vertices(body, interner=_draft(codec), quoted_ids=ids == "string")
            return parse_vertex_table(read_table(body), interner=_draft(codec))

        return await self._push(request, loop, parse)

    async def _push(
        self, request: Request, loop: MainLoopView, parse: Callable[[IdCodec, bytes], ParsedBatch]
    ) -> Response:
        refuse_unknown_parameters(request, ["ids"])
        limits = self._limits
        with self._bodies.permit() as permit:
            parts = await read_parts(
                request,
                accepted=PUSHED_TYPES,
                limit_bytes=limits.edges_body_bytes,
                timeout_s=limits.body_timeout_s,
            )
            served = self._service.served(loop)
            pushed = await permit.run(
                self._bulkheads.admissions,
                lambda: served.intake.push(SOURCE, parse(served.codec, put_together(parts))),
            )
        return JsonResponse(
            {"accepted": pushed.accepted, "rejected": pushed.rejected, "offsets": pushed.offsets},
            status_code=202,
        )


def _draft(codec: IdCodec) -> Draft | None:
    # What is refused shall leave no names behind.
    return Draft(codec.interner) if isinstance(codec, StringIds) else None
