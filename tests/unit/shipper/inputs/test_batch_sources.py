"""Feeds beside the files: what starts, changes and ends them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Messages
from log_shipper.shipper.inputs.base import SourceStatus
from log_shipper.shipper.inputs.batch_sources import HANDOVER_RETRY, RECEIVE_SECONDS, RETRY_AFTER, BatchSources
from log_shipper.shipper.inputs.factory import FeedEntries
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.observation import Observation
from log_shipper.shipper.options.feeds import FeedConfig
from tests.builders import AGENT
from tests.fakes import ManualClock
from tests.memory_registry import memory_store

NOTHING = SourceStatus(0, 0, 0, 0, 0, 0, True, {})


class Counting(FeedConfig):
    """Gives texts that the test passes to it."""

    @property
    def reads(self) -> tuple[str, ...]:
        return ("numbers",)


def counting(name: str, **options: object) -> FeedInput:
    config = replace(Counting(type="counting", id=name), **options)  # type: ignore[arg-type] # whatever a test gives
    return FeedInput(config, AGENT, {}, 1000, ManualClock(), lambda state: None)


@dataclass
class CountingFeed:
    feed_input: FeedInput
    texts: list[str] = field(default_factory=list)
    given: list[Batch] = field(default_factory=list)
    unresolved: int = 0
    stopped: bool = False

    @property
    def finished(self) -> bool:
        return self.stopped and not self.unresolved

    def step(self) -> None: ...

    def read(self, budget: int) -> Iterator[Batch]:
        assert not self.stopped
        while self.texts:
            messages = Messages(0, 1, [self.texts.pop(0)], [0], [1])
            self.unresolved += 1
            yield Batch(self.feed_input.source("f", "numbers"), messages, 0.0, self._resolve)

    def _resolve(self) -> None:
        self.unresolved -= 1

    def next_wake(self, *, reading: bool) -> float:
        return 0.0 if self.texts and reading else 60.0

    def status(self) -> SourceStatus:
        return replace(NOTHING, files_open=1, bytes_behind=self.unresolved, problems={self.feed_input.id: "slow"})

    def stop(self) -> None:
        self.stopped = True


class NoFiles(CountingFeed):
    """The crawler, of which there is nothing to see."""

    def __init__(self) -> None:
        super().__init__(counting("files"))

    @property
    def finished(self) -> bool:
        return True

    def status(self) -> SourceStatus:
        return NOTHING

    def observe(self) -> Observation:
        return Observation()

    def read_to_end(self, seconds: float) -> bool:
        return True


class Making:
    """Makes feeds, unless their id is in `refused`."""

    def __init__(self) -> None:
        self.made: list[CountingFeed] = []
        self.kind = CountingFeed
        self.refused: set[str] = set()
        self.clock = ManualClock()

    def __call__(self, feed_input: FeedInput) -> CountingFeed:
        if feed_input.id in self.refused:
            raise StartError(f"input {feed_input.id!r}: port 514 is in use")
        self.made.append(self.kind(feed_input))
        return self.made[-1]

    def feeds(self, *inputs: FeedInput) -> BatchSources:
        return BatchSources(NoFiles(), inputs, self.maker, self.clock)

    def maker(self) -> Callable[[FeedInput], CountingFeed]:
        return self


@pytest.fixture
def making() -> Making:
    return Making()


def read(sources: BatchSources) -> list[Batch]:
    return [batch for source in sources.in_turn() for batch in source.read(1000)]


def texts(sources: BatchSources) -> list[str]:
    return [text for batch in read(sources) for text in batch.messages.texts]


def test_all_feeds_are_read_and_the_first_turn_is_another_ones_each_time(making: Making) -> None:
    feeds = making.feeds(counting("a"), counting("b"))
    first = set()
    for _ in range(3):
        for feed in making.made:
            feed.texts = [f"{feed.feed_input.id}1"]
        got = texts(feeds)
        assert sorted(got) == ["a1", "b1"]
        first.add(got[0])
    assert first == {"a1", "b1"}


def test_without_a_feed_nothing_of_them_is_made() -> None:
    def never() -> Callable[[FeedInput], CountingFeed]:
        raise AssertionError("asked for a maker")

    feeds = BatchSources(NoFiles(), [], never, ManualClock())
    feeds.step()
    assert feeds.finished


def test_the_loop_sleeps_as_long_as_the_most_urgent_allows(making: Making) -> None:
    feeds = making.feeds(counting("a"), counting("b"))
    assert feeds.next_wake(reading=True) == 60.0
    making.made[1].texts = ["one"]
    assert (feeds.next_wake(reading=True), feeds.next_wake(reading=False)) == (0.0, 60.0)


def test_a_feed_that_cannot_start_ends_the_start_and_those_before_it(making: Making) -> None:
    making.refused = {"b"}
    with pytest.raises(StartError, match="port 514 is in use"):
        making.feeds(counting("a"), counting("b"))
    assert [feed.stopped for feed in making.made] == [True]


def test_a_reload_leaves_alone_what_has_not_changed_and_the_successor_waits_for_the_last_batches(
    making: Making,
) -> None:
    same, changed = counting("a"), counting("b")
    feeds = making.feeds(same, changed)
    making.made[1].texts = ["old"]
    (batch,) = read(feeds)
    feeds.replace_feeds([same, counting("b", tags=("new",))])
    feeds.step()
    assert [feed.stopped for feed in making.made] == [False, True]
    assert not feeds.finished
    batch.resolve()
    feeds.step()
    assert [feed.feed_input.config.tags for feed in making.made] == [(), (), ("new",)]
    making.made[2].texts = ["new"]
    assert texts(feeds) == ["new"]


@dataclass
class ReceivingFeed(CountingFeed):
    """Gives out what it has received before it may be stopped."""

    drained: list[float] = field(default_factory=list)

    def drain(self, seconds: float) -> bool:
        assert not self.stopped
        self.drained.append(seconds)
        return not self.texts


def test_a_feed_that_a_reload_ends_first_gives_what_it_has_received(making: Making) -> None:
    making.kind = ReceivingFeed
    feeds = making.feeds(counting("a"))
    making.made[0].texts = ["received", "before"]
    feeds.replace_feeds([counting("a", tags=("new",))])
    feeds.step()
    assert not making.made[0].stopped
    batches = read(feeds)
    assert [batch.messages.texts for batch in batches] == [["received"], ["before"]]
    feeds.step()
    assert (making.made[0].stopped, len(making.made)) == (True, 1)
    for batch in batches:
        batch.resolve()
    feeds.step()
    assert len(making.made) == 2


def test_a_feed_that_a_reload_ends_has_time_to_receive_and_gives_all_however_long_that_takes(making: Making) -> None:
    making.kind = ReceivingFeed
    feeds = making.feeds(counting("a"))
    made = making.made[0]
    assert isinstance(made, ReceivingFeed)
    made.texts = ["the output", "takes nothing"]
    feeds.replace_feeds([])
    making.clock.advance(RECEIVE_SECONDS * 100)
    feeds.step()
    assert (made.stopped, made.drained) == (False, [RECEIVE_SECONDS, 0.0])
    assert texts(feeds) == ["the output", "takes nothing"]
    feeds.step()
    assert made.stopped


def test_an_input_with_another_id_waits_until_its_predecessor_has_given_up_its_port(
    making: Making, caplog: pytest.LogCaptureFixture
) -> None:
    making.kind = ReceivingFeed
    feeds = making.feeds(counting("a"))
    making.made[0].texts = ["received"]
    making.refused = {"b"}
    feeds.replace_feeds([counting("b")])
    feeds.step()
    assert feeds.next_wake(reading=False) == pytest.approx(HANDOVER_RETRY)
    making.refused = set()
    making.clock.advance(HANDOVER_RETRY)
    feeds.step()
    assert [made.feed_input.id for made in making.made] == ["a", "b"]
    assert caplog.records == []


def test_a_port_that_is_in_use_for_longer_is_a_problem_also_while_another_input_ends(
    making: Making, caplog: pytest.LogCaptureFixture
) -> None:
    making.kind = ReceivingFeed
    feeds = making.feeds(counting("a"))
    making.made[0].texts = ["received"]
    making.refused = {"b"}
    feeds.replace_feeds([counting("b")])
    for _ in range(2):
        feeds.step()
        making.clock.advance(RECEIVE_SECONDS)
    assert [record.message for record in caplog.records] == ["input 'b': port 514 is in use; retrying every 10 s"]


def test_a_stop_of_the_agent_stops_also_what_a_reload_is_ending(making: Making) -> None:
    making.kind = ReceivingFeed
    feeds = making.feeds(counting("a"))
    making.made[0].texts = ["one"]
    feeds.replace_feeds([counting("a", tags=("new",))])
    feeds.stop()
    assert making.made[0].stopped


def test_a_feed_that_is_removed_ends_and_one_that_comes_back_at_once_begins_again(making: Making) -> None:
    first = counting("a")
    feeds = making.feeds(first)
    feeds.replace_feeds([])
    feeds.step()
    assert making.made[0].stopped
    assert feeds.finished
    assert feeds.observe().open_of_input == {}
    feeds.replace_feeds([first])
    feeds.step()
    assert [feed.stopped for feed in making.made] == [True, False]


def test_a_feed_that_cannot_start_at_a_reload_is_a_problem_until_it_can(
    making: Making, caplog: pytest.LogCaptureFixture
) -> None:
    feeds = making.feeds()
    making.refused = {"b"}
    feeds.replace_feeds([counting("b")])
    for _ in range(3):
        feeds.step()
        making.clock.advance(RETRY_AFTER)
    problem = "input 'b': port 514 is in use"
    assert feeds.status().problems == feeds.observe().problems == {"b": problem}
    assert [record.message for record in caplog.records] == [f"{problem}; retrying every 10 s"]
    making.refused = set()
    feeds.step()
    assert feeds.status().problems == {"b": "slow"}


def test_what_is_behind_is_seen_by_input(making: Making) -> None:
    feeds = making.feeds(counting("a"), counting("b"))
    making.made[0].texts = ["one", "two"]
    read(feeds)
    observation = feeds.observe()
    assert (observation.behind_of_feed, observation.open_of_input) == ({"a": 2, "b": 0}, {"a": 1, "b": 1})
    assert feeds.status().bytes_behind == 2


class Holding(CountingFeed):
    """Has received more than it gave."""

    def read_to_end(self, seconds: float) -> bool:
        return not self.texts


def test_a_stop_reads_what_feeds_have_received(making: Making) -> None:
    feeds = making.feeds(counting("a"))
    feeds._running["a"].feed = holding = Holding(counting("a"), ["received"])
    assert not feeds.read_to_end(5.0)
    assert texts(feeds) == ["received"]
    assert feeds.read_to_end(5.0)
    feeds.stop()
    assert holding.stopped


def test_events_of_a_feed_have_the_members_of_its_input_and_no_inode() -> None:
    source = counting("a", tags=("x",)).source("f1", "udp 0.0.0.0:514", {"journald": {"host": "h"}, "input": {"n": 1}})
    members = source.constants.members
    assert members["log"] == {"file": {"path": "udp 0.0.0.0:514", "id": "f1"}}
    assert members["input"] == {"type": "counting", "id": "a", "n": 1}
    assert (members["journald"], members["host"]) == ({"host": "h"}, {"name": AGENT.host})
    assert (source.input_type, source.repeatable) == ("counting", True)


def test_a_successor_resumes_at_the_entry_that_was_noted_last() -> None:
    loaded = FileState("e", "journal", 0, 0, input="a", kind="journald", cursor="one")
    store = memory_store(loaded, FileState("f", "/logs/x", 1, 2, input="a"))
    entries = FeedEntries(Registrar(store))
    assert entries.entries_of("a") == [loaded]
    entries.save(replace(loaded, cursor="two"))
    assert [state.cursor for state in entries.entries_of("a")] == ["two"]
    assert entries.entries_of("b") == []
