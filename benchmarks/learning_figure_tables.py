"""What `docs/benchmarks.md` shows of the Tornado paper's figures of learners in numbers; as `tables.py`."""

from __future__ import annotations

from .cells import cell, p50_p99, table
from .delay_bounds import DELAY_BOUNDS, bound_name
from .learning_figures import RATES, RULES
from .learning_growth import EPOCH_SHARES, PAPER_S
from .over_time import ADDED_PERCENT

RESULT = "learning_figures"
"""Of which run the document shows tables and plots."""

RIVALS = {"SVM": "LinearSVC", "k-means": "KMeans"}


def learning_rates() -> str:
    """Figures 6 and 7 in numbers."""
    rows = []
    for rule, figure in RULES.items():
        for rate in RATES:
            name = f"{figure}, rate {rate:g}"
            lines = ("objective of the main loop at the end", "objective of the answer at the end")
            cells = [cell(RESULT, f"{line}, {name}") for line in lines]
            rows.append([f"{rule}, {rate:g}", *cells, cell(RESULT, f"asked at the end, {name}")])
    return table(["rule, rate", "main loop at the end", "answer", "asked"], rows)


def learning_bounds() -> str:
    """Figures 8a and 8b in numbers."""
    rows = []
    for bound in DELAY_BOUNDS:
        row = [bound_name(bound)]
        for figure in ("figure 8a", "figure 8b"):
            name = f"{figure}, {bound_name(bound)}"
            row += [cell(RESULT, f"{what}, {name}") for what in ("iteration", "updates", "prepares")]
            row.append(cell(RESULT, f"objective at the end, {name}"))
        rows.append(row)
    head = ["iterations", "updates", "prepares", "objective at the end"]
    return table(["two workers", *head, *(f"{one}, one slowed" for one in head)], rows)


def learning_epochs() -> str:
    """Figure 5 in numbers."""
    lines = [(f"a question, epochs of {epoch}", f"asked, {{}}, epochs of {epoch}") for epoch in EPOCH_SHARES]
    lines.append(("a branch from nothing", "a branch from nothing, {}"))
    rows = [[text, *(p50_p99(RESULT, name.format(learner)) for learner in RIVALS)] for text, name in lines]
    scratch = [p50_p99(RESULT, f"{rival} from scratch, {learner}") for learner, rival in RIVALS.items()]
    rows.append(["scikit-learn from scratch", *scratch])
    return table(["one worker; latencies: p50 (p99), ms", *RIVALS], rows)


def learning_table_3() -> str:
    """Answers after more points were added."""
    rows = []
    for learner, rival in RIVALS.items():
        ours, theirs = (
            " to ".join(cell(RESULT, f"{system}, {learner}, {which}") for which in ("least", "greatest"))
            for system in PAPER_S[learner]
        )
        for percent in ADDED_PERCENT:
            more = f"{learner}, {percent} % more"
            rows.append(
                [
                    more,
                    *(cell(RESULT, f"answered, {more}, {workers}") for workers in ("1 worker", "2 workers")),
                    cell(RESULT, f"{rival} from scratch, {more}"),
                    cell(RESULT, f"{rival} from scratch over that, {more}, 1 worker"),
                    ours,
                    theirs,
                ]
            )
    head = ["", "1 worker", "2 workers", "scikit-learn from scratch", "over 1 worker"]
    return table([*head, "the paper's Tornado, other hardware", "systems beside it, other hardware"], rows)


TABLES = (learning_rates, learning_bounds, learning_epochs, learning_table_3)
