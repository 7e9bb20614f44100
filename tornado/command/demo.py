"""`tornado demo`: a town's roads stream in, roads close, and two questions get exact answers while it happens.

The story is told on standard output, for somebody who has never heard of any of this; the numbers in it are measured, and the
answers are compared, in front of the reader, with a plain recomputation of exactly the same prefix (`town.py`).
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from typing import Any

import click

from .address import Address
from .client import ServiceClient
from .interruption import Interruption
from .presentation import ExitCode
from .progress import Reading, TerminalReporter, show_compiling

_SOURCE = "roads"
_LOOP = "town"
_DEADLINE_S = 30.0
_PERIOD_S = 0.1


@click.command("roads")
@click.option(
    "--rows", type=click.IntRange(40, 2000), default=208, show_default=True, help="Junctions, north to south."
)
@click.option(
    "--columns", type=click.IntRange(40, 2000), default=208, show_default=True, help="And west to east."
)
@click.option(
    "--closures", type=click.IntRange(10), default=1500, show_default=True, help="Roads that close."
)
@click.option("--seed", type=int, default=7, show_default=True, help="Chooses the town.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.0, 3600.0),
    default=8.0,
    show_default=True,
    help="How long the stream takes.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
def roads_command(*, rows: int, columns: int, closures: int, seed: int, seconds: float, workers: int) -> int:
    """Watch exact answers to a stream, checked before your eyes. Takes less than a minute.

    Ends with `match` and exit code 0 if every answer equals a plain recomputation bit for bit, else with MISMATCH and 1.
    """
    # Imported late, as they load the compiler.
    from ..query.programs import load_program
    from .deployment import Deployment, Placement
    from .town import Town

    with Interruption() as interruption, tempfile.TemporaryDirectory(prefix="tornado-demo-") as folder:
        town = Town.generate(rows=rows, columns=columns, closed_roads=closures, seed=seed)
        _tell(
            f"A town has {town.junctions:,} junctions. An ambulance stands at junction {town.station:,}, in the middle.",
            "How many minutes is it to everywhere, while the map still changes?",
            "",
            f"Starting {workers} workers, a store on disk and the HTTP interface (the very first start compiles, once) …",
        )
        entry = load_program("sssp")
        placement = Placement(
            loop=_LOOP,
            workers=workers,
            delay_bound=64,
            store=f"lmdb://{folder}/store",
            address=Address("127.0.0.1", 0),
        )
        started_s = time.perf_counter()
        with show_compiling(as_json=False) if sys.stderr.isatty() else contextlib.nullcontext():
            _compile(entry.kind(source=town.station), town)
        interruption.check()
        with Deployment(placement, entry.kind(source=town.station)) as deployment:
            assert deployment.server is not None
            url = deployment.server.url
            _tell(
                f"  ready after {time.perf_counter() - started_s:.1f} s; {url}/docs shows the interface", ""
            )
            with ServiceClient(url) as client:
                matches = _Story(town, deployment.loop, client, interruption).tell(seconds)
    if not matches:
        _tell(
            f"MISMATCH: an answer differs from the recomputation. This is a bug: please report it (seed {seed})."
        )
        return ExitCode.FAILED
    _tell("match: both answers equal, bit for bit, a recomputation from scratch of the same records.")
    return ExitCode.DONE


class _Story:
    """The two chapters."""

    def __init__(self, town: Any, loop: Any, client: ServiceClient, interruption: Interruption) -> None:
        self._town = town
        self._loop = loop
        self._client = client
        self._interruption = interruption
        self._told: dict[str, float] = {}

    def tell(self, seconds: float) -> bool:
        """Tell it, and return whether every answer was exact."""
        from .pacing import PacedStream, Stage

        town = self._town
        roads, everything = town.closures_start, len(town.records)
        stages = [Stage("survey", roads, 500, seconds / 2), Stage("storm", everything, 20, seconds / 2)]
        with PacedStream(self._loop, town.records, source=_SOURCE, stages=stages) as stream:
            _tell(f"Surveyors send in {roads:,} stretches of road, from the middle of the town outwards.", "")
            stream.begin()
            self._wait_for(stream, roads * 6 // 10)
            first = self._ask(
                1, "More than half of the roads are known, and more keep coming. How far is it now?"
            )
            self._wait_for(stream, roads)
            _tell(
                f"All roads are in. A storm comes up: roads close one after another, later some open again "
                f"({everything - roads:,} changes).",
                "",
            )
            stream.begin()
            self._wait_for(stream, roads + (everything - roads) * 6 // 10)
            second = self._ask(2, "The storm is at its height, and roads keep closing. How far is it now?")
            self._wait_for(stream, everything)
        return first and second

    def _ask(self, number: int, words: str) -> bool:
        _tell(f"[{number}] {words}")
        places = self._town.places
        asked_s = time.perf_counter()
        # For all junctions, so that all can be compared below; the places are read from that one answer.
        query = self._client.submit({"loop": _LOOP, "deadline_s": _DEADLINE_S})["id"]
        *_, (_, answer) = self._client.events(query)
        found = self._client.result(query, vertices=",".join(map(str, places.values())))
        answered_s = time.perf_counter() - asked_s
        ids, values = self._client.columns(query)
        self._client.cancel(query)
        minutes = {row["vertex"]: row["value"] for row in found["values"]}
        for name, junction in places.items():
            _tell(f"      {name:<16} {self._minutes(name, minutes, junction)}")
        prefix = answer["snapshot"]["offsets"].get(_SOURCE, 0)
        check = self._town.check(prefix, ids, values)
        _tell(
            f"    exact for the first {prefix:,} records: {answered_s * 1000:.1f} ms, asked and answered over HTTP",
            f"    recomputed from scratch: {check.search_s * 1000:.1f} ms of compiled Dijkstra, after "
            f"{check.build_s * 1000:.1f} ms to put the graph of those records together",
        )
        if check.matches and answer["state"] == "converged":
            _tell(f"    compared all {check.compared:,} junctions, bit for bit: equal", "")
            return True
        _tell(
            f"    compared {check.compared:,} junctions: {check.differing:,} differ, {check.missing:,} are missing; "
            f"the query was {answer['state']}",
            "",
        )
        return False

    def _minutes(self, name: str, minutes: dict[int, float | None], junction: int) -> str:
        """Return how far a place is, and what changed since it was told before."""
        if junction not in minutes:
            return "not on the map yet"
        found = minutes[junction]
        shown = "cannot be reached" if found is None else f"{found:7.2f} min"
        before = self._told.get(name)
        if found is not None:
            self._told[name] = found
        return shown if before is None or before == found else f"{shown}  (was {before:.2f})"

    def _wait_for(self, stream: Any, count: int) -> None:
        """Let the stream run up to a point, with a progress bar where there is a terminal."""
        with contextlib.ExitStack() as stack:
            bar = stack.enter_context(TerminalReporter()) if sys.stderr.isatty() else None

            def look() -> None:
                self._interruption.check()
                if bar is not None:
                    bar.show(self._reading(stream))

            stream.wait_for(count, meanwhile=look, period_s=_PERIOD_S)

    def _reading(self, stream: Any) -> Reading:
        statistics = self._loop.statistics()
        return Reading(
            stage=stream.stage,
            admitted=statistics.admitted,
            rejected=0,
            iteration=statistics.iteration,
            residual=statistics.residual,
            fraction=stream.admitted / len(self._town.records),
        )


def _compile(program: Any, town: Any) -> None:
    """Run a little of everything once, so that no number in the story is that of a compiler."""
    from ..loops import Master

    town.warm_up()
    with Master(workers=1) as master:
        loop = master.start(program, "warm-up")
        roads = town.records.slice(0, 64)
        for records in (roads, town.undoing(roads)):
            loop.admit(records, _SOURCE, len(records))
            branch = loop.fork()
            branch.wait(_DEADLINE_S)
            branch.release()


def _tell(*lines: str) -> None:
    for line in lines:
        click.echo(line)
    # Somebody watches, also through a pipe.
    sys.stdout.flush()
