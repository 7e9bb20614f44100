"""Chromium for tests, as Debian has it, driven by Playwright; tests that need it are skipped where it is not installed."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
MISSING = "no chromium is installed here (Debian: apt install chromium)"
# Nothing that asks anybody but the page that is opened.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
# What a page comes to it may come to late, on a machine that has much else to do or stands still for a while.
WAIT_S = 180
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

    Parameters
    ----------
    before : str
        A script that runs before those of the page.

    Attributes
    ----------
    faults : list of str
        Errors of scripts, and what the console calls an error.
    asked : list of str
        Where requests went.
    """

    def __init__(self, browser, url, *, size="desk", scheme="light", view="now", before=""):
        width, height = SIZES[size]
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.context.set_default_timeout(WAIT_S * 1000)
        self.page = self.context.new_page()
        self.page.add_init_script(before)
        self.url = url
        self.faults, self.asked = [], []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{url}#{view}" if url.startswith("file:") else f"{url}/#{view}")

    def show(self, view):
        """Go to a view, as a link in the page does."""
        self.page.evaluate("view => { location.hash = view }", view)

    def wait_for(self, text):
        """Wait until the page shows a text."""
        self.page.get_by_text(text).first.wait_for()

    def overflows(self):
        """Whether the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth > innerWidth")

    def gaps(self):
        """Rows of figures that do not reach the end of what they are in: the last figure of each, in words."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll('.figures')].flatMap(box => {
                const end = box.getBoundingClientRect().right;
                const ends = new Map([...box.children].map(one => [one.offsetTop, one]));
                return [...ends.values()].filter(one => Math.abs(end - one.getBoundingClientRect().right) > 2).map(one => one.textContent);
            })"""
        )

    def focused(self):
        """The text of what has the focus."""
        return self.page.evaluate("document.activeElement.textContent.trim()")

    def judged(self):
        """What axe finds that is serious or worse: rule, and the first place."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run({resultTypes: ['violations']})")
        return [
            (rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0]["failureSummary"])
            for rule in found["violations"]
            if rule["impact"] in {"serious", "critical"}
        ]

    def close(self):
        self.context.close()
