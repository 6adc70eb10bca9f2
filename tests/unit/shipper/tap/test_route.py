"""`/tap`, as the server calls it."""

import json
from collections.abc import Callable
from random import Random

import pytest

from log_shipper.runtime.monitor.server import Request, Response
from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.base import Sample
from log_shipper.shipper.tap.route import MAX_LISTED, TapResponse, TapSources, sources_route, tap_route
from log_shipper.shipper.tap.tap import MAX_TAPS, Tap
from tests.builders import batch
from tests.fakes import ManualClock


class Published:
    observer: Callable[[Batch], None] | None = None


def records(batch: Batch) -> list[Sample]:
    return [Sample("/var/log/\udcff.log", "t", "k", [("h", "1")], text) for text in batch.messages.texts]


class TapRouteLab:
    def __init__(self, clock: ManualClock) -> None:
        self.published = Published()
        self.tap = Tap(self.published, lambda: records, clock, Random(1))
        self.route = tap_route(self.tap, clock)

    def ask(self, query: dict[str, str] | None = None) -> Response:
        return self.route(Request("/tap", query or {}, ""))

    def lines(self, **query: str) -> TapResponse:
        body = self.ask(query).body
        assert isinstance(body, TapResponse)
        return body

    def send(self, *texts: str) -> None:
        assert self.published.observer is not None
        self.published.observer(batch(texts))


def text_of(response: Response) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()


@pytest.fixture
def lab(clock: ManualClock) -> TapRouteLab:
    return TapRouteLab(clock)


def test_the_counts_come_first_then_events_then_nothing_until_there_are_more(lab: TapRouteLab) -> None:
    lines = lab.lines()
    assert json.loads(next(lines)) == {"counts": {"matching": 0, "others": 0, "dropped": 0}}
    lab.send("a")
    assert json.loads(next(lines)) == {
        "path": "/var/log/\udcff.log",
        "topic": "t",
        "key": "k",
        "headers": [["h", "1"]],
        "value": "a",
    }
    assert next(lines) == b""


def test_the_counts_come_each_second(lab: TapRouteLab, clock: ManualClock) -> None:
    lines = lab.lines()
    next(lines)
    lab.send("a", "b")
    clock.advance(1)
    assert json.loads(next(lines))["counts"]["matching"] == 2


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"rate": "0"}, "rate must be a number"),
        ({"rate": "101"}, "up to 100"),
        ({"rate": "nan"}, "rate must be"),
        ({"rate": "x"}, "rate must be"),
        ({"targets": "app"}, "targets must be a JSON list"),
        ({"targets": "[1]"}, "targets must be a JSON list"),
        ({"targets": json.dumps(["a"] * 1001)}, "a quoted glob counts as one"),
    ],
)
def test_a_wrong_query_is_refused_in_words(query: dict[str, str], problem: str, lab: TapRouteLab) -> None:
    response = lab.ask(query)
    assert response.status == 400
    assert problem in text_of(response)


def test_targets_choose_the_events(lab: TapRouteLab) -> None:
    lines = lab.lines(targets='["audit"]')
    next(lines)
    lab.send("a")
    assert next(lines) == b""


def test_a_stream_that_is_closed_before_it_was_read_ends_its_tap(lab: TapRouteLab) -> None:
    streams = [lab.lines() for _ in range(MAX_TAPS)]
    assert lab.ask().status == 503
    for stream in streams:
        stream.close()
    assert lab.published.observer is None


def test_a_stream_ends_when_the_agent_does(lab: TapRouteLab) -> None:
    lines = lab.lines()
    lab.tap.close()
    assert list(lines) == []
    assert lab.ask().status == 503


def test_what_exists_of_the_wanted_is_answered() -> None:
    paths = [f"/var/log/{number}.log" for number in range(MAX_LISTED + 2)]
    route = sources_route(lambda: TapSources({"app": ["/srv/*/log/*.log"], "stdin": []}, paths))
    targets = ["app", "/cwd/app", "ap", "/var/log/3.log", "/var/*/4.log", "/var/log/*.txt", "/var/log/["]
    targets += ["/srv/*/log/*.log", "/srv/a/log/quiet.log", "/srv/a/quiet.log"]
    answer = json.loads(text_of(route(Request("/tap/sources", {"targets": json.dumps(targets)}, ""))))
    assert answer == {
        "inputs": {"count": 2, "some": ["app", "stdin"]},
        "files": {"count": MAX_LISTED + 2, "some": paths[:MAX_LISTED]},
        "unknown": ["/cwd/app", "ap", "/var/log/*.txt", "/var/log/[", "/srv/a/quiet.log"],
    }
    assert route(Request("/tap/sources", {"targets": "app"}, "")).status == 400
