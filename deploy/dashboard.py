"""Which metrics stand together on the dashboard of a service: writes `grafana.json` beside this file (`make dashboard`).

A panel is a title, what it tells whom, its unit and its expressions. Everything else (places, colours, identifiers) follows from
the order here, so the file has few words of its own and its changes can be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().with_name("grafana.json")

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_ONLY = '{job=~"$job"}'
_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 24


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot.

    Attributes
    ----------
    told : str
        What a reader learns, as the panel's description.
    unit : str
        A unit of Grafana's.
    lines : tuple of (str, str)
        Expressions, in which `$only` stands for the chosen services, each with the text of its legend.
    is_logarithmic : bool
        Whether the axis counts magnitudes.
    """

    title: str
    told: str
    unit: str
    lines: tuple[tuple[str, str], ...]
    is_logarithmic: bool = False


ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Does it keep up?",
        (
            Panel(
                "Not read",
                "Records that a source has and the stream has not. A line that climbs: more comes than is taken.",
                "short",
                (("tornado_source_lag_records$only", "{{stream}} {{source}}"),),
            ),
            Panel(
                "Not applied",
                "Records that are admitted, and that some worker has still to apply.",
                "short",
                (("tornado_backlog_records$only", "{{loop}}"),),
            ),
            Panel(
                "Not propagated",
                "Vertices with work to do. Questions do this work, or wait for it.",
                "short",
                (("tornado_pending_vertices$only", "{{loop}}"),),
            ),
            Panel(
                "Records in",
                "What is admitted a second.",
                "cps",
                (("rate(tornado_admitted_records_total$only[1m])", "{{loop}}"),),
            ),
            Panel(
                "Records rejected",
                "What goes to quarantine a second, by source.",
                "cps",
                (("rate(tornado_rejected_records_total$only[5m])", "{{source}}"),),
            ),
            Panel(
                "Sources with an error",
                "1 where a source had to overcome something; GET /v1/loops says what.",
                "short",
                (("tornado_source_last_error$only", "{{stream}} {{source}}"),),
            ),
        ),
    ),
    (
        "How right is it meanwhile?",
        (
            Panel(
                "Residual",
                "How far each main loop is from its fixed point.",
                "short",
                (("tornado_residual$only", "{{loop}}"),),
                is_logarithmic=True,
            ),
            Panel(
                "Updates",
                "What main loops commit a second.",
                "cps",
                (("rate(tornado_updates_total$only[1m])", "{{loop}}"),),
            ),
            Panel(
                "State",
                "1 for each loop that is not running as it should.",
                "short",
                (('tornado_loop_state{job=~"$job", state!="running"}', "{{loop}} {{state}}"),),
            ),
        ),
    ),
    (
        "What do questions cost?",
        (
            Panel(
                "Latency",
                "From the question to its end: half, nine in ten, and 99 in 100 take no longer.",
                "s",
                tuple(
                    (
                        f"histogram_quantile({share}, sum by (le, loop) (rate(tornado_query_latency_seconds_bucket$only[5m])))",
                        f"{{{{loop}}}} {share:.0%}",
                    )
                    for share in (0.5, 0.9, 0.99)
                ),
                is_logarithmic=True,
            ),
            Panel(
                "Questions",
                "Let in and refused a second.",
                "cps",
                (
                    ("rate(tornado_queries_submitted_total$only[1m])", "let in"),
                    ("rate(tornado_queries_refused_total$only[1m])", "refused"),
                ),
            ),
            Panel(
                "Branches, and results kept",
                "Branch loops that run, and answers that can still be read.",
                "short",
                (
                    ("tornado_branches_running$only", "branches"),
                    ("tornado_retained_results$only", "results"),
                ),
            ),
        ),
    ),
    (
        "Is it kept?",
        (
            Panel(
                "Age of the newest snapshot",
                "A start goes through the log behind it; what came in is durable without it.",
                "s",
                (("tornado_checkpoint_age_seconds$only", "{{stream}}"),),
            ),
            Panel(
                "Snapshots that failed",
                "In the last hour.",
                "short",
                (("increase(tornado_checkpoint_failures_total$only[1h])", "{{stream}}"),),
            ),
            Panel(
                "Age of results outside",
                "Of the answer that a table of results has.",
                "s",
                (("tornado_results_age_seconds$only", "{{loop}}"),),
            ),
        ),
    ),
    (
        "What carries it?",
        (
            Panel(
                "Load of workers",
                "Records that each worker applies a second.",
                "cps",
                (("rate(tornado_worker_applied_records_total$only[1m])", "{{stream}} worker {{worker}}"),),
            ),
            Panel(
                "Workers lost",
                "How often a loop was put on other workers, in the last hour.",
                "short",
                (("increase(tornado_loop_restarts_total$only[1h])", "{{loop}}"),),
            ),
            Panel(
                "Memory",
                "Of the process, and of each loop's state and graph.",
                "bytes",
                (
                    ("tornado_process_memory_bytes$only", "process"),
                    ("tornado_loop_memory_bytes$only", "{{loop}}"),
                ),
            ),
        ),
    ),
)


def expressions() -> Iterator[str]:
    """Every expression of the dashboard, for all services."""
    for _, panels in ROWS:
        for panel in panels:
            for expression, _ in panel.lines:
                yield expression.replace("$only", "").replace('job=~"$job", ', "")


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS:
        panels.append(
            {
                "type": "row",
                "title": title,
                "id": len(panels) + 1,
                "collapsed": False,
                "panels": [],
                "gridPos": {"x": 0, "y": top, "w": _COLUMNS, "h": 1},
            }
        )
        top += 1
        for place, panel in enumerate(row):
            across, down = place % (_COLUMNS // _WIDTH), place // (_COLUMNS // _WIDTH)
            at = {"x": across * _WIDTH, "y": top + down * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
            panels.append(_plot(panel, len(panels) + 1, at))
        top += -(-len(row) * _WIDTH // _COLUMNS) * _HEIGHT
    return {
        "title": "tornado-loops",
        "uid": "tornado-loops",
        "description": "Main loops, branches and what carries them. Made by deploy/dashboard.py.",
        "tags": ["tornado-loops"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _variables() -> list[dict[str, Any]]:
    return [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        {
            "name": "job",
            "label": "Service",
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": "label_values(tornado_queries_submitted_total, job)", "refId": "job"},
            "includeAll": True,
            "multi": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
            "refresh": 2,
        },
    ]


def _plot(panel: Panel, number: int, at: dict[str, int]) -> dict[str, Any]:
    scale = {"type": "log", "log": 10} if panel.is_logarithmic else {"type": "linear"}
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": panel.told,
        "id": number,
        "datasource": _SOURCE,
        "gridPos": at,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "custom": {"scaleDistribution": scale, "fillOpacity": 8}},
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "expr": expression.replace("$only", _ONLY),
                "legendFormat": legend,
                "datasource": _SOURCE,
            }
            for place, (expression, legend) in enumerate(panel.lines)
        ],
    }


def text() -> str:
    """Return what the file has."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
