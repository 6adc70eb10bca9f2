"""From the body of a request to events."""

import tracemalloc

import orjson
import pytest

from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.shipper.event import TRUNCATED, Doc, Messages
from log_shipper.shipper.inputs.http.bodies import BodyReader, memory_of
from log_shipper.shipper.inputs.http.placing import Placing

JSON, NDJSON, TEXT = "application/json", "application/x-ndjson", "text/plain"
SHARED: Doc = {"host": {"name": "web-1"}, "log": {"file": {"path": "http", "id": "f1"}}, "event": {"dataset": "app"}}


def reader(
    prefix: str = ".", *, originals: bool = False, expand_keys: bool = False, keep_null: bool = False, limit: int = 1000
) -> BodyReader:
    placing = Placing(prefix, SHARED, expand_keys=expand_keys, keep_null=keep_null)
    return BodyReader(placing, limit, 1000, originals=originals)


def events(body: bytes | str, kind: str = JSON, prefix: str = ".") -> list[tuple[str, Doc]]:
    data = body if isinstance(body, bytes) else body.encode()
    return pairs(reader(prefix).read(data, kind, None))


def pairs(messages: Messages) -> list[tuple[str, Doc]]:
    return list(zip(messages.texts, messages.docs or [{} for _ in messages.texts], strict=True))


@pytest.mark.parametrize(
    "body",
    [
        '{"a": 1}\n{"a": 2}',
        '{"a": 1}\r\n{"a": 2}\r\n',
        '\n{"a": 1}\n\n{"a": 2}\n',
        '[{"a": 1}, {"a": 2}]',
        '{"a": 1} {"a": 2}',
        '{"a": 1}{"a": 2}',
        '{"a":\n1}\n{"a":\n2}',
        '{"a": 1}\n[{"a": 2}]',
        '[{"a": 1}] [{"a": 2}]',
        '\ufeff{"a": 1}\n{"a": 2}',
    ],
)
@pytest.mark.parametrize("kind", [JSON, NDJSON])
def test_objects_in_a_row_are_events_whatever_is_between_them(body: str, kind: str) -> None:
    assert events(body, kind) == [("", {"a": 1}), ("", {"a": 2})]


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1}\n{"b":2}\n',
        b'{"a":1}\n{"b":2}',
        b'[{"a":1},{"b":2},{"c":3}]',
        b'{"a":1}{"b":"\xc3\xa4"} {"c":1}',
        b"a\n\nb",
    ],
)
@pytest.mark.parametrize("kind", [JSON, NDJSON, TEXT])
def test_the_bytes_of_events_follow_each_other_and_do_not_overlap(body: bytes, kind: str) -> None:
    if kind != TEXT and body == b"a\n\nb":
        return
    messages = reader().read(body, kind, None)
    messages.move(1000)
    assert (messages.start, messages.end) == (1000, 1000 + len(body))
    ends = [offset + length for offset, length in zip(messages.offsets, messages.lengths, strict=True)]
    assert messages.offsets[0] == 1000
    assert ends[-1] == messages.end
    assert all(end <= following for end, following in zip(ends, messages.offsets[1:], strict=False))
    assert all(length > 0 for length in messages.lengths)


def test_each_line_has_its_own_bytes() -> None:
    messages = reader().read(b'{"a":1}\n\n{"b":22}', NDJSON, None)
    assert (messages.offsets, messages.lengths) == ([0, 9], [8, 8])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('{"a": 1}\n{"b": \n', "line 2: not JSON: Expecting value at line 3, column 1"),
        ('{"a": 1}\n\n{"b"}\n', "line 3: not JSON: Expecting ':' delimiter at line 3, column 5"),
        ('{"a": 1}\n7', "line 2: a number, not an object"),
        ('"a"', "line 1: a string, not an object"),
        ("null", "line 1: null, not an object"),
        ('[{"a": 1},\n true]', "line 1: item 2 of the list is true or false, not an object"),
        ('[[{"a": 1}]]', "line 1: item 1 of the list is a list, not an object"),
        ('{"a": NaN}', "line 1: not JSON: unexpected character"),
        ('{"a": ' + "9" * 5000 + "}", "line 1: not JSON: number is infinity"),
        ("[" * 100_000, "line 1: nested deeper than 200 levels"),
        ('{"a":' * 300 + "1" + "}" * 300, "line 1: not JSON: nested deeper than 200 levels"),
        ('{"b": 1}\n{"a":' + '{"a":' * 300 + "1" + "}" * 301, "line 2: not JSON: nested deeper than 200 levels"),
        ("[" + '{"a":' * 300 + "1" + "}" * 300 + "]", "line 1: not JSON: nested deeper than 200 levels"),
    ],
)
@pytest.mark.parametrize("kind", [JSON, NDJSON])
def test_what_is_wrong_is_said_by_line_and_reason_and_nothing_is_taken(body: str, why: str, kind: str) -> None:
    with pytest.raises(RefusedRequest) as refused:
        events(body, kind)
    assert refused.value.response.status == 400
    assert str(refused.value).startswith(why)
    assert str(refused.value).endswith("; the whole request is rejected")


def test_what_logs_contain_is_taken_although_it_is_not_quite_json() -> None:
    assert events(b'{"a":"\xff"}') == [("", {"a": "\ufffd"})]
    assert events(rb'{"a":"\ud83d"}') == [("", {"a": "\ufffd"})]
    assert events(b'{"a":' + b"9" * 30 + b"}") == [("", {"a": 1e30})]


def test_members_are_below_the_prefix_or_in_the_event_itself() -> None:
    body = '{"message": "m", "x": 1}'
    assert events(body, prefix="json") == [("", {"json": {"message": "m", "x": 1}})]
    assert events(body, prefix="a.b") == [("", {"a": {"b": {"message": "m", "x": 1}}})]
    assert events(body) == [("m", {"x": 1})]
    assert events("{}", prefix="json") == [("", {"json": {}})]
    assert events("{}") == [("{}", {})]


def test_an_event_has_the_time_of_its_object_and_keeps_what_identifies_it() -> None:
    text = '{"@timestamp": "2026-01-01T01:00:00+01:00", "log": {"level": "info", "offset": 7}, "host": {"ip": "::1"}}'
    assert events(text) == [
        (
            "",
            {
                "@timestamp": "2026-01-01T00:00:00.000Z",
                "log": {"level": "info"},
                "json": {"log": {"offset": 7}},
                "host": {"name": "web-1", "ip": "::1"},
            },
        )
    ]
    ((_, doc),) = events('{"@timestamp": "yesterday"}')
    assert doc["error"]["message"] == "@timestamp not overwritten (parse error on yesterday)"


def test_dotted_names_become_objects_if_that_is_wanted() -> None:
    messages = reader(expand_keys=True).read(b'{"log.level":"info","message":"m"}', JSON, None)
    assert pairs(messages) == [("m", {"log": {"level": "info"}})]


def test_null_is_left_out_unless_it_is_kept() -> None:
    assert events('[{"a": null, "b": [null]}]') == [("", {"b": [None]})]
    assert pairs(reader(keep_null=True).read(b'{"a":null}', JSON, None)) == [("", {"a": None})]


def test_lines_of_text_are_events() -> None:
    assert events(b"one\r\n\ntwo\xff", TEXT) == [("one", {}), ("two\ufffd", {})]


def test_headers_are_put_into_every_event_by_itself() -> None:
    messages = reader().read(b'[{"a":1},{"a":2}]', JSON, {"X-Id": ["7"]})
    assert messages.docs is not None
    messages.docs[0]["headers"]["X-Id"].append("8")
    assert messages.docs[1] == {"a": 2, "headers": {"X-Id": ["7"]}}
    assert pairs(reader().read(b"line", TEXT, {"X-Id": ["7"]})) == [("line", {"headers": {"X-Id": ["7"]}})]


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b'{"a":  1}\r\n{"message":"m"}', NDJSON, ['{"a":  1}', '{"message":"m"}']),
        (b'{"a":  1}', JSON, ['{"a":  1}']),
        (b'[{"a":  1}, {"event":3}]', JSON, ['{"a":1}', '{"event":3}']),
        (b'{"a": 1} [{"b": 2}]', JSON, ['{"a": 1}', '{"b":2}']),
        (b"one\ntwo", TEXT, ["one", "two"]),
    ],
)
def test_the_original_is_kept_beside_what_the_event_has(body: bytes, kind: str, expected: list[str]) -> None:
    messages = reader(originals=True).read(body, kind, None)
    assert [doc["event"]["original"] for doc in messages.docs or []] == expected
    if b"event" not in body:
        assert (messages.docs or [{}])[0]["event"]["dataset"] == "app"


def test_a_message_that_is_too_long_is_cut_and_flagged() -> None:
    messages = reader(limit=10).read(b'{"message":"0123456789abc"}\n{"message":"m"}', NDJSON, None)
    assert (messages.texts, messages.flags) == (["0123456789", "m"], {0: (TRUNCATED,)})


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"\n" * 1001, NDJSON),
        (b"{}\n" * 1001, NDJSON),
        (b"{}\n" * 1001, JSON),
        (b"{} " * 1001, JSON),
        (b"[" + b"{}," * 1000 + b"{}]", JSON),
        (b"a\n" * 1001, TEXT),
    ],
)
def test_more_events_than_memory_has_room_for_are_refused(body: bytes, kind: str) -> None:
    with pytest.raises(RefusedRequest, match=r"100[01] events exceed the maximum of 1000|send fewer") as refused:
        events(body, kind)
    assert refused.value.response.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"{}," * 50_000 + b"{}]",
        b"[" * 50_000,
        b'{"a":[' + b'"ab",' * 50_000 + b"1]}",
        b"{" + b",".join(b'"%d":1' % number for number in range(50_000)) + b"}",
        b'{"a":"' + b"x" * 500_000 + b'"}',
    ],
)
def test_the_memory_of_values_is_estimated_within_a_factor_of_three(body: bytes) -> None:
    tracemalloc.start()
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = None
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken < 3 * memory_of(body, JSON)
    del value


def test_logs_of_programs_are_estimated_at_a_few_times_their_bytes() -> None:
    line = (
        b'{"@timestamp":"2026-11-25T09:00:00.123Z","level":"info","logger":"shop.cart","message":"item 4711 was added",'
        b'"duration_ms":12.5,"request":{"id":"8f7e6d5c4b3a","path":"/cart/add"}}\n'
    )
    assert 3 * len(line) < memory_of(line, NDJSON) < 6 * len(line)


def test_a_large_number_of_objects_is_not_taken_for_depth() -> None:
    body = orjson.dumps([{"a": {"b": [index]}} for index in range(500)])
    assert len(events(body)) == 500
