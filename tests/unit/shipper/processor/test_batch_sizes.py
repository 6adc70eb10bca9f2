"""What a processor makes of events does not depend on the batches in which they come."""

import base64
import gzip
import json
import os
import random
from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.options.processors import PROCESSORS
from log_shipper.shipper.processor.caches import Caches
from tests.fakes import ManualClock
from tests.processing import batch_of, chain_of, records

COUNT = 1000
CEF = "CEF:0|vendor|product|1|100|name|5|src=10.0.0.%d cnt=%d"
SYSLOG = "<34>1 2003-10-11T22:14:%02dZ host%d app - ID47 - text"
MEMORY = "backend.memory.id: a"
# Of metadata of a file or the machine, for which whole batches wait, and of look-ups: they have tests of their own.
OF_FILES = {"add_cloud_metadata", "add_docker_metadata", "add_kubernetes_metadata", "dns"}
RANDOM = {"add_id"}

PROCESSED = {
    "add_fields": "add_fields: {target: '', fields: {static: {b: 2}, x.y: 3}}",
    "add_labels": "add_labels.labels: {a: 1, b: {c: 2}}",
    "add_tags": "add_tags.tags: [one, two]",
    "add_id": "add_id: {}",
    "add_locale": "add_locale: {}",
    "append": "append: {target_field: list, fields: [number, text], values: [x], allow_duplicate: false}",
    "add_formatted_index": "add_formatted_index.index: 'i-%{[text]}-%{+yyyy.MM.dd}'",
    "now": "now.field: at",
    "add_network_direction": "add_network_direction: {source: ip, destination: other, target: dir, internal_networks: "
    "[private]}",
    "copy_fields": "copy_fields: {fields: [{from: text, to: copy}], fail_on_error: false, ignore_missing: true}",
    "rename": "rename: {fields: [{from: text, to: renamed}], fail_on_error: true}",
    "move_fields": "move_fields: {from: object, fields: [a], to: moved}",
    "drop_event": "drop_event.when.range.number.gte: 7",
    "drop_fields": "drop_fields: {fields: [text, static.a], ignore_missing: true}",
    "include_fields": "include_fields.fields: [number, object.a]",
    "rate_limit": "rate_limit: {limit: 3/m, fields: [text]}",
    "convert": "convert.fields: [{from: number, to: n, type: string}, {from: text, type: long}]",
    "extract_array": "extract_array: {field: array, mappings: {first: 0, third: 2}}",
    "replace": "replace.fields: [{field: text, pattern: '[0-3]', replacement: z}]",
    "truncate_fields": "truncate_fields: {fields: [message, text], max_characters: 4, fail_on_error: false}",
    "urldecode": "urldecode.fields: [{from: url, to: decoded}]",
    "lowercase": "lowercase: {fields: [Upper], values: [text]}",
    "uppercase": "uppercase: {fields: [text], values: [array]}",
    "dissect": "dissect: {tokenizer: '%{a} %{b|integer}', field: message, target_prefix: d}",
    "grok": "grok: {field: message, patterns: ['%{WORD:w} %{NUMBER:n}']}",
    "redact": "redact: {fields: [message, cef], patterns: [ipv4]}",
    "timestamp": "timestamp: {field: time, layouts: ['2006-01-02 15:04:05']}",
    "syslog": "syslog.field: syslog",
    "decode_base64_field": "decode_base64_field.field: {from: base64, to: plain}",
    "decompress_gzip_field": "decompress_gzip_field.field: {from: gzip, to: plain}",
    "decode_csv_fields": "decode_csv_fields.fields: {csv: columns}",
    "decode_duration": "decode_duration: {field: duration, format: seconds}",
    "decode_json_fields": "decode_json_fields: {fields: [json], target: '', overwrite_keys: true, add_error_key: true}",
    "decode_cef": "decode_cef.field: cef",
    "decode_xml": "decode_xml: {field: xml, target_field: x}",
    "fingerprint": "fingerprint: {fields: [number, message], target_field: f}",
    "community_id": "community_id: {}",
    "registered_domain": "registered_domain: {field: domain, target_field: r}",
    "detect_mime_type": "detect_mime_type: {field: message, target: mime}",
    "cache": f"cache: {{{MEMORY}, put: {{key_field: text, value_field: number, ttl: 1h}}}}\n"
    f"- cache: {{{MEMORY}, get: {{key_field: other_text, target_field: t}}}}\n"
    f"- cache: {{{MEMORY}, delete: {{key_field: gone}}}}",
    "add_host_metadata": "add_host_metadata: {}",
    "add_process_metadata": "add_process_metadata: {match_pids: [pid], target: parent}",
}


def event(number: int, dice: random.Random) -> Doc:
    """Return an event of which some members are missing, of another type, or invalid."""
    digit = number % 10
    doc: Doc = {
        "message": f"word {digit}" if digit else "odd",
        "number": number % 13,
        "text": f"t{number % 7}",
        "other_text": f"t{number % 11}",
        "gone": f"t{number % 5}",
        "object": {"a": digit, "b": "x"},
        "array": [digit, "two", "three"][: number % 4],
        "Upper": "VALUE",
        "url": f"a%2{digit}b",
        "ip": f"10.0.0.{digit}",
        "other": f"8.8.8.{digit}",
        "source": {"ip": f"10.0.0.{digit}", "port": 1000 + digit},
        "destination": {"ip": "10.1.1.1", "port": 80},
        "network": {"transport": "tcp"},
        "time": f"2026-01-02 03:04:{number % 70:02}",
        "syslog": SYSLOG % (number % 60, digit),
        "base64": base64.b64encode(b"%d" % number).decode(),
        "gzip": f"text {digit}" if digit else gzip.compress(b"x").decode("latin-1"),
        "csv": f'a,{digit},"c{digit}"',
        "duration": f"{number % 90}s",
        "json": json.dumps({"number": digit, "nested": {"a": [digit]}}),
        "cef": CEF % (digit, number),
        "xml": f"<a><b>{digit}</b></a>",
        "domain": f"www.host{digit}.example.co.uk",
        "pid": os.getpid() if digit else 2**22 + 1,
    }
    for name in dice.sample(sorted(doc), 3):
        doc[name] = dice.choice((None, 7, "", "text", {"c": 1}, ["x"]))
    for name in dice.sample(sorted(doc), 2):
        del doc[name]
    return doc


def made(text: str, events: list[Doc], size: int) -> list[Any]:
    clock = ManualClock()
    chain = chain_of(text, clock=clock, caches=Caches(clock))
    static: Doc = {"static": {"a": 1}, "text": "of the file"}
    result = list[Any]()
    for start in range(0, len(events), size):
        batch = batch_of(events[start : start + size], static)
        chain(batch)
        for record in records(batch):
            record["log"]["offset"] = 0  # places within a batch
            result.append(record)
    return result


EVENTS = [event(number, random.Random(number)) for number in range(COUNT)]


@pytest.mark.parametrize("name", sorted(PROCESSED))
def test_batches_of_one_and_of_a_thousand_events_give_the_same(name: str) -> None:
    text = f"- {PROCESSED[name]}"
    one, many = made(text, EVENTS, 1), made(text, EVENTS, COUNT)
    if name in RANDOM:
        for record in (*one, *many):
            del record["@metadata"]
    assert one == many
    assert len(many) > 10


def test_each_processor_is_in_the_table() -> None:
    assert {*PROCESSED, *OF_FILES} == set(PROCESSORS.models)
