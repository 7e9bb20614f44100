"""`tornado sim`: seeded random schedules of the protocol, of whole loops and of faults, each judged by its laws and its right answer.

Run k of `--seed N` has the seed N + k, and everything about it follows from that number: the graph, its changes, the workers,
the delay bound, the schedule, what fails. So a failure is repeated by `tornado sim --seed THAT --runs 1`. Where it is one of a run
with faults, steps of it are left out for as long as it fails, and `--only` repeats it with what is left.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from contextlib import suppress

import click

from ..errors import InternalError, InvalidArgument, LawBroken
from .interruption import Interruption
from .listing import json_option
from .presentation import ExitCode, say_event

_DELAY_BOUNDS = (1, 2, 4, 64, None)
_WORKERS = (1, 2, 4, None)
_REPORT_PERIOD_S = 2.0


@click.command("sim")
@click.option("--seed", type=click.IntRange(min=0), required=True, help="The seed of the first run.")
@click.option("--runs", type=click.IntRange(min=1), default=100, show_default=True, help="How many runs.")
@click.option(
    "--only",
    metavar="STEPS",
    help="Of the run with faults of this seed, and no other, these steps alone: numbers with commas between.",
)
@json_option
def sim_command(*, seed: int, runs: int, only: str | None, as_json: bool) -> int:
    """Simulate RUNS random runs of the protocol, of the loops and of faults; exits with 1 at the first that breaks a law, and says how to repeat it."""
    if only is not None:
        return _repeat(seed, _numbers(only), as_json=as_json)
    commits = prepares = 0
    kinds: Counter[str] = Counter()
    with Interruption() as interruption:
        reported_s = time.monotonic()
        for number in range(seed, seed + runs):
            interruption.check()
            try:
                outcomes = [simulate_protocol(number), simulate_loops(number), simulate_crashes(number)]
            except Exception as error:
                raise InternalError(
                    f"seed {number}: {type(error).__name__}: {error}",
                    hint=f"To repeat it: {_again(number, error)}",
                ) from error
            for kind, committed, prepared in outcomes:
                kinds[kind] += 1
                commits += committed
                prepares += prepared
            if as_json and time.monotonic() - reported_s >= _REPORT_PERIOD_S:
                reported_s = time.monotonic()
                say_event("progress", runs=number - seed + 1, of=runs, commits=commits)
    if as_json:
        click.echo(
            json.dumps({"seed": seed, "runs": runs, "commits": commits, "prepares": prepares, "kinds": kinds})
        )
    else:
        click.echo(
            f"{runs} runs from seed {seed}: every law held in {commits:,} commits with {prepares:,} PREPAREs "
            f"({', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))})"
        )
    return ExitCode.DONE


def _again(seed: int, error: Exception) -> str:
    """The command that repeats a failure, with as few steps as were found."""
    from ..recovery_simulation import shrunk, simulate_recovery

    with suppress(Exception):  # what cannot be made smaller is repeated whole
        try:
            simulate_recovery(seed)
        except LawBroken as broken:
            if str(broken) == str(error):
                numbers = ",".join(str(step.number) for step in shrunk(seed))
                return f"tornado sim --seed {seed} --only {numbers}"
    return f"tornado sim --seed {seed} --runs 1"


def _numbers(text: str) -> list[int]:
    numbers = [part.strip() for part in text.split(",")]
    if not all(number.isdecimal() for number in numbers):
        raise InvalidArgument(
            f"--only is {text!r}, and must be numbers of steps with commas between",
            hint="As in --only 0,3,7.",
        )
    return sorted({int(number) for number in numbers})


def _repeat(seed: int, only: list[int], *, as_json: bool) -> int:
    """Do some steps of a run with faults, and say which."""
    from ..fault_schedule import steps_of
    from ..recovery_simulation import simulate_recovery

    steps = [step for step in steps_of(seed) if step.number in only]
    if len(steps) < len(only):
        unknown = sorted(set(only) - {step.number for step in steps})
        raise InvalidArgument(
            f"the run of seed {seed} has no step {unknown[0]}: it has {len(steps_of(seed))}"
        )
    try:
        run = simulate_recovery(seed, only=only)
    except LawBroken as error:
        done = ", ".join(f"{step.number} {step.kind}" for step in steps)
        raise InternalError(f"{error.message} (steps: {done})", hint="") from error
    if as_json:
        click.echo(json.dumps({"seed": seed, "only": only, "trace": run.trace}))
    else:
        click.echo(f"{len(steps)} steps of seed {seed}: every law held (trace {run.trace})")
    return ExitCode.DONE


def simulate_loops(seed: int) -> tuple[str, int, int]:
    """Simulate main loops and branches on simulated workers; see `simulate_protocol` for what it returns and raises."""
    from ..simulation import simulate

    run = simulate(seed)
    return "loops", run.updates, run.prepares


def simulate_crashes(seed: int) -> tuple[str, int, int]:
    """Simulate a stream whose store, driver, workers and connections fail; see `simulate_protocol` for what it returns and raises."""
    from ..recovery_simulation import simulate_recovery

    simulate_recovery(seed)
    return "recoveries", 0, 0


def simulate_protocol(seed: int) -> tuple[str, int, int]:
    """Simulate one run and judge it.

    Parameters
    ----------
    seed : int
        Everything about the run follows from it.

    Returns
    -------
    kind : str
        `shortest paths` (has a right answer) or `counting` (with removals, notices every misread commit).
    commits, prepares : int
        How much happened.

    Raises
    ------
    LawBroken
        A law of the protocol, or the right answer, does not hold.
    """
    from ..protocol.random_schedules import random_script, simulate
    from ..protocol.sample_programs import CountProgram, MinPlusProgram
    from ..protocol.world import Setting

    rng = random.Random(seed)
    counting = rng.random() < 0.5
    vertices = rng.randint(2, 12)
    script = random_script(rng, vertices, rng.randint(1, 4 * vertices), removals=counting)
    appetite = rng.randint(1, 6)
    setting = Setting(
        script=script,
        delay_bound=rng.choice(_DELAY_BOUNDS),
        program=(lambda: CountProgram(appetite)) if counting else MinPlusProgram,
        workers=rng.choice(_WORKERS),
        lag=rng.random() < 0.5,
    )
    run = simulate(setting, seed)
    if counting:
        return "counting", len(run.trace), run.prepares
    committed = {commit.vertex: commit.value for commit in run.trace}
    expected = _distances(script)
    if committed != expected:
        raise LawBroken("right answer", f"committed {committed}, but the distances are {expected}")
    return "shortest paths", len(run.trace), run.prepares


def _distances(script: tuple[object, ...]) -> dict[int, float]:
    """Compute the distances of a script without removals by relaxing every edge until nothing changes."""
    from ..protocol.messages import AddEdge, Touch

    found: dict[int, float] = {}
    for change in script:
        if isinstance(change, Touch):
            start = 0.0 if change.data is None else float(str(change.data))
            found[change.vertex] = min(start, found.get(change.vertex, start))
    edges = [change for change in script if isinstance(change, AddEdge)]
    changed = True
    while changed:
        changed = False
        for edge in edges:
            if edge.producer not in found:
                continue
            offer = found[edge.producer] + (1.0 if edge.data is None else float(str(edge.data)))
            if offer < found.get(edge.consumer, float("inf")):
                found[edge.consumer] = offer
                changed = True
    return found
