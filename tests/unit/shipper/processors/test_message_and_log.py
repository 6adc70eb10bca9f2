"""What the processors make of the members that are kept apart: message, @timestamp, log."""

import pytest

from log_shipper.shipper.event import Doc
from tests.processing import batch_of, chain_of, processed, records


@pytest.mark.parametrize(
    ("config", "after"),
    [
        ("rename: {fields: [{from: message, to: event.original}]}", {"event": {"original": "a text"}}),
        (
            "copy_fields: {fields: [{from: message, to: event.original}]}",
            {"message": "a text", "event": {"original": "a text"}},
        ),
        ("drop_fields: {fields: [message]}", {}),
        ("drop_fields: {fields: ['/mess/']}", {}),
        ("include_fields: {fields: [message]}", {"message": "a text"}),
        ("include_fields: {fields: [none]}", {}),
        ("move_fields: {fields: [message], to: my_}", {"my_message": "a text"}),
        ("add_fields: {target: '', fields: {message: other}}", {"message": "other"}),
        ("append: {target_field: message, values: [b]}", {"message": ["a text", "b"]}),
        ("replace: {fields: [{field: message, pattern: t, replacement: T}]}", {"message": "a TexT"}),
        ("replace: {fields: [{field: message, pattern: .*, replacement: ''}]}", {"message": ""}),
        ("urldecode: {fields: [{from: message, to: m}]}", {"message": "a text", "m": "a text"}),
        ("convert: {fields: [{from: message, to: m, type: string}], mode: rename}", {"m": "a text"}),
        (
            "add_tags: {tags: [x], target: message}",
            {"message": "a text", "error": {"message": "message is not a list of tags", "type": "add_tags"}},
        ),
        (
            "rename: {fields: [{from: message, to: a}, {from: none, to: b}]}",
            {"message": "a text", "error": {"message": "field none is missing", "type": "rename"}},
        ),
        ("rename: {fields: [{from: message, to: message.text}]}", {"message": {"text": "a text"}}),
    ],
)
def test_the_message_is_a_field_like_others(config: str, after: Doc) -> None:
    other = {"kind": "x"} if "include" not in config else {}
    assert processed(f"- {config}", {"message": "a text"}) == [after]
    assert processed(f"- {config}", {"message": "a text", "kind": "x"}) == [{**after, **other}]


def log_after(config: str) -> Doc:
    batch = batch_of([{"message": "long text", "log": {"level": "info"}}])
    chain_of(f"- {config}")(batch)
    (record,) = records(batch)
    log: Doc = record["log"]
    return log | {"error": record["error"]} if "error" in record else log


FILE = {"path": "/var/log/app.log", "inode": "811", "device_id": "2049", "id": "f1"}
WHOLE = {"offset": 0, "length": 10, "file": FILE, "level": "info"}
MINIMAL = {"offset": 0, "length": 10, "file": {"id": "f1"}}


@pytest.mark.parametrize(
    ("config", "after"),
    [
        ("drop_fields: {fields: [log.offset, log.length, log.file.id]}", WHOLE),
        ("drop_fields: {fields: [log]}", MINIMAL),
        ("drop_fields: {fields: [log.file, log.level]}", MINIMAL),
        ("drop_fields: {fields: ['/^log/']}", MINIMAL),
        ("drop_fields: {fields: ['/inode|device|path|level/']}", MINIMAL),
        ("include_fields: {fields: [message]}", MINIMAL),
        ("include_fields: {fields: [log.level]}", {**MINIMAL, "level": "info"}),
        ("include_fields: {fields: [log.file.path]}", {**MINIMAL, "file": {"path": "/var/log/app.log", "id": "f1"}}),
        ("include_fields: {fields: [log]}", WHOLE),
        ("rename: {fields: [{from: log.offset, to: at}]}", WHOLE),
        ("add_fields: {target: log, fields: {offset: 5, level: warn}}", {**WHOLE, "level": "warn"}),
        ("add_tags: {tags: [seen], target: log.flags}", {**WHOLE, "flags": ["seen"]}),
        ("truncate_fields: {fields: [message], max_characters: 4}", {**WHOLE, "flags": ["truncated"]}),
        ("truncate_fields: {fields: [message], max_characters: 9}", WHOLE),
        (
            "truncate_fields: {fields: [message, none], max_characters: 4}",
            {**WHOLE, "error": {"message": "field none is missing", "type": "truncate_fields"}},
        ),
        ("move_fields: {fields: [log], to: my_}", MINIMAL),
    ],
)
def test_members_that_identify_repeats_stay_in_the_log(config: str, after: Doc) -> None:
    assert log_after(config) == after


@pytest.mark.parametrize(
    "config",
    ["include_fields: {fields: [message]}", "drop_fields: {fields: ['/flags/']}", "drop_fields: {fields: [log]}"],
)
def test_flags_are_dropped_as_other_fields_are(config: str) -> None:
    batch = batch_of([{"message": "a"}, {"message": "b"}])
    batch.messages.flags = {1: ("multiline",)}
    chain_of(f"- {config}")(batch)
    assert ["flags" in record["log"] for record in records(batch)] == [False, False]
    assert [record["message"] for record in records(batch)] == ["a", "b"]


def test_a_message_is_cut_and_says_so() -> None:
    batch = batch_of([{"message": "long text"}, {"message": "text"}])
    chain_of("- truncate_fields: {fields: [message], max_characters: 4}")(batch)
    assert [(record["message"], record["log"].get("flags")) for record in records(batch)] == [
        ("long", ["truncated"]),
        ("text", None),
    ]


def test_a_time_moves_with_its_zone_or_not_at_all() -> None:
    move = "- rename: {fields: [{from: time, to: x}]}\n- drop_fields: {fields: ['@timestamp']}"
    set_time = "- add_fields: {target: '', fields: {'@timestamp': '%s'}}"
    batch = batch_of([{"time": "a"}])
    chain_of(f"{set_time % '2026-11-21T10:30:00+01:00'}\n{move}")(batch)
    assert records(batch)[0]["@timestamp"] == "2026-11-21T09:30:00.000Z"
    chain_of(set_time % "noon")(batch)
    (record,) = records(batch)
    assert record["@timestamp"] == "2026-11-21T09:30:00.000Z"
    assert record["error"]["message"].startswith("@timestamp cannot be 'noon'")


def test_all_of_an_event_can_be_moved() -> None:
    batch = batch_of([{"message": "x", "a": {"b": 1}}])
    chain_of("- move_fields: {to: my_, exclude: [host, agent]}")(batch)
    (record,) = records(batch)
    assert {"my_message", "my_a", "my_log", "my_input", "host", "agent", "@timestamp"} <= record.keys()
    assert record["log"] == {"offset": 0, "length": 2, "file": {"id": "f1"}}
    assert record["my_log"]["file"] == FILE
    assert not {"message", "a", "input"} & record.keys()


def test_what_a_file_has_is_dropped_without_documents() -> None:
    batch = batch_of([{"message": "x"}])
    chain_of("- drop_fields: {fields: [agent, ecs, host.name, log.file.inode]}")(batch)
    (record,) = records(batch)
    assert batch.messages.docs is None
    assert record["host"] == {}
    assert not {"agent", "ecs"} & record.keys()
    assert "inode" not in record["log"]["file"]
