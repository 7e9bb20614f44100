"""The page beside a real service whose workers are processes: one of them is killed while somebody watches."""

import contextlib
import os
import signal

import psutil
import pytest

from tests.browser import Visit, launched
from tests.end_to_end.running import Service
from tests.end_to_end.test_recovery import eventually


@pytest.fixture(scope="module")
def browser():
    with launched() as one:
        yield one


def town(corners):
    """A way through all corners, and a longer one beside it."""
    return "".join(
        f'{{"src": {corner}, "dst": {corner + 1}, "weight": 1.5}}\n{{"src": {corner}, "dst": {corner + 2}, "weight": 4.0}}\n'
        for corner in range(1, corners)
    )


def workers_of(pid):
    """The processes that run a worker."""
    return [
        one
        for one in psutil.Process(pid).children(recursive=True)
        if not one.children() and one.ppid() != pid
    ]


def test_every_view_while_a_worker_is_killed_and_a_way_is_drawn(browser, tmp_path):
    arguments = ("--engine", "processes", "--workers", "2")
    with Service(tmp_path, *arguments) as service:
        service.push(town(300))
        service.ask(vertices=[5])
        page = Visit(browser, service.url)
        try:
            _watch(page, service)
        finally:
            page.close()
        assert page.faults == []


def clicked(page, button, region):
    """What comes of a click, which is made again where the service had no time to say how its loop stands (503)."""
    from playwright.sync_api import TimeoutError as Late

    found = page.page.get_by_role("region", name=region)
    for timeout_s in (30, 60, 180):
        page.page.get_by_role("button", name=button).click()
        with contextlib.suppress(Late):
            found.wait_for(timeout=1000 * timeout_s)
            return found
        page.faults[:] = [fault for fault in page.faults if "503" not in fault]
    raise AssertionError(f"{button!r} shows no {region!r}")


def _costs(service):
    costs = service.look("/v1/observations").json()["workers"]
    assert len(costs) <= 2
    return costs if len(costs) == 2 else [{"busy_s": 0.0, "waited_s": 0.0, "sent_bytes": 0}]


def _watch(page, service):
    page.wait_for("up to date")
    page.show("workers")
    page.wait_for("never lost")
    eventually(lambda: all(one["busy_s"] > 0 and one["sent_bytes"] > 0 for one in _costs(service)))
    # A question is not over on one of them while the other one works at it.
    eventually(lambda: service.ask(vertices=[5]) and sum(one["waited_s"] for one in _costs(service)) > 0)
    costs = page.page.get_by_role("region", name="What workers cost")
    costs.wait_for()
    assert costs.get_by_role("columnheader").all_inner_texts()[:4] == ["Worker", "Busy", "Waiting", "Idle"]
    page.wait_for("line: sent to others, up to")
    eventually(lambda: len(workers_of(service.pid)) >= 2)
    os.kill(workers_of(service.pid)[0].pid, signal.SIGKILL)
    page.wait_for("times, since some were lost or moved")
    # Their lanes stay, beside those of who took their place.
    page.page.locator("g.lane.gone").first.wait_for(state="attached")
    page.wait_for("Gone: worker 0 (1. set)")
    for view, shown in (
        ("now", "up to date"),
        ("residual", "Residual of main loops"),
        ("repair", "By loop"),
        ("memory", "Checkpoints by stream"),
    ):
        page.show(view)
        if view == "memory":
            page.page.get_by_role("region", name=shown).wait_for()
        else:
            page.wait_for(shown)
    service.ask(vertices=[5])  # which is answered when another one has taken its place
    page.show("questions")
    page.page.get_by_label("Ways to").fill("9")
    assert "sigma" not in " ".join(page.asked)
    ways = clicked(page, "Ask", "Ways")
    assert "1 → 2 → 3" in ways.inner_text()
    assert "12" in ways.inner_text()
    page.page.locator(".graph canvas").first.wait_for()
    assert "sigma" in " ".join(page.asked)
    # What is around its last vertex, which is with either worker.
    around = clicked(page, "Draw it", "Edges around 9")
    page.wait_for("2 edges in, 2 edges out")
    ends = {tuple(row.inner_text().split()) for row in around.get_by_role("row").all()[1:]}
    assert ends == {
        ("in", "7", "4"),
        ("in", "8", "1.5"),
        ("out", "10", "1.5"),
        ("out", "11", "4"),
    }
