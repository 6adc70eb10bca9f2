"""Why order A-1007 failed, found on the page, in what the sink's own batches have landed. Two hosts log the orders."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.browser.devtools import Tab
from tests.browser.shop import land_orders, search_page
from tests.browser.test_search_page import FOUND, click, search, texts
from tests.unit.spark_sink.landing.landing_lab import LandingLab


@pytest.fixture
def lab(tmp_path: Path) -> LandingLab:
    return land_orders(tmp_path, datetime.now(UTC) - timedelta(seconds=90))


@pytest.fixture
def url(lab: LandingLab) -> Iterator[str]:
    with search_page(lab) as url:
        yield url


def test_a_failed_order_is_traced_to_the_other_host(tab: Tab, url: str) -> None:
    tab.open(url)
    tab.await_true(FOUND)
    search(tab, "level:ERROR")
    tab.await_true("document.querySelectorAll('.entry').length === 2")
    click(tab, ".entry button")  # the newest one
    trace = texts(tab, ".panel pre")[0]
    assert "shop.PaymentFailed: 503 Service Unavailable\n    at shop.PaymentClient.charge" in trace
    search(tab, "A-1007")
    tab.await_true("document.querySelectorAll('.entry').length === 5")
    lines = texts(tab, ".entry")
    assert any("payments-2" in line and "50 of 50 connections are in use" in line for line in lines)
    assert any("checkout-1" in line for line in lines)
    assert tab.complaints() == []


def test_dead_letters_are_shown_as_text(tab: Tab, url: str) -> None:
    tab.open(f"{url}?table=dead_letters&since=all")
    tab.await_true("document.querySelectorAll('.entry').length === 1")
    assert "<script>alert(1)</script>" in texts(tab, ".entry")[0]
    assert tab.complaints() == []


def test_a_reader_gives_the_token_once(tab: Tab, lab: LandingLab) -> None:
    with search_page(lab, "0123456789abcdef") as url:
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"{url}tables")
        given = Request(f"{url}tables", headers={"Authorization": "Bearer 0123456789abcdef"})
        with urlopen(given) as answer:
            assert [table["rows"] for table in json.load(answer)["tables"]] == [241, 1]
        tab.open(f"{url}#token=0123456789abcdef")
        tab.await_true("document.querySelectorAll('.entry').length > 50")
        assert "token" not in tab.evaluate("location.href")
