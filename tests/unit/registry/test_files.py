"""One contract for the real disk and the one that crashes."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from log_shipper.registry.errors import RegistryLocked
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import DATABASE, LOG
from log_shipper.registry.state import FileState
from log_shipper.registry.store import INDEX, Store
from tests.capabilities import without_capabilities
from tests.descriptors import open_below

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("content", [b"", b"what was there"])
def test_a_new_file_is_empty_whatever_was_there(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(content)
    DiskFiles().create(tmp_path / "new")
    assert (tmp_path / "new").read_bytes() == b""


def test_a_file_is_distinguished_from_another_of_its_name(tmp_path: Path) -> None:
    files = DiskFiles()
    assert files.identity(tmp_path / "log") is None
    files.create(tmp_path / "log")
    first = files.identity(tmp_path / "log")
    files.create(tmp_path / "tmp")
    files.rename(tmp_path / "tmp", tmp_path / "log")
    assert None is not files.identity(tmp_path / "log") != first


def test_a_lock_knows_whether_its_directory_is_still_at_its_path(tmp_path: Path) -> None:
    place = tmp_path / "registry"
    lock = DiskFiles().lock(place)
    assert lock.is_at(place)
    shutil.rmtree(place)
    assert not lock.is_at(place)
    again = DiskFiles().lock(place)
    assert (lock.is_at(place), again.is_at(place)) == (False, True)
    lock.close()
    with pytest.raises(RegistryLocked):
        DiskFiles().lock(place)
    again.close()


def test_a_lock_file_that_is_removed_lets_no_second_writer_in(tmp_path: Path) -> None:
    lock = DiskFiles().lock(tmp_path)
    (tmp_path / "lock").unlink()
    with pytest.raises(RegistryLocked, match="in use by another process"):
        DiskFiles().lock(tmp_path)
    lock.close()
    DiskFiles().lock(tmp_path).close()


def test_a_release_that_locks_the_lock_file_only_is_kept_out_and_keeps_out(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as older:
        fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(RegistryLocked):
            DiskFiles().lock(tmp_path)
    lock = DiskFiles().lock(tmp_path)
    with (tmp_path / "lock").open("r+") as older, pytest.raises(BlockingIOError):
        fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.close()


def test_a_path_that_cannot_be_read_proves_nothing_about_what_is_there(tmp_path: Path) -> None:
    place = tmp_path / "data" / "registry"
    lock = DiskFiles().lock(place)
    place.parent.chmod(0)
    with without_capabilities():
        assert lock.is_at(place)
    place.parent.chmod(0o700)
    lock.close()


def test_the_pid_in_the_lock_replaces_a_longer_one(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4194304123\n")
    lock = DiskFiles().lock(tmp_path)
    with pytest.raises(RegistryLocked) as caught:
        DiskFiles().lock(tmp_path)
    assert caught.value.pid == os.getpid()
    lock.close()


def test_a_lock_without_a_pid_belongs_to_another_process(tmp_path: Path) -> None:
    lock = DiskFiles().lock(tmp_path)
    (tmp_path / "lock").write_text("")
    with pytest.raises(RegistryLocked, match="in use by another process; stop it"):
        DiskFiles().lock(tmp_path)
    lock.close()


def test_the_lock_makes_a_directory_and_files_that_only_the_owner_reads(tmp_path: Path) -> None:
    files = DiskFiles()
    lock = files.lock(tmp_path / "data" / "registry")
    files.create(tmp_path / "data" / "registry" / "log")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").rglob("*")}
    assert modes == {"registry": 0o750, "lock": 0o600, "log": 0o600}
    lock.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files for somebody else")
def test_what_root_makes_belongs_to_the_owner_of_the_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    files = DiskFiles()
    files.lock(tmp_path / "data" / "registry").close()
    files.create(tmp_path / "data" / "registry" / "log")
    made = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
    assert len(made) == 4
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(65534, 65534)}


def test_the_modes_can_be_configured(tmp_path: Path) -> None:
    files = DiskFiles(file_mode=0o640, directory_mode=0o700)
    files.lock(tmp_path / "registry").close()
    assert stat.S_IMODE((tmp_path / "registry").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "registry" / "lock").stat().st_mode) == 0o640


def modes(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


def test_all_files_of_a_registry_have_the_permissions_also_those_that_are_there(tmp_path: Path) -> None:
    names = ("lock", DATABASE, LOG, INDEX)
    for number, (files, mode) in enumerate(
        [
            (DiskFiles(0o600), 0o600),
            (DiskFiles(0o640), 0o640),
            (DiskFiles(), 0o640),  # a command without the configuration
        ]
    ):
        store = Store.open(tmp_path, files)
        store.write([FileState("one", "/l", 1, number)])
        assert modes(tmp_path) == dict.fromkeys(names, mode)
        store.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of somebody else")
def test_permissions_that_cannot_be_given_are_reported_and_the_file_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "registry.db"
    file.write_text("")
    file.chmod(0o666)
    os.chown(file, 65534, 65534)
    with without_capabilities():
        DiskFiles(0o640).give_mode(file)
    (message,) = caplog.messages
    assert message.startswith(f"{file}: cannot set its permissions to 640 (registry.file_permissions): Operation")
    assert stat.S_IMODE(file.stat().st_mode) == 0o666


def test_permissions_are_given_without_leaving_the_file_open(tmp_path: Path) -> None:
    (tmp_path / "registry.db").touch()
    DiskFiles(0o600).give_mode(tmp_path / "registry.db")
    assert open_below(tmp_path) == []
    assert modes(tmp_path) == {"registry.db": 0o600}


HOLDER = """
import sys
from pathlib import Path
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.store import Store
store = Store.open(Path(sys.argv[1]), DiskFiles())
print("open", flush=True)
sys.stdin.read()
"""


def test_a_second_process_learns_which_process_has_the_registry_until_that_one_ends(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", HOLDER, str(tmp_path / "registry")]
    with subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(RegistryLocked) as caught:
            DiskFiles().lock(tmp_path / "registry")
        assert caught.value.pid == holder.pid
        assert str(caught.value) == (
            f"registry {tmp_path / 'registry'} is in use by process {holder.pid}; stop it or use another path.data"
        )
        holder.kill()
        holder.wait()
    DiskFiles().lock(tmp_path / "registry").close()
