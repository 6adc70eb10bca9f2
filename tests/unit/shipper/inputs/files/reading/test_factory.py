"""The effect of an input's options on the records of its files, from the file to the destination."""

import json
from typing import Any

from log_shipper.shipper.options.inputs import PublisherPipelineConfig
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from tests.builders import multiline
from tests.lab import Lab


def records(lab: Lab) -> list[dict[str, Any]]:
    lab.start()
    lab.calm_down()
    return [json.loads(record) for record in lab.records]


def test_members_of_json_are_merged_with_those_that_the_input_gives(lab: Lab) -> None:
    lab.parsers = (NdjsonConfig(),)
    lab.input = {"tags": ("ours",), "fields": {"env": "prod"}}
    lab.append(
        "a.log", '{"message": "hello", "n": 1, "tags": ["theirs"], "host": {"ip": "1.2.3.4", "name": "theirs"}}\n'
    )
    (record,) = records(lab)
    assert (record["message"], record["n"]) == ("hello", 1)
    assert record["tags"] == ["theirs", "ours"]
    assert record["host"] == {"name": "lab", "ip": "1.2.3.4"}
    assert record["fields"] == {"env": "prod"}


def test_a_time_in_the_json_is_the_records_where_that_is_wanted(lab: Lab) -> None:
    lab.parsers = (NdjsonConfig(overwrite_keys=True),)
    lab.append("a.log", '{"@timestamp": "2020-01-01T00:00:00Z"}\n')
    assert records(lab)[0]["@timestamp"] == "2020-01-01T00:00:00.000Z"


def test_what_filters_drop_is_counted_and_acknowledged(lab: Lab) -> None:
    lab.input = {"include_lines": ("keep",), "exclude_lines": ("not",)}
    lab.append("a.log", "keep 1\n\nother\nkeep not\nkeep 2\nother\n")
    assert [record["message"] for record in records(lab)] == ["keep 1", "keep 2"]
    metrics = lab.running.metrics
    assert (metrics.events_filtered, metrics.events_read, metrics.events_acked) == (3, 2, 2)
    assert metrics.bytes_acked == len("keep 1\n\nother\nkeep not\nkeep 2\nother\n")


def test_the_host_can_be_left_out(lab: Lab) -> None:
    lab.input = {"publisher_pipeline": PublisherPipelineConfig(disable_host=True)}
    lab.append("a.log", "x\n")
    (record,) = records(lab)
    assert "host" not in record
    assert record["agent"]["name"] == "lab"


def test_null_stays_where_it_is_wanted(lab: Lab) -> None:
    lab.parsers = (NdjsonConfig(),)
    lab.input = {"keep_null": True}
    lab.append("a.log", '{"a": null, "message": null}\n')
    (record,) = records(lab)
    assert (record["a"], record["message"]) == (None, None)


def test_a_message_within_json_is_joined_and_ended_by_its_time(lab: Lab) -> None:
    lab.parsers = (NdjsonConfig(message_key="log"), multiline(r"^\s"))
    lab.append("a.log", '{"log": "one", "stream": "x"}\n{"log": " two"}\nno json\n')
    lab.start()
    lab.expect_lines("a.log", "one\n two", "no json")
    assert json.loads(lab.records[0])["stream"] == "x"


def test_a_line_whose_end_a_runtime_never_wrote_is_ended_by_its_time(lab: Lab) -> None:
    lab.parsers = (ContainerConfig(),)
    lab.append("a.log", "2026-01-01T00:00:00Z stdout P begun\n")
    lab.start()
    lab.expect_lines("a.log", "begun")


def test_a_record_has_the_files_owner_and_group_where_that_is_wanted(lab: Lab) -> None:
    lab.input = {"include_file_owner_name": True, "include_file_owner_group_name": True}
    lab.append("a.log", "x\n")
    path = lab.logs / "a.log"
    (record,) = records(lab)
    assert (record["log"]["file"]["owner"], record["log"]["file"]["group"]) == (path.owner(), path.group())
