"""The page without its colours, in a real browser: whatever has a colour of its own says the same by a sign, a word or a dash."""

import io
import re
from collections import defaultdict
from dataclasses import replace

import pytest
from PIL import Image

from tests.query.conftest import end_looks_of, eventually, start_roads

# What a rule of the style sheet gives a colour that means something, by how it is said without it; the tests below look at each.
SAID_BY = {
    "a sign and a word": r"\.badge\.\w+",
    "its own text": r"\.figure\.bad small|\.fault(\.warn)?|\.banner",
    "its name and number in the legend, and a pattern": r"\.(part|swatch)\.(one|two|three)",
    "its dashes, and its name and number in the legend": r"\.line-\d",
    "dashes, and the text below": r"\.lanes (line|polygon|polygon\.waits|\.gone (line|polygon|\.end))",
    "its length and the number beside it": r"\.share (rect|\.below)",
    "a sign that is no colour (a cross, a dot, a border, what the browser draws)": (
        r"input\[type=.\w+.\]|\.top nav a\[aria-current\]|\.choice label:has\(:checked\)"
    ),
    "nothing, as all of its kind have it": r"a|button|\.button|\.top h1 svg|:focus-visible|\.lanes svg|tbody tr:hover > \*",
}
COLOURED = """() => [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].flatMap((rule) => [...(rule.cssRules ?? []), rule]))
    .filter((rule) => rule.selectorText && /var\\(--(good|work|warn|bad|off|one|two|three|line-\\d|accent|focus)/.test(rule.cssText))
    .flatMap((rule) => rule.selectorText.split(/, (?![^(]*\\))/))"""
# Each mark with the table, or else the panel, that it is in.
MARKS = """() => [...document.querySelectorAll(".badge")].map((mark) => {
    const hidden = [...mark.querySelectorAll("[aria-hidden]")].map((one) => one.innerText).join("");
    const place = mark.closest("[role=region]")?.ariaLabel ?? (mark.closest(".panel, .link").matches(".link") ? "link" : "panel");
    return {place, kind: mark.className.replace("badge", "").trim(), sign: hidden, word: mark.innerText.replace(hidden, "").trim(), shown: mark.checkVisibility()};
})"""
FIGURES = """() => Object.fromEntries([...document.querySelectorAll(".figure")].map((one) =>
    [one.querySelector("dt").innerText, [one.className.replace("figure", "").trim(), one.querySelector("dd").innerText]]))"""
NOTE_LINES = """
    window.drawn = [];
    const {stroke} = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.stroke = function (...path) {
        window.drawn.push([this.strokeStyle, this.getLineDash().join()]);
        return stroke.apply(this, path);
    };"""


@pytest.fixture
def server(fake, open_service, serve):
    for name in ("roads", *(f"lane-{number}" for number in range(5))):
        start_roads(fake, name)
    return serve(open_service(fake)).server


def troubled(found):
    """An observation in which everything stands in each way in which it can stand."""
    loops, streams = ([dict(one) for one in found[kind]] for kind in ("loops", "streams"))
    for loop, state in zip(loops, ("running", "unresponsive", "failed"), strict=False):
        loop |= {
            "state": state,
            "error": "it broke" if state == "failed" else None,
            "age_s": 1.0,
            "restarts": 2,
        }
    [source] = streams[0]["sources"]
    states = ("running", "ready", "finished", "stopped", "failed")
    streams[0]["sources"] = [source | {"name": state, "state": state} for state in states]
    streams[0]["sources"] += [
        source | {"name": f"{state}!", "state": state, "last_error": "E"} for state in states
    ]
    streams[1] |= {"not_read": 7, "applied": [5, 5], "waiting": [3, 0]}
    kept = {"stored": 1, "failed": 1, "version": 1, "age_s": 1.0, "duration_s": 1.0}
    streams[1]["checkpoints"] = kept | {"last_error": None}
    streams[2]["checkpoints"] = kept | {"last_error": "the disk is full"}
    streams[3]["not_logged"] = "the disk is full"
    return found | {"loops": loops, "streams": streams}


@pytest.fixture
def page(server, visit):
    """The page of a service where all of it is seen: what was asked ended in each way, too."""
    client, log = server.service, server.observer.questions
    opened = visit(f"{server.url}")
    opened.page.locator("[data-link=live]").wait_for()
    opened.wait_for("up to date")
    asked = opened.page.evaluate(
        "fetch('v1/queries?wait_s=20', {method: 'POST', headers: {'content-type': 'application/json'}, "
        "body: JSON.stringify({loop: 'roads', vertices: [3]})}).then(answer => answer.json())"
    )
    assert asked["state"] == "converged", client
    eventually(lambda: log.ended(None) == 1)
    for state in ("deadline", "cancelled", "failed"):
        line = log._lines[0]
        content = line.content.replace(b'"converged"', f'"{state}"'.encode())
        log._lines.append(replace(line, state=state, content=content))
        log._ended["roads"] += 1
    end_looks_of(server.observer)  # it would look, and find nothing wrong
    server.observer._publish("now", troubled(server.observer.newest()))
    opened.wait_for("in trouble")
    return opened


VIEWS = {
    "now": "with an error",
    "questions": "History",
    "memory": "nothing is taken in",
    "workers": "Workers of lane-0",
}


def marks_of(page):
    """All marks of all views; of a page that is seen in one way, such as without colours."""
    found = []
    for view, shown in VIEWS.items():
        page.show(view)
        page.page.get_by_text(shown).or_(page.page.get_by_role("region", name=shown)).first.wait_for()
        if view == "questions":
            page.page.get_by_role("region", name="Questions that ended").get_by_text("cancelled").wait_for()
        found += page.page.evaluate(MARKS)
    return found


def check(marks):
    """Hold marks to what `parts.js` says: a sign, a word and a colour, none of which says it alone."""
    kinds_of, signs_of = defaultdict(set), defaultdict(set)
    for mark in marks:
        assert mark["shown"] and mark["sign"] and re.search(r"\w", mark["word"]), mark
        signs_of[mark["kind"]].add(mark["sign"])
        kinds_of[mark["place"], mark["word"]].add(mark["kind"])
    assert sorted(signs_of) == ["bad", "good", "off", "warn", "work"]
    signs = [sign for found in signs_of.values() for sign in found]
    assert len(set(signs)) == len(signs) == len(signs_of)
    # Who hears the word alone, where the sign is left out, hears in no table the same of two that have not the same colour.
    assert [place for place, kinds in kinds_of.items() if len(kinds) > 1] == []


def test_each_colour_of_the_style_sheet_that_means_something_is_said_otherwise_too(page):
    left = {one for one in page.page.evaluate(COLOURED) if not one.startswith(":root")}
    found = {how: {one for one in left if re.fullmatch(rule, one)} for how, rule in SAID_BY.items()}
    assert all(found.values()), found
    assert left - set().union(*found.values()) == set(), (
        "say in SAID_BY how these are told without their colour"
    )


def test_marks_have_a_sign_and_a_word_of_their_own(page):
    check(marks_of(page))


def test_figures_and_notices_that_have_a_colour_say_why(page, server):
    before, faults = {}, []
    for view, shown in VIEWS.items():
        page.show(view)
        page.page.get_by_text(shown).or_(page.page.get_by_role("region", name=shown)).first.wait_for()
        before |= {(view, label): figure for label, figure in page.page.evaluate(FIGURES).items()}
        faults += page.page.locator(".fault").all_inner_texts()
    coloured = {place for place, (kind, _) in before.items() if kind}
    assert coloured == {("now", "Behind"), ("now", "Loops"), ("workers", "Replaced")}
    assert faults and all(re.search(r"\w", text) for text in faults)
    server.observer._publish("now", server.observer.newest())
    after = {}
    for view, shown in {"workers": "never lost", "now": "all run"}.items():
        page.show(view)
        page.wait_for(shown)
        after |= {(view, label): figure for label, figure in page.page.evaluate(FIGURES).items()}
    for place in coloured:
        (was, said), (now, says) = before[place], after[place]
        assert (was != now, said != says) == (True, True), place


def test_parts_of_a_bar_are_named_with_their_numbers_beside_and_for_who_hears_the_page(page):
    page.show("now")
    bars = page.page.locator(".split")
    bars.first.wait_for()
    for bar in bars.all():
        heard = bar.get_by_role("img").get_attribute("aria-label")
        for part in bar.get_by_role("listitem").all():
            assert re.search(r"[a-z]+ \S", part.inner_text())
            assert part.inner_text() in heard
    patterns = page.page.evaluate(
        "() => ['one', 'two', 'three'].map(kind => getComputedStyle(document.querySelector('.swatch.' + kind)).backgroundImage.split('rgb')[0])"
    )
    assert len(set(patterns)) == 3


def test_lines_of_a_chart_have_dashes_of_their_own_and_so_has_the_legend(server, visit):
    page = visit(server.url, before=NOTE_LINES)
    page.show("residual")
    chart = page.page.locator(".chart").first
    chart.locator("canvas").wait_for()
    colours = page.page.evaluate(
        """() => [1, 2, 3, 4, 5, 6].map((number) => {
            const context = document.createElement("canvas").getContext("2d");
            context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue(`--line-${number}`).trim();
            return context.strokeStyle;
        })"""
    )
    assert len(set(colours)) == 6

    def dashes():
        found = defaultdict(set)
        for colour, dash in page.page.evaluate("drawn"):
            if colour in colours:
                found[colour].add(dash)
        # Dots on a short line are drawn without.
        return {colour: each - {""} or {""} for colour, each in found.items()}

    eventually(lambda: len(dashes()) == 6)
    drawn = [dash for each in dashes().values() for dash in each]
    assert len(drawn) == len(set(drawn)) == 6
    keys = chart.locator(".key")
    in_legend = [key.locator("line").get_attribute("stroke-dasharray") for key in keys.all()]
    assert len(in_legend) == len(set(in_legend)) == 6
    heard = chart.get_by_role("img").get_attribute("aria-label")
    for text in keys.all_inner_texts():
        assert text.split()[0] in heard


def test_time_lines_of_workers_tell_who_is_gone_and_who_waits_by_dashes_and_in_words(server, visit):
    observer = server.observer
    use = [
        {"busy_s": 1.0, "waited_s": 0.5, "sent_bytes": 10},
        {"busy_s": 2.0, "waited_s": 0.1, "sent_bytes": 20},
    ]
    end_looks_of(observer)
    for losses in (0, 0, 1, 1):
        found = observer.newest()
        use = [{name: value * 1.5 for name, value in one.items()} for one in use]
        found["workers"] = use
        found["loops"][0]["restarts"] = losses
        observer._noted(found | {"time": found["time"] + losses})
    page = visit(server.url, view="workers")
    observer._publish("now", found)
    page.wait_for("Gone: worker 0 (1. set)")
    page.page.locator("polygon.waits").first.wait_for(state="attached")
    dash = "(which) => getComputedStyle(document.querySelector(which)).strokeDasharray"
    stays = page.page.evaluate(dash, ".lane:not(.gone) line")
    assert stays == "none"
    assert page.page.evaluate(dash, ".lane.gone line") not in (stays, page.page.evaluate(dash, ".gone .end"))
    assert page.page.evaluate(dash, "polygon.waits") != stays
    page.wait_for("busy, and dashed above it waiting for others")


def test_who_sees_no_colours_or_has_chosen_them_tells_marks_apart(page):
    browser = page.context.new_cdp_session(page.page)
    for scheme in ("light", "dark"):
        page.page.emulate_media(color_scheme=scheme)
        browser.send("Emulation.setEmulatedVisionDeficiency", {"type": "achromatopsia"})
        page.show("now")
        pictures = defaultdict(set)
        for mark in page.page.locator(".badge").all():
            image = Image.open(io.BytesIO(mark.screenshot())).convert("RGB")
            colours = {colour for _, colour in image.getcolors(1 << 16)}
            assert all(max(colour) - min(colour) <= 2 for colour in colours)  # there are none left
            darkness = [colour[0] for colour in colours]
            assert max(darkness) - min(darkness) > 80  # and yet it can be read
            pictures[image.size, image.tobytes()].add(mark.get_attribute("class"))
        assert len(pictures) > 5
        assert all(len(kinds) == 1 for kinds in pictures.values())
        browser.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
        page.page.emulate_media(color_scheme=scheme, forced_colors="active")
        check(marks_of(page))
        page.show("now")
        styles = page.page.evaluate(
            """() => [...document.querySelectorAll(".badge, .figure.bad small, .fault")].map((one) => {
                const style = getComputedStyle(one);
                return [style.color, style.backgroundColor];
            })"""
        )
        assert len({tuple(style) for style in styles}) <= 2  # the browser's own
        assert all(colour != behind for colour, behind in styles)
        # Borders that have no colour get one then.
        borders = page.page.evaluate(
            """() => [...document.querySelectorAll("nav a")].map((one) => [one.ariaCurrent, getComputedStyle(one).borderBottomColor])"""
        )
        [current] = [colour for is_current, colour in borders if is_current]
        assert current not in {colour for is_current, colour in borders if not is_current}
        page.page.emulate_media(color_scheme=scheme, forced_colors="none")
