"""The contract between shipper and sink in both directions, with hostile documents for each member that the sink knows:
what the agent sends of a JSON log lands, whatever the log says of these members."""

import json
from typing import Any

import pytest

from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from tests.lab import Lab
from tests.unit.spark_sink.rows.converting import conversion, kafka_records, reasons_of, rows_of

TIME = "2026-11-21T09:30:00.123Z"
# The members that have a column, and the objects on their way.
MEMBERS = [
    *("@timestamp", "message", "host", "host.name", "tags", "fields", "log", "log.file"),
    *("log.file.path", "log.file.id", "log.offset", "log.length", "log.flags"),
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**63, 1e300),
    *("", "x", "5", "2019-03-15 19:41:07", "\x00", "é\U0001f642", "x" * 40_000),
    *([], [1], ["a", None], [["a"]], [{"a": 1}], {}, {"": 1}, {"name": 5}, {"name": None}, {"a": {"b": [None]}}),
]


def document_of(member: str, value: Any) -> dict[str, Any]:
    """Return a document that has the value at the path, and the time."""
    document: dict[str, Any] = {"@timestamp": TIME}
    *parents, last = member.split(".") if member != "@timestamp" else [member]
    inner = document
    for name in parents:
        inner = inner.setdefault(name, {})
    inner[last] = value
    return document


@pytest.mark.parametrize("member", MEMBERS)
def test_the_sink_lands_a_document_or_names_the_member(member: str) -> None:
    """Neither is a batch lost for a document, nor a value taken for another one."""
    values = [json.dumps(document_of(member, value)).encode() for value in VALUES]
    converted = conversion(doc="all").convert(kafka_records(values))
    rows, reasons = rows_of(converted), reasons_of(converted)
    assert sorted({*rows, *reasons}) == list(range(len(VALUES)))
    assert not rows.keys() & reasons.keys()
    assert [reason for reason in reasons.values() if member.split(".")[0] not in reason] == []


@pytest.mark.parametrize("member", ["host", "tags"])
@pytest.mark.parametrize("text", ["web-1", "", "é\U0001f642"])
def test_a_text_is_taken_for_what_it_means(member: str, text: str) -> None:
    converted = conversion().convert(kafka_records([json.dumps(document_of(member, text)).encode()]))
    assert rows_of(converted)[0][member] == (text if member == "host" else [text])


PARSERS = {
    "as by default": NdjsonConfig(),
    "overwriting": NdjsonConfig(overwrite_keys=True, add_error_key=True),
    "expanding": NdjsonConfig(overwrite_keys=True, expand_keys=True),
}


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("member", MEMBERS)
def test_what_the_agent_sends_of_a_json_log_lands(lab: Lab, member: str, parser: str) -> None:
    lab.parsers = (PARSERS[parser],)
    nested = [document_of(member, value) for value in VALUES]
    dotted = [{"@timestamp": TIME, member: value} for value in VALUES]
    lines = [json.dumps(document) for document in (*nested, *dotted)]
    lab.append("app.log", "".join(f"{line}\n" for line in lines))
    lab.run_once()
    records = [record.encode() for record in lab.records]
    assert len(records) == len(lines)
    refused = reasons_of(conversion().convert(kafka_records(records)))
    assert {records[index].decode()[:300]: reason for index, reason in refused.items()} == {}
