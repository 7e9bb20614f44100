"""Chromium for tests, as Debian has it, driven by Playwright; tests that need it are skipped where it is not installed."""

import shutil
from contextlib import contextmanager

import pytest

MISSING = "no chromium is installed here (Debian: apt install chromium)"
# Nothing that asks anybody but the page that is opened.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SIZES = {"phone": (360, 780), "desk": (1280, 900), "4k": (3840, 2160)}


def executable():
    """The path of the browser, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def launched():
    """A browser without a window."""
    path = executable()
    if path is None:
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page that somebody looks at; whatever goes wrong in it is noted.

    Attributes
    ----------
    faults : list of str
        Errors of scripts, and what the console calls an error.
    asked : list of str
        Where requests went.
    """

    def __init__(self, browser, url, *, size="desk", scheme="light", view="now"):
        width, height = SIZES[size]
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.url = url
        self.faults, self.asked = [], []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{url}/#{view}")

    def show(self, view):
        """Go to a view, as a link in the page does."""
        self.page.evaluate("view => { location.hash = view }", view)

    def wait_for(self, text, timeout_s=30):
        """Wait until the page shows a text."""
        self.page.get_by_text(text).first.wait_for(timeout=timeout_s * 1000)

    def overflows(self):
        """Whether the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth > innerWidth")

    def close(self):
        self.context.close()
