"""Damage in the files of a registry: an error that names the file, or what the log is not relied on for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from log_shipper.registry.errors import RegistryCorrupt, RegistryError
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import DATABASE, LOG, read, read_once
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from tests.crashing_database import filled

FLIPS = (0x01, 0x20, 0xFF)
FLUSHED = {str(number): FileState(str(number), "/logs/" + 60 * "x", 1, 2, position=5) for number in range(30)}
RECENT = {name: FileState(name, "/logs/a", 1, 2, position=99) for name in ("1", "new")}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return a registry whose process was killed: some entries were flushed, and some changes are in the log alone."""
    place = tmp_path_factory.mktemp("registry")
    with closing(Store.open(place, DiskFiles())) as store:
        store.write(list(FLUSHED.values()))
        store.write_recent([RECENT["1"]])
        store.write_recent([RECENT["new"]])
        return {name: (place / name).read_bytes() for name in (DATABASE, LOG)}


def loaded(place: Path, database: bytes, log: bytes | None = None) -> dict[str, FileState] | RegistryError:
    files = {DATABASE: database} if log is None else {DATABASE: database, LOG: log}
    try:
        return read_once(filled(place, files))
    except RegistryError as error:
        return error


def flipped(data: bytes, step: int, first: int = 0) -> Iterator[tuple[int, bytes]]:
    for offset in range(first, len(data), step):
        for flip in FLIPS:
            yield offset, data[:offset] + bytes([data[offset] ^ flip]) + data[offset + 1 :]


def test_the_registry_that_is_damaged_here_loads(files: dict[str, bytes], tmp_path: Path) -> None:
    assert loaded(tmp_path / "whole", files[DATABASE], files[LOG]) == FLUSHED | RECENT
    assert loaded(tmp_path / "without log", files[DATABASE]) == FLUSHED


def test_a_flipped_byte_in_the_database_is_an_error_or_changes_nothing(files: dict[str, bytes], tmp_path: Path) -> None:
    errors = 0
    for first, step in ((0, 1), (100, 23)):  # each byte of the head, some of the others
        data = files[DATABASE][: 100 if step == 1 else None]
        for offset, damaged in flipped(data, step, first):
            result = loaded(tmp_path / "damaged", damaged + files[DATABASE][len(damaged) :])
            if isinstance(result, RegistryError):
                errors += 1
                assert str(tmp_path / "damaged" / DATABASE) in str(result)
            else:
                assert result == FLUSHED, offset
    assert errors > 400


def test_a_page_of_zeros_or_of_another_time_is_an_error(files: dict[str, bytes], tmp_path: Path) -> None:
    data, size = files[DATABASE], 4096
    with closing(Store.open(filled(tmp_path / "later", {DATABASE: data}), DiskFiles())) as store:  # as many entries
        store.write([FileState(file_id, "/logs/" + 60 * "x", 1, 2, position=6) for file_id in FLUSHED])
    later = (tmp_path / "later" / DATABASE).read_bytes()
    parts = {start: (data[start : start + size], later[start : start + size]) for start in range(0, len(data), size)}
    pages = {start: new for start, (old, new) in parts.items() if old != new}
    assert len(pages) == 2  # of the two tables
    for start, new in pages.items():
        for page in (bytes(size), new):
            result = loaded(tmp_path / "damaged", data[:start] + page + data[start + size :])
            assert isinstance(result, RegistryCorrupt), start


def test_a_database_that_was_cut_is_an_error(files: dict[str, bytes], tmp_path: Path) -> None:
    for size in range(0, len(files[DATABASE]), 311):
        assert isinstance(loaded(tmp_path / "cut", files[DATABASE][:size]), RegistryCorrupt), size
    with pytest.raises(RegistryCorrupt):
        read(tmp_path / "cut")  # where someone may write: after some more looks


def test_damage_in_the_log_costs_what_was_not_flushed_at_most(files: dict[str, bytes], tmp_path: Path) -> None:
    allowed = (FLUSHED, FLUSHED | {"1": RECENT["1"]}, FLUSHED | RECENT)
    for offset, damaged in flipped(files[LOG], 61):
        assert loaded(tmp_path / "damaged", files[DATABASE], damaged) in allowed, offset
    for size in range(0, len(files[LOG]), 97):
        assert loaded(tmp_path / "cut", files[DATABASE], files[LOG][:size]) in allowed, size
