"""Records from a seed: good ones as agents write them, odd ones that are good all the same, and hostile ones."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.unit.spark_sink.kafka_records import Headers

TIMES = [
    *(
        "2026-11-21T09:30:00.123Z",
        "2026-11-21T09:30:00Z",
        "2026-11-21T09:30:00.123456Z",
        "2026-11-21T09:30:00.1234567Z",
    ),
    *("2026-11-21 09:30:00", "2026-11-21T23:59:59+02:00", "2026-11-22T00:30:00-0130", "2026-11-21T09:30:00 UTC"),
    *("2026-11-21T09:30:00 Europe/Berlin", "1890-01-01T00:00:00 Europe/Berlin", "2026-03-29T02:30:00Europe/Berlin"),
    *("2026-11-21T09", "2026-11-21T09:30", "2026-11-21T", "2026-11-21 ", " 2026-1-1T1:2:3", "+2026-1-01T01:02:03Z"),
    *("12026-1-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z"),
    *("2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:30:60Z", "yesterday"),
    *("2026-11-21T09:30:00EST", "2026-11-21T09:30:00CST", "2026-11-21T09:30:00+18:01", "2026-11-21T09:30:00+5:3"),
    *("2026-11-21T09:30:00.Z", "2026-11-21T09:30:00,123Z", "2026-11-21T09:30:00.123z", "2026-W47-6T09:30:00.123Z"),
    *("2026-11-21T09:30:00GMT+3", "2026-11-21T09:30:00UTC-07:30", "2026-11-21T09:30:00+010203", "2026-11-21t09:30:00Z"),
    *("2026-11-21T09:30:00Factory", "-001-01-01T00:00:00Z", "2026-11-021T09:30:00Z", "2026-11-21T09:30:00.123Z\n", ""),
]
TEXTS = [
    *(
        '""',
        '"x"',
        '"5"',
        '"-1"',
        '"{"',
        '"{}"',
        '"[1]"',
        '"t"',
        '"\\u0035"',
        '"\\ud83d"',
        '"a\\ude00b"',
        '"\\ud83d\\ude00"',
    ),
    *(
        '"true"',
        '"null"',
        '"NaN"',
        '"\\"Infinity\\""',
        '"na\u00efve \u00e9 \U0001f642 \\u0000"',
        '"\\/\\b\\f\\n\\r\\t\\\\"',
    ),
    *(
        '"\x7f\u2028"',
        '"2026-11-21"',
        '"2026"',
        '"..a"',
        '"_delta_log"',
        '"a/b"',
        '"GET /index.html 200"',
        '"\\u00E9<>&"',
    ),
]
NUMBERS = [
    *(
        "0",
        "5",
        "-5",
        "-0",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
    ),
    *(
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "2147483648",
        "9007199254740993",
    ),
    *("5.0", "1.50", "-0.0", "-0.5", "1e3", "1E-7", "1e999", "-1e999", "1e39", "0.1", "100.0", "1.0E300", "12345678.9"),
    *(
        "0.00000000000000000000000000000000000001",
        "0.000000000000000000000000000000000000001",
        "1" * 38 + ".5",
        "1" * 40,
    ),
]
NOT_JSON = [
    "NaN",
    "+1",
    "01",
    "'x'",
    "1.",
    ".5",
    "tru",
    "Infinity",
    '"\t"',
    '"\\x"',
    '"\\u12"',
    "[1,]",
    "{,}",
    "1e",
    "--1",
]
WORDS = ["true", "false", "null"]
NESTED = [
    *("[]", "{}", "[1]", '["a"]', '["a",null]', "[null]", '["a",1]', '["a",["b"]]', "[1,2.5]", "[1.5,1e3]", "[1,true]"),
    *('{"a":1}', '{"b":2,"a":"x"}', '[{"a":1},{"b":2}]', '[{"a":1},{"a":1.5}]', '{"a b":{"`":[]}}', "[[1],[]]"),
    *(
        '{"a":1,"a":2}',
        '{"A":1,"a":2}',
        '{ "a" : 1e5 , "b" : [ 1 , 2 ] }',
        '{"\\u0061":"\\u0061"}',
        '{"":1}',
        '{"z":{}}',
    ),
]
PATHS = [
    *(
        "message",
        "host.name",
        "log.file.path",
        "log.file.id",
        "log.offset",
        "log.length",
        "log.flags",
        "tags",
        "fields",
    ),
    *("host", "log", "log.file", "host.ip", "log.level", "log.file.inode", "fields.service", "stream", "error.message"),
    *("http.response.status_code", "http.response.took", "http.ok", "kubernetes.pod", "at", "a.b", "Message", "labels"),
]
TAILS = ["", " ", "\n", "\x00", "\ufeff", "x", ",", '"', "//", "/**/", "#", "{}", ",{}", "}", "]", "]]", "]}", "],[{}"]
PLACE: dict[str, list[bytes]] = {
    "log.file.id": [b"9f3c", b"9f3c", b"", b"\xe9"],
    "log.offset": [b"0", b"1234", b"1234", b"12.5", b" 1", b"-1", b"9" * 20, b"9223372036854775807", b"007", b"+5"],
    "log.length": [b"87", b"87", b"x", b""],
    "@timestamp": [b"2026-11-21T09:30:00.123Z", *(time.encode() for time in TIMES)],
    "log.flags": [b"multiline", b"multiline,truncated", b"", b",", b"\xff"],
    "log.file.path": [b"/var/log/app.log", b"/caf\xc3\xa9", b"/caf\xe9", b""],
    "host.name": [b"web-1", b"\x80", b""],
}


@dataclass(frozen=True, slots=True)
class HostileRecord:
    value: bytes | None
    headers: Headers | None = None


def records(seed: int, count: int) -> list[HostileRecord]:
    """Return records, the same for the same seed."""
    chance = random.Random(seed)
    makers: list[tuple[Callable[[random.Random], HostileRecord], int]] = [
        (_agents, 25),
        (_members, 50),
        (_mutated, 15),
        (_text, 8),
        (_whole, 2),
    ]
    chosen = chance.choices([maker for maker, _ in makers], [weight for _, weight in makers], k=count)
    return [maker(chance) for maker in chosen]


def _agents(chance: random.Random) -> HostileRecord:
    """As an agent writes them: most members the same from record to record."""
    file = {"path": "/var/log/app.log", "inode": "811", "device_id": "2049", "id": f"{chance.randrange(8):04x}"}
    log: dict[str, object] = {"offset": chance.randrange(10**6), "length": chance.randrange(200), "file": file}
    if chance.random() < 0.1:
        log["flags"] = ["multiline"]
    record: dict[str, object] = {
        "@timestamp": f"2026-11-{chance.randrange(20, 23)}T09:30:{chance.randrange(60):02d}.123Z",
        "message": chance.choice(
            ["GET /index.html 200", "caf\u00e9 \U0001f600", 'a "quoted" \\ text', "a\n  b", "\x1b[0m"]
        ),
        "log": log,
    }
    if chance.random() < 0.2:
        record["fields"] = {"service": chance.choice(["shop", "web", "a/b"]), "n": chance.randrange(3)}
    if chance.random() < 0.2:
        record["http"] = {"response": {"status_code": chance.choice([200, 404, "500", 1.5]), "took": chance.random()}}
    record |= {"input": {"type": "filestream"}, "host": {"name": f"web-{chance.randrange(3)}"}}
    record |= {"agent": {"type": "shipper", "id": "\u2026", "version": "0.3.0"}, "ecs": {"version": "8.17.0"}}
    separators = chance.choice([(",", ":"), (",", ":"), (", ", ": ")])
    text = json.dumps(record, ensure_ascii=chance.random() < 0.3, separators=separators)
    return HostileRecord(text.encode())


def _value(chance: random.Random, path: str) -> str:
    pools = {
        "tags": NESTED,
        "log.flags": NESTED,
        "fields": NESTED,
        "log.offset": NUMBERS,
        "at": [json.dumps(t) for t in TIMES],
    }
    if chance.random() < 0.5:
        return chance.choice(pools.get(path, TEXTS))
    kind = chance.choices([TEXTS, NUMBERS, WORDS, NESTED, NOT_JSON], [30, 30, 15, 24, 1])[0]
    return chance.choice(kind)


def _nested(chance: random.Random, members: list[tuple[list[str], str]]) -> str:
    """Return an object with the members, in their order; what has the same first name is joined, mostly."""
    groups: list[tuple[str, list[tuple[list[str], str]]]] = []
    for steps, value in members:
        known = next((group for name, group in groups if name == steps[0]), None)
        if known is not None and len(steps) > 1 and chance.random() < 0.9:
            known.append((steps[1:], value))
        else:
            groups.append((steps[0], [(steps[1:], value)]))
    blank = chance.choices(["", " ", "\n\t"], [90, 6, 4])[0]
    written = []
    for name, below in groups:
        own = [value for steps, value in below if not steps]
        written.append(f"{_name(chance, name)}{blank}:{blank}{own[0] if own else _nested(chance, below)}")
    return "{" + blank + f"{blank},".join(written) + blank + "}"


def _name(chance: random.Random, name: str) -> str:
    if chance.random() < 0.02:
        return '"' + name.replace("a", "\\u0061") + '"'
    return json.dumps(name)


def _document(chance: random.Random) -> str:
    time = TIMES[0] if chance.random() < 0.8 else chance.choice(TIMES)
    members = [(["@timestamp"], json.dumps(time) if chance.random() < 0.97 else _value(chance, ""))]
    if chance.random() < 0.02:
        members = []
    for path in chance.choices(PATHS, k=chance.randrange(6)):
        members.append((path.split("."), _value(chance, path)))
    if chance.random() < 0.1:
        members.append(([f"name {chance.randrange(300)}"], _value(chance, "")))
    chance.shuffle(members)
    return _nested(chance, members) if members else "{}"


def _members(chance: random.Random) -> HostileRecord:
    text = _document(chance)
    if chance.random() < 0.05:
        text += chance.choice(TAILS)
    if chance.random() < 0.02:
        text = chance.choice(TAILS) + text
    return HostileRecord(text.encode("utf-8", "surrogatepass"))


def _mutated(chance: random.Random) -> HostileRecord:
    """Replace, remove or double some bytes of a good record."""
    value = bytearray((_agents if chance.random() < 0.5 else _members)(chance).value or b"")
    for _ in range(chance.randrange(1, 4)):
        start = chance.randrange(len(value) + 1)
        match chance.randrange(4):
            case 0:
                value[start : start + 1] = bytes(
                    [chance.choice(b'{}[]",:\\0159eE+-.tfn \t\n\x00\x7f\x80\xc3\xe9\xed\xff')]
                )
            case 1:
                del value[start : start + chance.choice([1, 1, 5, 1000])]
            case 2:
                value[start:start] = value[start : start + chance.randrange(1, 30)]
            case _:
                value[start:start] = bytes([chance.randrange(256)])
    return HostileRecord(bytes(value))


def _text(chance: random.Random) -> HostileRecord:
    """Return a record whose value is the message, with the rest in headers."""
    names = [name for name in PLACE if chance.random() < 0.93]
    good = chance.random() < 0.6
    headers = [(name, PLACE[name][0] if good else chance.choice(PLACE[name])) for name in names]
    if chance.random() < 0.2:
        headers.append(chance.choice([("source", b"web"), ("log.offset", b"99"), ("other", b"\xff")]))
    value = chance.choice(
        [b"GET / 200", "caf\u00e9".encode(), b"caf\xe9", b"", _document(chance).encode(), b"{}", b"\x00"]
    )
    return HostileRecord(value, headers)


def _whole(chance: random.Random) -> HostileRecord:
    pools = [*TEXTS, *NUMBERS, *WORDS, *NESTED, *NOT_JSON, "", "hello", "[" * 600 + "]" * 600]
    return HostileRecord(chance.choice([None, *(text.encode() for text in pools)]))
