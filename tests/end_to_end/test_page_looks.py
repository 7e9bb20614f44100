"""How the page looks beside a service that has something to show: kept as pictures in `build/page`, for people to look at."""

from itertools import product
from pathlib import Path

import pytest

from tests.browser import SIZES, Visit, launched
from tests.end_to_end.running import Service
from tests.end_to_end.test_page import town

PICTURES = Path(__file__).parents[2] / "build" / "page"
SHOWN = {
    "now": "up to date",
    "residual": "Residual of main loops",
    "questions": "History",
    "repair": "By loop",
    "memory": "Answers kept",
    "workers": "Busy, waiting, idle",
}


@pytest.mark.soak
def test_every_view_is_kept_as_a_picture_at_three_sizes_in_the_light_and_in_the_dark(tmp_path):
    PICTURES.mkdir(parents=True, exist_ok=True)
    with launched() as browser, Service(tmp_path, "--engine", "processes", "--workers", "2") as service:
        service.push(town(2_000))
        for vertex in (5, 77, 1_999):
            service.ask(vertices=[vertex])
        service.push(
            "".join(f'{{"src": {one}, "dst": {one + 1}, "op": "remove"}}\n' for one in range(900, 990))
        )
        for size, scheme in product(SIZES, ("light", "dark")):
            page = Visit(browser, service.url, size=size, scheme=scheme)
            try:
                for view, shown in SHOWN.items():
                    page.show(view)
                    page.wait_for(shown)
                    if view == "questions":
                        _ask(page.page)
                    page.page.wait_for_timeout(
                        2_500
                    )  # lines need two observations; nothing is judged here that depends on it
                    assert not page.overflows(), (view, size)
                    page.page.screenshot(path=PICTURES / f"{view}-{size}-{scheme}.png", full_page=True)
                assert page.judged() == []
                assert page.faults == []
            finally:
                page.close()
    assert len({one.read_bytes() for one in PICTURES.glob("*.png")}) >= len(SHOWN) * len(SIZES) * 2


def _ask(page):
    page.get_by_label("Ways to").fill("9, 14")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("region", name="Ways").wait_for()
    page.locator(".graph canvas").first.wait_for()
    page.get_by_role("button", name="Draw it").click()
    page.get_by_role("region", name="Edges around").wait_for()
    page.locator(".graph").nth(1).locator("canvas").first.wait_for()
