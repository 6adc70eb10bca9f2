"""Fields of an event, wherever they are kept: columns, the event's own document, the constants of its file."""

from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, TRUNCATED, Batch, Doc
from log_shipper.shipper.processor.events import Event, Events, all_of
from log_shipper.shipper.processor.fields import MISSING, FieldError, path_of
from tests.builders import messages, nothing, source
from tests.processing import records

STATIC: Doc = {"tags": ["a"], "fields": {"env": "prod", "deep": {"n": 1}}}


def events_of(*docs: Doc | None, texts: list[str] | None = None) -> Events:
    run = messages(texts or [f"text {index}" for index in range(max(len(docs), 1))])
    if any(doc is not None for doc in docs):
        run.docs = [doc or {} for doc in docs]
    return Events(Batch(source("9f3c", static=STATIC), run, 1795253400.123, nothing))


def get(events: Events, name: str, index: int = 0) -> Any:
    return events.get(index, path_of(name))


def put(events: Events, name: str, value: object, index: int = 0) -> None:
    events.put(index, path_of(name), value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("message", "text 0"),
        ("message.x", MISSING),
        ("@timestamp", "2026-11-21T09:30:00.123Z"),
        ("@timestamp.x", MISSING),
        ("log.offset", 0),
        ("log.offset.x", MISSING),
        ("log.length", 7),
        ("log.flags", MISSING),
        ("log.file.path", "/var/log/app.log"),
        ("log.file.id", "9f3c"),
        ("log.level", MISSING),
        ("fields.env", "prod"),
        ("fields.deep", {"n": 1}),
        ("fields.none", MISSING),
        ("host.name", "web-1"),
        ("tags", ["a"]),
        ("none", MISSING),
    ],
)
def test_an_event_without_a_document_has_its_columns_and_what_the_file_has(name: str, value: Any) -> None:
    assert get(events_of(), name) == value


@pytest.mark.parametrize(
    ("doc", "name", "value"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a.b": 1}, "a.b", 1),
        ({"a": 1, "a.b": 2}, "a.b", 2),
        ({"fields.own": 1}, "fields.own", 1),
        ({"fields": {"own": 1}}, "fields.env", MISSING),
        ({"tags": DELETED}, "tags", MISSING),
        ({"tags": DELETED}, "tags.x", MISSING),
        ({"@timestamp": "2020-01-01T00:00:00.000Z"}, "@timestamp", "2020-01-01T00:00:00.000Z"),
        ({"log": {"level": "info"}}, "log.level", "info"),
        ({"log": {"level": "info"}}, "log.file.path", "/var/log/app.log"),
        ({"log": {"file": {"path": "/x"}}}, "log.file.path", "/x"),
        ({"log": {"file": {"path": "/x"}}}, "log.file.inode", MISSING),
        ({"log.level": "info"}, "log.level", "info"),
        ({"null": None}, "null", None),
    ],
)
def test_the_events_own_document_shadows_what_the_file_has(doc: Doc, name: str, value: Any) -> None:
    assert get(events_of(doc), name) == value


def test_the_whole_log_is_put_together_from_its_places() -> None:
    events = events_of({"log": {"level": "info"}})
    events.flag(0, TRUNCATED)
    log = get(events, "log")
    assert (log["offset"], log["length"]) == (0, 7)
    assert (log["flags"], log["level"], log["file"]["id"]) == (["truncated"], "info", "9f3c")


@pytest.mark.parametrize("message", [["a", "b"], {"a": 1}, 5, None, ""])
def test_a_message_that_is_no_text_is_kept_in_the_document(message: Any) -> None:
    events = events_of()
    put(events, "message", message)
    assert get(events, "message") == message
    assert records(events.batch)[0]["message"] == message
    put(events, "message", "a text again")
    assert get(events, "message") == "a text again"
    assert records(events.batch)[0]["message"] == "a text again"


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "a.b.c",
        "fields.env",
        "fields.deep.n",
        "fields.new",
        "tags",
        "host.name",
        "log.level",
        "log.x.y",
        "log.file.path",
        "log.file.owner",
        "error.message",
        "@metadata._id",
        "_id",
    ],
)
def test_what_is_written_is_read_and_in_the_record_and_the_neighbour_has_none_of_it(name: str) -> None:
    events = events_of(None, None)
    before = get(events, name, 1)
    put(events, name, "new")
    assert (get(events, name), get(events, name, 1)) == ("new", before)
    written: Any
    written, neighbour = records(events.batch)
    for key in path_of(name):
        written = written[key]
    assert written == "new"
    assert "new" not in str(neighbour)


def test_a_constant_that_is_changed_for_one_event_keeps_its_other_members() -> None:
    events = events_of(None, None)
    put(events, "fields.env", "dev")
    assert [record["fields"] for record in records(events.batch)] == [
        {"env": "dev", "deep": {"n": 1}},
        {"env": "prod", "deep": {"n": 1}},
    ]


@pytest.mark.parametrize("name", ["a.b", "log.level", "fields.x"])
def test_a_key_that_holds_the_dots_is_written_where_it_is(name: str) -> None:
    events = events_of({name: 1})
    put(events, name, 2)
    assert events.messages.docs == [{name: 2}]


@pytest.mark.parametrize("name", ["message.x", "tags.x", "@timestamp.x", "log.file.path.x"])
def test_what_is_no_object_is_not_written_into(name: str) -> None:
    events = events_of()
    with pytest.raises(FieldError, match=f"{name} cannot be written"):
        put(events, name, 1)
    assert get(events, name) is MISSING


@pytest.mark.parametrize("name", ["log.offset", "log.length", "log.file.id", "log.offset.x", "log.file.id.x"])
def test_members_that_identify_repeats_stay(name: str) -> None:
    events = events_of()
    before = records(events.batch)
    put(events, name, 99)
    assert not events.delete(0, path_of(name))
    assert records(events.batch) == before


@pytest.mark.parametrize(("value", "path"), [({"path": "/x"}, "/x"), ("text", None), ({"id": "forged"}, None)])
def test_another_file_keeps_its_id(value: Any, path: str | None) -> None:
    events = events_of()
    put(events, "log.file", value)
    (record,) = records(events.batch)
    assert (record["log"]["file"]["id"], record["log"]["file"].get("path")) == ("9f3c", path)


def test_an_object_that_is_written_to_log_is_merged_with_what_is_there() -> None:
    events = events_of()
    put(events, "log", {"level": "info", "offset": 99, "flags": ["x"]})
    (record,) = records(events.batch)
    assert (record["log"]["level"], record["log"]["offset"], record["log"]["flags"]) == ("info", 0, ["x"])
    assert record["log"]["file"]["path"] == "/var/log/app.log"
    with pytest.raises(FieldError, match="cannot set log: it must stay an object"):
        put(events, "log", "text")


def test_flags_stay_a_list_of_texts() -> None:
    events = events_of()
    put(events, "log.flags", ["b", "a"])
    events.flag(0, "c")
    events.flag(0, "a")
    assert records(events.batch)[0]["log"]["flags"] == ["a", "b", "c"]
    with pytest.raises(FieldError, match=r"cannot set log\.flags: the new value is not a list of strings"):
        put(events, "log.flags", [1])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-11-21T09:30:00.123Z", "2026-11-21T09:30:00.123Z"),
        ("2026-11-21T11:30:00.123456+02:00", "2026-11-21T09:30:00.123Z"),
        ("2026-11-21T09:30:00Z", "2026-11-21T09:30:00.000Z"),
    ],
)
def test_a_time_is_kept_as_records_have_times(given: str, kept: str) -> None:
    events = events_of()
    put(events, "@timestamp", given)
    assert get(events, "@timestamp") == kept
    assert records(events.batch)[0]["@timestamp"] == kept


@pytest.mark.parametrize(
    "given",
    [
        "",
        "yesterday",
        "2026-11-21T09:30:00",
        "2026-13-21T09:30:00.123Z",
        "0001-01-01T00:00:00+09:00",
        5,
        None,
        {},
        '2026-11-21T09:30:00.123"Z',
    ],
)
def test_what_is_no_time_cannot_become_the_events_time(given: Any) -> None:
    events = events_of()
    with pytest.raises(FieldError, match="@timestamp cannot be"):
        put(events, "@timestamp", given)
    assert get(events, "@timestamp") == "2026-11-21T09:30:00.123Z"


@pytest.mark.parametrize(
    ("doc", "name", "gone"),
    [
        (None, "message", ["message"]),
        (None, "tags", ["tags"]),
        (None, "fields.env", ["fields", "env"]),
        (None, "log.file.path", ["log", "file", "path"]),
        ({"a": {"b": 1, "c": 2}}, "a.b", ["a", "b"]),
        ({"a.b": 1}, "a.b", ["a.b"]),
        ({"log.level": 1}, "log.level", ["log.level"]),
        ({"log": {"level": 1}}, "log.level", ["log", "level"]),
        ({"tags": ["own"]}, "tags", ["tags"]),
        ({"fields.x": 1}, "fields.x", ["fields.x"]),
    ],
)
def test_what_is_deleted_is_missing_in_the_record_and_nothing_else_is(
    doc: Doc | None, name: str, gone: list[str]
) -> None:
    events = events_of(doc, None)
    before = records(events.batch)
    assert events.delete(0, path_of(name))
    assert get(events, name) is MISSING
    assert not events.delete(0, path_of(name))
    at = before[0]
    for key in gone[:-1]:
        at = at[key]
    del at[gone[-1]]
    assert records(events.batch) == before


def test_a_deleted_constant_can_be_written_again() -> None:
    events = events_of()
    events.delete(0, ("fields",))
    put(events, "fields.x", 1)
    assert records(events.batch)[0]["fields"] == {"x": 1}


@pytest.mark.parametrize("name", ["none", "@timestamp", "fields.none", "a.b", "message.x"])
def test_what_is_not_there_or_stays_is_not_deleted(name: str) -> None:
    events = events_of()
    before = records(events.batch)
    assert not events.delete(0, path_of(name))
    assert records(events.batch) == before


def test_of_a_deleted_log_the_members_that_identify_repeats_stay() -> None:
    events = events_of({"log": {"level": "info"}})
    events.flag(0, TRUNCATED)
    assert events.delete(0, ("log",))
    assert records(events.batch)[0]["log"] == {"offset": 0, "length": 7, "file": {"id": "9f3c"}}


def test_of_a_deleted_file_stays_its_id() -> None:
    events = events_of({"log": {"level": "info"}})
    assert events.delete(0, ("log", "file"))
    assert records(events.batch)[0]["log"] == {"offset": 0, "length": 7, "file": {"id": "9f3c"}, "level": "info"}


def test_flags_can_be_deleted() -> None:
    events = events_of()
    events.flag(0, TRUNCATED)
    assert events.delete(0, ("log", "flags"))
    assert "flags" not in records(events.batch)[0]["log"]


def test_names_are_those_of_the_record() -> None:
    events = events_of({"a": 1, "tags": DELETED, "b.c": 2}, None, texts=["text", ""])
    for index, record in enumerate(records(events.batch)):
        assert sorted(events.names(index)) == sorted(record)
    assert events.own_names(0) == ["@timestamp", "message", "log", "a", "b.c"]


def test_a_failure_is_noted_and_another_one_behind_it() -> None:
    events = events_of()
    events.fail(0, "rename", "first")
    events.fail(0, "convert", "second")
    assert records(events.batch)[0]["error"] == {"message": "first; second", "type": "convert"}


@pytest.mark.parametrize(
    ("error", "after"),
    [
        ({"stack": "x"}, {"stack": "x", "message": "failed", "type": "rename"}),
        ({"message": "own"}, {"message": "own; failed", "type": "rename"}),
        ("own", {"message": "own; failed", "type": "rename"}),
        (5, {"message": "failed", "type": "rename"}),
    ],
)
def test_a_failure_keeps_what_the_event_says_of_errors_itself(error: Any, after: dict[str, str]) -> None:
    events = events_of({"error": error})
    events.fail(0, "rename", "failed")
    assert records(events.batch)[0]["error"] == after


@pytest.mark.parametrize(
    ("docs", "roots", "shadows"),
    [
        ((None,), {"tags"}, False),
        ((None,), {"message"}, True),
        ((None,), {"log"}, True),
        ((None,), {"error", "tags"}, True),
        ((None,), {"log.file"}, False),
        (({"a": 1}, {"tags": []}), {"tags"}, True),
        (({"a": 1}, {"b": 1}), {"tags"}, False),
        (({"a": 1}, {"tags.x": 1}), {"tags"}, True),
        (({"log": {}}, None), {"log.file"}, True),
        ((None, {"log.file.path": 1}), {"log.file"}, True),
        (({"a": 1},), set(), False),
    ],
)
def test_an_event_shadows_what_it_has_itself_or_alone(
    docs: tuple[Doc | None, ...], roots: set[str], shadows: bool
) -> None:
    assert events_of(*docs).shadows(frozenset(roots)) is shadows


def test_a_change_of_what_events_share_is_made_once_for_a_file_and_makes_no_documents() -> None:
    of = source(static=STATIC)
    asked: list[object] = []

    def change(events: Events) -> None:
        asked.append(events.get(0, ("fields", "env")))
        Event(events).put(("fields", "env"), "dev")
        Event(events).delete(("tags",))

    for _ in range(3):
        events = Events(Batch(of, messages(["a", "b"]), 0.0, nothing))
        events.share("owner", change)
        assert events.messages.docs is None
        assert get(events, "fields.env") == "dev"
        assert [record["fields"]["env"] for record in records(events.batch)] == ["dev", "dev"]
        assert "tags" not in records(events.batch)[0]
    assert asked == ["prod"]
    assert of.constants.members["fields"]["env"] == "prod"


def test_a_processor_continues_from_the_constants_that_another_derived() -> None:
    of = source(static=STATIC)
    for _ in range(2):
        events = Events(Batch(of, messages(["a"]), 0.0, nothing))
        events.share("first", lambda shared: shared.put(0, ("x",), 1))
        events.share("second", lambda shared: shared.put(0, ("y",), shared.get(0, ("x",))))
        assert (get(events, "x"), get(events, "y")) == (1, 1)


def test_the_file_keeps_its_id_whatever_is_shared() -> None:
    events = events_of()

    def delete_file(shared: Events) -> None:
        shared.delete(0, ("log", "file"))

    events.share("owner", delete_file)
    assert records(events.batch)[0]["log"] == {"offset": 0, "length": 7, "file": {"id": "9f3c"}}


def test_dropped_events_leave_the_run_and_their_bytes_stay_counted() -> None:
    events = events_of(None, {"a": 1}, {"b": 1})
    size = events.batch.size
    events.flag(2, TRUNCATED)
    events.dropped.update((0, 1))
    assert all_of(events, [2])
    events.finish()
    assert (events.texts, events.messages.docs, events.messages.offsets) == (["text 2"], [{"b": 1}], [14])
    assert events.messages.flags == {0: (TRUNCATED,)}
    assert events.batch.size == size


def test_an_event_moves_along_its_batch() -> None:
    events = events_of(None, None)
    event = Event(events)
    for event.index in (0, 1):
        event.put(("n",), event.index)
        event.flag(TRUNCATED)
    event.fail("x", "y")
    assert event.delete(("message",))
    assert [record["n"] for record in records(events.batch)] == [0, 1]
    assert [("message" in record, "error" in record) for record in records(events.batch)] == [
        (True, False),
        (False, True),
    ]
    assert event.names() == events.names(1)


def test_what_an_event_has_had_taken_out_is_no_member_when_the_file_has_it_no_more() -> None:
    events = events_of({"tags": DELETED}, {"tags": ["own"]})

    def delete_tags(shared: Events) -> None:
        shared.delete(0, ("tags",))

    events.share("owner", delete_tags)
    first, second = records(events.batch)
    assert "tags" not in first
    assert second["tags"] == ["own"]


def test_a_flag_that_is_set_for_what_events_share_is_each_events_flag() -> None:
    of = source(static=STATIC)
    for _ in range(2):
        events = Events(Batch(of, messages(["a", "b"]), 0.0, nothing))
        events.flag(1, "truncated")
        events.share("owner", lambda shared: shared.flag(0, "odd"))
        assert [record["log"]["flags"] for record in records(events.batch)] == [["odd"], ["odd", "truncated"]]
