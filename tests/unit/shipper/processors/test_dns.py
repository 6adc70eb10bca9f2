"""The dns processor in a chain: what it writes, what it asks, and how long events wait."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.dns import FailureCacheConfig, SuccessCacheConfig
from log_shipper.shipper.processor import conditions
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.metadata.lookups import LookupResult
from log_shipper.shipper.processor.waiting import AsyncStep, BatchPart, WaitingChain
from log_shipper.shipper.processors.dns import DnsConfig
from tests.builders import AGENT, batch
from tests.fakes import ManualClock
from tests.name_servers import FakeNames

WEB, DB = LookupResult(("web.example",), 300.0), LookupResult(("db.example",), 10.0)
NAMES = {"10.0.0.1": WEB, "10.0.0.2": DB}


class Upper:
    """A step behind dns, to see when it works."""

    def run(self, events: Events, at: Sequence[int]) -> None:
        for index in at:
            events.texts[index] = events.texts[index].upper()


class DropsB:
    def run(self, events: Events, at: Sequence[int]) -> None:
        for index in at:
            if events.texts[index] == "b":
                events.dropped.add(index)


class DnsLab:
    """One chain with one dns, its names and its clock."""

    def __init__(
        self, *, when: ConditionConfig | None = None, before: Sequence[Processor] = (), **options: Any
    ) -> None:
        self.names = FakeNames(dict(NAMES))
        self.clock = ManualClock()
        self.metrics = Metrics()
        context = ProcessorContext(AGENT, Path(), self.metrics, self.clock, Caches(self.clock), self.names.wake)
        config = DnsConfig(**{"kind": "PTR", "fields": {"ip": "name"}, "timeout": 0.5, **options})
        asking = AsyncStep(self.names.step(config, context, servers=2), conditions.build(when) if when else None)
        self.chain = WaitingChain([*before, asking, Upper()], self.metrics, self.clock)

    def take(self, *docs: Doc, made: Batch | None = None) -> list[BatchPart]:
        """Return the parts made of a batch of events with these members, named a, b, c ..."""
        self.batch = made or batch([chr(ord("a") + index) for index in range(len(docs))])
        self.batch.messages.docs = list(docs)
        return list(self.chain(self.batch) or ())

    def after(self, *docs: Doc) -> list[Doc]:
        """Return the events after the name servers have answered."""
        parts = self.take(*docs)
        self.names.answer()
        for part in parts:
            part.resume()
            assert part.done
        return self.batch.messages.documents()


@pytest.mark.parametrize(
    ("options", "doc", "expected"),
    [
        ({}, {"ip": "10.0.0.1"}, {"name": "web.example"}),
        ({}, {"ip": "10.0.0.1", "name": "old"}, {"name": ["old", "web.example"]}),
        ({}, {"ip": "10.0.0.1", "name": ["x", "y"]}, {"name": ["x", "y", "web.example"]}),
        ({}, {"ip": "10.0.0.1", "name": 7}, {"name": "web.example"}),
        ({"action": "replace"}, {"ip": "10.0.0.1", "name": "old"}, {"name": "web.example"}),
        ({"fields": {"ip": "a.b"}}, {"ip": "10.0.0.1"}, {"a": {"b": "web.example"}}),
        ({"kind": "A"}, {"ip": "10.0.0.1"}, {"name": ["web.example"]}),
        ({"kind": "A"}, {"ip": "10.0.0.1", "name": "old"}, {"name": ["old", "web.example"]}),
        ({}, {}, {}),
        ({}, {"ip": 4}, {}),
        ({}, {"ip": ["10.0.0.1"]}, {}),
        ({}, {"ip": "10.9.9.9"}, {}),
        ({"tag_on_failure": ("_bad",)}, {"ip": "10.9.9.9"}, {"tags": ["_bad"]}),
        ({"tag_on_failure": ("_bad",)}, {"ip": "10.9.9.9", "tags": ["x"]}, {"tags": ["x", "_bad"]}),
        ({"tag_on_failure": ("_bad",)}, {}, {}),
        (
            {"tag_on_failure": ("_bad",), "fields": {"ip": "name", "to": "other"}},
            {"ip": "10.9.9.9", "to": "10.9.9.8"},
            {"tags": ["_bad"]},
        ),
        ({"tag_on_failure": ("_bad",), "fields": {"ip": "ip.name"}}, {"ip": "10.0.0.1"}, {"tags": ["_bad"]}),
    ],
)
def test_the_answer_is_written_as_the_options_say(options: dict[str, Any], doc: Doc, expected: Doc) -> None:
    assert DnsLab(**options).after(dict(doc)) == [{**doc, **expected}]


def test_a_name_is_asked_once_for_all_events_and_remembered() -> None:
    lab = DnsLab()
    lab.after({"ip": "10.0.0.1"}, {"ip": "10.0.0.1"})
    assert lab.take({"ip": "10.0.0.1"}) == []
    assert lab.batch.messages.documents()[0]["name"] == "web.example"
    assert lab.names.asked == ["10.0.0.1"]


@pytest.mark.parametrize(
    ("options", "ip", "seconds", "again"),
    [
        ({}, "10.0.0.1", 299, False),
        ({}, "10.0.0.1", 301, True),
        ({}, "10.0.0.2", 59, False),  # min_ttl
        ({}, "10.0.0.2", 61, True),
        ({"success_cache": SuccessCacheConfig(min_ttl=5.0)}, "10.0.0.2", 11, True),
        ({"success_cache": SuccessCacheConfig(enabled=False)}, "10.0.0.1", 0, True),
        ({}, "10.9.9.9", 59, False),
        ({}, "10.9.9.9", 61, True),
        ({"failure_cache": FailureCacheConfig(ttl=5.0)}, "10.9.9.9", 6, True),
        ({"failure_cache": FailureCacheConfig(enabled=False)}, "10.9.9.9", 0, True),
    ],
)
def test_an_answer_is_remembered_for_its_time(options: dict[str, Any], ip: str, seconds: float, again: bool) -> None:
    lab = DnsLab(**options)
    lab.after({"ip": ip})
    lab.clock.advance(seconds)
    lab.take({"ip": ip})
    assert lab.names.pending == again


def test_the_oldest_answer_makes_room() -> None:
    lab = DnsLab(success_cache=SuccessCacheConfig(capacity=1))
    lab.after({"ip": "10.0.0.1"})
    lab.after({"ip": "10.0.0.2"})
    assert lab.take({"ip": "10.0.0.2"}) == []
    assert lab.take({"ip": "10.0.0.1"}) != []


def test_the_loop_is_woken_by_an_answer() -> None:
    lab = DnsLab()
    lab.take({"ip": "10.0.0.1"})
    assert lab.names.woken == 0
    lab.names.answer()
    assert lab.names.woken == 1


def test_steps_behind_it_wait_with_it() -> None:
    lab = DnsLab()
    (part,) = lab.take({"ip": "10.0.0.1"}, {})
    part.resume()
    assert (part.done, lab.batch.messages.texts) == (False, ["a", "b"])
    lab.names.answer()
    part.resume()
    assert (part.done, lab.batch.messages.texts) == (True, ["A", "B"])


def test_without_any_answer_events_continue_after_the_timeout_of_all_name_servers() -> None:
    lab = DnsLab(tag_on_failure=("_bad",))
    (part,) = lab.take({"ip": "10.0.0.1"}, {})
    assert part.due == lab.clock.monotonic() + 1.0
    lab.clock.advance(0.99)
    part.resume()
    assert not part.done
    lab.clock.advance(0.02)
    part.resume()
    assert part.done
    assert lab.batch.messages.documents() == [{"ip": "10.0.0.1", "tags": ["_bad"]}, {}]


def test_a_lookup_that_was_given_up_is_not_retried_and_no_other_event_waits_for_it() -> None:
    lab = DnsLab()
    (part,) = lab.take({"ip": "10.0.0.1"})
    lab.clock.advance(1.1)
    part.resume()
    assert lab.take({"ip": "10.0.0.1"}) == []
    lab.names.answer()
    assert lab.names.asked == []


def test_while_answers_come_in_it_waits_for_all_of_them() -> None:
    lab = DnsLab()
    (part,) = lab.take({"ip": "10.0.0.1"}, {"ip": "10.0.0.2"})
    lab.clock.advance(0.9)
    lab.names.answer(0)
    part.resume()
    lab.clock.advance(0.9)
    part.resume()
    assert not part.done
    lab.clock.advance(0.2)
    part.resume()
    assert part.done
    assert [doc.get("name") for doc in lab.batch.messages.documents()] == ["web.example", None]


def test_a_name_server_that_is_down_does_not_prolong_the_wait() -> None:
    lab = DnsLab()
    lab.names.down = True
    (part,) = lab.take({"ip": "10.0.0.1"}, {"ip": "10.0.0.2"})
    due = part.due
    lab.clock.advance(0.9)
    lab.names.answer(0)
    part.resume()
    assert part.due == due


def test_silent_name_servers_are_logged_at_intervals(caplog: pytest.LogCaptureFixture) -> None:
    lab = DnsLab(nameservers=("192.0.2.1",), failure_cache=FailureCacheConfig(enabled=False))
    lab.names.down = True
    for seconds in (0, 1, 60):
        lab.clock.advance(seconds)
        lab.after({"ip": "10.0.0.1"})
    lab.clock.advance(60)
    (part,) = lab.take({"ip": "10.0.0.2"})
    lab.clock.advance(2)
    part.resume()
    warnings = [record.getMessage().partition(". Events")[0] for record in caplog.records]
    assert warnings == [
        *["dns: no response for '10.0.0.1' from the name servers (192.0.2.1): it is down"] * 2,
        "dns: no response for '10.0.0.2' from the name servers (192.0.2.1): none of them has answered a query for 1s",
    ]


def test_with_free_order_events_without_a_lookup_continue_immediately() -> None:
    lab, resolved = DnsLab(order="free"), []
    made = batch(["a", "b", "cc"], resolve=lambda: resolved.append("yes"))
    slow, quick = lab.take({"ip": "10.0.0.1"}, {}, {"ip": "10.0.0.1"}, made=made)
    assert (quick.done, quick.batch.messages.texts) == (True, ["B"])
    assert (slow.done, slow.keeps_order) == (False, False)
    assert slow.batch.size + quick.batch.size == made.size
    quick.batch.resolve()
    quick.batch.resolve()
    assert resolved == []
    lab.names.answer()
    slow.resume()
    assert [doc["name"] for doc in slow.batch.messages.documents()] == ["web.example"] * 2
    assert slow.batch.messages.texts == ["A", "CC"]
    assert slow.batch.messages.offsets == [0, 4]
    slow.batch.resolve()
    assert resolved == ["yes"]


def test_where_order_is_free_and_all_events_wait_they_stay_together() -> None:
    (part,) = DnsLab(order="free").take({"ip": "10.0.0.1"}, {"ip": "10.0.0.2"})
    assert part.batch.events == 2


def test_one_that_keeps_the_order_keeps_it_for_the_chain() -> None:
    lab = DnsLab(order="free")
    context = ProcessorContext(AGENT, Path(), lab.metrics, lab.clock, Caches(lab.clock))
    kept = AsyncStep(FakeNames().step(DnsConfig(kind="A", fields={"x": "y"}), context), None)
    chain = WaitingChain([*lab.chain.steps, kept], lab.metrics, lab.clock)
    made = batch(["a", "b"])
    made.messages.docs = [{"ip": "10.0.0.1"}, {}]
    (part,) = chain(made) or ()
    assert (part.keeps_order, part.batch.events) == (True, 2)


def test_two_of_them_wait_one_after_the_other_and_part_what_is_ready() -> None:
    lab = DnsLab(order="free")
    context = ProcessorContext(AGENT, Path(), lab.metrics, lab.clock, Caches(lab.clock))
    later = FakeNames({"x": LookupResult(("192.0.2.1",), 60)})
    second = AsyncStep(later.step(DnsConfig(kind="A", fields={"host": "ip"}, order="free"), context), None)
    chain = WaitingChain([lab.chain.steps[0], second], lab.metrics, lab.clock)
    made = batch(["a", "b", "c"])
    made.messages.docs = [{"ip": "10.0.0.1"}, {}, {"ip": "10.0.0.1", "host": "x"}]
    slow, quick = chain(made) or ()
    assert quick.done
    lab.names.answer()
    (split_off,) = slow.resume()
    assert (split_off.done, split_off.batch.messages.texts, slow.done) == (True, ["a"], False)
    later.answer()
    slow.resume()
    assert (slow.done, slow.batch.messages.texts) == (True, ["c"])
    assert slow.batch.size + split_off.batch.size + quick.batch.size == 6


def test_what_was_dropped_before_is_counted_once_and_asks_nothing() -> None:
    lab = DnsLab(order="free", before=[DropsB()])
    slow, quick = lab.take({"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, {})
    lab.names.answer()
    slow.resume()
    assert lab.names.asked == ["10.0.0.1"]
    assert (slow.batch.messages.texts, quick.batch.messages.texts) == (["A"], ["C"])
    assert lab.metrics.events_filtered == 1


def test_only_events_that_meet_its_condition_are_looked_up() -> None:
    lab = DnsLab(when=ConditionConfig(has_fields=("public",)))
    assert lab.after({"ip": "10.0.0.1"}, {"ip": "10.0.0.1", "public": 1})[0] == {"ip": "10.0.0.1"}
    assert lab.batch.messages.documents()[1]["name"] == "web.example"


def test_an_empty_batch_is_done() -> None:
    assert DnsLab().chain(batch([])) is None
