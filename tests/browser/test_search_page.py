"""The page that searches the tables, in a real browser: what people do on it, and what hostile lines cannot do."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.devtools import Tab
from tests.browser.lake import HOSTILE, Lake, line
from tests.browser.reading import CONTRASTS
from tests.e2e.running import await_true

browser_only = pytest.mark.slow("a browser")

LINES = "document.querySelectorAll('.entry')"
REMOVE = "\N{MULTIPLICATION SIGN}"  # a column
SHOWN = f"{LINES}.length"
STATUS = "document.querySelector('#status').textContent"
FOUND = f"/\\d s\\.|ms\\./.test({STATUS})"


@pytest.fixture
def lake() -> Iterator[Lake]:
    lake = Lake()
    yield lake
    lake.close()


@pytest.fixture
def lines(tab: Tab, lake: Lake) -> Tab:
    """The page with the newest lines."""
    show(tab, lake)
    return tab


def show(tab: Tab, lake: Lake, address: str = "") -> None:
    tab.open(lake.url + address)
    tab.await_true(FOUND)


def click(tab: Tab, selector: str, text: str = "") -> None:
    """Click what has this text or this name."""
    tab.evaluate(
        f"[...document.querySelectorAll({selector!r})]"
        f".find(one => [one.textContent, one.ariaLabel].some(text => text?.includes({text!r}))).click()"
    )


def press(tab: Tab, key: str, *, shift: bool = False) -> None:
    text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
    codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
    given = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": 8 if shift else 0}
    tab.call("Input.dispatchKeyEvent", type="keyDown", text=text, **given)
    tab.call("Input.dispatchKeyEvent", type="keyUp", **given)


def search(tab: Tab, words: str) -> None:
    tab.evaluate(f"document.querySelector('#q').value = {words!r}")
    click(tab, ".primary")


def texts(tab: Tab, selector: str) -> list[str]:
    values: list[str] = tab.evaluate(f"[...document.querySelectorAll({selector!r})].map(one => one.textContent)")
    return values


def address(tab: Tab) -> dict[str, str]:
    values: dict[str, str] = tab.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
    return values


def test_lines_are_searched_opened_narrowed_and_read_in_their_file(lines: Tab, lake: Lake) -> None:
    search(lines, "timeout db-2")
    lines.await_true(f"{SHOWN} === 65")
    assert set(texts(lines, ".entry mark")) == {"timeout", "Timeout", "db-2"}
    click(lines, ".entry:nth-child(9) button")
    assert "payment failed" in texts(lines, ".panel pre")[0]
    click(lines, ".panel button", "Lines before and after in this file")
    lines.await_true("document.querySelectorAll('.context tbody tr').length === 41")
    assert texts(lines, ".context .actions > *") == [
        "Lines before and after in this file",
        "41 lines",
        "Show 40 on each side",
    ]
    assert "(rotated)" in texts(lines, ".context tbody tr")[0]
    assert texts(lines, ".context [aria-current] td:last-child")[0].startswith("payment failed")
    pod = lines.evaluate("/checkout-\\d/.exec(document.querySelector('.fields').textContent)[0]")
    click(lines, ".panel button", "only these: kubernetes.pod.name")
    lines.await_true(f"{SHOWN} === 13 && {FOUND}")
    assert address(lines) == {"since": "15m", "q": f"timeout db-2 kubernetes.pod.name:{pod}"}
    assert lake.queries("rows")[-1]["since"] == "15m"
    assert lines.complaints() == []


@browser_only
def test_a_hostile_line_is_a_text_for_the_page_a_terminal_and_a_spreadsheet(lines: Tab, lake: Lake) -> None:
    message = texts(lines, ".entry .message")[1]
    assert message.startswith('<img src=x onerror="window.hacked=1"><script>')
    assert r"\x1b]0;owned\x07\x1b[2J \u202etxt.exe" in message
    lines.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }, 0")
    click(lines, ".entry:nth-child(3) button")
    click(lines, ".panel button", "Copy as text")
    copied = lines.evaluate("window.copied")
    assert re.fullmatch(r"[ -~]+\n {4}=cmd\|' /C calc'!A0\\t=HYPERLINK[ -~]+", copied), (
        "no control, and no cell of its own"
    )
    assert copied.startswith(lake.rows[1]["ts"])
    click(lines, ".panel button", "Copy as JSON")
    copied = lines.evaluate("window.copied")
    assert json.loads(copied)["message"] == HOSTILE
    assert re.fullmatch("[ -~]+", copied)
    assert lines.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert lines.evaluate("window.hacked") is None
    assert lines.complaints() == []


@browser_only
def test_the_address_has_the_query_and_back_undoes_it(lines: Tab, lake: Lake) -> None:
    search(lines, "slow")
    lines.await_true(f"{SHOWN} === 200 && {FOUND}")
    assert lines.evaluate("document.title") == "slow: Lines in the last 15 min"
    click(lines, "#ranges button", "7 days")
    lines.await_true(FOUND)
    click(lines, ".entry button")
    click(lines, ".panel button", "add column: fields.env")
    assert f"fields.env{REMOVE}" in texts(lines, ".head > span")
    click(lines, "#wrap")
    shared = address(lines)
    assert json.loads(shared["open"])[1:] == ["9f3c", 2397 * 100]
    assert shared["since"] < lake.rows[-1]["ts"] < lake.rows[0]["ts"] < shared["until"], "the same an hour later"
    click(lines, ".panel button", "Close")
    relative = {"q": "slow", "since": "7d", "columns": "log.level,host,fields.env,message", "unwrapped": "1"}
    assert address(lines) == relative
    click(lines, ".entry button")
    shared = address(lines)
    assert {**relative, **shared, "since": "7d"} == {**relative, "open": shared["open"], "until": shared["until"]}
    show(lines, lake, "?" + lines.evaluate("location.search").removeprefix("?"))
    lines.await_true("document.querySelector('.panel')")
    assert address(lines) == shared
    lines.evaluate("history.back()")
    lines.await_true(f"document.querySelector('#ranges [aria-pressed=true]').value === '15m' && {FOUND}")
    assert lines.evaluate("document.querySelector('#q').value") == "slow"


@browser_only
def test_a_query_that_is_replaced_is_aborted(lines: Tab, lake: Lake) -> None:
    lake.stuck = "slow"
    search(lines, "slow")
    lines.await_true("document.querySelector('#sql').textContent.includes('slow')")
    search(lines, "timeout")
    assert lake.aborted.wait(5)
    lines.await_true(f"{SHOWN} === 65 && {FOUND}")
    assert lines.evaluate("document.querySelector('#problem').textContent") == ""


BARS = "document.querySelector('#histogram [role=slider]')"


def drag(tab: Tab, start: float, end: float) -> None:
    box = tab.evaluate(f"{BARS}.getBoundingClientRect().toJSON()")
    kinds = (("mousePressed", start), ("mouseMoved", (start + end) / 2), ("mouseMoved", end), ("mouseReleased", end))
    for kind, share in kinds:
        place = {"x": box["x"] + share * box["width"], "y": box["y"] + 40}
        tab.call("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **place)


@browser_only
def test_a_range_of_the_histogram_is_dragged_or_chosen_by_keys_and_left_again(lines: Tab, lake: Lake) -> None:
    lines.await_true("document.querySelector('#histogram .fill')")
    drag(lines, 0.5, 0.6)
    lines.await_true(f"location.search.includes('since') && {FOUND}")
    zoomed = lake.queries("rows")[-1]
    assert zoomed["since"] < zoomed["until"] < lake.rows[0]["ts"]
    lines.await_true("document.querySelector('#histogram h2').textContent !== '2,400 lines'")
    drag(lines, 0.2, 0.4)
    lines.await_true(f"!location.search.includes({quote(zoomed['since'])!r}) && {FOUND}")
    search(lines, "slow")
    lines.await_true(f"location.search.includes('slow') && {FOUND}")
    click(lines, "#back")
    lines.await_true(f"document.querySelector('#q').value === 'slow' && {FOUND}")
    assert address(lines)["since"] == zoomed["since"], "of two parts the wider one"
    click(lines, "#back")
    lines.await_true(f"!location.search.includes('since') && {FOUND}")
    assert not lines.evaluate("document.querySelector('#back').checkVisibility()")
    assert address(lines) == {"q": "slow"}
    lines.evaluate("document.querySelector('#q').value = ''")
    lines.evaluate("document.querySelector('#q').dispatchEvent(new Event('search'))")
    lines.await_true(f"!location.search.includes('slow') && {FOUND}")
    lines.evaluate(f"{BARS}.focus()")
    for _ in range(3):
        press(lines, "ArrowLeft", shift=True)
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d to \d\d:\d\d:\d\d: \d+ lines",
        lines.evaluate(f"{BARS}.getAttribute('aria-valuetext')").replace("\xa0", " "),
    )
    press(lines, "Enter")
    lines.await_true(f"location.search.includes('since') && {FOUND}")
    chosen = lake.queries("rows")[-1]
    since, until = (datetime.fromisoformat(chosen[name]) for name in ("since", "until"))
    assert (until - since).seconds in (28, 32), "four bars"
    assert chosen["since"] > zoomed["until"]


@browser_only
def test_new_lines_come_on_top_but_not_while_a_line_is_open(lines: Tab, lake: Lake) -> None:
    click(lines, "#follow")
    lines.await_true(FOUND)
    assert [path for path, _ in lake.asked if path in ("rows", "follow")] == ["rows", "follow", "rows"]
    lake.landed += [lake.rows[0], line(9001, lake.now, "landed one", "info")]
    lines.await_true(f"{LINES}[0].textContent.includes('landed one')")
    assert lines.evaluate(SHOWN) == 201, "a line that is there is not added again"
    click(lines, ".entry button")
    lake.landed.append(line(9002, lake.now, "landed two", "info"))
    lines.await_true("document.querySelector('#waiting').textContent.startsWith('1')")
    assert lines.evaluate("document.querySelector('#waiting').textContent") == "1 new: show"
    click(lines, "#waiting")
    lines.await_true(f"{LINES}[0].textContent.includes('landed two')")
    assert not lines.evaluate("document.querySelector('#waiting').checkVisibility()")


@browser_only
def test_following_survives_a_broken_connection(lines: Tab, lake: Lake) -> None:
    click(lines, "#follow")
    lines.await_true(FOUND)
    lake.close()
    lines.await_true("document.querySelector('#problem').textContent")
    lost = texts(lines, "#problem")[0]
    assert re.fullmatch(r"Connection lost at \d\d:\d\d:\d\d\. Reconnecting …", lost)
    lines.evaluate("document.querySelector('#q').value = 'typed meanwhile'")
    lake.rows.insert(0, line(9001, lake.now, "landed meanwhile", "info"))
    assert lines.evaluate(SHOWN) == 200
    lake.open()
    lines.await_true(f"{LINES}[0].textContent.includes('landed meanwhile')")
    lines.await_true("document.querySelector('#problem').textContent === ''")
    assert lines.evaluate("document.querySelector('#follow').checked")
    assert lines.evaluate(SHOWN) == 201
    assert lines.evaluate("document.querySelector('#q').value") == "typed meanwhile"
    lake.landed.append(line(9002, lake.now, "landed afterwards", "info"))
    lines.await_true(f"{LINES}[0].textContent.includes('landed afterwards')")
    lake.close()
    lines.await_true("document.querySelector('#problem').textContent")
    lake.rows = [line(9300 - number, lake.now, f"many {number}", "info") for number in range(250)] + lake.rows
    lake.open()
    lines.await_true(f"document.querySelector('#problem').textContent === '' && {SHOWN} === 200 && {FOUND}")
    assert all("many" in text for text in texts(lines, ".entry")), "no gap that is not seen"
    lake.close()
    lines.await_true("document.querySelector('#problem').textContent")
    search(lines, "timeout")
    lines.await_true("document.querySelector('#problem').textContent.startsWith('Connection lost')")
    lake.open()
    lines.await_true(f"{SHOWN} === 65 && {FOUND}")


@browser_only
def test_a_field_opens_to_its_values_which_narrow_the_search(lines: Tab, lake: Lake) -> None:
    click(lines, ".facet summary", "log.level")
    lines.await_true("document.querySelectorAll('.facet li').length === 3")
    assert [text.split("only")[0] for text in texts(lines, ".facet li")] == ["info2,123", "warn212", "error65"]
    click(lines, ".facet button", "not log.level info")
    lines.await_true(f"{STATUS}.includes('277')")
    click(lines, ".facet button", "only log.level error")
    lines.await_true(f"{SHOWN} === 65")
    assert address(lines)["q"] == "-log.level:info log.level:error"
    lines.await_true("document.querySelectorAll('.facet li').length === 1")


@browser_only
def test_the_keyboard_alone_is_enough(lines: Tab) -> None:
    press(lines, "/")
    assert lines.evaluate("document.activeElement.id") == "q"
    lines.call("Input.insertText", text="timeout")
    press(lines, "Enter")
    lines.await_true(f"{SHOWN} === 65 && {FOUND}")
    press(lines, "Escape")
    for key in ("j", "j", "ArrowDown", "k"):
        press(lines, key)
    assert lines.evaluate(f"{LINES}[1].contains(document.activeElement)")
    press(lines, "Enter")
    assert lines.evaluate(f"Boolean({LINES}[1].querySelector('.panel'))")
    press(lines, "Escape")
    assert lines.evaluate("document.querySelector('.panel')") is None
    assert lines.evaluate(f"{LINES}[1].contains(document.activeElement)")
    press(lines, "?")
    assert lines.evaluate("document.querySelector('#keys').open")
    press(lines, "Escape")
    assert not lines.evaluate("document.querySelector('#keys').open")
    press(lines, "?")
    for kind in ("mousePressed", "mouseReleased"):
        lines.call("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, x=30, y=500)
    lines.await_true("!document.querySelector('#keys').open")
    lines.evaluate("scrollTo(0, 1500)")
    assert lines.evaluate("document.querySelector('.head').getBoundingClientRect().top") == 0, "it stays in sight"
    assert lines.evaluate("document.querySelectorAll('.entry button[tabindex=\"0\"]').length") == 1, "one stop of Tab"


@browser_only
def test_a_screen_reader_is_given_names_and_one_status(lines: Tab) -> None:
    click(lines, ".entry button")
    click(lines, ".facet summary", "host")
    lines.await_true("document.querySelectorAll('.facet li').length === 3")
    nodes = lines.accessible()
    roles = {node["role"] for node in nodes}
    assert {"main", "search", "table", "row", "cell", "columnheader", "slider", "status", "alert"} <= roles
    needed = ("table", "button", "slider", "searchbox", "textbox", "combobox", "checkbox", "columnheader", "group")
    assert [node for node in nodes if node["role"] in needed and not node["name"] and node["role"] != "group"] == []
    live = texts(lines, "[role=status], [aria-live]")
    assert [text.replace("\xa0", " ") for text in live] == [
        "The newest 200 lines of 2,400 in the last 15 min. 12 files read in 213 ms."
    ]


@browser_only
def test_each_text_can_be_read_in_light_and_in_dark(tab: Tab, lake: Lake) -> None:
    show(tab, lake, "?q=timeout&by=log.level")
    click(tab, ".entry button")
    click(tab, ".facet summary", "host")
    click(tab, ".panel button", "Lines before and after")
    tab.await_true("document.querySelector('.context tbody') && document.querySelector('.facet li')")
    for scheme in ("light", "dark"):
        tab.prefer(color_scheme=scheme)
        assert [text for contrast, text in tab.evaluate(CONTRASTS) if contrast < 4.5] == [], scheme


@browser_only
def test_the_page_has_no_scrollbar_sideways(tab: Tab, lake: Lake) -> None:
    lake.rows[0]["message"] = "x" * 5000
    show(tab, lake, "?columns=log.level,host,path,trace_id,kubernetes.pod.name,fields.env,message")
    click(tab, ".entry button")
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    click(tab, ".panel button", "Lines before and after")
    tab.await_true("document.querySelector('.context tbody')")
    for width in (1280, 820, 390):
        tab.resize(width, 800, is_phone=width < 500)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert texts(tab, ".entry i")[0] == " … 3,000 more characters: open"


@browser_only
def test_bars_of_days_have_days_below_them_and_levels_their_colours(tab: Tab, lake: Lake) -> None:
    lake.rows.append(line(1, lake.now - 6 * 86_400, "old", "info"))
    show(tab, lake, "?since=all&by=log.level")
    tab.await_true("document.querySelector('#histogram .fill')")
    times = texts(tab, "#histogram .label.time")
    assert len(times) >= 5
    assert all(re.fullmatch(r"\d+ [A-Z][a-z]{2,3}", text) for text in times)
    colours = "[...document.querySelectorAll('#histogram .fill')].map(one => getComputedStyle(one).fill)"
    failing = tab.evaluate("getComputedStyle(document.querySelector('.entry[data-state=failing] .level')).color")
    error, warn, info = tab.evaluate(colours)
    assert error == failing
    assert len({error, warn, info}) == 3
    lake.rows = [line(1, lake.now - 9, level, level) for level in ("DEBUG", "INFO", "INFO", "WARN", "FATAL", "ERROR")]
    show(tab, lake, "?since=all&by=log.level")
    tab.await_true("document.querySelectorAll('#histogram .fill').length === 5")
    names = [text.split()[0] for text in texts(tab, "#histogram .legend li")]
    assert names == ["FATAL", "ERROR", "WARN", "INFO", "DEBUG"]
    drawn = tab.evaluate(colours)
    assert drawn[1:4] == [error, warn, info]
    assert len(set(drawn)) == 5


@browser_only
def test_tables_have_names_and_the_dead_letters_a_link(lines: Tab, lake: Lake) -> None:
    assert texts(lines, "#table option") == [
        "Lines",
        "Dead letters (unreadable records)",
        "View errors_by_minute",
    ]
    assert lines.evaluate("document.querySelector('#table').title") == "/srv/lake/lines"
    click(lines, "#dead", "7 dead letters")
    lines.await_true(f"document.title.startsWith('All: Dead letters') && {FOUND}")
    assert address(lines) == {"table": "dead_letters", "since": "all"}
    assert not lines.evaluate("document.querySelector('#dead').checkVisibility()")


@browser_only
def test_a_token_is_asked_for_kept_for_the_session_and_taken_out_of_the_address(tab: Tab, lake: Lake) -> None:
    lake.token = "secret"
    tab.open(lake.url)
    tab.await_true("document.querySelector('#token-form').checkVisibility()")
    tab.evaluate("document.querySelector('#token').value = 'secret'")
    click(tab, "#token-form button")
    tab.await_true(FOUND)
    assert not tab.evaluate("document.querySelector('#token-form').checkVisibility()")
    tab.evaluate("sessionStorage.clear()")
    show(tab, lake, "?q=slow#token=secret")
    assert tab.evaluate("location.href") == f"{lake.url}?q=slow"


@browser_only
def test_what_is_found_is_saved_as_a_file(lines: Tab, lake: Lake, tmp_path: Path) -> None:
    search(lines, "timeout")
    lines.await_true(f"{SHOWN} === 65 && {FOUND}")
    lines.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    click(lines, "#ndjson")
    assert texts(lines, "#download") == ["Download 65 lines as"]
    lines.await_true(f"{STATUS} === 'Downloaded: 65 lines as lines.ndjson'")
    assert lake.queries("download") == [{"table": "lines", "q": "timeout", "since": "15m", "format": "ndjson"}]
    saved = tmp_path / "lines.ndjson"
    await_true(saved.exists, "the file is saved", 10)
    assert len(saved.read_text().splitlines()) == 65
    assert lines.complaints() == []


@browser_only
def test_limits_are_stated(lines: Tab, lake: Lake) -> None:
    assert texts(lines, "#download") == ["Download 1,000 of 2,400 lines as"]
    for number in (400, 800, 1600):
        click(lines, "#offers button", f"{number:,}")
        lines.await_true(f"{SHOWN} === {number} && {FOUND}")
    assert texts(lines, "#offers")[0].replace("\xa0", " ").startswith("The maximum is 1,600 lines.")


@browser_only
def test_what_finds_nothing_offers_more(tab: Tab, lake: Lake) -> None:
    show(tab, lake, "?q=nothing&since=15m")
    assert texts(tab, "#status")[0].startswith("No line matches in the last 15 min.")
    click(tab, "#offers button", "Search the last 1 hour")
    tab.await_true(f"location.search.includes('since=1h') && {FOUND}")
    click(tab, "#offers button", "Search without the words")
    tab.await_true(f"{SHOWN} === 200")


@browser_only
def test_a_table_without_new_lines_is_shown_where_it_has_some(tab: Tab, lake: Lake) -> None:
    lake.newest = lake.now - 40 * 86_400
    show(tab, lake)
    assert texts(tab, "#status")[0].startswith("No line matches in the day before the newest line (from")
    assert len(lake.queries("rows")[0]["since"]) == len("2026-10-18T09:27:10.000Z")


@browser_only
def test_an_error_is_shown_in_the_words_of_the_server(lines: Tab, lake: Lake) -> None:
    search(lines, "slow")
    lines.await_true("document.querySelector('#sql').textContent.includes('slow')")
    lake.problem = (400, "the SQL condition 'statu' is wrong: no column statu")
    search(lines, "other")
    lines.await_true("document.querySelector('#problem').textContent.startsWith('SQL condition: \\'statu\\' is wrong')")
    assert texts(lines, "[aria-invalid]") == [""]
    assert lines.evaluate(SHOWN) == 0
    assert texts(lines, "#sql") + texts(lines, "#status") == ["", ""]
    assert not lines.evaluate("document.querySelector('#ndjson').checkVisibility()")
    lake.problem = None
    lake.breaks = True
    search(lines, "timeout")
    lines.await_true("document.querySelector('#problem').textContent.startsWith('The connection broke')")
    lake.breaks = False
    click(lines, "#problem button", "Try again")
    lines.await_true(f"{SHOWN} === 65 && {FOUND}")
    assert texts(lines, "#problem") == [""]


@browser_only
def test_a_long_message_is_clipped_until_it_is_opened(tab: Tab, lake: Lake) -> None:
    lake.rows[0]["message"] = "\n".join(f"at frame {number}" for number in range(498))
    lake.rows[0] |= {"topic": "logs", "kafka_offset": 7}
    show(tab, lake)
    assert texts(tab, ".entry .message")[0].endswith("at frame 7 … 490 more lines: open")
    click(tab, ".entry button")
    assert texts(tab, ".panel pre")[0].endswith("at frame 497")
    assert texts(tab, ".fields th")[-2:] == ["topic", "kafka_offset"], "what the record has comes first"


@browser_only
def test_lines_around_a_moment_are_those_of_all_hosts(lines: Tab, lake: Lake) -> None:
    search(lines, "slow")
    lines.await_true(f"{SHOWN} === 200 && {FOUND}")
    click(lines, ".entry button")
    click(lines, ".panel button", "All hosts, 10 s around")
    lines.await_true(f"{SHOWN} > 20 && {SHOWN} < 80 && {FOUND}")
    assert address(lines).keys() == {"since", "until"}
    moment = datetime.fromisoformat(next(row["ts"] for row in lake.rows if "slow" in row["message"]))
    since, until = (datetime.fromisoformat(address(lines)[name]) for name in ("since", "until"))
    assert abs((moment - since).total_seconds() - 10) < 0.01
    assert abs((until - moment).total_seconds() - 10) < 0.01


@browser_only
def test_an_error_of_the_context_is_shown_where_it_was_asked_for(lines: Tab, lake: Lake) -> None:
    lake.context_error = "the file is gone"
    click(lines, ".entry button")
    click(lines, ".panel button", "Lines before and after")
    lines.await_true("document.querySelector('.context')?.textContent.includes('before and after: the file is gone')")


@browser_only
def test_a_field_becomes_a_column_and_many_values_are_about_right(lines: Tab, lake: Lake) -> None:
    lake.is_exact = False
    click(lines, ".field > button", "add column: path")
    assert f"path{REMOVE}" in texts(lines, ".head > span")
    click(lines, ".facet summary", "host")
    lines.await_true("document.querySelector('.facet li')")
    assert texts(lines, ".facet[open] .note") == ["and others: about 5 lines"]
    assert lines.evaluate("document.querySelector('.facet li data').title") == "about 800 lines"
    click(lines, ".field > button", "remove column: path")
    assert f"path{REMOVE}" not in texts(lines, ".head > span")


@browser_only
def test_times_are_of_the_browsers_zone_and_a_wrong_one_is_named_with_its_box(tab: Tab, lake: Lake) -> None:
    tab.call("Emulation.setTimezoneOverride", timezoneId="Etc/GMT-5")  # five hours before UTC
    show(tab, lake)
    assert texts(tab, ".head > span")[0] == "Time (UTC+5)"
    click(tab, ".entry button")
    shown, exact = tab.evaluate("(cell => [cell.textContent, cell.title])(document.querySelector('.fields td[title]'))")
    assert re.fullmatch(r"(\d+ \w+ )?\d\d:\d\d:\d\d\.\d{3} \(UTC\+5\)", shown)
    assert exact == lake.rows[0]["ts"]
    here = datetime.now(timezone(timedelta(hours=5)))

    def asked(since: str, until: str = "") -> dict[str, str]:
        for box, text in (("since", since), ("until", until)):
            tab.evaluate(f"document.querySelector('#{box}').value = {text!r}")
        click(tab, ".primary")
        tab.await_true(f"{FOUND} || document.querySelector('#problem').textContent")
        return lake.queries("rows")[-1]

    def utc(minute: int = 0) -> str:
        moment = here.replace(hour=0, minute=minute, second=0, microsecond=0)
        return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    assert asked("0:15")["since"] == utc(minute=15)
    assert asked("today")["since"] == utc()
    assert asked("36h")["since"] == "36h"
    assert asked("2026-02-03 04:05", "2026-02-03T04:05:06+00:00") == {
        "table": "lines",
        "since": "2026-02-02T23:05:00.000Z",
        "until": "2026-02-03T04:05:06+00:00",
        "limit": "200",
    }
    number = len(lake.asked)
    for since, until, sentence in (
        ("25:99", "", "From: 25:99 is not a time. Write how long ago (15m"),
        ("2026-02-30", "", "From: 2026-02-30 is not a time."),
        ("", "soon", "Until: soon is not a time."),
        ("2026-02-03", "2026-02-02", "From: this is later than Until."),
    ):
        asked(since, until)
        assert texts(tab, "#problem")[0].startswith(sentence)
        assert not tab.evaluate("document.querySelector('#main').checkVisibility()")
    assert len(lake.asked) == number, "the page knows it"
    assert address(tab)["since"] == "2026-02-02T19:00:00.000Z"


@browser_only
def test_a_view_without_times_shows_its_columns(lines: Tab) -> None:
    lines.evaluate("document.querySelector('#table').value = 'errors'")
    lines.evaluate("document.querySelector('#table').dispatchEvent(new Event('change'))")
    lines.await_true(f"{SHOWN} === 20")
    assert texts(lines, ".head > span") == [f"{name}{REMOVE}" for name in ("minute", "host", "errors")]
    assert not lines.evaluate("document.querySelector('#range').checkVisibility()")
    assert lines.complaints() == []
