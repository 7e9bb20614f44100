"""The page in a real browser, beside a real server whose loops are in memory; real loops are in `tests/end_to_end/test_page.py`."""

import time
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx
import numpy as np
import psutil
import pytest

import tornado
from apps.pagerank import PageRank
from tests.browser import SIZES
from tests.ports import free_port
from tests.promised import within
from tests.query.conftest import eventually, start_roads
from tests.shortened import shortened
from tornado.loops.frontier import FrontierHolder, LoopFrontier
from tornado.loops.part import PartStatistics
from tornado.query.http import HttpServer
from tornado.query.token_file import TokenFile


@pytest.fixture
def client(fake, open_service, serve):
    start_roads(fake)
    return serve(open_service(fake))


def test_the_page_shows_streams_and_loops_and_follows_them(client, visit):
    page = visit(client.server.url)
    page.wait_for("up to date")
    row = page.page.get_by_role("region", name="Loops").get_by_role("row").filter(has_text="roads")
    assert "Fastest" in row.inner_text()
    pushed = client.post(
        "/v1/loops/roads/edges",
        content='{"src": 1, "dst": 9}',
        headers={"content-type": "application/x-ndjson"},
    )
    assert pushed.status_code == 202
    page.page.get_by_role("region", name="Sources of roads").get_by_text("http").wait_for()


def test_no_request_leaves_the_origin_and_the_policy_would_stop_one(client, visit, open_service, fake, serve):
    other = serve(open_service(fake))
    page = visit(client.server.url)
    page.wait_for("up to date")
    assert {urlsplit(url).netloc for url in page.asked} == {urlsplit(client.server.url).netloc}
    seen = len(page.asked)
    outcome = page.page.evaluate(
        "url => fetch(url).then(() => 'sent', () => 'stopped')", f"{other.server.url}/healthz"
    )
    assert outcome == "stopped"
    assert [url for url in page.asked[seen:] if str(other.server.port) in url] == []
    assert any("Content Security Policy" in fault for fault in page.faults)
    page.faults.clear()


@pytest.fixture
def abandoned(fake, open_service, visit):
    """A page whose service has gone, and that."""
    start_roads(fake)
    server = HttpServer(open_service(fake), port=free_port()).start()
    try:
        page = visit(server.url)
        page.wait_for("up to date")
        server.stop()
        page.wait_for("connection lost")
        yield page, server
    finally:
        server.stop()
    page.faults.clear()  # the browser calls each request that failed an error


def test_a_connection_that_is_lost_says_so_and_comes_back(abandoned):
    page, server = abandoned
    with HttpServer(server.service, port=server.port):
        page.page.locator("[data-link=live]").wait_for()


@pytest.mark.soak
def test_a_service_that_is_away_for_a_minute_is_shown_as_it_was_and_then_as_it_is(abandoned):
    page, server = abandoned
    time.sleep(60)
    said = page.page.locator("[data-link=lost] .note").inner_text()
    assert 55 < int(said.split()[2]) < 90, said
    assert page.page.get_by_role("region", name="Loops").get_by_text("Fastest").is_visible()
    asked = len(page.asked)
    with HttpServer(server.service, port=server.port):
        # The longest pause has 15 s.
        page.page.locator("[data-link=live]").wait_for(timeout=1000 * within(30))
        page.wait_for("up to date")
    assert asked < 60  # ever more seldom


def test_what_could_not_be_read_while_the_service_was_away_is_said_and_read_when_it_is_back(abandoned):
    page, server = abandoned
    page.show("questions")
    page.wait_for("They could not be read. The service cannot be reached.")
    said = page.page.locator("main").inner_text()
    assert "are kept" not in said
    assert "No question has ended" not in said
    page.page.get_by_role("button", name="Ask").click()
    page.page.get_by_role("alert").get_by_text("cannot be reached").wait_for()
    with HttpServer(server.service, port=server.port):
        page.page.locator("[data-link=live]").wait_for()
        page.page.get_by_role("alert").wait_for(state="detached")
        page.wait_for("0 questions since the service began; the last 0 are kept")


INLET = "input 0 of processor"
STANDING = LoopFrontier(
    INLET,
    (0, 8),
    (
        FrontierHolder(True, 1, "processor", "output 0 of processor", (0, 7), True, 1),
        FrontierHolder(False, None, "processor", INLET, (0, 12), False, 3),
    ),
)
VIEWS = {
    "now": "Branches that run",
    "residual": "Residual of branches",
    "questions": "History",
    "repair": "Waves",
    "memory": "Answers kept",
    "workers": "Replaced",
}


# The narrowest and the widest window, each in one of the two schemes; no rule of the page is for both of size and scheme.
KEPT = {("phone", "light"), ("4k", "dark")}


@pytest.mark.parametrize(
    ("size", "scheme"), shortened(product(SIZES, ("light", "dark")), lambda look: look in KEPT)
)
def test_every_view_fits_its_window_and_has_no_serious_fault(client, visit, size, scheme):
    for vertex in (3, 4, 5):
        client.post("/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [vertex]})
    page = visit(client.server.url, size=size, scheme=scheme)
    page.wait_for("up to date")
    for view, shown in VIEWS.items():
        page.show(view)
        page.wait_for(shown)
        assert not page.overflows(), view
        assert page.gaps() == [], view
        if view == "questions":
            _look_around(page)
            assert not page.overflows()
        assert page.judged() == [], view


def _look_around(page):
    """Have the neighbourhood of a vertex of the newest answer drawn, with the table beside it."""
    page.page.get_by_label("Vertices").fill("3")
    page.page.get_by_role("button", name="Ask").click()
    page.page.get_by_label("Around vertex").fill("1")
    page.page.get_by_role("button", name="Draw it").click()
    around = page.page.get_by_role("region", name="Edges around 1")
    around.wait_for()
    assert [row.inner_text().split() for row in around.get_by_role("row").all()[1:]] == [
        ["out", "2", "1"],
        ["out", "4", "10"],
    ]
    page.page.locator(".graph canvas").first.wait_for()


def test_a_question_is_asked_here_and_its_answer_and_what_it_is_worth_are_shown(client, visit):
    page = visit(client.server.url, view="questions")
    page.page.get_by_label("Vertices").fill("3, 4, 99")
    page.page.get_by_role("button", name="Ask").click()
    rows = page.page.get_by_role("region", name="Rows of the answer")
    rows.wait_for()
    assert [row.inner_text().split() for row in rows.get_by_role("row").all()[1:]] == [
        ["3", "3"],
        ["4", "10"],
    ]
    page.wait_for("Never seen: 99")
    page.wait_for("edges.csv: 4")
    history = page.page.get_by_role("region", name="Questions that ended")
    assert "3, 4, 99" in history.get_by_role("row").nth(1).inner_text()


@pytest.fixture(scope="module")
def learning():
    """A service whose loops learn, beside one that knows how wrong it may be."""
    random = np.random.default_rng(0)
    labels = np.arange(200) % 2
    with tornado.open("memory:", workers=1) as session:
        points = session.stream("points", schema=tornado.Points(features=2, names=["age", "height"]))
        points.start(tornado.LinearModel(loss="squared", l2=0.1), "line")
        points.start(tornado.KMeans(clusters=2), "clusters")
        points.insert(
            ids=np.arange(200),
            labels=labels,
            features=random.normal(size=(200, 2)) + 6.0 * labels[:, None],
        )
        ranks = session.start(PageRank(), "ranks")
        ranks.insert([1, 2, 3], [2, 3, 1])
        yield session.serve()


def test_what_learners_have_found_is_shown_with_its_objective(learning, visit):
    page = visit(learning.url, view="questions")
    rows = page.page.get_by_role("region", name="Rows of the answer")
    for loop, objective, shown in (
        ("line", "the least is at least", ["intercept", "age", "height"]),
        ("clusters", "(inertia)", ["0", "0", "1", "1"]),
    ):
        page.page.locator("form.ask").get_by_label("Loop").select_option(loop)
        page.page.get_by_role("button", name="Ask").click()
        page.wait_for(objective)
        eventually(lambda shown=shown: names_of(rows) == shown)
    page.page.get_by_label("assignments").check()
    eventually(lambda: rows.get_by_role("row").count() == 101)


def names_of(table):
    """With what each row begins."""
    return [text.split()[0] for text in table.get_by_role("row").all_inner_texts()[1:]]


def test_how_wrong_a_loop_may_be_is_told_when_somebody_asks(learning, visit):
    page = visit(learning.url)
    asks = page.page.get_by_role("button", name="How wrong is ranks now?")
    asks.click()
    asks.get_by_text("within").wait_for()
    assert page.page.get_by_role("button", name="How wrong is").count() == 1


def test_numbers_are_drawn_once_a_second_however_often_they_come(fake, open_service, serve, visit):
    start_roads(fake)
    server = serve(open_service(fake)).server
    page = visit(server.url)
    page.wait_for("up to date")
    begun_s = time.monotonic()
    page.page.evaluate(
        """() => {
            window.drawn = 0;
            const count = () => { window.drawn += 1; };
            new MutationObserver(count).observe(document.querySelector('.figures'), {subtree: true, characterData: true, childList: true});
        }"""
    )
    found = server.observer.newest()
    for number in range(25):
        server.observer._publish("now", found | {"time": time.time(), "questions": 1_000 + number})
        time.sleep(0.1)
    # A browser on a busy machine is late; its own waiting evaluates a text, which the page forbids.
    eventually(lambda: page.page.evaluate("window.drawn >= 1"))
    drawn = page.page.evaluate("window.drawn")
    took_s = time.monotonic() - begun_s
    assert 1 <= drawn <= took_s + 2, (drawn, took_s)


def test_what_removals_took_back_and_what_a_stream_takes_are_shown(fake, open_service, serve, visit):
    loops = [start_roads(fake), start_roads(fake, name="lanes")]
    loops[0].statistics = changed(loops[0].statistics, waves=4, invalidations=10, memory_bytes=3 << 20)
    server = serve(open_service(fake)).server
    page = visit(server.url, view="repair")
    eventually(lambda: row_of(page, "Repair by loop", "roads")[1:4] == ["4", "10", "2.5"])
    page.show("memory")
    eventually(lambda: row_of(page, "Checkpoints by stream", "roads")[3] == "3.15 MB")
    eventually(lambda: row_of(page, "Checkpoints by stream", "lanes")[3] == "1.05 MB")


def changed(statistics, **fields):
    """The statistics of a loop, with other numbers."""

    def found():
        return SimpleNamespace(**(vars(statistics()) | fields))

    return found


def row_of(page, table, name):
    """The cells of the row that begins with a name."""
    rows = page.page.get_by_role("region", name=table).get_by_role("row")
    cells = rows.filter(has=page.page.get_by_text(name, exact=True)).get_by_role("cell")
    cells.first.wait_for()
    return cells.all_inner_texts()


def test_a_question_that_is_refused_says_why_and_what_to_do(client, visit):
    page = visit(client.server.url, view="questions")
    page.page.get_by_label("Parameters").fill("goal=3")
    page.page.get_by_role("button", name="Ask").click()
    page.page.get_by_role("alert").get_by_text("goal").wait_for()
    page.faults.clear()  # the browser calls an answer of 422 an error


def test_it_is_used_by_keyboard_alone(client, visit):
    page = visit(client.server.url)
    page.wait_for("up to date")
    press = page.page.keyboard.press
    press("Tab")
    assert page.focused() == "Skip to content"
    seen = []
    while "Questions" not in seen:
        press("Tab")
        seen.append(page.focused())
        assert len(seen) < 20, seen
    press("Enter")
    page.wait_for("History")
    page.page.get_by_label("Vertices").focus()
    page.page.keyboard.type("3")
    press("Enter")
    page.page.get_by_role("region", name="Rows of the answer").wait_for()


def test_fifty_loops_and_ten_thousand_questions_are_shown(fake, open_service, serve, visit):
    start_roads(fake)
    for number in range(49):
        start_roads(fake, name=f"more-{number:02}")
    service = open_service(fake)
    server = serve(service).server
    query = httpx.post(
        f"{server.url}/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [3]}, timeout=60
    ).json()
    ended = service.get(query["id"])
    for _ in range(9_999):
        server.observer.questions.note(ended)
    page = visit(server.url, view="questions")
    page.wait_for("10,000 questions since the service began; the last 10,000 are kept")
    history = page.page.get_by_role("region", name="Questions that ended")
    assert 10 < history.get_by_role("row").count() < 100
    for _ in range(3):
        rows = history.evaluate("node => node.scrollHeight")
        history.evaluate("node => { node.scrollTop = node.scrollHeight }")
        eventually(lambda rows=rows: history.evaluate("node => node.scrollHeight") > rows)
    assert history.get_by_role("row").count() < 100
    page.show("now")
    loops = page.page.get_by_role("region", name="Loops", exact=True)
    loops.get_by_text("more-48").wait_for()
    assert loops.get_by_role("row").count() == 51
    for view, shown in VIEWS.items():
        page.show(view)
        page.wait_for(shown)
        assert not page.overflows(), view


def test_a_view_is_left_while_what_draws_its_charts_is_on_its_way(client, visit):
    held = []

    def hold(route):
        held.append(route)

    page = visit(client.server.url)
    page.context.route("**/vendor/uplot.js", hold)
    page.wait_for("up to date")
    page.show("memory")
    page.page.get_by_role("img").first.wait_for()
    while not held:
        page.page.wait_for_timeout(10)
    # What a view leaves behind is cleared away with the next frame, which is late where the browser has much to do.
    page.page.evaluate(
        "() => { const later = setTimeout; window.requestAnimationFrame = () => 0; "
        "window.setTimeout = (call, after) => later(call, (after ?? 0) + 1000); }"
    )
    page.show("now")
    while page.page.evaluate("document.querySelector('.plot') !== null"):
        page.page.wait_for_timeout(10)
    for route in held:
        route.continue_()
    while not page.page.evaluate("'uPlot' in window"):
        page.page.wait_for_timeout(10)
    page.page.wait_for_timeout(100)  # what goes wrong is heard of a moment later
    assert page.faults == []


def test_a_page_of_another_version_loads_the_new_one_or_says_so(client, visit):
    page = visit(client.server.url)
    page.wait_for("up to date")
    # As if the service had been another one when this was loaded.
    page.context.route(
        "**/v1/observations/events",
        lambda route: route.fulfill(
            content_type="text/event-stream", body='event: hello\ndata: {"build": "another"}\n\n'
        ),
    )
    page.asked.clear()
    page.page.reload()
    page.wait_for("The service was upgraded.")
    # By itself once, and not again and again.
    assert page.asked.count(f"{client.server.url}/") == 2
    page.faults.clear()


def test_a_service_with_tokens_asks_for_one_and_the_page_keeps_it(fake, open_service, serve, visit):
    start_roads(fake)
    tokens = TokenFile.of("read t0ken-of-a-reader\nread t0ken-of-another elsewhere")
    server = serve(open_service(fake), tokens=tokens).server
    page = visit(server.url)
    page.wait_for("This service asks for a token")
    page.page.get_by_label("Token").fill("t0ken-of-nobody")
    page.page.get_by_role("button", name="Use it").click()
    page.wait_for("does not know")
    # Of another stream: the page has nothing of this one.
    page.page.get_by_label("Token").fill("t0ken-of-another")
    page.page.get_by_role("button", name="Use it").click()
    page.page.locator("[data-link=live]").wait_for()
    page.page.get_by_role("region", name="Branches that run").or_(
        page.page.get_by_text("None at the moment")
    ).first.wait_for()
    assert "roads" not in page.page.locator("main").inner_text()
    page.page.evaluate("sessionStorage.clear()")
    page.page.reload()
    page.wait_for("This service asks for a token")
    page.page.get_by_label("Token").fill("t0ken-of-a-reader")
    page.page.get_by_role("button", name="Use it").click()
    page.wait_for("up to date")
    page.show("questions")
    page.page.get_by_label("Vertices").fill("3")
    page.page.get_by_role("button", name="Ask").click()
    page.page.get_by_role("region", name="Rows of the answer").wait_for()
    # An address is in histories and logs, so no token is ever in one.
    assert [url for url in page.asked if "t0ken" in url] == []
    page.page.reload()
    page.page.locator("[data-link=live]").wait_for()
    page.faults.clear()  # the browser calls an answer of 401 or 403 an error


def test_a_loop_that_stands_still_is_named_with_who_holds_it(fake, open_service, serve, visit):
    loop = start_roads(fake)
    known = loop.statistics()
    known.pending = 7
    known.by_worker = (PartStatistics(12, 1, 0), PartStatistics(8, 1, 0, pending=7))
    loop.statistics = lambda: known
    loop.held = STANDING
    page = visit(serve(open_service(fake)).server.url)
    page.wait_for("roads stands still")
    page.wait_for("Held by worker 1, at iteration 8, with 7 vertices with work")
    # Its workers are asked then whose token it is, and of which operator.
    page.wait_for(
        "Its frontier (input 0 of processor) is at 0/8; worker 1 keeps it by a token at output 0 of processor, timestamp 0/7"
    )
    kept = page.page.get_by_role("region", name="Frontiers").get_by_role("row").all()[1:]
    assert [row.inner_text().split("\t")[:7] for row in kept] == [
        ["roads", "0/8", "worker 1", "processor", "a token", "0/7", "yes"],
        ["roads", "0/8", "between workers", "processor", "3 messages", "0/12", "no"],
    ]
    assert page.judged() == []


def test_a_branch_that_stands_still_is_named_with_who_holds_it(fake, open_service, serve, visit):
    start_roads(fake)
    service = open_service(fake)
    client = serve(service)
    fake.gate.clear()
    try:
        asked = client.post("/v1/queries", json={"loop": "roads", "vertices": [3]}).json()
        eventually(lambda: service.get(asked["id"]).branch is not None)
        branch = service.get(asked["id"]).branch
        still = branch.progress()
        branch.progress = lambda: still
        branch.held = replace(STANDING, not_begun=(0,))
        page = visit(client.server.url)
        page.wait_for(f"Question {asked['id']} stands still")
        page.wait_for("Worker 0 has not begun it.")
        branch.held = STANDING
        page.wait_for("Its frontier (input 0 of processor) is at 0/8; worker 1 keeps it by a token")
        kept = page.page.get_by_role("region", name="Frontiers").get_by_role("row").nth(1).inner_text()
        assert kept.split("\t")[:4] == [f"roads, question {asked['id']}", "0/8", "worker 1", "processor"]
        assert page.judged() == []
    finally:
        fake.gate.set()
    page.page.get_by_text("stands still").wait_for(state="detached")


def test_a_report_shows_every_view_without_a_service_or_a_request(fake, open_service, serve, visit, tmp_path):
    loop = start_roads(fake)
    known = loop.statistics()
    known.pending = 7
    loop.statistics = lambda: known
    loop.held = STANDING
    server = serve(open_service(fake)).server
    httpx.post(f"{server.url}/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [3]}, timeout=60)
    with httpx.stream("GET", f"{server.url}/v1/observations/events", timeout=60) as events:
        seen = (line for line in events.iter_lines() if line == "event: now")
        next(seen), next(seen)
    (tmp_path / "report.html").write_bytes(httpx.get(f"{server.url}/v1/observations/report").content)
    page = visit(f"file://{tmp_path}/report.html", view="now")
    page.wait_for(f"Report of {server.url}")
    for view, shown in VIEWS.items():
        page.show(view)
        page.wait_for(shown)
    page.show("now")
    kept = page.page.get_by_role("region", name="Frontiers").get_by_role("row").nth(1)
    assert kept.inner_text().split("\t")[2:5] == ["worker 1", "processor", "a token"]
    page.show("questions")
    page.page.get_by_role("region", name="Questions that ended").get_by_text("exact").wait_for()
    page.show("residual")
    page.page.locator("canvas").first.wait_for()
    assert {url.partition(":")[0] for url in page.asked} <= {"file", "data", "blob"}


@pytest.mark.soak
def test_ten_events_a_second_take_a_browser_less_than_a_twentieth_of_a_core(fake, open_service, serve, visit):
    # The least of several, since whatever else runs on the machine only adds to it.
    start_roads(fake)
    for number in range(9):
        start_roads(fake, name=f"more-{number}")
    server = serve(open_service(fake)).server
    page = visit(server.url)
    page.wait_for("up to date")
    shares = [share_of_browsers(server.observer, ticks=50) for _ in range(3)]
    assert min(shares) < 0.05, shares


@pytest.mark.soak
def test_the_first_paint_comes_within_300_ms(client, visit):
    times = []
    for _ in range(5):
        page = visit(client.server.url)
        page.wait_for("up to date")
        times.append(
            page.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        )
    assert min(times) < 300, times


def share_of_browsers(observer, *, ticks):
    """The share of a core that browsers take while ten events come a second."""
    browsers = [one for one in psutil.Process().children(recursive=True) if "chrom" in one.name()]

    def used():
        return sum(sum(one.cpu_times()[:2]) for one in browsers if one.is_running())

    found = observer.newest()
    before, begun_s = used(), time.monotonic()
    for _ in range(ticks):
        observer._publish("now", found | {"time": time.time()})
        observer._publish("branches", {"branches": []})
        time.sleep(0.2)
    return (used() - before) / (time.monotonic() - begun_s)
