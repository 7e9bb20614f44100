"""Dashboard and rules ask for metrics that a service has, in expressions that a real Prometheus takes."""

import json
import re
import shutil
import subprocess

import pytest
from ruamel.yaml import YAML

from tests.deploy.conftest import DEPLOY
from tests.promised import eventually

METRIC = re.compile(r"\btornado_[a-z_]+")
# Who fires, on which series and when (after so many minutes); each other rule is silent meanwhile.
FIRING = {
    "TornadoServiceDown": ({'up{job="tornado-loops"}': "0x30"}, 2),
    "TornadoLoopFailed": ({'tornado_loop_state{loop="a", state="failed"}': "1x30"}, 1),
    "TornadoLoopUnresponsive": ({'tornado_loop_state{loop="a", state="unresponsive"}': "1x30"}, 2),
    "TornadoWorkersLost": ({'tornado_loop_restarts_total{loop="a"}': "0 1 2 3 4x30"}, 6),
    "TornadoInputFallsBehind": (
        {'tornado_source_lag_records{stream="s", source="t:0"}': "200000+50000x40"},
        30,
    ),
    "TornadoNothingIsApplied": (
        {
            'tornado_backlog_records{loop="a"}': "7x30",
            'tornado_frontier_iteration{loop="a"}': "3x30",
        },
        12,
    ),
    "TornadoRecordsRejected": ({'tornado_rejected_records_total{source="f"}': "0+50x30"}, 6),
    "TornadoCheckpointsFail": ({'tornado_checkpoint_failures_total{stream="s"}': "0 1x30"}, 2),
    "TornadoResultsOld": (
        {
            'tornado_results_age_seconds{loop="a"}': "400+60x40",
            'tornado_results_failures_total{loop="a"}': "0+1x40",
        },
        10,
    ),
    "TornadoQuestionsRefused": ({"tornado_queries_refused_total": "0+600x40"}, 12),
    "TornadoQuestionsSlow": (
        {
            f'tornado_query_latency_seconds_bucket{{loop="a", state="converged", le="{most}"}}': values
            for most, values in (("10", "0x60"), ("30", "0+10x60"), ("+Inf", "0+10x60"))
        },
        30,
    ),
}


def rules():
    document = YAML(typ="safe").load((DEPLOY / "alerts.yml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def test_the_dashboard_is_what_its_rows_make(dashboard):
    assert (DEPLOY / "grafana.json").read_text() == dashboard.text(), "make dashboard"


def test_panels_have_numbers_and_places_of_their_own(dashboard):
    panels = dashboard.dashboard()["panels"]
    taken = [
        (x, y)
        for panel in panels
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(taken) == len(set(taken))
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["description"] for panel in panels if panel["type"] != "row")


def test_every_metric_that_is_asked_for_is_one_of_a_service(dashboard, metric_names):
    asked = {
        name
        for expression in [*dashboard.expressions(), *(rule["expr"] for rule in rules())]
        for name in METRIC.findall(expression)
    }
    assert asked
    assert asked <= metric_names


def test_every_rule_says_what_it_saw_and_what_to_do():
    for rule in rules():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}


def test_a_real_prometheus_takes_every_expression_of_the_dashboard(dashboard, prometheus):
    for expression in dashboard.expressions():
        prometheus("query", query=expression)
    for expression in ("tornado_backlog_records", "tornado_branches_running", "tornado_process_memory_bytes"):
        # There is nothing for a moment after it was slow to answer.
        eventually(lambda expression=expression: prometheus("query", query=expression)["result"])


def test_a_real_prometheus_has_the_rules_and_none_fires_for_a_service_that_is_well(prometheus):
    (group,) = prometheus("rules")["groups"]
    assert {rule["name"] for rule in group["rules"]} == set(FIRING)
    assert [rule["name"] for rule in group["rules"] if rule["state"] == "firing"] == []


@pytest.mark.parametrize("name", FIRING)
def test_each_rule_fires_when_it_should_and_no_other_does(name, tmp_path):
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("no promtool here (Debian has it in the package prometheus)")
    series, minutes = FIRING[name]
    at = f"{minutes}m"
    silent = [rule["alert"] for rule in rules() if rule["alert"] != name]
    test = {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "alert_rule_test": [{"alertname": one, "eval_time": at, "exp_alerts": []} for one in silent],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}})',
                "eval_time": at,
                "exp_samples": [{"labels": "{}", "value": 1}],
            }
        ],
    }
    document = {"rule_files": [str(DEPLOY / "alerts.yml")], "evaluation_interval": "1m", "tests": [test]}
    path = tmp_path / "test.yml"
    path.write_text(json.dumps(document))
    done = subprocess.run([program, "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
