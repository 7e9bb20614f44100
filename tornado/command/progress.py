"""What a running command shows: a bar on a terminal, JSON lines elsewhere, both on standard error; while it compiles as well.

Guarantees: standard output is never touched; a reporter never raises because of what it is told (a residual may be NaN
before the first iteration ends).
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from .presentation import say_event

if TYPE_CHECKING:
    from ..kernel_modules import Compiling

_TERMINAL_PERIOD_S = 0.1
_LINES_PERIOD_S = 1.0
_RATE_WINDOW_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at a loop.

    Attributes
    ----------
    stage : str
        What is going on: `reading`, `serving`, `converging`.
    admitted, rejected : int
        Records that are in, and that went to quarantine.
    iteration : int
        The frontier: the least iteration at which a commit can still happen.
    residual : float
        The progress measure of the newest finished iteration; 0 where nothing is left to do.
    fraction : float or None
        How much of the input has been read, 0 to 1, where its size is known.
    """

    stage: str
    admitted: int
    rejected: int
    iteration: int
    residual: float
    fraction: float | None = None


class Reporter(Protocol):
    """Shows readings; a context manager that can be entered again."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def period_s(self) -> float:
        """How often a reading is worth taking."""

    def show(self, reading: Reading) -> None:
        """Show one reading."""


def make_reporter(*, as_json: bool, clock: Callable[[], float] = time.monotonic) -> Reporter:
    """Return a bar where standard error is a terminal and JSON was not asked for, else JSON lines."""
    if as_json or not sys.stderr.isatty():
        return JsonReporter(clock=clock)
    return TerminalReporter(clock=clock)


@contextmanager
def show_compiling(
    *, as_json: bool, clock: Callable[[], float] = time.monotonic, console: Console | None = None
) -> Iterator[None]:
    """Show what is compiled meanwhile, and how far that is; nothing where everything is compiled already."""
    from ..kernel_modules import watch_compiling  # here, as it loads the compiler

    if as_json:
        with watch_compiling(_CompilingLines(clock).show):
            yield
        return
    with _CompilingBar(console) as bar, watch_compiling(bar.show):
        yield


class _CompilingLines:
    """A JSON line at the beginning, and then one a second."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started_s = clock()
        self._due_s = self._started_s

    def show(self, compiling: Compiling) -> None:
        now_s = self._clock()
        if now_s >= self._due_s:
            self._due_s = now_s + _LINES_PERIOD_S
            elapsed_s = round(now_s - self._started_s, 3)
            say_event("compiling", **compiling._asdict(), elapsed_s=elapsed_s)


class _CompilingBar:
    """A bar that appears with the first function that is compiled, and is gone when the context is left."""

    def __init__(self, console: Console | None) -> None:
        self._progress = _bar(console if console is not None else Console(stderr=True))
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, compiling: Compiling) -> None:
        self._progress.start()
        title = f"compiling {compiling.title}"
        if title not in self._tasks:
            self._tasks[title] = self._progress.add_task(title, total=compiling.functions, numbers="")
        numbers = f"{compiling.done} of {compiling.functions} functions: {compiling.function}"
        self._progress.update(self._tasks[title], completed=compiling.done, numbers=numbers)


def _bar(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[numbers]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        # Results go to standard output and must not be taken over to the console of the bar.
        redirect_stdout=False,
    )


class Rate:
    """Records per second over the last seconds, so that a stream that stops shows 0 soon.

    Examples
    --------
    >>> rate = Rate()
    >>> rate.of(0, at_s=0.0), rate.of(300, at_s=1.0), rate.of(300, at_s=9.0)
    (0.0, 300.0, 0.0)
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, count: int, *, at_s: float) -> float:
        """Return the rate after `count` records at the instant `at_s`."""
        self._seen.append((at_s, count))
        # The oldest reading that is kept is the last one from before the window.
        while len(self._seen) > 2 and at_s - self._seen[1][0] >= _RATE_WINDOW_S:
            self._seen.popleft()
        since_s, before = self._seen[0]
        return (count - before) / (at_s - since_s) if at_s > since_s else 0.0


class JsonReporter:
    """One JSON line a reading: `{"event": "progress", …}`."""

    period_s = _LINES_PERIOD_S

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started_s = clock()
        self._rate = Rate()
        self._rate.of(0, at_s=self._started_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put back."""

    def show(self, reading: Reading) -> None:
        """Write one line."""
        now_s = self._clock()
        say_event(
            "progress",
            stage=reading.stage,
            admitted=reading.admitted,
            rejected=reading.rejected,
            edges_per_s=round(self._rate.of(reading.admitted, at_s=now_s), 1),
            frontier=reading.iteration,
            residual=reading.residual if math.isfinite(reading.residual) else None,
            fraction=reading.fraction,
            elapsed_s=round(now_s - self._started_s, 3),
        )


class TerminalReporter:
    """A bar with the admitted edges, their rate, the frontier and the residual; gone when the context is left."""

    period_s = _TERMINAL_PERIOD_S

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, console: Console | None = None
    ) -> None:
        self._clock = clock
        self._console = console if console is not None else Console(stderr=True)
        self._rate = Rate()
        self._rate.of(0, at_s=clock())
        self._progress = _bar(self._console)
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress = _bar(self._console)
        self._progress.start()
        self._task = self._progress.add_task("starting", total=None, numbers="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, reading: Reading) -> None:
        """Redraw the bar."""
        if self._task is None:
            return
        rate = self._rate.of(reading.admitted, at_s=self._clock())
        numbers = (
            f"{reading.admitted:,} edges  {rate:,.0f}/s  frontier {reading.iteration:,}  "
            f"residual {reading.residual:.3g}"
        )
        if reading.rejected:
            numbers += f"  [yellow]{reading.rejected:,} rejected[/yellow]"
        total = None if reading.fraction is None else 1.0
        self._progress.update(
            self._task,
            description=reading.stage,
            total=total,
            completed=reading.fraction or 0.0,
            numbers=numbers,
        )
