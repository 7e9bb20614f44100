"""How much less does the first start of a further program compile, where the graph's kernel is compiled already?

The real command in a process of its own, with caches that are empty before the first start; then another program, with the same
caches, until its first exact answer. The kernel of the graph is one for all programs, so the second has only its own loop to
compile. In CPU time, as other processes may share the cores.
"""  # noqa: D400  # a question

from __future__ import annotations

import tempfile
from pathlib import Path

from .harness import Clock, Report, Settings
from .startup import BFS, SSSP, compiled_files, start_and_ask

_SHARE = 0.7  # while each program compiled the graph's kernel with its own it was 0.9


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above. Needs no graph: the scale means nothing here."""
    report.data = {"recipe": "four edges"}
    first, further = [], []
    for _ in range(1 if settings.smoke else 2):
        with tempfile.TemporaryDirectory(prefix="tornado-further-") as folder:
            home = Path(folder)
            first.append(start_and_ask(home, clock, SSSP).cpu_s)
            compiled = compiled_files(home)
            further.append(start_and_ask(home, clock, BFS).cpu_s)
            left = compiled_files(home)
    shares = [one / other for one, other in zip(further, first, strict=True)]
    report.add("first start, CPU time until an exact answer", min(first), "s", of=first)
    report.add(
        "first start of a further program, CPU time until an exact answer", min(further), "s", of=further
    )
    report.add("  as a share of that of the first one", min(shares), "", at_most=_SHARE, of=shares)
    report.add("  files in the compile cache before", len(compiled), "")
    report.add("  files that it compiled", len(left.keys() - compiled.keys()), "")
    changed = sum(left.get(path) != stamp for path, stamp in compiled.items())
    report.add("  files that it compiled again", changed, "", at_most=0)
