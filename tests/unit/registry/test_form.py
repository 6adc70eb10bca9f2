from __future__ import annotations

import json
import os
import re
from dataclasses import FrozenInstanceError, replace

import pytest

from log_shipper.registry import form
from log_shipper.registry.state import FileState

FULL = FileState(
    id="9f3c",
    path=os.fsdecode(b'/logs/\xff "quoted"\n{"group":1,\xc3\xa9.log'),
    device=2049,
    inode=811,
    fingerprint=(1024, "ab" * 16),
    tail_hash="cd" * 16,
    position=2**53 + 1,
    size_seen=2**53 + 7,
    updated=1763717400.123456,
    ttl=3600.5,
    cuts=(10, 2**53),
    ended="truncated",
    continues_in="77aa",
    input="app",
    key="path:/logs/a",
    compressed=4711,
    proof="ef" * 32,
    birth=1763717400123456789,
    modified=1763717401123456789,
    changed=1763717402123456789,
    kind="journald",
    cursor="s=9f;i=1;b=77",
)


def applied(data: bytes, number: int = 1) -> dict[str, FileState]:
    states: dict[str, FileState] = {}
    for group in form.groups(data, 0, number):
        form.apply(data, group, states)
    return states


def test_every_field_of_an_entry_survives_also_a_path_that_is_not_utf_8() -> None:
    assert applied(form.group(1, [form.entry(FULL)])) == {"9f3c": FULL}


@pytest.mark.parametrize("path", [FULL.path, "/logs/\u00e9\u2028\n\\udcff.log"])
def test_an_entry_is_one_line_of_json_whatever_its_path(path: str) -> None:
    line = form.entry(replace(FULL, path=path))
    assert line.count(b"\n") == 1
    assert json.loads(line)["position"] == 2**53 + 1
    assert applied(form.group(1, [line]))["9f3c"].path == path


def test_many_entries_are_made_in_pieces_that_are_together_the_group() -> None:
    lines = [form.entry(replace(FULL, id=str(number))) for number in range(5000)]
    pieces = list(form.pieces(7, lines, b"before"))
    assert b"".join(pieces) == b"before" + form.group(7, lines)
    assert max(map(len, pieces)) < 300_000
    assert len(applied(form.group(7, lines), 7)) == 5000


def test_an_entry_that_was_loaded_is_one_like_any_other_and_as_frozen() -> None:
    loaded = applied(form.group(1, [form.entry(FULL)]))["9f3c"]
    assert type(loaded) is FileState
    assert hash(loaded) == hash(FULL)
    assert replace(loaded, position=1) == replace(FULL, position=1)
    with pytest.raises(FrozenInstanceError):
        loaded.position = 1  # type: ignore[misc]  # that it is refused is what is tested


@pytest.mark.parametrize(
    "line",
    [
        form.entry(FULL).replace(b'"cursor"', b'"colour"'),
        b'{"id":"a","path":"/a","device":1,"inode":2}\n',
        b"[1,2]\n",
        b"7\n",
        b"not json\n",
        re.sub(rb'"fingerprint":\[[^]]*\]', b'"fingerprint":5', form.entry(FULL)),
        b'{"removed":["a"]}\n',
    ],
)
def test_a_line_that_is_no_entry_is_damage_at_its_own_offset(line: bytes) -> None:
    good = form.entry(FULL)
    with pytest.raises(form.Damaged) as caught:
        applied(form.group(1, [good, line]))
    assert caught.value.offset == len(good)


def test_a_removal_takes_an_entry_away_and_one_of_an_unknown_id_does_nothing() -> None:
    assert applied(form.group(1, [form.entry(FULL), form.removal("9f3c"), form.removal("nobody")])) == {}


def test_groups_must_follow_each_other_by_number() -> None:
    data = form.group(1, [form.entry(FULL)]) + form.group(3, [form.removal("9f3c")])
    assert applied(data) == {"9f3c": FULL}
    with pytest.raises(form.Damaged):
        form.check_tail(data, len(form.group(1, [form.entry(FULL)])), 2)


def test_a_header_has_the_group_and_where_it_ends() -> None:
    line = form.header("log", 12)
    assert form.read_header(line + b"more", "log") == form.Header(12, len(line))


def test_a_file_of_the_other_kind_is_not_taken() -> None:
    with pytest.raises(form.Damaged, match="this is a checkpoint, not a log"):
        form.read_header(form.header("checkpoint", 12), "log")


@pytest.mark.parametrize("version", [form.VERSION - 1, form.VERSION + 1])
def test_another_version_is_distinguished_from_damage(version: int) -> None:
    foreign = form.sealed(b'{"registry":"log","version":%d,"group":0,"more":true' % version)
    with pytest.raises(form.ForeignVersion) as caught:
        form.read_header(foreign, "log")
    assert caught.value.version == version
    with pytest.raises(form.Damaged):
        form.read_header(foreign.replace(b'"version":%d' % version, b'"version":%d' % (version + 1)), "log")
