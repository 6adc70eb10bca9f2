"""A real agent, whose destination fails and recovers, in a real browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from demo.ports import free_ports
from tests.browser.devtools import Json, Tab
from tests.browser.reading import FIGURES, ROWS, number
from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true

pytestmark = pytest.mark.slow("a browser")

TIMES = {"Oldest unacknowledged"}  # they go on while they are compared


class SeenAgent(LocalAgent):
    """An agent that serves its page."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}/"
        self.settings = {"http.enabled": True, "http.port": port}

    def status(self) -> Json:
        with urlopen(f"{self.url}status", timeout=10) as answer:
            document: Json = json.load(answer)
        return document


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[SeenAgent]:
    agent = SeenAgent(tmp_path)
    agent.configure([f"{agent.logs}/*.log"])
    yield agent
    agent.end()


def test_the_page_of_a_running_agent_has_the_values_of_its_status(tab: Tab, agent: SeenAgent) -> None:
    log = agent.logs / "<img src=x>.log"
    log.write_text("".join(f"line {number}\n" for number in range(5000)))
    agent.start()
    await_true(lambda: len(agent.events) == 5000, "all lines have arrived", 30)
    tab.open(agent.url)
    tab.await_true("document.querySelector('#state').textContent === 'OK'", 30)
    tab.await_true("document.querySelector('#figures data').value === '5000'", 30)
    document, values = agent.status(), tab.evaluate(FIGURES)
    assert document["figures"][0]["value"] == 5000
    for figure in document["figures"]:
        if figure["label"] not in TIMES:
            assert number(values[figure["label"]][0]) == figure["value"], figure
    for drawn, given in zip(tab.evaluate(ROWS), document["tables"], strict=True):
        assert drawn["columns"] == [column["label"] for column in given["columns"]]
        assert len(drawn["rows"]) == len(given["rows"])
    assert tab.evaluate("document.querySelector('#configuration-text').textContent") == document["configuration"]
    assert tab.complaints() == []


def test_an_agent_that_ends_is_reported_and_its_last_values_stay(tab: Tab, agent: SeenAgent) -> None:
    (agent.logs / "a.log").write_text("one\n")
    agent.start()
    await_true(lambda: len(agent.events) == 1, "the line has arrived", 30)
    tab.open(agent.url)
    tab.await_true("document.querySelector('#figures data')?.value === '1'", 30)
    assert agent.stop() == 0
    tab.await_true("document.querySelector('#connection').textContent.startsWith('Cannot reach the shipper since')", 30)
    assert tab.evaluate("document.querySelector('#figures data').value") == "1"
