"""What do delay bounds and the main loop's approximation do for ranks and paths, as the Tornado paper asks?

The graph is generated (R-MAT); ranks are PageRank with an L1 distance of at most 1e-6, paths are shortest paths. Each answer
is compared with the exact values. `delay_bounds.py` says how Table 2 and Figure 8a are measured, `over_time.py` Figure 5 and Table 3.
"""  # noqa: D400  # a question

from __future__ import annotations

from . import delay_bounds, over_time
from .figure_programs import Paths, Ranks
from .harness import Clock, Report, Settings
from .measuring import generated


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    report.data |= {"delay_bounds": list(delay_bounds.DELAY_BOUNDS), "workers": delay_bounds.WORKERS}
    ranks, paths = Ranks(edges), Paths(edges, root)
    report.data |= {f"error of {case.name}": case.error for case in (ranks, paths)}
    for case in (ranks, paths):
        delay_bounds.measure(report, settings, clock, case)
    for case in (ranks, paths):
        over_time.measure_epochs(report, settings, clock, case)
    over_time.measure_added(report, settings, clock, ranks)
