"""Batches that wait for metadata before their first processor; those that wait for look-ups are in tests/model."""

import weakref
from collections.abc import Sequence

import pytest

from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.pipeline.processing import NEVER, Processing
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.processor.base import Awaiting, Processor
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.metadata.lookups import LookupResult
from log_shipper.shipper.processor.services import Services
from log_shipper.shipper.processor.waiting import AsyncStep, WaitingChain
from log_shipper.shipper.processors.dns import DnsConfig
from tests.builders import batch, source
from tests.fakes import ManualClock
from tests.metadata_lab import MetadataLab
from tests.name_servers import FakeNames


class Metadata:
    """A processor that batches wait for, for as long as the test sets."""

    def __init__(self) -> None:
        self.until = 0.0
        self.answer = "missing"

    def waits_until(self, batch: Batch) -> float:
        return self.until

    def run(self, events: Events, indices: Sequence[int]) -> None:
        for index in indices:
            events.put(index, ("answer",), self.answer)


class Agent:
    """Files with one chain, and one without; what leaves is in the queue."""

    def __init__(self, *more: AsyncStep, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.metadata = Metadata()
        self.queue = MemoryQueue(1000, 10**6)
        self.processing = Processing(self.queue)
        steps: list[Processor | AsyncStep] = [self.metadata, *more]
        self.metrics = Metrics()
        self.chain = WaitingChain(steps, self.metrics, self.clock, awaiting=[self.metadata])
        self.sources: dict[str, Source] = {}

    def read(self, *texts: str, file_id: str = "f1", processed: bool = True) -> None:
        if file_id not in self.sources:
            self.sources[file_id] = source(file_id)
            object.__setattr__(self.sources[file_id], "process", self.chain if processed else None)
        read = batch(texts, file_id)
        read.source = self.sources[file_id]
        self.processing.put(read)

    def sent(self) -> list[tuple[str, str | None]]:
        """Return what has left since the last call: the message and the metadata of each event."""
        self.processing.step()
        batches = list(iter(self.queue.get, None))
        return [(text, (one.messages.docs or [{}])[0].get("answer")) for one in batches for text in one.messages.texts]


def test_what_need_not_wait_leaves_at_once() -> None:
    agent = Agent()
    agent.read("a")
    assert agent.processing.empty
    assert agent.sent() == [("a", "missing")]
    agent.metadata.until = agent.clock.monotonic()
    agent.read("b")
    assert agent.processing.empty, "its time is over"


def test_events_wait_for_metadata_in_order_and_others_do_not() -> None:
    agent = Agent()
    agent.metadata.until = agent.clock.monotonic() + 3
    agent.read("a")
    agent.read("b")
    agent.read("other", file_id="f2")
    agent.read("unprocessed", file_id="f3", processed=False)
    assert agent.sent() == [("unprocessed", None)]
    assert agent.processing.next_step == agent.metadata.until
    agent.metadata.until, agent.metadata.answer = 0.0, "here"
    agent.read("c")
    assert [text for text, _ in agent.sent() if text != "other"] == ["a", "b", "c"], "c has not overtaken them"
    assert agent.processing.empty
    assert agent.metrics.metadata_timeouts == 0


def test_they_wait_no_longer_than_that() -> None:
    agent = Agent()
    agent.metadata.until = agent.clock.monotonic() + 3
    agent.read("a")
    agent.clock.advance(2.9)
    assert agent.sent() == []
    agent.clock.advance(0.1)
    assert agent.sent() == [("a", "missing")]
    assert agent.processing.next_step == NEVER
    agent.read("b")
    assert agent.metrics.metadata_timeouts == 1, "b has not waited"


def test_a_time_that_is_put_off_is_waited_for() -> None:
    agent = Agent()
    agent.metadata.until = agent.clock.monotonic() + 1
    agent.read("a")
    agent.clock.advance(1)
    agent.metadata.until += 1
    assert agent.sent() == []
    agent.clock.advance(1)
    assert agent.sent() == [("a", "missing")]


@pytest.mark.parametrize("waited", [True, False])
def test_what_waited_is_not_taken_apart_at_a_look_up_of_free_order(waited: bool) -> None:
    lab, names = MetadataLab(), FakeNames({"web": LookupResult(("1.2.3.4",), 60)})
    config = DnsConfig(kind="A", fields={"message": "ip"}, order="free")
    agent = Agent(AsyncStep(names.step(config, lab.context), None), clock=lab.clock)
    agent.read("web")
    names.answer()
    assert [text for text, _ in agent.sent()] == ["web"]
    agent.metadata.until = agent.clock.monotonic() + 1 if waited else 0.0
    agent.read("web", "mail")
    agent.metadata.until = 0.0
    # Otherwise the first one, whose answer is cached, continues at once.
    assert [text for text, _ in agent.sent()] == ([] if waited else ["web"])
    names.answer()
    assert [text for text, _ in agent.sent()] == (["web", "mail"] if waited else ["mail"])
    assert agent.processing.empty


def test_a_processor_says_that_it_is_waited_for_by_a_method() -> None:
    assert isinstance(Metadata(), Awaiting)
    assert not isinstance(FakeNames(), Awaiting)


class Service:
    pass


def test_processors_of_the_same_options_share_a_service_as_long_as_one_has_it() -> None:
    services, made = Services(), []

    def make() -> Service:
        made.append("made")
        return Service()

    first, second = (services.shared(("docker", "unix:///d.sock"), make) for _ in range(2))
    assert first is second
    assert services.shared(("docker", "tcp://h:2375"), make) is not first
    assert len(made) == 2
    del first, second
    services.shared(("docker", "unix:///d.sock"), make)
    assert len(made) == 3


def test_a_service_may_be_kept_as_long_as_the_agent() -> None:
    services = Services()
    kept = weakref.ref(services.shared(("cloud",), Service, keep=True))
    assert kept() is services.shared(("cloud",), Service)
    del services
    assert kept() is None
