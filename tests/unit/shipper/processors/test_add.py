"""add_id, add_locale and now; the others are in test_tables.py."""

import time
from pathlib import Path

import pytest

from log_shipper.shipper.event import Batch
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.processor.chain import Chain
from log_shipper.shipper.processors.add_locale import AddLocale, AddLocaleConfig
from tests.builders import AGENT, batch, messages, nothing, source
from tests.fakes import ManualClock
from tests.processing import chain_of, records

CONTEXT = ProcessorContext(AGENT, Path(), Metrics(), ManualClock(), Caches(ManualClock()))


def ids(of: Batch, config: str = "{}") -> list[str]:
    chain_of(f"- add_id: {config}")(of)
    return [record["@metadata"]["_id"] for record in records(of)]


def test_an_event_that_is_sent_again_has_the_same_id() -> None:
    whole = ids(batch(["a", "b", "c"], start=7))
    again = ids(batch(["b", "c"], start=9))
    assert whole[1:] == again
    assert len(set(whole)) == 3


def test_events_of_other_files_have_other_ids() -> None:
    assert ids(batch(["a"], "f1")) != ids(batch(["a"], "f2"))


def test_an_id_looks_like_one_of_elasticsearch() -> None:
    (made,) = ids(batch(["a"]))
    assert len(made) == 20
    assert made.replace("-", "").replace("_", "").isalnum()


def test_the_id_goes_where_it_is_wanted() -> None:
    of = batch(["a", "b"])
    chain_of("- add_id: {target_field: event.id}")(of)
    first, second = (record["event"]["id"] for record in records(of))
    assert first != second
    assert "@metadata" not in records(of)[0]


class Wall:
    """Local time with a zone that a test chooses."""

    def __init__(self, seconds: int, name: str) -> None:
        self.seconds = seconds
        self.name = name

    def __call__(self, moment: float) -> time.struct_time:
        named = {"tm_gmtoff": self.seconds, "tm_zone": self.name}
        return time.struct_time(time.gmtime(moment)[:9], named)


def timezones(locale: AddLocale, of: Batch) -> list[str]:
    Chain([locale], Metrics())(of)
    return [record["event"]["timezone"] for record in records(of)]


@pytest.mark.parametrize(
    ("seconds", "offset"), [(0, "+00:00"), (7200, "+02:00"), (-34200, "-09:30"), (20700, "+05:45"), (-3600, "-01:00")]
)
def test_the_zone_is_written_as_an_offset_or_by_its_name(seconds: int, offset: str) -> None:
    of = batch(["a", "b"])
    assert timezones(AddLocale(AddLocaleConfig(), CONTEXT, Wall(seconds, "XST")), of) == [offset, offset]
    assert of.messages.docs is None
    named = AddLocaleConfig(format="abbreviation")
    assert timezones(AddLocale(named, CONTEXT, Wall(seconds, "XST")), batch(["a"])) == ["XST"]


def test_summer_ends_while_a_file_is_open() -> None:
    of, wall = source(), Wall(7200, "CEST")
    locale = AddLocale(AddLocaleConfig(), CONTEXT, wall)
    assert timezones(locale, Batch(of, messages(["a"]), 0.0, nothing)) == ["+02:00"]
    wall.seconds = 3600
    assert timezones(locale, Batch(of, messages(["b"]), 0.0, nothing)) == ["+01:00"]
    assert len(of.constants.derived) == 1, "those of the summer would stay in memory as long as the file is open"


@pytest.mark.parametrize(
    ("config", "field"), [("add_locale:", "event.timezone"), ("add_id: {target_field: event.id}", "event.id")]
)
def test_an_event_with_a_text_in_place_of_the_object_continues_with_an_error(config: str, field: str) -> None:
    of, metrics = batch(["a", "b"]), Metrics()
    of.messages.documents()[0]["event"] = "started"
    chain_of(f"- {config}", metrics)(of)
    first, second = records(of)
    assert first["event"] == "started"
    assert field in first["error"]["message"]
    assert second["event"][field.partition(".")[2]]
    assert metrics.processor_failures == 1


def test_an_event_keeps_what_else_it_knows_of_itself() -> None:
    of = batch(["a", "b"])
    of.messages.documents()[1]["event"] = {"kind": "x"}
    locale = AddLocale(AddLocaleConfig(), CONTEXT, Wall(0, "UTC"))
    assert timezones(locale, of) == ["+00:00", "+00:00"]
    assert records(of)[1]["event"] == {"kind": "x", "timezone": "+00:00"}


def test_the_machine_has_a_zone() -> None:
    of = batch(["a"])
    chain_of("- add_locale:")(of)
    assert records(of)[0]["event"]["timezone"][0] in "+-"


def test_the_index_is_a_format_string() -> None:
    of = batch(["a"], time=1.0)
    chain_of("- add_formatted_index: {index: '%{[host.name]}-%{+YYYY.MM.dd}'}")(of)
    assert records(of)[0]["@metadata"] == {"raw_index": "web-1-1970.01.01"}


def test_an_index_without_a_field_is_an_error_of_the_event() -> None:
    of = batch(["a"], time=1.0)
    chain_of("- add_formatted_index: {index: '%{[team]}'}")(of)
    assert records(of)[0]["error"]["message"] == "the event has no field team"


def test_now_is_the_time_at_which_each_batch_is_processed() -> None:
    clock = ManualClock(time=1_700_000_000.25)
    chain = chain_of("- now: {field: event.ingested}", clock=clock)
    times = []
    for _ in range(2):
        of = batch(["a", "b"])
        chain(of)
        times += [record["event"]["ingested"] for record in records(of)]
        clock.advance(1.5)
    assert times == ["2023-11-14T22:13:20.250Z"] * 2 + ["2023-11-14T22:13:21.750Z"] * 2


def test_now_may_be_the_time_of_the_event() -> None:
    of = batch(["a"], time=1.0)
    chain_of("- now: {field: '@timestamp'}", clock=ManualClock(time=2.0))(of)
    assert records(of)[0]["@timestamp"] == "1970-01-01T00:00:02.000Z"
