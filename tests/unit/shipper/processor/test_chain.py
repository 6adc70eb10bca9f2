"""The chain: which processors see which events, what it costs, what happens to failures and to dropped events."""

from collections.abc import Sequence

import pytest

from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.processor.base import Processor
from log_shipper.shipper.processor.chain import Chain, Conditional, EventByEvent
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import ProcessorError
from tests.builders import batch
from tests.processing import batch_of, chain_of, processed, records, without_noise


class Noting:
    """A processor that records its calls, and fails for given texts."""

    def __init__(self, *touches: str, failing: object = None) -> None:
        self.touches = frozenset(touches) if touches else None
        self.seen: list[object] = []
        self._failing = failing

    def apply(self, event: Event) -> None:
        value = event.get(("message",))
        self.seen.append(value)
        event.put(("seen",), len(self.seen))
        if value == self._failing:
            raise ProcessorError("cannot do it")


class Longer:
    """A condition: a message of more than so many letters."""

    def __init__(self, letters: int) -> None:
        self._letters = letters

    def select(self, events: Events, at: Sequence[int]) -> Sequence[int]:
        return [index for index in at if len(events.texts[index]) > self._letters]


class Dropping:
    def run(self, events: Events, at: Sequence[int]) -> None:
        events.dropped.update(at)


def run(of: Batch, *steps: Processor, metrics: Metrics | None = None) -> list[Doc]:
    Chain(steps, metrics or Metrics())(of)
    return [without_noise(record) for record in records(of)]


def test_a_processor_sees_each_event_once_and_in_order() -> None:
    noting = Noting()
    made = run(batch(["a", "b"]), EventByEvent("noting", noting, Metrics()))
    assert noting.seen == ["a", "b"]
    assert made == [{"message": "a", "seen": 1}, {"message": "b", "seen": 2}]


def test_one_that_touches_what_a_file_has_sees_the_file_once() -> None:
    noting, metrics = Noting("seen"), Metrics()
    each, first = EventByEvent("noting", noting, metrics), batch(["a", "b"])
    second = batch(["c"])
    second.source = first.source
    second.constants = first.constants
    assert [run(of, each) for of in (first, second)] == [
        [{"message": "a", "seen": 1}, {"message": "b", "seen": 1}],
        [{"message": "c", "seen": 1}],
    ]
    assert len(noting.seen) == 1
    assert first.messages.docs is None


def test_it_sees_the_events_if_one_of_them_has_such_a_member_itself() -> None:
    noting = Noting("seen")
    run(batch_of([{"message": "a"}, {"message": "b", "seen": 5}]), EventByEvent("noting", noting, Metrics()))
    assert noting.seen == ["a", "b"]


def test_it_sees_the_events_if_it_concerns_only_some_of_them() -> None:
    noting = Noting("seen")
    made = run(batch(["a", "bb"]), Conditional(Longer(1), [EventByEvent("noting", noting, Metrics())]))
    assert made == [{"message": "a"}, {"message": "bb", "seen": 1}]


def test_it_sees_the_file_if_only_dropped_events_are_left_out() -> None:
    noting = Noting("seen")
    made = run(batch(["a", "bb"]), Conditional(Longer(1), [Dropping()]), EventByEvent("noting", noting, Metrics()))
    assert (made, len(noting.seen)) == ([{"message": "a", "seen": 1}], 1)


def test_a_failure_is_added_to_the_event_which_continues() -> None:
    metrics = Metrics()
    failing, after = Noting(failing="b"), Noting()
    made = run(batch(["a", "b"]), EventByEvent("failing", failing, metrics), EventByEvent("after", after, metrics))
    assert [record.get("error") for record in made] == [None, {"message": "cannot do it", "type": "failing"}]
    assert after.seen == ["a", "b"]
    assert metrics.processor_failures == 1


def test_a_branch_does_one_thing_or_the_other() -> None:
    then, otherwise = Noting(), Noting()
    run(
        batch(["a", "bb", "c"]),
        Conditional(Longer(1), [EventByEvent("t", then, Metrics())], [EventByEvent("o", otherwise, Metrics())]),
    )
    assert (then.seen, otherwise.seen) == (["bb"], ["a", "c"])


def test_what_was_dropped_is_not_seen_again_and_its_bytes_stay_counted() -> None:
    metrics, within, after = Metrics(), Noting(), Noting()
    of = batch(["a", "bb", "c"], start=100)
    size = of.size
    branch = Conditional(Longer(1), [Dropping(), EventByEvent("within", within, metrics)], [])
    made = run(of, branch, EventByEvent("after", after, metrics), metrics=metrics)
    assert (within.seen, after.seen) == ([], ["a", "c"])
    assert [record["message"] for record in made] == ["a", "c"]
    assert of.messages.offsets == [100, 105]
    assert (of.size, metrics.events_filtered) == (size, 1)


def test_a_batch_of_which_nothing_is_left_keeps_its_bytes() -> None:
    of = batch(["a", "b"])
    assert run(of, Dropping(), EventByEvent("after", Noting(), Metrics())) == []
    assert (of.events, of.size) == (0, 4)


def test_a_batch_without_events_goes_through() -> None:
    assert run(batch([]), EventByEvent("noting", Noting(), Metrics())) == []


def test_no_processors_are_no_chain() -> None:
    assert chain_of("[]") is None


def test_a_condition_comes_before_its_processor_and_sees_what_earlier_ones_did() -> None:
    made = processed(
        """
        - add_fields: {when.contains.message: a, target: '', fields: {kind: first}}
        - add_fields: {when.equals.kind: first, target: '', fields: {next: 1}}
        - if: {has_fields: [next]}
          then:
            - drop_fields: {fields: [next]}
            - add_tags: {tags: [then]}
          else:
            - if.contains.message: c
              then:
                - drop_event:
            - add_tags: {tags: [else]}
        """,
        {"message": "a"},
        {"message": "b"},
        {"message": "c"},
    )
    assert made == [
        {"message": "a", "kind": "first", "tags": ["then"]},
        {"message": "b", "tags": ["else"]},
    ]


def test_a_second_batch_of_a_file_gets_the_same() -> None:
    chain, first = chain_of("- add_fields: {fields: {a: 1}}\n- drop_fields: {fields: [agent, fields.a]}"), batch(["x"])
    second = batch(["x"])
    second.constants = first.constants
    chain(first)
    chain(second)
    assert records(first) == records(second)
    assert first.constants is second.constants


@pytest.mark.parametrize(
    "config",
    [
        "copy_fields: {ignore_missing: true, fields: [{from: deep, to: copy}]}",
        "include_fields: {fields: [deep.a, message]}",
        "drop_fields: {fields: ['/x/']}",
        "rename: {ignore_missing: true, fields: [{from: deep, to: other}, {from: message, to: text}]}",
        "rename: {ignore_missing: true, fields: [{from: deep, to: other}]}",
        "add_fields: {fields: {a: 1}}",
    ],
)
def test_a_value_that_is_nested_too_deep_stops_no_other_event(config: str) -> None:
    deep: Doc = {}
    for _ in range(5000):
        deep = {"a": deep}
    batch = batch_of([{"message": "x"}, {"message": "y"}])
    batch.messages.documents()[0]["deep"] = deep
    chain_of(f"- {config}")(batch)
    first, second = records(batch)
    assert ("nested too deep" in str(first), "error" in second) == (True, False)
    assert second["text" if "to: text" in config else "message"] == "y"
    assert first["message"] == "x"
    assert "deep" in first
