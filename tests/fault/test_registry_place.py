"""What can be at the path of the registry: links, files, directories, disks that refuse writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from log_shipper.registry.errors import RegistryMisplaced
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import DATABASE, read
from log_shipper.registry.state import FileState
from log_shipper.registry.store import UNFINISHED, Store
from tests.crashing_database import CrashingDatabase

A = FileState("a", "/logs/a", 1, 2, position=10)
UNPRIVILEGED_USER = 65534  # nobody


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a registry with one entry."""
    place = tmp_path / "data" / "registry"
    store = Store.open(place, DiskFiles())
    store.write([A])
    store.close()
    assert {path.name for path in place.iterdir()} == {"lock", DATABASE}
    return place


def opened(place: Path) -> dict[str, FileState]:
    store = Store.open(place, DiskFiles())
    store.write([A])
    store.close()
    return store.states


def test_a_registry_directory_may_be_a_symlink_and_is_written_to_where_it_points(place: Path, tmp_path: Path) -> None:
    real = place.rename(tmp_path / "elsewhere")
    place.symlink_to(real)
    assert opened(place) == read(place) == {"a": A}
    assert place.is_symlink()
    assert read(real) == {"a": A}


@pytest.mark.parametrize("use", [opened, read])
@pytest.mark.parametrize("level", ["registry", "data"])
def test_a_symlink_that_leads_nowhere_is_an_error_and_never_an_empty_registry(
    level: str, use: Callable[[Path], object], tmp_path: Path
) -> None:
    place = tmp_path / "data" / "registry"
    link = place if level == "registry" else place.parent
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "unmounted" / "disk")
    with pytest.raises(RegistryMisplaced, match="which does not exist; mount or create it") as caught:
        use(place)
    assert caught.value.path == link
    assert not (tmp_path / "unmounted").exists()


@pytest.mark.parametrize("use", [opened, read])
def test_a_database_that_is_a_symlink_is_refused_with_the_way_out(
    use: Callable[[Path], object], place: Path, tmp_path: Path
) -> None:
    content = (place / DATABASE).read_bytes()
    real = (place / DATABASE).rename(tmp_path / "real.db")
    (place / DATABASE).symlink_to(real)
    with pytest.raises(RegistryMisplaced, match="or link the directory") as caught:
        use(place)
    assert caught.value.path == place / DATABASE
    assert real.read_bytes() == content


@pytest.mark.parametrize("use", [opened, read])
@pytest.mark.parametrize("name", [DATABASE, "log.ndjson"])
def test_a_registry_file_that_is_a_dangling_symlink_is_no_empty_registry(
    name: str, use: Callable[[Path], object], tmp_path: Path
) -> None:
    (tmp_path / name).symlink_to(tmp_path / "unmounted" / name)
    with pytest.raises(RegistryMisplaced, match="which does not exist"):
        use(tmp_path)


def test_a_symlink_in_the_way_of_a_new_file_never_empties_what_it_points_to(tmp_path: Path) -> None:
    place, victim = tmp_path / "registry", tmp_path / "victim"
    place.mkdir()
    victim.write_text("precious")
    (place / UNFINISHED).symlink_to(victim)
    assert opened(place) == read(place) == {"a": A}
    assert victim.read_text() == "precious"


def test_a_lock_that_is_a_symlink_is_refused(place: Path, tmp_path: Path) -> None:
    (place / "lock").rename(tmp_path / "lock")
    (place / "lock").symlink_to(tmp_path / "lock")
    with pytest.raises(RegistryMisplaced):
        opened(place)


@pytest.mark.parametrize("use", [opened, read])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_fifo_or_a_directory_in_the_place_of_a_file_is_refused_without_waiting(
    make: Callable[[Path], None], use: Callable[[Path], object], place: Path
) -> None:
    (place / DATABASE).unlink()
    make(place / DATABASE)
    with pytest.raises(RegistryMisplaced, match="not a regular file"):
        use(place)


@pytest.mark.parametrize("level", ["registry", "data"])
def test_a_file_in_the_place_of_a_directory_is_refused_and_left_alone(level: str, tmp_path: Path) -> None:
    place = tmp_path / "data" / "registry"
    wrong = place if level == "registry" else place.parent
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text("notes")
    with pytest.raises(RegistryMisplaced, match="is a file, but must be a directory"):
        Store.open(place, DiskFiles())
    assert wrong.read_text() == "notes"


def shown(place: Path) -> None:
    assert read(place) == {"a": A}


def errno_unprivileged(action: Callable[[], None]) -> int:
    """Return the errno of the OSError that `action` raises without the rights of root; 0 if it raises none."""
    if os.geteuid() != 0:
        try:
            action()
        except OSError as error:
            return error.errno or -1
        return 0
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 255
    try:
        os.setuid(UNPRIVILEGED_USER)
        action()
        code = 0
    except OSError as error:
        code = error.errno or 254
    finally:
        os._exit(code)


def test_a_directory_that_cannot_be_written_at_the_start_is_a_plain_error_and_nothing_is_taken_for_new() -> None:
    with TemporaryDirectory() as directory:  # whose parents anyone may enter, unlike those of tmp_path
        place = Path(directory)
        assert opened(place) == {"a": A}
        for path in place.iterdir():
            path.chmod(0o444)
        place.chmod(0o555)
        assert errno_unprivileged(lambda: Store.open(place, DiskFiles()).close()) == errno.EACCES
        assert errno_unprivileged(lambda: shown(place)) == 0
        place.chmod(0o755)
        assert read(place) == {"a": A}


def test_who_may_not_read_the_database_gets_a_plain_error() -> None:
    with TemporaryDirectory() as directory:
        place = Path(directory)
        opened(place)
        place.chmod(0o755)
        assert errno_unprivileged(lambda: shown(place)) == errno.EACCES


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_disk_that_refuses_at_the_start_is_a_plain_error_and_the_lock_is_given_back(
    code: int, tmp_path: Path
) -> None:
    disk = CrashingDatabase(tmp_path / "registry", fail_at={1: code})
    with pytest.raises(OSError, match=os.strerror(code)):
        Store.open(disk.directory, disk)
    DiskFiles().lock(disk.directory).close()
