"""The page's files, and who gets the page. What it does in a browser is in tests/browser."""

import re

import pytest

from log_shipper.runtime.monitor.exchange import SECURITY_HEADERS
from log_shipper.runtime.monitor.page import FILES, FOLDER, PAGE, page, page_routes, wants_page
from log_shipper.runtime.monitor.server import Request

TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def request(accept: str = "", path: str = "/") -> Request:
    return Request(path, {}, accept)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [(FIREFOX, True), ("TEXT/HTML; q=1", True), ("*/*", False), ("application/json, */*", False), ("", False)],
)
def test_a_browser_gets_the_page_and_a_program_does_not(accept: str, expected: bool) -> None:
    assert wants_page(request(accept)) is expected


def test_the_page_is_html() -> None:
    answer = page()
    assert (answer.status, answer.content_type) == (200, "text/html; charset=utf-8")
    assert isinstance(answer.body, bytes)
    assert answer.body.startswith(b"<!doctype html>")


def test_every_file_of_the_page_is_served_with_its_type() -> None:
    assert {path.name for path in FOLDER.glob("*.*")} == {PAGE, *FILES, "__init__.py"}
    for path, handler in page_routes().items():
        answer = handler(request(path=path))
        assert (answer.status, answer.content_type) == (200, TYPES[path.rpartition(".")[2]])
        assert answer.body == (FOLDER / path.removeprefix("/")).read_bytes()


def test_the_page_loads_nothing_that_is_not_served() -> None:
    html = (FOLDER / PAGE).read_text()
    loaded = set(re.findall(r'(?:src|href)="([^"#]+)"', html))
    for script in FOLDER.glob("*.js"):
        loaded |= set(re.findall(r'from "\./([^"]+)"', script.read_text()))
    assert loaded - {"status", "metrics"} == set(FILES)


def test_nothing_on_the_page_needs_an_exception_from_the_policy() -> None:
    assert "unsafe" not in SECURITY_HEADERS["Content-Security-Policy"]
    html = (FOLDER / PAGE).read_text()
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", html) == []


def test_text_is_never_taken_for_markup() -> None:
    words = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
    assert [script.name for script in FOLDER.glob("*.js") if words.search(script.read_text())] == []
