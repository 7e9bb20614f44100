"""`tornado demo`: a town's roads stream in, roads close, and questions get exact answers and ways while it happens.

The story is told on standard output, for somebody who has never heard of any of this; the numbers in it are measured, and the
answers are compared, in front of the reader, with a plain recomputation of exactly the same prefix (`town.py`).
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..client.steps import Document
from ..errors import PeerError
from .address import Address
from .client import ServiceClient
from .interruption import Interruption
from .presentation import ExitCode
from .progress import Reading, TerminalReporter, show_compiling

_SOURCE = "roads"
_LOOP = "town"
_DEADLINE_S = 30.0
_PERIOD_S = 0.1
_SURVEY_RECORDS = 16_384  # admitted at a time
_STORM_RECORDS = 20
_QUESTIONS = 3  # while the storm blows


@click.command("roads")
@click.option(
    "--rows",
    type=click.IntRange(40, 2000),
    default=1040,
    show_default=True,
    help="Junctions, north to south; some percent are water.",
)
@click.option(
    "--columns", type=click.IntRange(40, 2000), default=1040, show_default=True, help="And west to east."
)
@click.option(
    "--closures", type=click.IntRange(10), default=1500, show_default=True, help="Roads that close."
)
@click.option("--seed", type=int, default=7, show_default=True, help="Chooses the town.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.0, 3600.0),
    default=5.0,
    show_default=True,
    help="How long the storm takes.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also draw the last picture into this file.",
)
def roads_command(
    *, rows: int, columns: int, closures: int, seed: int, seconds: float, workers: int, svg: Path | None
) -> int:
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
            f"A town has {town.city.junctions:,} junctions and {town.closures_start:,} roads, counted in each direction.",
            f"An ambulance stands at junction {town.station:,}, in the middle. How many minutes is it to everywhere, and which",
            "way, while the map still changes?",
            "",
            f"Starting {workers} worker{'s' if workers > 1 else ''}, a store on disk and the HTTP interface (the very first start "
            "compiles, once) …",
        )
        entry = load_program("sssp")
        placement = Placement(
            loop=_LOOP,
            workers=workers,
            delay_bound=None if workers == 1 else 64,
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
                matches = _Story(town, deployment.loop, client, interruption, svg).tell(seconds)
    if not matches:
        _tell(
            f"MISMATCH: an answer differs from the recomputation. This is a bug: please report it (seed {seed})."
        )
        return ExitCode.FAILED
    _tell(
        "match: all answers equal, bit for bit, a recomputation from scratch of the same records, and every road of every way is open."
    )
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class _Told:
    """An answer with ways, and how long it took."""

    prefix: int
    ways: list[Document]
    elapsed_s: float


class _Story:
    """The chapters."""

    def __init__(
        self, town: Any, loop: Any, client: ServiceClient, interruption: Interruption, svg: Path | None
    ) -> None:
        self._town = town
        self._loop = loop
        self._client = client
        self._interruption = interruption
        self._svg = svg
        self._told: dict[str, float] = {}

    def tell(self, seconds: float) -> bool:
        """Tell it, and return whether every answer was exact."""
        from .pacing import PacedStream, Stage

        town = self._town
        roads, everything = town.closures_start, len(town.records)
        stages = [
            Stage("survey", roads, _SURVEY_RECORDS, 0.0),
            Stage("storm", everything, _STORM_RECORDS, seconds),
        ]
        begun_s = time.perf_counter()
        with PacedStream(self._loop, town.records, source=_SOURCE, stages=stages) as stream:
            _tell(
                "Surveyors send in the roads, from the middle of the town outwards, as fast as they can.", ""
            )
            stream.begin()
            self._wait_for(stream, roads * 6 // 10)
            first = self._ask(
                1, "More than half of the roads are known, and more keep coming. How far is it now?"
            )
            self._wait_for(stream, roads)
            _tell(
                f"All roads are in after {time.perf_counter() - begun_s:.1f} s. A storm comes up: roads close one after another, later "
                f"some open again ({everything - roads:,} changes).",
                "",
            )
            asked = [
                self._ways()
            ]  # before the storm: the first branch of all these rows has to copy each of them
            stream.begin()
            asked += [self._ask_during(stream, roads, everything, share) for share in range(_QUESTIONS)]
            second = self._ask(2, "The storm is at its height, and roads keep closing. How far is it now?")
            self._wait_for(stream, everything)
        asked.append(self._ways())
        _tell("[3] Meanwhile somebody asked again and again, for the ways this time:", "")
        stormy = self._verified(asked)
        return all([first, second, stormy, self._bridge(asked[-1])])

    def _ask_during(self, stream: Any, roads: int, everything: int, number: int) -> _Told:
        self._wait_for(stream, roads + (everything - roads) * (number + 1) * 6 // (10 * _QUESTIONS))
        return self._ways()

    def _ways(self) -> _Told:
        """Ask for the ways to all places; timed over HTTP, as anybody would see it."""
        asked_s = time.perf_counter()
        question = {"loop": _LOOP, "paths": list(self._town.places.values()), "deadline_s": _DEADLINE_S}
        answer = self._client.submit(question, wait_s=_DEADLINE_S)
        elapsed_s = time.perf_counter() - asked_s
        if answer["state"] != "converged":
            raise PeerError(f"the query was {answer['state']} after {elapsed_s:.1f} s")
        self._client.cancel(answer["id"])
        return _Told(answer["snapshot"]["offsets"].get(_SOURCE, 0), answer["result"]["paths"], elapsed_s)

    def _verified(self, answers: list[_Told]) -> bool:
        """Compare answers with recomputations, and tell how long each took."""
        matches, times = True, []
        for told in answers:
            self._interruption.check()
            check = self._town.check_ways(told.prefix, told.ways)
            matches = matches and check.matches
            times.append((told.elapsed_s, check.search_s, check.build_s))
            junctions = sum(len(way["vertices"]) for way in told.ways)
            _tell(
                f"    {told.prefix:,} records: exact with {len(told.ways)} ways over {junctions:,} junctions in "
                f"{told.elapsed_s * 1000:.1f} ms; recomputed from scratch: {check.search_s * 1000:.0f} ms"
                + ("" if check.matches else f"; {check.differing} DIFFER")
            )
        took_s, search_s, build_s = (statistics.median(column) for column in zip(*times, strict=True))
        compared = (
            f"{search_s / took_s:.1f} times as long"
            if search_s > took_s
            else "less: a branch pays off where the graph is large"
        )
        _tell(
            f"  {'Half of these answers took at most' if len(times) > 1 else 'This answer took'} {took_s * 1000:.1f} ms. A recomputation takes "
            f"{search_s * 1000:.1f} ms of compiled Dijkstra, {compared},",
            f"  after {build_s * 1000:.1f} ms to put the graph of those records together; and it finds no ways.",
            "",
        )
        return matches

    def _bridge(self, before: _Told) -> bool:
        """Close the last bridge on the way to the place that has the longest, and draw how the way goes then."""
        ways = {way["vertex"]: way for way in before.ways if way["value"] is not None}
        crossing = [vertex for vertex in ways if self._town.bridge_on(ways[vertex]["vertices"]) is not None]
        if not crossing:
            _tell("[4] No way crosses a bridge in this town.", "")
            return True
        place = max(crossing, key=lambda vertex: float(ways[vertex]["value"]))
        name = next(name for name, junction in self._town.places.items() if junction == place)
        ends = self._town.bridge_on(ways[place]["vertices"])
        town = self._town = self._town.with_closed(ends)
        self._loop.admit(town.records.slice(before.prefix, len(town.records)), _SOURCE, len(town.records))
        _tell(
            f"[4] The storm takes a bridge, {ends[0]:,} to {ends[1]:,}: the one on the way to the {name}.", ""
        )
        after = self._ways()
        self._draw(ways[place], next(way for way in after.ways if way["vertex"] == place), name)
        return self._verified([after])

    def _draw(self, old: Document, new: Document, name: str) -> None:
        from .town_picture import DrawnWay, picture, svg

        ways = [DrawnWay(old["vertices"], "o"), DrawnWay(new["vertices"], "*")]
        letters = {"A": self._town.station, "B": new["vertex"]}
        _tell(*(f"    {line}" for line in picture(self._town.city, ways, letters)))
        now = "cannot be reached" if new["value"] is None else f"{new['value']:.2f} min"
        _tell(
            f"    A is the ambulance, B the {name}, ~ water. The way was o, {old['value']:.2f} min over "
            f"{len(old['vertices']):,} junctions; it is * now, {now}"
            + (f" over {len(new['vertices']):,}." if new["vertices"] else "."),
            "",
        )
        if self._svg is not None:
            names = {"ambulance": self._town.station} | self._town.places
            self._svg.write_text(svg(self._town.city, ways, names))
            _tell(f"    drawn into {self._svg}", "")

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
            branch = loop.fork(reads_ways=True)
            branch.wait(_DEADLINE_S)
            branch.ways([town.station])
            branch.release()


def _tell(*lines: str) -> None:
    for line in lines:
        click.echo(line)
    # Somebody watches, also through a pipe.
    sys.stdout.flush()
