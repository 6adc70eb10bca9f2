"""The sink's own server in a real browser: what the page shows is what /status has."""

import json
import logging
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from log_shipper.spark_sink.monitor.http import MonitorServer
from tests.browser.devtools import Tab
from tests.browser.landing import LandingSink
from tests.browser.reading import FIGURES, ROWS, equal, number

pytestmark = pytest.mark.slow("a browser")


@pytest.fixture
def server() -> Iterator[MonitorServer]:
    sink = LandingSink()
    sink.run()
    with MonitorServer(sink.monitored, "127.0.0.1", 0) as server:
        logging.getLogger("log_shipper.spark_sink.test").error(
            "the view slow_requests has stopped: %s", "<b>no columns</b>"
        )
        yield server


def test_the_sinks_page_has_the_values_of_its_status(tab: Tab, server: MonitorServer) -> None:
    url = f"http://127.0.0.1:{server.port}/"
    with urlopen(f"{url}status") as answer:
        document = json.load(answer)
    tab.open(url)
    tab.await_true("document.querySelector('#figures data')")
    figures = tab.evaluate(FIGURES)
    assert {label: number(texts[0]) for label, texts in figures.items()} == {
        figure["label"]: figure["value"] for figure in document["figures"]
    }
    for drawn, given in zip(tab.evaluate(ROWS), document["tables"], strict=True):
        assert len(drawn["rows"]) == len(given["rows"]) > 0, given["title"]
        for cells, row in zip(drawn["rows"], given["rows"], strict=True):
            kinds = [column["kind"] for column in given["columns"]]
            assert all(equal(*cell) for cell in zip(cells, row, kinds, strict=True)), (cells, row)
    assert tab.evaluate("document.querySelector('#state-text').textContent") == document["health"]["text"]
    assert tab.evaluate("document.querySelector('#configuration-text').textContent") == document["configuration"]
    assert tab.complaints() == []
