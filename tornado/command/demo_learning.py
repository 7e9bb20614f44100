"""`tornado demo learning`: points stream in and change their ways, and two questions get exact answers while they do.

As in `demo.py`, numbers are measured, and each answer is compared, in front of the reader, with what scikit-learn finds for exactly the
points that it is for.
"""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import click
import numpy as np
from numpy.typing import NDArray

from ..errors import NotSupported
from .interruption import Interruption
from .presentation import ExitCode

_FEATURES = 28
_L2 = 1e-4
_TOLERANCE = 1e-6
_BATCH = 1000
_LOOK_S = 0.1
_DEADLINE_S = 60.0

Floats = NDArray[np.float64]


@click.command("learning")
@click.option(
    "--points", type=click.IntRange(4000), default=300_000, show_default=True, help="How many points come."
)
@click.option(
    "--window", type=click.IntRange(1000), default=100_000, show_default=True, help="How many stay."
)
@click.option("--seed", type=int, default=7, show_default=True, help="Chooses the points.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.0, 3600.0),
    default=12.0,
    show_default=True,
    help="How long the stream takes.",
)
@click.option("--workers", type=click.IntRange(1, 16), default=2, show_default=True)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("tornado-demo-learning.png"),
    show_default=True,
    help="Where the plot goes.",
)
def learning_command(
    *, points: int, window: int, seed: int, seconds: float, workers: int, picture: Path
) -> int:
    """Watch a model learn from a stream, its exact answers checked before your eyes. Takes less than a minute.

    Ends with `match` and exit code 0 if scikit-learn finds no better answer than each certificate allows, else with MISMATCH and 1.
    """
    # Imported late, as they load the compiler.
    from ..kinds.learning.linear.linear_program import LinearModel
    from ..query.session import open as opened
    from ..records.point_schema import Points

    optimum, draw = _scikit_learn(), _plotting()
    with Interruption() as interruption, opened("memory:", workers=workers) as session:
        _tell(
            f"Sensors send points of {_FEATURES} features, of two classes; the last {window:,} of {points:,} count.",
            "What tells the classes apart changes half way: a drift. A model is asked twice what is best, meanwhile.",
            "",
            f"Starting {workers} workers (the very first start compiles, once) …",
        )
        made = Drift.generate(points, seed=seed)
        stream = session.stream("sensors", schema=Points(features=_FEATURES))
        loop = stream.start(LinearModel(loss="logistic", l2=_L2), "model")
        _tell("  ready", "")
        with (
            PacedPoints(stream, made, window=window, seconds=seconds) as feed,
            Look(loop, feed, made) as look,
        ):
            stops = [int(points * share) for share in (0.4, 0.8)]
            words = ["Nothing has changed so far.", "Half of the way behind there was a drift."]
            matches = []
            for number, (stop, said) in enumerate(zip(stops, words, strict=True), 1):
                feed.wait_for(stop, interruption.check)
                _tell(f"[{number}] {stop:,} points have come, and more keep coming. {said} What is best now?")
                matches.append(_ask(loop, feed, made, optimum))
            feed.wait_for(points, interruption.check)
        draw(picture, look.times_s, look.objectives, feed.begun_s + seconds / 2.0)
    _tell(f"{picture} shows the objective of the main loop over time, of the points that counted then.")
    if not all(matches):
        _tell(
            f"MISMATCH: an answer is farther from the optimum than it says. Please report it (seed {seed})."
        )
        return ExitCode.FAILED
    _tell("match: both answers are as near to the optimum of exactly their points as their certificates say.")
    return ExitCode.DONE


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """Points of which the second half follows another law.

    Attributes
    ----------
    features : float64[n, 28]
    labels : float64[n]
        -1 or 1.
    """

    features: Floats
    labels: Floats

    @classmethod
    def generate(cls, count: int, *, seed: int) -> Drift:
        """Draw them."""
        random = np.random.default_rng(seed)
        features = random.standard_normal((count, _FEATURES))
        before, after = random.standard_normal((2, _FEATURES))
        half = count // 2
        scores = np.concatenate([features[:half] @ before, features[half:] @ after])
        noise = 2.0 * random.standard_normal(count)
        return cls(features, np.where(scores + noise > 0.5, 1.0, -1.0))


def objective(features: Floats, labels: Floats, weights: Floats, intercept: float) -> float:
    """The mean logistic loss and the penalty."""
    margins = labels * (features @ weights + intercept)
    return float(np.logaddexp(0.0, -margins).mean() + 0.5 * _L2 * (weights @ weights))


class PacedPoints:
    """Sends points at a steady pace, on a thread of its own, and takes the oldest away; knows which are there at each version.

    Attributes
    ----------
    begun_s
        When the first one was sent.
    """

    def __init__(self, stream: Any, made: Drift, *, window: int, seconds: float) -> None:
        self._stream, self._made, self._window, self._seconds = stream, made, window, seconds
        self._versions: list[tuple[int, int, int]] = [(0, 0, 0)]
        self._error: Exception | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._run)
        self.begun_s = time.perf_counter()

    def __enter__(self) -> Self:
        self.begun_s = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        self._thread.join()

    @property
    def live(self) -> slice:
        """Which points count by now."""
        _, first, stop = self._versions[-1]
        return slice(first, stop)

    def at(self, version: int) -> slice:
        """Which points counted at a version of the stream."""
        place = bisect.bisect_right(self._versions, version, key=lambda one: one[0])
        _, first, stop = self._versions[place - 1]
        return slice(first, stop)

    def wait_for(self, count: int, meanwhile: Callable[[], None]) -> None:
        """Wait until so many points have come."""
        while self.live.stop < count:
            meanwhile()
            if self._error is not None:
                raise self._error
            time.sleep(0.01)

    def _run(self) -> None:
        try:
            self._send()
        except Exception as error:  # noqa: BLE001  raised where it is waited for
            self._error = error

    def _send(self) -> None:
        count, first = len(self._made.labels), 0
        for start in range(0, count, _BATCH):
            stop = min(start + _BATCH, count)
            time.sleep(max(0.0, self.begun_s + self._seconds * start / count - time.perf_counter()))
            if self._is_over:
                return
            part = slice(start, stop)
            columns = {"labels": self._made.labels[part], "features": self._made.features[part]}
            self._versions.append((self._stream.insert(ids=np.arange(start, stop), **columns), first, stop))
            if stop - first > self._window:
                gone = np.arange(first, stop - self._window)
                first = stop - self._window
                self._versions.append((self._stream.remove(ids=gone), first, stop))


class Look:
    """Measures the objective of the main loop now and then, on a thread of its own."""

    def __init__(self, loop: Any, feed: PacedPoints, made: Drift) -> None:
        self._loop, self._feed, self._made = loop, feed, made
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.times_s: list[float] = []
        self.objectives: list[float] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            live = self._feed.live
            if live.stop > live.start:
                some = slice(max(live.start, live.stop - 20_000), live.stop)
                model = weights_of(self._loop.read())
                self.times_s.append(time.perf_counter())
                self.objectives.append(objective(self._made.features[some], self._made.labels[some], *model))


def weights_of(answer: Any) -> tuple[Floats, float]:
    """The weights of an answer, and its intercept."""
    values = answer.values
    return np.array([values[feature] for feature in range(_FEATURES)]), float(values[-1])


def _ask(
    loop: Any, feed: PacedPoints, made: Drift, optimum: Callable[[Floats, Floats], tuple[Floats, float]]
) -> bool:
    asked_s = time.perf_counter()
    answer = loop.query(tolerance=_TOLERANCE, deadline_s=_DEADLINE_S).result()
    answered_s = time.perf_counter() - asked_s
    live = feed.at(answer.snapshot.version)
    features, labels = made.features[live], made.labels[live]
    begun_s = time.perf_counter()
    best = objective(features, labels, *optimum(features, labels))
    taken_s = time.perf_counter() - begun_s
    found = objective(features, labels, *weights_of(answer))
    certificate = answer.certificate
    _tell(
        f"    asked: points {live.start:,} to {live.stop - 1:,}, the objective is {found:.9f} and cannot be below "
        f"{certificate.get('dual', float('-inf')):.9f}: {answered_s * 1000:.0f} ms",
        f"    scikit-learn, from scratch on the same points:  {best:.9f} {taken_s * 1000:.0f} ms",
    )
    share = (found - best) / best
    matches = (
        certificate["kind"] == "gap"
        and share <= max(certificate["bound"], 1e-12)
        and best >= certificate["dual"] - 1e-12
    )
    if matches:
        _tell(
            f"    {abs(share):.1e} apart, and the certificate allows {certificate['bound']:.1e}: so it is", ""
        )
    else:
        _tell(f"    {share:.1e} apart, but the certificate says {certificate}", "")
    return bool(matches)


def _scikit_learn() -> Callable[[Floats, Floats], tuple[Floats, float]]:
    try:
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise NotSupported(
            "scikit-learn is not installed, which answers are compared with",
            hint="Install it with `pip install 'tornado-loops[demo]'`, or run `make demo-learning` in a checkout.",
        ) from None

    def optimum(features: Floats, labels: Floats) -> tuple[Floats, float]:
        model = LogisticRegression(C=1.0 / (_L2 * len(labels)), tol=1e-10, solver="newton-cholesky")
        model.fit(features, labels)
        return model.coef_.ravel(), float(model.intercept_[0])

    return optimum


def _plotting() -> Callable[[Path, list[float], list[float], float], None]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise NotSupported(
            "matplotlib is not installed, which draws the picture",
            hint="Install it with `pip install 'tornado-loops[demo]'`, or run `make demo-learning` in a checkout.",
        ) from None

    def draw(picture: Path, times_s: list[float], objectives: list[float], drift_s: float) -> None:
        figure = Figure(figsize=(8.0, 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        first_s = times_s[0] if times_s else drift_s
        axes.plot([one - first_s for one in times_s], objectives, color="#1f6f8b")
        axes.axvline(drift_s - first_s, color="#b5532c", linestyle="--", label="drift")
        axes.set_xlabel("seconds")
        axes.set_ylabel("objective of the main loop")
        axes.legend()
        figure.savefig(picture, dpi=120)

    return draw


def _tell(*lines: str) -> None:
    for line in lines:
        click.echo(line)
