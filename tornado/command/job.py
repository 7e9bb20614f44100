"""What `tornado run` does: read, serve, and write the result when the input ends.

Guarantees: the result is one exact branch of everything that was admitted, or says that it is not; after an interrupt nothing
is left running and no half-written result remains. A source that fails ends a run that only reads; one that serves says so and
stays up with what is in.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..certificate import has_no_answer
from ..errors import InvalidArgument, NotSupported, StoreError, TornadoError, WorkerLost
from ..ingest.kafka.ingester import KafkaIngester
from ..ingest.layout import TextFormat
from ..ingest.source import Source, open_sources
from ..loop_views import MainLoopView, ValuesView
from ..loops.vertex_program import VertexProgram
from ..query.formats import snapshot_dict
from ..query.proofs import proved, require_checked
from ..query.query import NamedSnapshot
from ..query.rows import VALUES
from ..query.tracing import export_traces
from .address import OPEN
from .deployment import Deployment, Placement
from .feed import Feed
from .interruption import Interruption
from .log_lines import log_lines
from .output import write_result
from .pipeline import PipelineProcess, pipeline_folder
from .plan import LOOP_IN_OUTPUT, LoopBeside, RunPlan
from .point_input import (
    as_stored,
    files_with_wider_points,
    files_without_labels,
    open_points,
    require_fitting,
    schema_of,
    topic_of_points,
)
from .presentation import OWN_LIMIT, ExitCode, in_words, say_event, say_note
from .progress import Reading, Reporter, make_reporter, show_compiling
from .written import PREDICTIONS, Writing, predictions_of_answer, table_of_answer, writings_of

if TYPE_CHECKING:
    from ..query.http import HttpServer

_STOPPING_S = 60.0
_LAST_RENEWAL_S = 3.0
_LOSSES = 10  # of workers in a row, while one snapshot is stored


def run_job(plan: RunPlan, program: VertexProgram, beside: Sequence[LoopBeside] = ()) -> int:
    """Carry out a plan.

    Parameters
    ----------
    plan : RunPlan
        What to do.
    program : VertexProgram
        What the first loop computes; where ids are strings, it names vertices by these.
    beside : sequence of LoopBeside
        Further loops on the same stream.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    KeyboardInterrupt
        After a clean end that the user asked for.
    TornadoError
        What made the run fail.
    """
    programs = [program, *(other.program for other in beside)]
    require_fitting(plan, programs)
    if plan.check:
        for one in programs:
            require_checked(one)
    found = schema_of(plan, programs)
    points = as_stored(plan, programs, found)
    writings = writings_of(plan, program, beside, points)
    as_json = plan.as_json or not sys.stderr.isatty()
    unlabelled = files_without_labels(plan, programs)
    if unlabelled is not None:
        say_note(f"warning: {unlabelled}", as_json=as_json, event="no-labels")
    wider = files_with_wider_points(plan, found, points)
    if wider is not None:
        say_note(f"warning: {wider}", as_json=as_json, event="wider-points")
    placement = Placement(
        loop=plan.loop,
        stream=plan.stream,
        workers=plan.workers,
        most_workers=plan.most_workers,
        delay_bound=plan.delay_bound,
        store=plan.store,
        string_ids=plan.ids == "string",
        quarantine=plan.quarantine,
        address=plan.address,
        door=plan.door,
        checkpoint_every_s=plan.checkpoint_every_s,
        keep_snapshots=plan.keep_snapshots,
        adopts=plan.adopts,
        engine=plan.engine,
        vertices_by=plan.placement,
        spark_master=plan.spark_master,
        undirected=plan.undirected,
        check_times=plan.check_times,
        window=plan.window,
        points=points,
        results=plan.results,
    )
    with (
        Interruption() as interruption,
        log_lines(as_json=as_json, with_requests=plan.logs_requests),
        contextlib.ExitStack() as stack,
    ):
        stack.callback(export_traces(os.environ))
        deployment = Deployment(
            placement,
            program,
            beside,
            on_checkpoint_failure=partial(_say_failure, as_json=as_json),
            on_results_failure=partial(_say_failure, as_json=as_json, what="no results were renewed"),
        )
        with show_compiling(as_json=as_json):
            stack.enter_context(deployment)
        return _Job(plan, deployment, interruption, writings, as_json=as_json).run()


class _Job:
    """One run that has started."""

    def __init__(
        self,
        plan: RunPlan,
        deployment: Deployment,
        interruption: Interruption,
        writings: Mapping[str, Writing],
        *,
        as_json: bool,
    ) -> None:
        self._plan = plan
        self._writings = writings
        self._deployment = deployment
        self._loop = deployment.loop
        self._interruption = interruption
        self._as_json = as_json
        text_format = TextFormat(columns=plan.columns, undirected=plan.undirected, times=plan.check_times)
        sources: list[Source] = [
            *open_sources(
                plan.edges, vertices=plan.vertices, text_format=text_format, interner=deployment.interner
            )
        ]
        try:
            sources += open_points(plan, deployment.points, deployment.interner)
            deployment.recognise(sources)
        except BaseException:
            for source in sources:
                source.close()
            raise
        check = deployment.loop.check
        topic = None
        if plan.kafka is not None:
            topic = KafkaIngester(
                deployment.loop,
                plan.kafka,
                deployment.quarantine,
                check=check,
                interner=deployment.interner,
                points=None if topic_of_points(plan) is None else deployment.points,
                until_end=plan.until_end,
            )
        self._feed = Feed(
            deployment.loop,
            sources,
            deployment.quarantine,
            check=check,
            topic=topic,
        )
        deployment.served.watch_sources(self._feed.statistics)
        self._pipeline: PipelineProcess | None = None

    def run(self) -> int:
        """Read, write the result, stay: whatever the plan has of these."""
        reporter = make_reporter(as_json=self._as_json)
        try:
            self._announce()
            # What is there now stays, so that a collection is short: all threads wait for one, that which answers too.
            gc.collect()
            gc.freeze()
            with reporter:
                self._read(reporter)
                self._read_topic(reporter)
            self._start_pipeline()
            code = ExitCode.DONE
            if self._plan.output is not None:
                for loop in self._deployment.loops:
                    output = self._plan.output.replace(LOOP_IN_OUTPUT, loop.name)
                    code = max(code, self._write_result(reporter, output, loop))
            self._report_input()
            self._report_unplaced()
            with reporter:
                if self._plan.serves or self._plan.is_endless:
                    self._stay(reporter)
                elif self._plan.output is None:
                    self._settle(reporter)
                elif code is ExitCode.DONE and (self._deployment.is_gone_on_from or self._plan.results):
                    self._checkpoint()
                    self._settle_results(self._plan.deadline_s)
            return code
        finally:
            gc.unfreeze()
            if self._pipeline is not None:
                self._pipeline.stop()
            self._feed.stop()

    def _announce(self) -> None:
        self._announce_restored()
        server = self._deployment.server
        if server is None:
            return
        # At a terminal it says that somebody hung up, which ends a service that has nothing to read again.
        if self._plan.door != OPEN or not sys.stderr.isatty():
            self._interruption.on_hangup(partial(self._reload, server))
        say_note(
            f"{self._plan.loop} is served at {server.url} (Ctrl-C ends)",
            as_json=self._as_json,
            event="ready",
            loops=[loop.name for loop in (*self._deployment.loops, *self._deployment.returned)],
            url=server.url,
            host=server.host,
            port=server.port,
            loop=self._plan.loop,
        )

    def _reload(self, server: HttpServer) -> None:
        """Read tokens and certificate again; those that are of no use change nothing."""
        try:
            server.reload()
        except TornadoError as error:
            _say_error(error, as_json=self._as_json)
        else:
            say_note("tokens and certificate were read again", as_json=self._as_json, event="reloaded")

    def _announce_restored(self) -> None:
        """Say where the run goes on: behind the newest snapshot and the log of the stream, or the log alone."""
        stream, restored = self._loop.stream, self._loop.restored
        version, _, reached = stream.counts()
        if not version:
            return
        others = [
            loop for loop in (*self._deployment.loops, *self._deployment.returned) if loop is not self._loop
        ]
        offsets = ", ".join(f"{source}: {offset:,}" for source, offset in sorted(reached.items()))
        anew = [loop.name for loop in others if loop.restored is None]
        values = f"; begun anew on its graph: {', '.join(anew)}" if anew else ""
        if restored is not None and not restored.is_converged:
            values = f"; its values are of {restored.program} and computed anew{values}"
        base = None if restored is None else restored.snapshot
        say_note(
            f"goes on from version {version} ({offsets or 'nothing read'}), "
            + ("its log" if base is None else f"behind the snapshot of version {base.version}")
            + values,
            as_json=self._as_json,
            event="restored",
            snapshot={"version": version, "offsets": reached},
            base=None if base is None else {"version": base.version, "offsets": base.offsets},
            program=None if restored is None else restored.program,
            converged=restored is not None and restored.is_converged,
            loops=[
                {"name": loop.name, "converged": loop.restored is not None and loop.restored.is_converged}
                for loop in (self._loop, *others)
            ],
        )

    def _read(self, reporter: Reporter) -> None:
        shown_s = time.monotonic()
        while self._step():
            self._feed.wait(min(reporter.period_s, 0.1))
            self._interruption.check()
            if time.monotonic() - shown_s >= reporter.period_s:
                shown_s = time.monotonic()
                reporter.show(self._reading("reading"))
        reporter.show(self._reading("read"))

    def _read_topic(self, reporter: Reporter) -> None:
        """Begin with the topic; where it has an end, read to it."""
        kafka = self._plan.kafka
        if kafka is None:
            return
        self._feed.start_topic()
        say_note(
            f"reading topic {kafka.topic} at {','.join(kafka.brokers)}",
            as_json=self._as_json,
            event="topic",
            topic=kafka.topic,
            brokers=list(kafka.brokers),
            offsets={
                one.source: one.offset
                for one in self._feed.statistics()
                if one.source.rpartition(":")[0] == kafka.topic
            },
        )
        shown_s = time.monotonic()
        while self._plan.until_end and not self._feed.wait_topic(min(reporter.period_s, 0.1)):
            self._interruption.check()
            if time.monotonic() - shown_s >= reporter.period_s:
                shown_s = time.monotonic()
                reporter.show(self._reading("reading"))
        self._report_topic_failure()

    def _start_pipeline(self) -> None:
        """Begin with the pipeline: behind the files, which it may remove edges of."""
        server = self._deployment.server
        if self._plan.pipeline is None or server is None:
            return
        streams = frozenset({self._plan.stream})
        self._pipeline = PipelineProcess(
            self._plan.pipeline,
            url=server.url,
            loop=self._plan.loop,
            # One of its own: what it may is not what somebody's token happens to allow.
            token=None if server.tokens is None else server.tokens.issue(name="pipeline", streams=streams),
            folder=pipeline_folder(self._deployment.store_url),
            is_anew=not self._deployment.is_gone_on_from,
        )
        self._deployment.served.watch_sources(self._pipeline.statistics)
        say_note(
            f"the pipeline {self._pipeline.name} runs, its log is {self._pipeline.log_path}",
            as_json=self._as_json,
            event="pipeline",
            pid=self._pipeline.pid,
            log=str(self._pipeline.log_path),
        )

    def _report_pipeline_end(self) -> bool:
        """Say once how the pipeline ended; those who ask are still answered."""
        if self._pipeline is None or not self._pipeline.has_ended:
            return False
        if self._pipeline.error is not None:
            _say_error(self._pipeline.error, as_json=self._as_json)
        else:
            say_note(
                f"the pipeline {self._pipeline.name} has ended",
                as_json=self._as_json,
                event="pipeline-ended",
            )
        return True

    def _report_topic_failure(self) -> bool:
        """Raise what made the topic fail, or say it where there is still somebody to answer."""
        error = self._feed.topic_error
        if error is None:
            return False
        if not self._plan.serves or not isinstance(error, TornadoError):
            raise error
        _say_error(error, as_json=self._as_json)
        return True

    def _step(self) -> bool:
        while True:
            try:
                return self._feed.step()
            except TornadoError as error:
                if not self._plan.serves:
                    raise
                # Whoever asks over HTTP can still be answered from what is in, and can still push.
                _say_error(error, as_json=self._as_json)

    def _write_result(self, reporter: Reporter, output: str, loop: MainLoopView | None = None) -> ExitCode:
        checks = self._plan.check
        branch = (loop or self._loop).fork(max_iterations=self._plan.max_iterations, reads_edges=checks)
        started_s = time.monotonic()
        try:
            with reporter:
                stopped_by = self._converge(branch, reporter)
            if branch.error is not None:
                raise branch.error
            converged = branch.state.name == "CONVERGED"
            certificate = branch.certificate
            if has_no_answer(certificate):
                say_note(
                    f"{in_words(certificate)}, so nothing was written",
                    as_json=self._as_json,
                    event="diverged",
                    snapshot=snapshot_dict(NamedSnapshot.of(branch.snapshot)),
                    certificate=certificate,
                )
                return ExitCode.FAILED
            if checks:
                certificate = proved(branch, self._deployment.served.codec, self._deployment.service.clock)
            rows, table = self._write(output, loop or self._loop, branch.values())
            say_note(
                f"{in_words(certificate)}: {_told_rows(rows, table)} written to {output} "
                f"({time.monotonic() - started_s:.3f} s)",
                as_json=self._as_json,
                event="result",
                output=output,
                vertices=rows if table == VALUES else None,
                table=table,
                rows=rows,
                state="converged" if converged else "deadline",
                stopped_by=None if converged else stopped_by,
                snapshot=snapshot_dict(NamedSnapshot.of(branch.snapshot)),
                elapsed_s=round(time.monotonic() - started_s, 6),
                certificate=certificate,
            )
        finally:
            branch.release()
        if converged:
            return ExitCode.DONE
        say_note(
            f"{OWN_LIMIT if stopped_by is None else f'{stopped_by} was reached'}: what was written is the best value so far, not the exact "
            "one",
            as_json=self._as_json,
            event="limit",
        )
        return ExitCode.LIMIT

    def _converge(self, branch: Any, reporter: Reporter) -> str | None:
        """Wait for a branch, stop it at the deadline, and return which limit would have ended it; None: one of its method."""
        until_s = time.monotonic() + self._plan.deadline_s
        while not branch.wait(max(0.0, min(reporter.period_s, 0.1, until_s - time.monotonic()))):
            if self._interruption.requested():
                branch.cancel()
                self._interruption.check()
            if time.monotonic() >= until_s:
                branch.stop()
                branch.wait(_STOPPING_S)
                return "deadline"
            progress = branch.progress()
            reporter.show(
                self._reading("converging", iteration=progress.iteration, residual=progress.residual)
            )
        return None if self._plan.max_iterations is None else "max_iterations"

    def _write(self, output: str, loop: MainLoopView, found: ValuesView) -> tuple[int, str]:
        """Write a table of an answer, or its predictions; return how many rows it has, and of which table these are."""
        wanted = self._writings[loop.name]
        written_as = self._plan.output_format
        form = self._deployment.service.form(loop.name)
        if wanted.points is not None:
            table = predictions_of_answer(loop.program, found, wanted.points)
            write_result(output, table)
            return len(table), PREDICTIONS
        table = table_of_answer(loop.program, found, form, wanted.table)
        are_counts = written_as is not None and loop.program.values_are_counts
        write_result(output, table, output_format=written_as, are_counts=are_counts)
        return len(table), wanted.table or form.first_table

    def _report_input(self) -> None:
        rejected = self._feed.rejected()
        if not self._plan.has_files and (self._plan.kafka is None or self._plan.is_endless):
            return
        where = self._deployment.quarantine.path
        is_empty = self._loop.restored is None and not self._loop.stream.counts()[1]
        if rejected == self._feed.records() and is_empty:
            say_note(
                "warning: no record is in: what is written is the answer for nothing",
                as_json=self._as_json,
                event="nothing-in",
            )
        say_note(
            f"{self._feed.records():,} records read"
            + (f", {rejected:,} rejected: see {where}" if rejected else ""),
            as_json=self._as_json,
            event="input-ended",
            records=self._feed.records(),
            rejected=rejected,
            quarantine=None if where is None else str(where),
            offsets=self._loop.offsets(),
        )

    def _report_unplaced(self) -> None:
        """Say how many vertices a placement file lacks, where there is one."""
        unplaced = getattr(self._statistics(), "unplaced_vertices", 0)
        if unplaced:
            say_note(
                f"warning: {self._plan.placement} lacks {unplaced:,} vertices; the hash of its id says which worker each of them is on",
                as_json=self._as_json,
                event="unplaced",
                vertices=unplaced,
            )

    def _settle(self, reporter: Reporter) -> None:
        """Let the main loop converge and keep its snapshot: all that a run without a result leaves behind."""
        for loop in self._deployment.loops:
            while not loop.wait_idle(reporter.period_s):
                self._interruption.check()
                reporter.show(self._reading("converging"))
        self._checkpoint()
        self._settle_results(self._plan.deadline_s)

    def _settle_results(self, timeout_s: float) -> None:
        """Wait until the tables outside have the answer to what was read."""
        for kept in self._deployment.kept_results:
            kept.settle(timeout_s)

    def _stay(self, reporter: Reporter) -> None:
        shown_s = time.monotonic()
        stage = "serving" if self._plan.serves else "reading"
        shown = self._reading(stage)
        failed = ended = False
        while not self._interruption.wait(0.1):
            now_s = time.monotonic()
            ended = ended or self._report_pipeline_end()
            failed = failed or self._report_topic_failure()
            if now_s - shown_s >= reporter.period_s:
                shown_s = now_s
                reading = self._reading(stage)
                # Lines are kept in logs: an idle service must not fill them.
                if reading != shown or not self._as_json:
                    reporter.show(reading)
                shown = reading
        self._checkpoint()
        with contextlib.suppress(TornadoError):  # said already, and the next start renews it
            self._settle_results(_LAST_RENEWAL_S)
        self._interruption.check()

    def _store_snapshot(self) -> None:
        """Store one, also where workers are lost meanwhile: others take their place, and have the loops again."""
        for _ in range(_LOSSES - 1):
            with contextlib.suppress(WorkerLost):
                self._deployment.checkpoint()
                return
        self._deployment.checkpoint()

    def _checkpoint(self) -> None:
        try:
            self._store_snapshot()
        except NotSupported:
            return  # the kind of program has no stored form
        except StoreError as error:
            # The loop goes on without the store: nothing admitted is lost while the process lives.
            _say_error(error, as_json=self._as_json)

    def _reading(self, stage: str, *, iteration: int | None = None, residual: float | None = None) -> Reading:
        statistics = self._statistics()
        if statistics is None:
            return Reading(stage=stage, admitted=0, rejected=0, iteration=0, residual=0.0, fraction=None)
        return Reading(
            stage=stage,
            admitted=statistics.admitted,
            rejected=self._deployment.quarantine.statistics().total,
            iteration=statistics.iteration if iteration is None else iteration,
            residual=statistics.residual if residual is None else residual,
            fraction=self._feed.sources_done(),
        )

    def _statistics(self) -> Any:
        """How the first loop stands that was not removed meanwhile; None where all were."""
        for loop in self._deployment.loops:
            try:
                return loop.statistics()
            except InvalidArgument:
                continue
        return None


def _told_rows(rows: int, table: str) -> str:
    if table == VALUES:
        return f"{rows:,} vertices"
    return f"{rows:,} predictions" if table == PREDICTIONS else f"{rows:,} rows of {table}"


def _say_failure(error: Exception, *, as_json: bool, what: str = "no snapshot was stored") -> None:
    """Report a checkpoint, or what comes after one, that failed; the loop goes on."""
    if isinstance(error, TornadoError):
        _say_error(error, as_json=as_json)
    else:
        say_note(f"error: {what}: {error}", as_json=as_json, event="error", code="error")


def _say_error(error: TornadoError, *, as_json: bool) -> None:
    if as_json:
        say_event("error", code=error.code, message=error.message, hint=error.hint)
    else:
        say_note(f"error: {error}", as_json=False)
