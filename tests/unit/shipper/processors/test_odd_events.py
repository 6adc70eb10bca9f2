"""No processor raises an error because of an event, whatever types its members have."""

import re
from typing import Any

import pytest
import yaml

from log_shipper.config.reference import example_parts
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import DEEPEST, copied
from log_shipper.shipper.options.processors import PROCESSORS
from tests.processing import batch_of, chain_of, records

# Instead of examples that ask services, or concern one level only.
CONFIGS = {
    "add_cloud_metadata": "add_cloud_metadata: {providers: [aws], host: 127.0.0.1:1}",
    "add_docker_metadata": "add_docker_metadata: {host: '', match_fields: [container.id]}",
    "dns": "dns: {type: reverse, fields: {source.ip: source.domain}, nameservers: [127.0.0.1], tag_on_failure: [x]}",
    "include_fields": "include_fields: {fields: [a.b, a.b.c]}",
}
NAMES = {"@metadata", "message", "tags", "error", "event", "host", "container", "process.pid", "log.file.path"}
DEEP: Any = 0
for _ in range(DEEPEST):
    DEEP = {"a": DEEP}
ODD = ["text", "", 7, -1.5, True, None, b"\xff", [], [{}], {}, {"b": "text", "b.c": 1}, "9" * 5000, "\ud800", DEEP]


def odd_events(item: str, example: Doc) -> list[Doc]:
    """Return events with odd values for the fields of the configuration, for one at a time and for all at once."""
    paths = NAMES | set(re.findall(r"[A-Za-z@][\w.]*", item)) | example.keys()
    names = {path.partition(".")[0] for path in paths} - {"log"}  # parsers and processors keep that an object
    events = [dict.fromkeys(names, odd) for odd in ODD]
    for path in sorted(paths | names):
        above, _, last = path.partition(".")
        events += [example | {path: odd} for odd in ODD]
        events += [example | {above: {last: odd}} for odd in ODD if last]
    return events


@pytest.mark.parametrize("name", list(PROCESSORS.models))
def test_no_event_ends_a_processor(name: str) -> None:
    item, *examples = example_parts(PROCESSORS.models[name].example)
    item = CONFIGS.get(name, item)
    chain = chain_of(f"- {item}")
    for event in odd_events(item, yaml.safe_load(examples[0]) if examples else {}):
        batch = batch_of([{"message": "x"}, {}])
        batch.messages.documents()[0].update(copied(event))
        chain(batch)
        records(batch)
