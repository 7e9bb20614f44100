"""Windows of one browser, which has six connections to a service for all of them: those that are seen share a stream, the others have none."""

import time

import pytest

from tests.ports import free_port
from tests.query.conftest import eventually, start_roads
from tornado.query.http import HttpServer
from tornado.query.token_file import TokenFile


@pytest.fixture
def client(fake, open_service, serve):
    start_roads(fake)
    return serve(open_service(fake))


# A browser without a window shows all its tabs, so the test says which of them is seen.
SEEN = """seen => {
    Object.defineProperty(document, "hidden", {value: !seen, configurable: true});
    Object.defineProperty(document, "visibilityState", {value: seen ? "visible" : "hidden", configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""
NOTE_LINKS = """() => {
    window.links = [];
    const note = () => links.push(document.querySelector("[data-link]").dataset.link);
    new MutationObserver(note).observe(document.querySelector("[data-link]"), {attributeFilter: ["data-link"]});
}"""


def test_tabs_that_nobody_sees_leave_the_connections_of_a_browser_to_the_one_that_is_seen(client, visit):
    first = visit(client.server.url).page
    tabs = [first]
    first.locator("[data-link=live]").wait_for()
    first.evaluate(NOTE_LINKS)
    for _ in range(7):  # a browser has six connections to a service
        tabs[-1].evaluate(SEEN, False)
        tabs.append(first.context.new_page())
        tabs[-1].goto(f"{client.server.url}/#now")
        tabs[-1].locator("[data-link=live]").wait_for()
    tabs[-1].evaluate(SEEN, False)
    push_to(client, 9)
    assert not first.get_by_role("region", name="Sources of roads").get_by_text("http").is_visible()
    first.evaluate(SEEN, True)
    first.get_by_role("region", name="Sources of roads").get_by_text("http").wait_for()
    assert set(first.evaluate("links")) == {"connecting", "live"}


def shown_at_once(context, url, count):
    """So many windows of one browser, all of them seen."""
    windows = [context.new_page() for _ in range(count)]
    for window in windows:
        window.goto(f"{url}/#now")
        window.locator("[data-link=live]").wait_for()
    return windows


def wait_for_streams(observer, count):
    """Wait for it: a service notices somewhat later that a window has left its stream."""
    eventually(lambda: observer.listeners == count)


def push_to(client, vertex):
    """Have a source come to a stream, or go on."""
    body = f'{{"src": 1, "dst": {vertex}}}'
    headers = {"content-type": "application/x-ndjson"}
    assert client.post("/v1/loops/roads/edges", content=body, headers=headers).status_code == 202


def wait_for_admitted(windows, count):
    for window in windows:
        window.get_by_text(f"{count} admitted").wait_for()


def test_windows_that_are_seen_at_once_share_a_stream_which_another_takes_over(client, visit):
    page = visit(client.server.url)
    page.page.locator("[data-link=live]").wait_for()
    windows = [page.page, *shown_at_once(page.context, client.server.url, 7)]
    observer = client.server.observer
    wait_for_streams(observer, 1)
    push_to(client, 9)
    wait_for_admitted(windows, 5)
    for window in windows:  # there are connections left for questions
        window.evaluate("fetch('v1/loops').then(found => found.json())")
    [first, hidden, *others] = windows
    first.close()
    wait_for_streams(observer, 1)
    push_to(client, 10)
    wait_for_admitted([hidden, *others], 6)
    # Whoever has it now is hidden, one after the other, until it was each one's turn.
    for number, window in enumerate([hidden, *others[:-1]]):
        window.evaluate(SEEN, False)
        push_to(client, 11 + number)
        wait_for_admitted(others[-1:], 7 + number)
        wait_for_streams(observer, 1)
    for window in (hidden, *others[:-1]):
        window.evaluate(SEEN, True)
    wait_for_admitted([hidden, *others], 12)
    wait_for_streams(observer, 1)


def test_a_window_whose_scripts_hang_loses_the_stream(client, visit):
    page = visit(client.server.url)
    page.page.locator("[data-link=live]").wait_for()
    [second] = shown_at_once(page.context, client.server.url, 1)
    second.clock.install()
    [third] = shown_at_once(page.context, client.server.url, 1)
    push_to(client, 8)
    wait_for_admitted([second], 5)  # since its clock is another, so it waits for the next by that
    # It has the lock, and tells nobody anything any more.
    page.page.evaluate("BroadcastChannel.prototype.postMessage = () => {}")
    second.clock.run_for(36_000)  # LOST_AFTER_MS, and the first pause
    second.clock.run_for(1_500)
    # The clock is that of all windows: where the lock goes round first, it takes one more silence.
    second.locator("[data-link=live]").wait_for()
    push_to(client, 9)
    wait_for_admitted([second, third], 6)
    wait_for_admitted([page.page], 6)  # which is told by the other one now
    wait_for_streams(client.server.observer, 1)


def test_all_windows_say_that_the_service_is_away_and_come_back(fake, open_service, visit):
    start_roads(fake)
    server = HttpServer(open_service(fake), port=free_port()).start()
    try:
        page = visit(server.url)
        windows = [page.page, *shown_at_once(page.context, server.url, 3)]
        server.stop()
        for window in windows:
            window.locator("[data-link=lost]").wait_for()
        with HttpServer(server.service, port=server.port) as again:
            for window in windows:
                window.locator("[data-link=live]").wait_for()
            wait_for_streams(again.observer, 1)
    finally:
        server.stop()
    page.faults.clear()  # the browser calls each request that failed an error


def test_windows_of_a_browser_without_locks_have_a_stream_each(client, visit):
    """As over plain http to another machine."""
    page = visit(client.server.url)
    page.context.add_init_script("Object.defineProperty(navigator, 'locks', {value: undefined})")
    page.page.reload()
    shown_at_once(page.context, client.server.url, 2)
    page.page.locator("[data-link=live]").wait_for()
    wait_for_streams(client.server.observer, 3)


def test_windows_with_other_tokens_have_streams_of_their_own(fake, open_service, serve, visit):
    start_roads(fake)
    start_roads(fake, "lanes")
    tokens = TokenFile.of("read t0ken-of-all\nread t0ken-of-lanes lanes")
    server = serve(open_service(fake), tokens=tokens).server
    page = visit(server.url)
    windows = [page.page, *(page.context.new_page() for _ in range(3))]
    for window, token in zip(windows, ["all", "all", "lanes", "lanes"], strict=True):
        window.goto(f"{server.url}/#now")
        window.get_by_label("Token").fill(f"t0ken-of-{token}")
        window.get_by_role("button", name="Use it").click()
        window.locator("[data-link=live]").wait_for()
        window.get_by_role("region", name="Loops", exact=True).get_by_text("lanes").first.wait_for()
    wait_for_streams(server.observer, 2)
    for window, sees in zip(windows, [True, True, False, False], strict=True):
        time.sleep(1.5)  # as long as it takes until the other streams have told something
        assert ("roads" in window.locator("main").inner_text()) == sees
    held = page.page.evaluate("navigator.locks.query().then(all => all.held.map(one => one.name))")
    assert len(set(held)) == 2
    assert "t0ken" not in "".join(held)
    page.faults.clear()  # the browser calls an answer of 401 an error
