"""The page in a real browser, beside a real server."""

from urllib.parse import urlsplit

import pytest

from tests.browser import Visit, launched
from tests.query.conftest import start_roads
from tornado.query.http import HttpServer


@pytest.fixture(scope="module")
def browser():
    with launched() as one:
        yield one


@pytest.fixture
def visit(browser):
    """Opens pages, and closes them; none may have had a fault that the test does not take off its list."""
    opened = []

    def make(url, **how):
        opened.append(Visit(browser, url, **how))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
    assert [fault for one in opened for fault in one.faults] == []


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
    [refused] = page.faults
    page.faults.clear()
    assert "Content Security Policy" in refused


def test_a_connection_that_is_lost_says_so_and_comes_back(fake, open_service, visit):
    start_roads(fake)
    server = HttpServer(open_service(fake), port=0).start()
    try:
        page = visit(server.url)
        page.wait_for("up to date")
        server.stop()
        page.wait_for("connection lost")
        with HttpServer(server.service, port=server.port):
            page.page.locator("[data-link=live]").wait_for(timeout=30_000)
    finally:
        server.stop()
    page.faults.clear()  # the browser calls each request that failed an error
