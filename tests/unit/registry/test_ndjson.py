"""The first start after a release whose registry was lines of JSON."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import orjson
import pytest

from log_shipper.registry.entry import members
from log_shipper.registry.errors import RegistryCorrupt, RegistryForeignVersion
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import DATABASE, read
from log_shipper.registry.ndjson import CHECKPOINT, LOG, NAMES, RECENT
from log_shipper.registry.state import FileState, to_dict
from log_shipper.registry.store import Store
from tests.crashing_database import CrashingDatabase, filled
from tests.crashing_files import Crash
from tests.unit.registry.entries import FULL

A = FileState("a", "/logs/a", 1, 2, position=10)
B = FileState("b", "/logs/b", 1, 3, position=20)


def sealed(prefix: bytes, crc: int = 0) -> bytes:
    return b'%s,"crc":"%08x"}\n' % (prefix, crc32(prefix, crc))


def header(kind: str, group: int, version: int = 4) -> bytes:
    return sealed(b'{"registry":"%s","version":%d,"group":%d' % (kind.encode(), version, group))


def group(number: int, *entries: FileState | str) -> bytes:
    """States, and the ids of what is removed."""
    lines = b"".join(map(line, entries))
    return lines + sealed(b'{"group":%d,"entries":%d,"size":%d' % (number, len(entries), len(lines)), crc32(lines))


def line(entry: FileState | str) -> bytes:
    return orjson.dumps({"removed": entry} if isinstance(entry, str) else to_dict(entry)) + b"\n"


WHOLE = {
    CHECKPOINT: header("checkpoint", 2) + group(2, A, B),
    # Group 2 is in the checkpoint: a crash came between that and the new log.
    LOG: header("log", 1) + group(2, replace(A, position=1)) + group(3, replace(A, position=11), "c"),
    RECENT: header("recent", 3) + group(4, replace(A, position=12)) + group(5, "b"),
}
EXPECTED = {"a": replace(A, position=12)}


def without(files: dict[str, bytes], *names: str) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if name not in names}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "registry"


def imported(place: Path) -> dict[str, FileState]:
    with closing(Store.open(place, DiskFiles())) as store:
        assert not store.is_new
        return store.states


def test_the_first_start_takes_the_entries_over_and_keeps_the_files_aside(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(place, WHOLE)
    assert read(place) == EXPECTED
    assert {path.name for path in place.iterdir()} == set(NAMES)
    assert imported(place) == EXPECTED
    assert read(place) == EXPECTED
    assert {path.name for path in place.iterdir()} == {"lock", DATABASE, *(f"{name}.imported" for name in NAMES)}
    assert (place / f"{LOG}.imported").read_bytes() == WHOLE[LOG]
    assert f"registry file {place / LOG}: its entries were imported into {DATABASE}" in caplog.text
    caplog.clear()
    assert imported(place) == EXPECTED
    assert caplog.messages == []


def test_a_crash_at_any_operation_of_it_loses_nothing(tmp_path: Path) -> None:
    for crash_at in range(1, 60):
        disk = CrashingDatabase(filled(tmp_path / str(crash_at), WHOLE), crash_at)
        try:
            Store.open(disk.directory, disk).close()
        except Crash:
            for files in disk.survivors():
                assert imported(filled(tmp_path / "survivor", files)) == EXPECTED
        else:
            break
    assert 10 < crash_at < 59


def test_every_field_survives_also_a_path_that_is_not_utf_8(place: Path) -> None:
    escaped = replace(FULL, path="/é")
    lines = line(escaped).replace("é".encode(), rb"\udcff")
    closing_line = sealed(b'{"group":1,"entries":1,"size":%d' % len(lines), crc32(lines))
    filled(place, {LOG: header("log", 0) + lines + closing_line})
    assert imported(place) == {FULL.id: replace(FULL, path="/\udcff")}
    assert members(lines)["path"] == "/\udcff"


@pytest.mark.parametrize(
    ("recent", "position"),
    [
        (WHOLE[RECENT], 12),
        (WHOLE[RECENT][:-40], 12),
        (WHOLE[RECENT][:100], 11),
        (header("recent", 2) + group(3, replace(A, position=12)), 11),  # the log went on
        (header("recent", 3, version=3) + group(4, replace(A, position=12)), 11),
        (b"garbage\n", 11),
        (b"", 11),
    ],
)
def test_of_what_was_not_fsynced_all_counts_that_can_be_read(recent: bytes, position: int, place: Path) -> None:
    filled(place, WHOLE | {RECENT: recent})
    assert imported(place)["a"].position == position


@pytest.mark.parametrize("torn", [1, 30, 200])
def test_a_torn_tail_of_the_log_is_what_a_crash_left(torn: int, place: Path) -> None:
    more = group(4, replace(A, position=50))
    filled(place, without(WHOLE, RECENT) | {LOG: WHOLE[LOG] + more[:torn]})
    assert imported(place)["a"].position == 11


def test_a_log_that_begins_behind_its_checkpoint_is_read_with_it(place: Path) -> None:
    filled(place, without(WHOLE, RECENT) | {LOG: header("log", 2) + group(3, "a")})
    assert imported(place) == {"b": B}


def test_a_registry_from_which_all_entries_were_removed_is_not_a_new_one(place: Path) -> None:
    filled(place, {LOG: header("log", 0) + group(1, A) + group(2, "a")})
    assert imported(place) == imported(place) == {}


def flipped(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


DAMAGES: Iterable[tuple[str, dict[str, bytes]]] = [
    (LOG, without(WHOLE, LOG)),
    (CHECKPOINT, without(WHOLE, CHECKPOINT)),
    (CHECKPOINT, WHOLE | {CHECKPOINT: header("checkpoint", 0) + group(0, A)}),
    (CHECKPOINT, WHOLE | {CHECKPOINT: WHOLE[CHECKPOINT] + b"\n"}),
    (CHECKPOINT, WHOLE | {CHECKPOINT: WHOLE[CHECKPOINT][:-3]}),
    (CHECKPOINT, WHOLE | {CHECKPOINT: flipped(WHOLE[CHECKPOINT], 150)}),
    (CHECKPOINT, WHOLE | {CHECKPOINT: WHOLE[LOG]}),
    (LOG, WHOLE | {LOG: b"rubbish"}),
    (LOG, WHOLE | {LOG: flipped(WHOLE[LOG], 10)}),
    (LOG, WHOLE | {LOG: flipped(WHOLE[LOG], 150)}),
    (LOG, WHOLE | {LOG: header("log", 2) + group(3, "a").replace(b'"removed"', b'"renamed"')[:-1] + group(4, A)}),
    (LOG, WHOLE | {LOG: header("log", 2) + group(4, A)}),
]


@pytest.mark.parametrize(("name", "files"), DAMAGES)
def test_damage_is_an_error_that_names_the_file_and_nothing_is_imported(
    name: str, files: dict[str, bytes], place: Path
) -> None:
    filled(place, files)
    for use in (read, imported):
        with pytest.raises(RegistryCorrupt, match=r"is damaged at byte \d+: ") as caught:
            use(place)
        assert caught.value.file == place / name
    assert not (place / DATABASE).exists()


def test_a_registry_of_an_even_older_release_is_refused(place: Path) -> None:
    filled(place, {LOG: header("log", 0, version=3)})
    with pytest.raises(RegistryForeignVersion, match="has format version 3; this release supports only version 4"):
        imported(place)
