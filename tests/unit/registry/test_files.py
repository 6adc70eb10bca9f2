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
from log_shipper.registry.files import DiskFiles, Files
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from log_shipper.runtime.disk import DiskFile, write_all
from tests.capabilities import without_capabilities
from tests.crashing_files import CrashingFiles

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=[DiskFiles, CrashingFiles])
def files(request: pytest.FixtureRequest) -> Files:
    made: Files = request.param()
    return made


def test_a_file_that_does_not_exist_reads_as_none(files: Files, tmp_path: Path) -> None:
    assert files.read(tmp_path / "log") is None


def test_opening_a_file_that_does_not_exist_fails_unless_it_is_to_be_fresh(files: Files, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.open(tmp_path / "log")
    files.open(tmp_path / "log", fresh=True).close()
    assert files.read(tmp_path / "log") == b""


def test_writes_go_to_the_end_also_after_reopening_and_after_a_cut(files: Files, tmp_path: Path) -> None:
    first = files.open(tmp_path / "log", fresh=True)
    write_all(first, b"one,")
    first.close()
    again = files.open(tmp_path / "log")
    write_all(again, b"two,three")
    again.truncate(len(b"one,two,"))
    write_all(again, b"3")
    again.fsync()
    again.close()
    assert files.read(tmp_path / "log") == b"one,two,3"


class NearlyFull(DiskFile):
    def __init__(self) -> None:
        self.taken = b""

    def write(self, data: bytes) -> int:
        self.taken += data[:3]
        return min(3, len(data))


def test_a_file_that_takes_a_part_at_a_time_gets_it_all() -> None:
    file = NearlyFull()
    write_all(file, b"0123456789")
    assert file.taken == b"0123456789"


def test_a_fresh_file_is_empty_whatever_was_there(files: Files, tmp_path: Path) -> None:
    for content in (b"long content", b"short"):
        file = files.open(tmp_path / "log", fresh=True)
        write_all(file, content)
        file.close()
    assert files.read(tmp_path / "log") == b"short"


def test_a_rename_replaces_the_target_and_an_open_file_follows_its_name(files: Files, tmp_path: Path) -> None:
    write_all(old := files.open(tmp_path / "log", fresh=True), b"old")
    write_all(new := files.open(tmp_path / "tmp", fresh=True), b"new")
    files.rename(tmp_path / "tmp", tmp_path / "log")
    files.fsync_dir(tmp_path)
    write_all(new, b"er")
    write_all(old, b"er")
    assert files.read(tmp_path / "log") == b"newer"
    assert files.read(tmp_path / "tmp") is None
    old.close()
    new.close()


def test_a_directory_is_locked_until_the_lock_is_closed(files: Files, tmp_path: Path) -> None:
    lock = files.lock(tmp_path / "registry")
    with pytest.raises(RegistryLocked):
        files.lock(tmp_path / "registry")
    lock.close()
    files.lock(tmp_path / "registry").close()


def remove(files: Files, directory: Path) -> None:
    if isinstance(files, CrashingFiles):
        files.remove()
    else:
        shutil.rmtree(directory)


def test_what_is_open_knows_whether_it_is_still_at_its_path(files: Files, tmp_path: Path) -> None:
    place = tmp_path / "registry"
    lock = files.lock(place)
    log = files.open(place / "log", fresh=True)
    assert (lock.is_at(place), log.is_at(place / "log")) == (True, True)
    other = files.open(place / "tmp", fresh=True)
    files.rename(place / "tmp", place / "log")
    assert (log.is_at(place / "log"), other.is_at(place / "log")) == (False, True)
    remove(files, place)
    assert (lock.is_at(place), other.is_at(place / "log")) == (False, False)
    again = files.lock(place)
    files.open(place / "log", fresh=True).close()
    assert (lock.is_at(place), again.is_at(place), other.is_at(place / "log")) == (False, True, False)
    for handle in (lock, log, other):
        handle.close()
    with pytest.raises(RegistryLocked):
        files.lock(place)
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
    files.open(tmp_path / "data" / "registry" / "log", fresh=True).close()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").rglob("*")}
    assert modes == {"registry": 0o750, "lock": 0o600, "log": 0o600}
    lock.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files for somebody else")
def test_what_root_makes_belongs_to_the_owner_of_the_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    files = DiskFiles()
    files.lock(tmp_path / "data" / "registry").close()
    files.open(tmp_path / "data" / "registry" / "log", fresh=True).close()
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


def test_files_that_are_there_get_new_permissions_when_the_registry_is_opened(tmp_path: Path) -> None:
    store = Store.open(tmp_path, DiskFiles(0o600), checkpoint_after=0)
    store.append([FileState("one", "/l", 1, 2), FileState("two", "/m", 1, 3)])
    store.append([FileState("one", "/l", 1, 2)])
    store.close()
    names = ("lock", "log.ndjson", "checkpoint.ndjson")
    assert modes(tmp_path) == dict.fromkeys(names, 0o600)
    Store.open(tmp_path, DiskFiles(0o640)).close()
    assert modes(tmp_path) == dict.fromkeys(names, 0o640)
    Store.open(tmp_path, DiskFiles()).close()  # a command without the configuration
    assert modes(tmp_path) == dict.fromkeys(names, 0o640)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of somebody else")
def test_permissions_that_cannot_be_given_are_reported_and_the_file_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "log.ndjson"
    file.write_text("")
    file.chmod(0o666)
    os.chown(file, 65534, 65534)
    with without_capabilities():
        DiskFiles(0o640).give_mode(file)
    (message,) = caplog.messages
    assert message.startswith(
        f"{file}: its permissions cannot be made 640, as registry.file_permissions asks (Operation"
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o666


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
