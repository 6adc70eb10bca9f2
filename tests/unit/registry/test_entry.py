from __future__ import annotations

import json
import os
import re
from dataclasses import FrozenInstanceError, replace

import pytest

from log_shipper.registry.entry import VERSION, decoded, encoded
from tests.unit.registry.entries import FULL


@pytest.mark.parametrize("path", [FULL.path, "/logs/\u00e9\u2028\n\\udcff.log"])
def test_every_field_of_an_entry_survives_as_json_whatever_its_path(path: str) -> None:
    line = encoded(replace(FULL, path=path))
    assert json.loads(line)["position"] == 2**53 + 1
    assert decoded(line) == replace(FULL, path=path)


def test_an_entry_of_a_release_whose_format_had_no_version_is_read() -> None:
    older = encoded(FULL).replace(b'"version":%d,' % VERSION, b"").replace(b'"version": %d,' % VERSION, b"")
    assert "version" not in json.loads(older)
    assert decoded(older + b"\n") == FULL


def test_an_entry_of_another_version_is_refused_with_both() -> None:
    with pytest.raises(ValueError, match="format version 2 is not supported; this release reads version 1"):
        decoded(encoded(replace(FULL, path="/a")).replace(b'"version":1', b'"version":2'))


def test_an_entry_that_was_read_is_one_like_any_other_and_as_frozen() -> None:
    read = decoded(encoded(FULL))
    assert hash(read) == hash(FULL)
    with pytest.raises(FrozenInstanceError):
        read.position = 1  # type: ignore[misc]  # that it is refused is what is tested


LINE = encoded(replace(FULL, path=os.sep))


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace(b'"cursor"', b'"colour"'),
        b'{"id":"a","path":"/a","device":1,"inode":2}',
        b"[1,2]",
        b"7",
        b"not json",
        re.sub(rb'"fingerprint":\[[^]]*\]', b'"fingerprint":5', LINE),
    ],
)
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises((TypeError, ValueError)):
        decoded(line)
