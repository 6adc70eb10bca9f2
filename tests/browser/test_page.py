"""The page in a real browser: what it shows, to whom, and what it does when the program does not answer."""

import re

import pytest

from tests.browser.conftest import Site
from tests.browser.devtools import Json, Tab
from tests.browser.documents import HOSTILE, quiet_shipper
from tests.browser.reading import CONTRASTS, FIGURES, FOCUSED, ROWS, equal, number

pytestmark = pytest.mark.slow("a browser")


def test_the_values_on_the_page_are_those_of_the_document(shown: Tab, site: Site) -> None:
    expected = {
        figure["label"]: [figure["value"], *([figure["rate"]] if "rate" in figure else [])]
        for figure in site.document["figures"]
    }
    values = shown.evaluate(FIGURES)
    assert {
        label: [None if value is None else number(value) for value in texts if value != ""][: len(expected[label])]
        for label, texts in values.items()
    } == expected


def test_the_tables_on_the_page_are_those_of_the_document(shown: Tab, site: Site) -> None:
    tables = shown.evaluate(ROWS)
    assert [table["title"] for table in tables] == [table["title"] for table in site.document["tables"]]
    for drawn, given in zip(tables, site.document["tables"], strict=True):
        assert drawn["columns"] == [column["label"] for column in given["columns"]]
        assert len(drawn["rows"]) == len(given["rows"]) > 0
        for cells, row in zip(drawn["rows"], given["rows"], strict=True):
            for cell, value, column in zip(cells, row, given["columns"], strict=True):
                assert equal(cell, value, column["kind"]), (cell, value)


def test_the_values_follow_the_document(shown: Tab, site: Site) -> None:
    site.document["figures"][0]["value"] = 1_284_662_399
    site.document["tables"][0]["rows"] = [["/var/log/other.log", "app", 17, 0.5]]
    shown.await_true("document.querySelector('#figures data').value === '1284662399'")
    assert [row[0] for row in shown.evaluate(ROWS)[0]["rows"]] == ["/var/log/other.log"]


def test_numbers_are_shown_with_units_and_exactly_on_demand(shown: Tab) -> None:
    figures = shown.evaluate(
        "[...document.querySelectorAll('#figures dd data:first-child')].map(data => [data.textContent, data.title])"
    )
    shown_values = [(text.replace("\N{NO-BREAK SPACE}", " "), exact) for text, exact in figures]
    assert shown_values[0] == ("1.28 G events", "1,284,662,311 events")
    assert shown_values[2] == ("268 GiB", "287,641,993,012 bytes")
    assert shown_values[4] == ("4 min", "240.4 s")
    assert shown_values[11] == ("\N{EN DASH}", "unknown")


def test_a_chart_has_its_values_as_a_text_and_as_a_table(shown: Tab) -> None:
    text = shown.evaluate("document.querySelector('#charts desc').textContent").replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("The last 9 min 58 s. read: latest 0 events/s, lowest 0 events/s, highest 5,")
    assert shown.evaluate("document.querySelector('#charts tbody').rows.length") == 2
    lines = shown.evaluate("[...document.querySelectorAll('#charts svg g .line')].map(path => path.getAttribute('d'))")
    assert [line.count("M") for line in lines] == [2, 2, 1], "what is unknown is a gap"


CUT = "[...document.querySelectorAll('#charts .label')].map(one => one.textContent).filter(one => /cut/.test(one))"


def test_a_burst_that_is_over_is_cut_off_with_its_height_and_one_that_lasts_is_not(shown: Tab, site: Site) -> None:
    (series,) = site.document["charts"][1]["series"]
    site.document["charts"][1]["unit"] = "events"
    series["values"] = [9000.0, *[20.0] * 299]
    shown.await_true(f"{CUT}.length === 1")
    assert shown.evaluate(CUT) == ["↑ 9,000\N{NO-BREAK SPACE}events, cut off"]
    assert "highest 9,000" in shown.evaluate("document.querySelectorAll('#charts desc')[1].textContent")
    series["values"] = [*[20.0] * 299, 9000.0]
    shown.await_true(f"{CUT}.length === 0")
    series["values"] = [9000.0, *[20.0] * 299]
    shown.await_true(f"{CUT}.length === 1")
    series["values"] = [190.0, *[20.0] * 299]
    shown.await_true(f"{CUT}.length === 0")


def test_lines_of_a_chart_are_named_beside_their_ends(shown: Tab) -> None:
    names = "[...document.querySelectorAll('#charts .label.name')].map(one => [one.textContent, one.getBBox().y])"
    (first, above), (second, below) = sorted(shown.evaluate(names))
    assert (first, second) == ("acknowledged", "read")
    assert abs(above - below) >= 12, "both end at 0"


@pytest.mark.parametrize("width", [390, 1100, 1600])
@pytest.mark.parametrize("number", [9, 11, 12])
def test_the_last_row_of_figures_is_full(tab: Tab, site: Site, width: int, number: int) -> None:
    tab.resize(width, 740)
    del site.document["figures"][number:]
    tab.open(site.url)
    tab.await_true("document.querySelector('#figures data')")
    edges = tab.evaluate(
        "[document.querySelector('#figures'), document.querySelector('#figures > :last-child')]"
        ".map(one => Math.round(one.getBoundingClientRect().right))"
    )
    assert edges[0] == edges[1]


def test_the_state_has_its_time_and_the_open_warnings(shown: Tab, site: Site) -> None:
    since = "document.querySelector('#state-since').textContent"
    assert re.fullmatch(r"since 24 Nov \d\d:40, 2 open warnings", shown.evaluate(since))
    site.document["health"]["warnings"] = 0
    shown.await_true(f"!{since}.includes('warning')")


def test_a_table_that_scrolls_has_a_hint(tab: Tab, site: Site) -> None:
    hints = "[...document.querySelectorAll('.hint')].map(one => one.textContent)"
    for width, expected in ((1280, {""}), (360, {"", "scroll sideways →"})):
        tab.resize(width, 740)
        tab.open(site.url)
        tab.await_true("document.querySelector('#figures data')")
        assert set(tab.evaluate(hints)) == expected


def test_the_console_has_no_complaint_and_everything_comes_from_the_program(shown: Tab, site: Site) -> None:
    site.answered.clear()
    assert site.answered.wait(10), "it asks again"
    assert shown.complaints() == []
    assert {url for url in shown.requested() if not url.startswith(site.url)} == set()


def test_nothing_inline_is_needed_and_nothing_inline_runs(shown: Tab) -> None:
    assert shown.evaluate("document.querySelectorAll('[style], style, script:not([src])').length") == 0
    shown.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = true'}))"
    )
    assert shown.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in shown.complaints())


def test_hostile_text_stays_text(shown: Tab) -> None:
    assert shown.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert shown.evaluate("window.hacked") is None
    assert HOSTILE in shown.evaluate("document.querySelector('#tables').textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", ["ok", "degraded", "failing", "starting"])
def test_each_text_can_be_read_in_light_and_in_dark(tab: Tab, site: Site, scheme: str, state: str) -> None:
    site.document["health"]["state"] = state
    tab.prefer(color_scheme=scheme)
    tab.open(site.url)
    tab.await_true("document.querySelector('#figures data')")
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) < 200) is (scheme == "dark")
    low = [text for contrast, text in tab.evaluate(CONTRASTS) if contrast < 4.5]
    assert low == []


def test_each_state_has_a_shape_of_its_own(shown: Tab, site: Site) -> None:
    shapes = set()
    for state, word in {"ok": "OK", "degraded": "Degraded", "failing": "Failing", "starting": "Starting"}.items():
        site.document["health"]["state"] = state
        shown.await_true(f"document.querySelector('#state').textContent === '{word}'")
        shapes.add(shown.evaluate("getComputedStyle(document.querySelector('#state'), '::before').content"))
    assert len(shapes) == 4


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_only_tables_scroll_sideways(tab: Tab, site: Site, width: int) -> None:
    tab.resize(width, 740, is_phone=width < 768)
    tab.open(site.url)
    tab.await_true("document.querySelector('#figures data')")
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    wide = tab.evaluate(
        f"[...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > {width} + 1"
        " && one.checkVisibility() && !one.closest('.scroller') && !one.closest('.skip'))"
        ".map(one => one.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_the_keyboard_reaches_everything_in_the_order_of_the_page(tab: Tab, site: Site) -> None:
    tab.resize(360, 740)
    tab.open(site.url)
    tab.await_true("document.querySelector('#figures data')")
    # Chromium reaches what scrolls in any case; others only where the page says so.
    assert tab.evaluate("document.querySelectorAll('#tables .scroller[tabindex=\"0\"][role=region]').length") == 4
    stops: list[str] = []
    while not stops or stops[-1] != "metrics":
        tab.press_tab()
        stops.append(re.sub(r"\s+", " ", tab.evaluate(FOCUSED)))
        assert len(stops) < 30, stops
    assert stops == [
        "Skip to the state",
        "As a table",
        "As a table",
        "scroller of Files furthest behind",
        "scroller of Last warnings and errors",
        "scroller of Dead letters",
        "scroller of Inputs",
        "Configuration in effect secrets are masked",
        "status",
        "metrics",
    ]


def test_the_focus_is_seen(shown: Tab) -> None:
    shown.press_tab()
    assert shown.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    assert shown.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_screen_reader_is_given_names_and_structure(shown: Tab) -> None:
    nodes = shown.accessible()
    roles = {node["role"] for node in nodes}
    assert {"main", "banner", "contentinfo", "heading", "table", "image", "status"} <= roles
    needed = ("table", "image", "region", "link", "heading", "columnheader", "DisclosureTriangle")
    assert [node for node in nodes if node["role"] in needed and not node["name"]] == []
    assert names(nodes, "image") == ["Events per second", "Bytes behind"]
    assert set(names(nodes, "heading")) > {"web-1", "Failing", "Figures", "Events per second", "Files furthest behind"}


def names(nodes: list[Json], role: str) -> list[str]:
    return [node["name"] for node in nodes if node["role"] == role]


def test_only_the_state_and_the_connection_are_announced(shown: Tab) -> None:
    live = shown.evaluate(
        "[...document.querySelectorAll('[role=status], [role=alert], [aria-live]')].map(one => one.textContent.trim())"
    )
    assert len(live) == 2
    assert live[0] == ""
    assert re.match(r"Failing since 24 Nov \d\d:40, 2 open warnings\s+Kafka does not answer", live[1])


def test_an_update_leaves_alone_what_did_not_change(shown: Tab, site: Site) -> None:
    """A text that is set again would be announced again, and lose its selection."""
    shown.evaluate(
        "window.changes = []; new MutationObserver(all => "
        "window.changes.push(...all.map(({target}) => target.nodeName)))"
        ".observe(document.querySelector('#tables'), {subtree: true, childList: true, characterData: true})"
    )
    site.answered.clear()
    assert site.answered.wait(10)
    shown.evaluate("new Promise(resolve => setTimeout(resolve, 300))")
    assert shown.evaluate("window.changes") == []


def test_motion_is_left_out_where_it_is_not_wanted(tab: Tab, site: Site) -> None:
    tab.prefer(reduced_motion="reduce")
    tab.open(site.url)
    site.stop()
    tab.await_true("document.body.classList.contains('stale')", 20)
    assert tab.evaluate("getComputedStyle(document.querySelector('main')).transitionDuration") == "0s"


def test_a_program_that_stops_leaves_its_last_values_marked_as_stale(shown: Tab, site: Site) -> None:
    before = shown.evaluate(FIGURES)
    site.stop()
    shown.await_true("document.querySelector('#connection').textContent", 20)
    assert re.fullmatch(
        r"Cannot reach the shipper since \d\d:\d\d:\d\d: there is no connection\. The values below are of that time\.",
        shown.evaluate("document.querySelector('#connection').textContent"),
    )
    assert shown.evaluate("document.title") == "✕ unreachable: web-1, shipper"
    assert shown.evaluate("document.querySelector('#state').textContent") == "Last known: Failing"
    assert shown.evaluate(FIGURES) == before
    shown.await_true("getComputedStyle(document.querySelector('main')).opacity < 0.75")
    site.document = quiet_shipper()
    site.start()
    shown.await_true("!document.querySelector('#connection').textContent", 20)
    assert shown.evaluate("document.title") == "● OK: web-1, shipper"
    assert shown.evaluate("document.body.classList.contains('stale')") is False


def test_an_error_of_the_program_is_shown_with_its_status(shown: Tab, site: Site) -> None:
    site.status = 500
    shown.await_true("document.querySelector('#connection').textContent.includes('HTTP status 500')", 20)


def test_a_table_without_rows_shows_a_sentence(shown: Tab, site: Site) -> None:
    site.document = quiet_shipper()
    shown.await_true("document.querySelector('#state').textContent === 'OK'")
    shown.await_true("document.body.innerText.includes('No event was refused.')")
    assert (
        shown.evaluate("[...document.querySelectorAll('.scroller')].filter(one => one.checkVisibility()).length") == 2
    )
