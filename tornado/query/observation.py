"""How a service stands at one instant, as JSON content: what the page shows as *now*.

Guarantees: loops that do not answer in time are shown as they were last, with the age of that, and hide no other; nothing is
computed that somebody has not counted already. Left out on purpose: values, and whatever grows with the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from ..errors import ConnectionLost, TornadoError, UnknownLoop
from ..loop_views import MainLoopView
from ..loops.frontier import LoopFrontier
from ..loops.kind import kind_of_program
from .formats import number
from .http_routes_loops import source_dict
from .last_known import RUNNING, Standing
from .metrics import resident_bytes
from .problems import of_error
from .query import Query
from .service import QueryService

# Of a topic with more partitions, the furthest behind are shown.
SOURCES_SHOWN = 50
# Of a frontier, those that it comes to first.
HOLDERS_SHOWN = 100
# Of the branches that run, whose workers are asked for a report.
BRANCHES_ASKED = 20

_COUNTS = (
    *("version", "iteration", "updates", "prepares", "pending", "vertices", "edges"),
    *("missing_removals", "waves", "invalidations", "overtaken", "branches", "memory_bytes"),
    *("restarts", "validation"),
)


def observe(service: QueryService, within_s: float) -> dict[str, Any]:
    """Return how streams, loops, workers, running branches and this process stand.

    Parameters
    ----------
    within_s : float
        How long loops may take to say it.
    """
    standings = service.known_statistics(sorted(service.master.loops), within_s)
    loops = [
        loop_observed(service.master.loops[name], standing)
        for name, standing in standings.items()
        if name in service.master.loops
    ]
    counts = service.statistics()
    return {
        "streams": _streams(service, standings),
        "loops": loops,
        "branches": branches_observed(service.queries()),
        "queries": {
            "submitted": counts.submitted,
            "refused": counts.refused,
            "waiting": counts.waiting,
            "running": counts.branches_running,
            "retained": counts.retained_results,
            "retained_bytes": counts.retained_size_bytes,
            "states": counts.states,
        },
        "process": {"memory_bytes": resident_bytes()},
        "workers": [use._asdict() for use in service.master.engine.use()],
    }


def seen_of(streams: frozenset[str] | None, content: dict[str, Any]) -> dict[str, Any]:
    """Return what an observation says of these streams (None: of all), and nothing of what all of them have together.

    Parameters
    ----------
    content : dict
        An observation, or the part of it that has the branches; not changed.
    """
    if streams is None:
        return content
    seen = content | {"branches": [one for one in content["branches"] if one["stream"] in streams]}
    if "streams" in content:
        seen["streams"] = [one for one in content["streams"] if one["name"] in streams]
        seen["loops"] = [one for one in content["loops"] if one["stream"] in streams]
        seen["queries"] = dict.fromkeys(content["queries"])
        seen["process"] = dict.fromkeys(content["process"])
        seen["workers"] = []
    return seen


def loop_observed(loop: MainLoopView, standing: Standing[Any]) -> dict[str, Any]:
    """Return how a loop stands."""
    known = standing.known
    said = {name: None if known is None else getattr(known.record, name, None) for name in _COUNTS}
    parts = () if known is None else known.record.by_worker
    return said | {
        "name": loop.name,
        "stream": loop.stream_name,
        "program": type(loop.program).__name__,
        "state": standing.state,
        "error": None if standing.error is None else of_error(standing.error).detail,
        "age_s": None if known is None else number(round(known.age_s, 3)),
        "delay_bound": loop.delay_bound,
        "certifies": kind_of_program(loop.program).certifies,
        "residual": None if known is None else number(known.record.residual),
        "workers": [
            {"iteration": part.iteration, "pending": part.pending, "updates": part.updates} for part in parts
        ],
    }


def frontier_observed(loop: MainLoopView) -> dict[str, Any]:
    """Return at which timestamp a loop stands and who holds it there; its workers are asked."""
    pending = [part.pending for part in loop.statistics().by_worker]
    return {"loop": loop.name, "stream": loop.stream_name} | _frontier(
        loop.frontier(), loop.stream.workers.waiting(), pending
    )


def branch_frontier_observed(service: QueryService, query: Query) -> dict[str, Any]:
    """Return at which timestamp the branch of a query stands and who holds it there, which its workers are asked; nobody without one."""
    branch, loop = query.branch, service.master.loops.get(query.request.loop)
    found = LoopFrontier("", None, ()) if branch is None else branch.frontier()
    waiting = [] if loop is None else loop.stream.workers.waiting()
    named = {"query": query.id, "loop": query.request.loop, "stream": query.stream}
    return named | _frontier(found, waiting, ()) | {"not_begun": found.not_begun}


def _frontier(found: LoopFrontier, waiting: Sequence[int], pending: Sequence[int]) -> dict[str, Any]:
    return {
        "waiting": found.waiting,
        "timestamp": found.time,
        "holders": [
            {
                "holds": one.holds,
                "worker": one.worker,
                "operator": one.operator,
                "port": one.port,
                "by": "token" if one.is_token else "message",
                "timestamp": one.time,
                "count": one.count,
                "records": _at(waiting, one.worker),
                "vertices": _at(pending, one.worker),
            }
            for one in found.holders[:HOLDERS_SHOWN]
        ],
    }


def frontiers_observed(service: QueryService, observation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the frontiers of the loops that have work in an observation, and answer; and of the branches that run."""
    behind = {one["name"] for one in observation["streams"] if one["not_propagated"]}
    found = []
    for one in observation["loops"]:
        loop = service.master.loops.get(one["name"])
        if loop is not None and one["state"] == RUNNING and (one["pending"] or one["stream"] in behind):
            with suppress(TornadoError):  # it has failed meanwhile, which is told elsewhere
                found.append(frontier_observed(loop))
    for one in observation["branches"][:BRANCHES_ASKED]:
        with suppress(TornadoError):  # it is over and forgotten meanwhile
            found.append(branch_frontier_observed(service, service.get(one["id"])))
    return found


def branches_observed(queries: Iterable[Query]) -> list[dict[str, Any]]:
    """Return how far the branches are that run, as it was known last: nobody is asked."""
    return [branch_observed(query) for query in queries if query.branch is not None]


def branch_observed(query: Query) -> dict[str, Any]:
    """Return how far a query is, without asking its workers."""
    status = query.status(asks=False)
    return {
        "id": query.id,
        "loop": query.request.loop,
        "stream": query.stream,
        "mode": status.mode.value,
        "state": status.state.value,
        "elapsed_s": round(status.elapsed_s, 3),
        "deadline_s": query.deadline_s,
        "iteration": status.progress.iteration,
        "updates": status.progress.updates,
        "prepares": status.progress.prepares,
        "residual": number(status.progress.residual),
        "start": status.start,
        "version": None if status.snapshot is None else status.snapshot.version,
    }


def _streams(service: QueryService, standings: dict[str, Standing[Any]]) -> list[dict[str, Any]]:
    by_stream: dict[str, list[MainLoopView]] = {}
    for _, loop in sorted(service.master.loops.items()):
        by_stream.setdefault(loop.stream_name, []).append(loop)
    found = []
    for name, loops in sorted(by_stream.items()):
        with suppress(UnknownLoop, ConnectionLost):  # it was removed meanwhile, or its stream has ended
            found.append(_stream(service, name, loops, standings))
    return found


def _stream(
    service: QueryService, name: str, loops: list[MainLoopView], standings: dict[str, Standing[Any]]
) -> dict[str, Any]:
    known = min(
        (one.known for loop in loops if (one := standings.get(loop.name)) and one.known is not None),
        key=lambda one: one.age_s,
        default=None,
    )
    sources = [] if known is None else service.sources(loops[0].name, known.record.sources)
    lags = [source.lag_records for source in sources if source.lag_records is not None]
    workers = loops[0].stream.workers
    shown = sorted(sources, key=lambda one: (one.last_error is None, -(one.lag_records or 0), one.source))
    served = service.served(loops[0])
    checkpoints = None if served.checkpoints is None else served.checkpoints.statistics()
    window = loops[0].stream.window
    not_logged = loops[0].stream.not_logged
    sizes = loops[0].stream.stored_sizes()
    return {
        "name": name,
        "loops": [loop.name for loop in loops],
        "version": None if known is None else known.record.version,
        "admitted": None if known is None else known.record.admitted,
        "not_read": sum(lags) if lags else None,
        "read_ahead_batches": sum(source.read_ahead_batches for source in sources),
        "not_propagated": None if known is None else known.record.backlog_records,
        "rejected": sum(source.rejected for source in sources),
        "sources": [{"name": one.source, **source_dict(one)} for one in shown[:SOURCES_SHOWN]],
        "sources_count": len(sources),
        "not_logged": None if not_logged is None else _said(not_logged),
        "window": None if window is None else window.described(),
        "applied": workers.applied(),
        "waiting": workers.waiting(),
        "stored": None if sizes is None else asdict(sizes),
        "checkpoints": None
        if checkpoints is None
        else {
            "stored": checkpoints.stored,
            "failed": checkpoints.failed,
            "version": checkpoints.version,
            "age_s": number(checkpoints.age_s),
            "duration_s": number(checkpoints.duration_s),
            "last_error": checkpoints.last_error,
        },
    }


def _at(numbers: Sequence[int], worker: int | None) -> int | None:
    return None if worker is None or worker >= len(numbers) else numbers[worker]


def _said(error: Exception) -> str:
    return error.message if isinstance(error, TornadoError) else str(error)
