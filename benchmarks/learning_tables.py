"""The tables of learning, as templates; see `tables.py`."""

from __future__ import annotations

from . import learning, learning_clusters, validation
from .cells import cell, figures, table

_RESULT = "learning"


def learning_questions() -> str:
    """Questions after points came or went, beside scikit-learn."""
    names = [f"{case.name}, to {tolerance:g}" for case in learning.CASES for tolerance in case.at_least]
    rows = []
    for name in [*names, learning_clusters.NAME]:
        warm = "its centres before" if name == learning_clusters.NAME else "its weights before"
        for change in learning.CHANGES:
            what = f"{name}, {change}"
            anew = f"scikit-learn from scratch, {what}"
            row = [what, cell(_RESULT, what), cell(_RESULT, anew)]
            row += [cell(_RESULT, f"over ours, {anew}"), cell(_RESULT, f"over ours, {anew}", "bound")]
            goes_on = not name.startswith("hinge")
            again = f"scikit-learn from {warm}, {what}"
            row += [cell(_RESULT, again), cell(_RESULT, f"over ours, {again}")] if goes_on else ["", ""]
            rows.append(row)
    head = ["", "ours", "scikit-learn from scratch", "over ours", "bound", "from what it had before"]
    return table([*head, "over ours"], rows)


def learning_inertia() -> str:
    """How good clusters are, beside scikit-learn's."""
    rows = []
    for change in learning.CHANGES:
        name = f"{learning_clusters.NAME}, {change}"
        anew = f"inertia over that of scikit-learn from scratch, {name}"
        again = f"inertia over that of scikit-learn from its centres before, {name}"
        rows.append([change, cell(_RESULT, anew), cell(_RESULT, anew, "bound"), cell(_RESULT, again)])
    return table(
        ["inertia, over that of scikit-learn", "from scratch", "bound", "from its centres before"], rows
    )


def learning_loop() -> str:
    """The main loop, its forks and its memory."""
    names = ["points admitted a second, each used in a step, dense", "a fork, dense, p50"]
    for value_type in learning.TYPES:
        names += [
            f"bytes a point as given, dense, {value_type}",
            f"bytes a point, as the loop counts them, dense, {value_type}",
            f"bytes a point, resident, dense, {value_type}",
            f"bytes a point, resident after a question, dense, {value_type}",
            f"share of 1.15 times the bytes of the points and 24 a point, dense, {value_type}",
        ]
    return figures(_RESULT, names)


def progressive_validation() -> str:
    """Accuracy and rows a second, beside river."""
    rows = []
    for name in (*validation.SETS, validation.STREAM):
        less, speed = f"accuracy less that of river, {name}", f"rows a second, {name}"
        rows.append(
            [
                name,
                cell("validation", f"accuracy, {name}"),
                cell("validation", f"accuracy of river, {name}"),
                cell("validation", less, "bound"),
                cell("validation", speed),
                cell("validation", speed, "bound"),
                cell("validation", f"rows a second of river, {name}"),
                cell("validation", f"ours over that of river, {name}"),
            ]
        )
    head = ["", "accuracy", "river's", "less that: bound", "rows a second", "bound", "river's"]
    return table([*head, "ours over that"], rows)


TABLES = (learning_questions, learning_inertia, learning_loop, progressive_validation)
