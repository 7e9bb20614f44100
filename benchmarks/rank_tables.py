"""The tables of ranks, and of what else is computed of the structure of a graph, as templates; see `tables.py`."""

from __future__ import annotations

from . import peers, rank_peers, ranks, structure
from .cells import cell, pair, table

_SCALES = (18, 20)
_SCRATCH = (ranks.FROM_SCRATCH, ranks.FROM_SCRATCH_JOINED)
_WORKERS = ("1 worker", "2 workers")


def ranks_after_changes() -> str:
    """Ranks from scratch and after changes, beside a power iteration."""
    rows = []
    for scale in _SCALES:
        result = f"ranks-{scale}"
        for name in (*_SCRATCH, *ranks.ROWS):
            given = f"power iteration over ours, {name}"
            built = f"with its lists built over ours, {name}"
            is_warm = name not in _SCRATCH
            rows.append(
                [
                    f"scale {scale}, {name}",
                    cell(result, f"{name}, ours", "bare"),
                    cell(result, f"power iteration, {name}", "bare"),
                    cell(result, f"warm power iteration, {name}", "bare") if is_warm else "",
                    cell(result, f"building its lists, {name}", "bare"),
                    f"{cell(result, given)} ({cell(result, given, 'bound')})",
                    f"{cell(result, built)} ({cell(result, built, 'bound')})",
                    cell(result, f"warm power iteration over ours, {name}") if is_warm else "",
                ]
            )
    head = ["ms", "ours", "power iteration", "warm", "building its lists", "lists given, over ours"]
    return table([*head, "lists built, over ours", "warm over ours"], rows)


def ranks_top() -> str:
    """The first of all in proved order, and how many iterations the rival needs."""
    rows = []
    for name in ranks.TOPS:
        over = f"over all to 1e-9, {name}"
        rows.append([f"top {ranks.TOP}, {name}"])
        for scale in _SCALES:
            result = f"ranks-{scale}"
            rows[-1] += [
                cell(result, f"top {ranks.TOP} in proved order, {name}"),
                f"{cell(result, over)} ({cell(result, over, 'bound')})",
            ]
    return table(["", "scale 18", "over all to 1e-9", "scale 20", "over all to 1e-9"], rows)


def ranks_iterations() -> str:
    """How many iterations the rival makes, and how many would have done."""
    rows = []
    for name in _SCRATCH:
        for tolerance in ranks.TOLERANCES:
            names = [
                f"iterations to {tolerance:g} by the bound, {name}",
                f"iterations needed to {tolerance:g}, {name}",
            ]
            cells = [cell(f"ranks-{scale}", one) for scale in _SCALES for one in names]
            rows.append([f"{tolerance:g}{name.removeprefix(ranks.FROM_SCRATCH)}", *cells])
    return table(["to", "scale 18: by its bound", "needed", "scale 20: by its bound", "needed"], rows)


def ranks_held() -> str:
    """Changes a second that a certificate withstands."""
    rows = []
    for limit in ranks.HELD_PER_S:
        rate = f"changes a second, certificate within {limit:g}"
        greatest = f"the greatest certificate at that rate, within {limit:g}"
        rows.append(
            [
                f"{limit:g}",
                cell("ranks-18", rate),
                cell("ranks-18", rate, "bound"),
                cell("ranks-18", greatest),
            ]
        )
    return table(["certificate within", "scale 18, 1 worker", "bound", "greatest certificate seen"], rows)


def ranks_differential() -> str:
    """Ranks beside differential-dataflow."""
    rows = []
    result, name = "rank_peers-18", peers.DIFFERENTIAL
    for size in rank_peers.BATCHES:
        what = [f"{size:,} change{'s' * (size > 1)}, {workers}" for workers in _WORKERS]
        over = f"{name} scaled, over ours, {what[1]}"
        rows.append(
            [
                f"{size:,} change{'s' * (size > 1)}",
                pair(result, [f"{name}, {one}" for one in what]) + " ms",
                pair(result, [f"{name} scaled to this machine, {one}" for one in what]) + " ms",
                pair(result, [f"{one}, p50" for one in what]) + " ms",
                pair(result, [f"{name} scaled, over ours, {one}" for one in what]) + " ×",  # noqa: RUF001
                cell(result, over, "bound"),
            ]
        )
    loading = [f"loading, {workers}" for workers in _WORKERS]
    rows.append(
        [
            "loading 90 % and an answer",
            pair(result, [f"{name}, {one}" for one in loading]) + " s",
            pair(result, [f"{name} scaled to this machine, {one}" for one in loading]) + " s",
            pair(result, [f"loading 90 % and an answer, {workers}" for workers in _WORKERS]) + " s",
            pair(result, [f"{name} scaled, over ours, {one}" for one in loading]) + " ×",  # noqa: RUF001
            cell(result, f"{name} scaled, over ours, {loading[1]}", "bound"),
        ]
    )
    head = ["scale 18, 1 worker / 2 workers", "differential, as measured", "scaled to this machine"]
    return table([*head, "ours, p50", "scaled over ours", "bound, 2 workers"], rows)


def ranks_recomputing() -> str:
    """Others that compute ranks from scratch."""
    rows = []
    for peer in peers.PAGERANK_20_S:
        over = f"{peer} scaled, over ours, {ranks.FROM_SCRATCH}"
        rows.append(
            [
                peer,
                cell("ranks-20", f"{peer}, {ranks.FROM_SCRATCH}"),
                cell("ranks-20", f"{peer} scaled to this machine, {ranks.FROM_SCRATCH}"),
                cell("ranks-20", over),
                cell("ranks-20", over, "bound"),
            ]
        )
    return table(
        ["scale 20, from scratch", "as measured", "scaled to this machine", "over ours", "bound"], rows
    )


def structure_after_changes() -> str:
    """Cores, labels and clustering beside plain programs."""
    rows = []
    for scale in _SCALES:
        result = f"structure-{scale}"
        rows += [
            [
                f"scale {scale}, {name}",
                cell(result, f"{name}, ours", "bare"),
                cell(result, f"recomputing, {name}", "bare"),
                cell(result, f"building the lists, {name}", "bare"),
                cell(result, f"recomputing over ours, {name}"),
                cell(result, f"with the lists built over ours, {name}"),
            ]
            for name in structure.ROWS
        ]
    head = ["ms", "ours", "recomputing", "building the lists", "lists given, over ours"]
    return table([*head, "lists built, over ours"], rows)


TABLES = (
    *(ranks_after_changes, ranks_top, ranks_iterations, ranks_held, ranks_differential, ranks_recomputing),
    structure_after_changes,
)
