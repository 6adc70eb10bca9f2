"""Positions of Filebeat, from registry files laid out as its source describes them."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import read
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.inputs.files.identity.fingerprint import fingerprint, tail_hash
from tests.capabilities import without_capabilities

LINES = b"".join(b"line %04d of the application log\n" % number for number in range(100))
AT = LINES.index(b"line 0040")


class Filebeat:
    """Its data path, and ours beside it."""

    def __init__(self, root: Path) -> None:
        self.logs = root / "logs"
        self.data = root / "filebeat"
        self.store = self.data / "registry" / "filebeat"
        self.ours = root / "ours"
        self.config = root / "shipper.yml"
        self._operations: list[bytes] = []
        self.number = 0
        self.logs.mkdir()
        self.store.mkdir(parents=True)
        (self.store / "meta.json").write_text('{"version":"1"}')

    def log(self, name: str = "app.log", content: bytes = LINES) -> Path:
        path = self.logs / name
        path.write_bytes(content)
        return path

    def operate(self, op: str, **body: Any) -> None:
        self.number += 1
        self._operations += [_line({"op": op, "id": self.number}), _line(body)]
        (self.store / "log.json").write_bytes(b"".join(self._operations))

    def set(self, key: str, value: Any) -> None:
        self.operate("set", k=key, v=value)

    def checkpoint(self, entries: dict[str, dict[str, Any]]) -> None:
        self.number += 1
        array = b",\n".join(_line({"_key": key} | value).strip() for key, value in entries.items())
        (self.store / f"{self.number}.json").write_bytes(b"[" + array + b"\n]")
        (self.store / "active.dat").write_text(str(self.store / f"{self.number}.json"))

    def run(self, *options: str, source: Path | None = None) -> int:
        where = ["-c", str(self.config)] if self.config.exists() else []
        arguments = ["registry", "import", "filebeat", str(source or self.data), "--path.data", str(self.ours)]
        return main([*arguments, *where, *options])

    def taken(self) -> dict[str, FileState]:
        return {os.path.basename(state.path): state for state in read(self.ours / "registry").values()}


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def native(path: Path, name: str = "app") -> str:
    status = path.stat()
    return f"filestream::{name}::native::{status.st_ino}-{status.st_dev}"


def filestream(path: Path, offset: int | None, identity: str = "native", **more: Any) -> dict[str, Any]:
    cursor = None if offset is None else {"offset": offset} | more
    meta = {"source": str(path), "identifier_name": identity}
    return {"ttl": -1, "updated": [280187083606991, 1767642702], "cursor": cursor, "meta": meta}


def log_input(path: Path, offset: int, ttl: int = -1) -> dict[str, Any]:
    status = path.stat()
    system = {"inode": status.st_ino, "device": status.st_dev, "uid": 0, "gid": 0}
    return {
        "id": f"native::{status.st_ino}-{status.st_dev}",
        "prev_id": "",
        "source": str(path),
        "offset": offset,
        "ttl": ttl,
        "type": "log",
        "timestamp": [280187449934089, 1769099693],
        "FileStateOS": system,
        "identifier_name": "native",
    }


def by_fingerprint(content: bytes, length: int = 1024) -> str:
    return f"filestream::app::fingerprint::{hashlib.sha256(content[:length]).hexdigest()}"


@pytest.fixture
def filebeat(tmp_path: Path) -> Filebeat:
    return Filebeat(tmp_path)


def test_a_filestream_position_becomes_an_entry_that_the_file_confirms(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, 0))
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run() == 0
    state = filebeat.taken()["app.log"]
    status = path.stat()
    assert (state.position, state.device, state.inode, state.size_seen) == (
        AT,
        status.st_dev,
        status.st_ino,
        len(LINES),
    )
    with path.open("rb") as file:
        assert state.fingerprint == fingerprint(file.fileno())
        assert state.tail_hash == tail_hash(file.fileno(), AT)
    assert (state.ttl, state.ended, state.key) == (-1.0, None, "")
    out = capsys.readouterr().out
    assert f"taken   {path}: position {AT}" in out
    assert out.endswith("1 positions taken, 0 skipped\n")


def test_the_next_run_sends_what_filebeat_had_not_sent_and_nothing_else(filebeat: Filebeat, tmp_path: Path) -> None:
    path, done = filebeat.log(), filebeat.log("done.log", b"only\n")
    filebeat.set(native(path), filestream(path, AT))
    filebeat.set(native(done), filestream(done, len(b"only\n")))
    filebeat.config.write_text(
        f"filebeat.inputs:\n- {{type: filestream, id: app, paths: ['{filebeat.logs}/*.log']}}\n"
        f"output.file: {{path: '{tmp_path}/out'}}\n"
    )
    filebeat.config.chmod(0o600)
    assert filebeat.run() == 0
    assert main(["run", "--once", "-c", str(filebeat.config), "--path.data", str(filebeat.ours)]) == 0
    records = [json.loads(line) for line in (tmp_path / "out" / "shipper").read_bytes().splitlines()]
    assert [record["message"].encode() for record in records] == LINES[AT:].splitlines()
    assert records[0]["log"]["offset"] == AT


def test_a_file_that_filebeat_met_without_an_acknowledgement_starts_at_zero(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, None))
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].position == 0


def test_positions_of_the_log_input_are_taken_too(filebeat: Filebeat) -> None:
    path = filebeat.log()
    status = path.stat()
    filebeat.set(f"filebeat::logs::native::{status.st_ino}-{status.st_dev}", log_input(path, AT))
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].position == AT


def test_the_checkpoint_with_the_largest_number_counts_and_the_log_continues_it(filebeat: Filebeat) -> None:
    one, two, three = (filebeat.log(name) for name in ("1.log", "2.log", "3.log"))
    filebeat.set(native(one), filestream(one, 0))
    filebeat.checkpoint({native(one): filestream(one, 0), native(three): filestream(three, 33)})
    filebeat.set(native(two), filestream(two, 66))
    filebeat.checkpoint({native(one): filestream(one, 33), native(two): filestream(two, 33), native(three): {}})
    filebeat.set(native(two), filestream(two, AT))
    filebeat.operate("remove", k=native(three))
    assert filebeat.run() == 0
    assert {name: state.position for name, state in filebeat.taken().items()} == {"1.log": 33, "2.log": AT}


def test_operations_may_have_their_members_in_capitals_as_older_releases_wrote_them(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.operate("set", K=native(path), V=filestream(path, AT))
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].position == AT


@pytest.mark.parametrize("cut", [1, 40])
def test_a_log_that_ends_in_the_middle_of_an_operation_is_taken_up_to_there_with_a_warning(
    cut: int, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, 33))
    filebeat.set(native(path), filestream(path, AT))
    log = filebeat.store / "log.json"
    log.write_bytes(log.read_bytes()[: -cut - 1])
    assert filebeat.run() == 3
    assert "operation 2 cannot be read" in capsys.readouterr().out
    assert filebeat.taken()["app.log"].position == 33


def test_an_operation_that_is_missing_ends_the_log_with_a_warning(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, 33))
    filebeat.number += 1
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run() == 3
    assert "operation 2 is missing" in capsys.readouterr().out
    assert filebeat.taken()["app.log"].position == 33


@pytest.mark.parametrize("layout", ["registry", "registry/filebeat/data.json"])
def test_the_array_of_states_of_old_releases_is_taken(layout: str, filebeat: Filebeat) -> None:
    path = filebeat.log()
    (filebeat.store / "meta.json").write_text('{"version":"0"}')
    if layout == "registry":
        (filebeat.store / "meta.json").unlink()
        filebeat.store.rmdir()
        filebeat.store.parent.rmdir()
        (filebeat.data / "meta.json").write_text('{"uuid":"1-2-3"}')
    state = log_input(path, AT) | {"timestamp": "2018-11-08T15:47:16.093605526Z", "meta": None}
    (filebeat.data / layout).write_bytes(_line([state]))
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].position == AT


@pytest.mark.parametrize("below", ["", "registry", "registry/filebeat"])
def test_the_data_path_or_the_registry_in_it_can_be_given(below: str, filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run(source=filebeat.data / below) == 0
    assert "app.log" in filebeat.taken()


def test_a_directory_without_a_registry_is_reported_and_nothing_is_created(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    assert filebeat.run(source=filebeat.logs) == 1
    assert "no Filebeat registry found; pass Filebeat's path.data" in capsys.readouterr().err
    assert not filebeat.ours.exists()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("meta.json", '{"version":"2"}', "version 2"),
        ("7.json", '[{"_key":', "damaged"),
        ("7.json", "{}", "not an array"),
    ],
)
def test_a_registry_that_cannot_be_read_is_reported_and_nothing_is_created(
    name: str, content: str, expected: str, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    (filebeat.store / "log.json").touch()
    (filebeat.store / name).write_text(content)
    assert filebeat.run() == 1
    assert expected in capsys.readouterr().err
    assert not filebeat.ours.exists()


def test_an_empty_registry_is_reported(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    (filebeat.store / "log.json").touch()
    assert filebeat.run() == 1
    assert "Filebeat's registry is empty" in capsys.readouterr().out


def test_a_rotated_file_is_found_beside_by_its_inode(filebeat: Filebeat) -> None:
    path = filebeat.log()
    key = native(path)
    path.rename(filebeat.logs / "app.log.1")
    filebeat.log("app.log", b"new\n")
    filebeat.set(key, filestream(path, AT))
    assert filebeat.run() == 0
    assert {name: state.position for name, state in filebeat.taken().items()} == {"app.log.1": AT}


def test_a_rotated_file_behind_a_link_is_found_beside_what_the_link_led_to(filebeat: Filebeat, tmp_path: Path) -> None:
    containers = tmp_path / "containers"
    containers.mkdir()
    real = filebeat.log()
    key = native(real)
    real.rename(containers / "c.log.1")
    (containers / "c.log").write_bytes(b"new\n")
    link = filebeat.logs / "pod.log"
    link.symlink_to(containers / "c.log")
    filebeat.set(key, filestream(link, AT))
    assert filebeat.run() == 0
    assert filebeat.taken()["c.log.1"].position == AT


def refused(filebeat: Filebeat, key: str, entry: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    filebeat.set(key, entry)
    code = filebeat.run()
    assert filebeat.taken() == {}
    return code, capsys.readouterr().out


def test_a_missing_file_is_reported_and_is_not_a_failure(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    key = native(path)
    path.unlink()
    code, out = refused(filebeat, key, filestream(path, AT), capsys)
    assert code == 0
    assert f"skipped {path} ({key}): file missing\n" in out
    assert out.endswith("0 positions taken, 1 skipped (file missing 1)\n")


def test_another_file_at_the_path_is_not_taken_for_the_one_that_filebeat_read(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    key = f"filestream::app::native::{path.stat().st_ino + 1}-{path.stat().st_dev}"
    code, out = refused(filebeat, key, filestream(path, AT), capsys)
    assert (code, "another file: the path has inode" in out) == (0, True)


def test_the_same_inode_of_another_device_is_not_taken(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    path = filebeat.log()
    key = f"filestream::app::native::{path.stat().st_ino}-{path.stat().st_dev + 1}"
    code, out = refused(filebeat, key, filestream(path, AT), capsys)
    assert (code, "another device: its device number was" in out) == (3, True)


def test_a_file_shorter_than_the_position_is_read_from_its_start(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    code, out = refused(filebeat, native(path), filestream(path, len(LINES) + 1), capsys)
    assert (code, "shorter than the position: 3300 bytes" in out) == (3, True)


def test_a_file_in_which_no_line_ends_at_the_position_was_rewritten(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    code, out = refused(filebeat, native(path), filestream(path, AT + 5), capsys)
    assert (code, "rewritten: no line ends at position" in out) == (3, True)


def test_a_directory_or_a_fifo_at_the_path_is_reported(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    fifo = filebeat.logs / "fifo.log"
    os.mkfifo(fifo)
    code, out = refused(filebeat, native(fifo), filestream(fifo, 0), capsys)
    assert (code, "unreadable: not a regular file" in out) == (3, True)


@pytest.mark.parametrize(
    ("key", "entry", "expected"),
    [
        ("journald::x::y", {"cursor": {"position": 1}}, "no position: not the position of a file"),
        ("filestream::app::native::1-2", {"ttl": 0}, "no position: removed by Filebeat"),
    ],
)
def test_an_entry_that_is_not_a_position_is_reported_and_is_harmless(
    key: str, entry: dict[str, Any], expected: str, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = refused(filebeat, key, entry, capsys)
    assert (code, expected in out) == (0, True)


NATIVE = "filestream::app::native::1-2"
LAYOUT = "damaged entry: not in Filebeat's format"


@pytest.mark.parametrize(
    ("key", "entry", "expected"),
    [
        ("filestream::app::native::no-number", {"meta": {"source": "/x"}}, LAYOUT),
        (NATIVE, {"meta": {}}, LAYOUT),
        ("filestream::app", {}, LAYOUT),
        ("filestream::app::stars::1", {"meta": {"source": "/x"}}, "file identity stars is not supported"),
        ("filebeat::logs::native::1-2", {"source": "/x", "offset": 3}, LAYOUT),
        ("filestream::app::path::/\0x", {"meta": {"source": "/\0x"}}, "not an absolute path"),
        (NATIVE, {"meta": {"source": "app.log"}}, "not an absolute path"),
        (NATIVE, {"meta": {"source": ""}}, "not an absolute path"),
        (NATIVE, {"meta": {"source": "/\ud800"}}, LAYOUT),
        (NATIVE, {"meta": {"source": 7}}, LAYOUT),
        (NATIVE, {"meta": {"source": ["/x"]}}, LAYOUT),
        (NATIVE, {"meta": ["source"]}, LAYOUT),
        *((NATIVE, entry, LAYOUT) for entry in ("text", 7, None, ["a"])),
        *(
            (NATIVE, {"meta": {"source": "/x"}, "cursor": cursor}, LAYOUT)
            for cursor in ("text", {"offset": -1}, {"offset": None}, {"offset": "5"}, {"offset": [5]}, {"offset": True})
        ),
        *(
            (NATIVE, {"meta": {"source": "/x"}, "cursor": {"offset": offset}}, LAYOUT)
            for offset in (float("nan"), float("inf"), 1e300, 5.5)
        ),
        ("filebeat::logs::1", {"source": "/x", "offset": 5, "FileStateOS": {"inode": -1, "device": 2}}, LAYOUT),
    ],
)
def test_an_entry_that_filebeat_does_not_write_is_reported_and_the_import_is_incomplete(
    key: str, entry: Any, expected: str, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = refused(filebeat, key, entry, capsys)
    assert (code, expected in out) == (3, True)


def test_a_position_far_beyond_any_file_is_not_taken(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    path = filebeat.log()
    code, out = refused(filebeat, native(path), filestream(path, 10**40), capsys)
    assert (code, "shorter than the position" in out) == (3, True)


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b'"k"',
        b'{"k":5,"v":{}}',
        b'{"k":[],"v":{}}',
        b'{"k":"filestream::x"}',
        b"[" * 100_000,
        b'{"k":"filestream::x","v":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"k":"filestream::x","v":' + b"9" * 5000 + b"}",
        b"\xff\xfe\x00",
    ],
)
def test_an_operation_that_filebeat_does_not_write_ends_the_log(
    body: bytes, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, 33))
    with (filebeat.store / "log.json").open("ab") as log:
        log.write(b'{"op":"set","id":2}\n' + body + b"\n")
    assert filebeat.run() == 3
    assert "operation 2 cannot be read" in capsys.readouterr().out
    assert filebeat.taken()["app.log"].position == 33


@pytest.mark.parametrize("action", [b"[]", b"5", b'{"op":"set"}', b'{"op":"set","id":"2"}', b'{"op":"sell","id":2}'])
def test_so_does_an_action_that_is_not_known(
    action: bytes, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, 33))
    with (filebeat.store / "log.json").open("ab") as log:
        log.write(action + b"\n" + _line({"k": native(path), "v": filestream(path, 66)}))
    assert filebeat.run() == 3
    assert "operation 2 cannot be read" in capsys.readouterr().out
    assert filebeat.taken()["app.log"].position == 33


def test_entries_of_the_checkpoint_without_a_key_are_reported(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    array = [{"_key": native(path)} | filestream(path, AT), {}, 5, {"_key": []}, {"_key": None}]
    (filebeat.store / "7.json").write_bytes(_line(array))
    assert filebeat.run() == 3
    assert "4 entries of the checkpoint have no key" in capsys.readouterr().out
    assert filebeat.taken()["app.log"].position == AT


def test_an_invalid_state_of_old_releases_is_reported(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    path = filebeat.log()
    (filebeat.store / "meta.json").write_text('{"version":"0"}')
    (filebeat.store / "data.json").write_bytes(_line([log_input(path, AT), "text"]))
    assert filebeat.run() == 3
    assert "damaged entry" in capsys.readouterr().out
    assert filebeat.taken()["app.log"].position == AT


@pytest.mark.parametrize("name", ["meta.json", "log.json", "7.json"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_regular_file_is_reported_and_does_not_block(
    make: Callable[[Path], None], name: str, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    (filebeat.store / "log.json").touch()
    (filebeat.store / "1.json").write_text("[]")
    (filebeat.store / name).unlink(missing_ok=True)
    make(filebeat.store / name)
    assert filebeat.run() == 1
    assert f"{filebeat.store / name}: unreadable: not a regular file; nothing was imported" in capsys.readouterr().err
    assert not filebeat.ours.exists()


def test_names_of_files_cannot_make_a_terminal_do_anything(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log("\x1b]0;owned\x07\n\x9b2J.log")
    gone = filebeat.logs / "gone\x1b[2J.log"
    filebeat.set(native(path), filestream(path, AT))
    filebeat.set(f"filestream::\x1bapp::path::{gone}", filestream(gone, AT, "path"))
    filebeat.set("filestream::\ud800::path::/x", {"meta": {"source": "/\ud800"}})
    assert filebeat.run() == 3
    assert all(line.isprintable() for line in capsys.readouterr().out.split("\n"))


@pytest.mark.parametrize("identity", ["native", "fingerprint"])
def test_a_file_that_may_be_in_a_directory_that_cannot_be_listed_is_not_missing(
    identity: str, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    key = native(path) if identity == "native" else by_fingerprint(LINES)
    path.rename(filebeat.logs / "app.log.1")
    filebeat.set(key, filestream(path, AT, identity))
    filebeat.logs.chmod(0o100)
    with without_capabilities():
        code = filebeat.run()
    filebeat.logs.chmod(0o700)
    assert (code, f"unreadable: [Errno 13] Permission denied: '{filebeat.logs}'" in capsys.readouterr().out) == (
        3,
        True,
    )


@pytest.mark.parametrize("name", ["app.log", "app.log.1"])
def test_a_file_whose_fingerprint_cannot_be_read_is_not_missing(
    name: str, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    filebeat.log(name).chmod(0)
    filebeat.set(by_fingerprint(LINES), filestream(filebeat.logs / "app.log", AT, "fingerprint"))
    with without_capabilities():
        assert filebeat.run() == 3
    assert "unreadable" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--fingerprint.offset=-1", "--fingerprint.length=0", "--fingerprint.length=x"])
def test_a_fingerprint_of_nothing_is_not_asked_for(option: str, filebeat: Filebeat) -> None:
    with pytest.raises(SystemExit) as caught:
        filebeat.run(option)
    assert caught.value.code == 2


def test_a_file_is_known_by_filebeats_fingerprint_under_its_path(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set(by_fingerprint(LINES), filestream(path, AT, "fingerprint", eof=False))
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].position == AT


def test_a_file_is_known_by_filebeats_fingerprint_under_another_name_beside(filebeat: Filebeat) -> None:
    filebeat.log("app.log.1")
    filebeat.log("app.log", LINES[33:])
    filebeat.set(by_fingerprint(LINES), filestream(filebeat.logs / "app.log", AT, "fingerprint"))
    assert filebeat.run() == 0
    assert list(filebeat.taken()) == ["app.log.1"]


def test_the_file_at_the_path_goes_before_a_copy_of_it_beside(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.log("app.log.copy")
    filebeat.set(by_fingerprint(LINES), filestream(path, AT, "fingerprint"))
    assert filebeat.run() == 0
    assert list(filebeat.taken()) == ["app.log"]


def test_the_fingerprint_of_a_containers_file_may_have_the_streams_name_behind(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set(f"{by_fingerprint(LINES)}-stdout", filestream(path, AT, "fingerprint"))
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].position == AT


def test_a_fingerprint_that_several_files_beside_have_is_not_guessed(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    filebeat.log("app.log.1")
    filebeat.log("app.log.2")
    gone = filebeat.logs / "app.log"
    code, out = refused(filebeat, by_fingerprint(LINES), filestream(gone, AT, "fingerprint"), capsys)
    assert (code, "ambiguous: several files have this fingerprint" in out) == (3, True)


def test_links_to_one_file_are_not_several_files_with_its_fingerprint(filebeat: Filebeat) -> None:
    rotated = filebeat.log("app.log.1")
    (filebeat.logs / "hard.log").hardlink_to(rotated)
    (filebeat.logs / "soft.log").symlink_to(rotated)
    filebeat.set(by_fingerprint(LINES), filestream(filebeat.logs / "app.log", AT, "fingerprint"))
    assert filebeat.run() == 0
    assert len(filebeat.taken()) == 1


def test_another_content_at_the_path_is_not_taken_for_the_one_that_filebeat_read(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    code, out = refused(filebeat, by_fingerprint(LINES[1:]), filestream(path, AT, "fingerprint"), capsys)
    assert (code, "no file at the path or in its directory has this fingerprint" in out) == (0, True)


def test_filebeats_offset_and_length_of_the_fingerprint_can_be_given(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set(by_fingerprint(LINES[33:], 64), filestream(path, AT, "fingerprint"))
    assert filebeat.run("--fingerprint.offset", "33", "--fingerprint.length", "64") == 0
    assert filebeat.taken()["app.log"].position == AT


@pytest.mark.parametrize("identity", ["fingerprint", "growing_fingerprint"])
def test_a_file_too_short_for_a_fingerprint_is_known_by_its_bytes(filebeat: Filebeat, identity: str) -> None:
    path = filebeat.log("small.log", b"first\nsecond\n")
    filebeat.set(f"filestream::app::{identity}::{b'first'.hex()}", filestream(path, 6, identity))
    assert filebeat.run() == 0
    assert filebeat.taken()["small.log"].position == 6


def test_a_short_file_that_was_renamed_is_found_beside_by_its_bytes(filebeat: Filebeat) -> None:
    filebeat.log("small.log.1", b"first\nsecond\n")
    filebeat.log("small.log", b"other\n")
    key = f"filestream::app::fingerprint::{b'first'.hex()}"
    filebeat.set(key, filestream(filebeat.logs / "small.log", 6, "fingerprint"))
    assert filebeat.run() == 0
    assert list(filebeat.taken()) == ["small.log.1"]


def test_an_empty_fingerprint_is_that_of_no_file(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    path = filebeat.log()
    code, out = refused(filebeat, "filestream::app::fingerprint::", filestream(path, AT, "fingerprint"), capsys)
    assert (code, "another file" in out) == (0, True)


@pytest.mark.parametrize(("offset", "compressed"), [(AT, False), (len(LINES), True)])
def test_the_position_in_a_gz_file_counts_decompressed_bytes(offset: int, compressed: bool, filebeat: Filebeat) -> None:
    path = filebeat.log("app.log.1.gz", gzip.compress(LINES))
    filebeat.set(by_fingerprint(LINES), filestream(path, offset, "fingerprint", eof=compressed))
    assert filebeat.run() == 0
    state = filebeat.taken()["app.log.1.gz"]
    assert (state.position, state.size_seen) == (offset, len(LINES))
    assert state.compressed == (path.stat().st_size if compressed else 0)


def test_a_gz_file_that_filebeat_read_as_text_has_no_position_for_us(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log("app.log.1.gz", gzip.compress(LINES))
    code, out = refused(filebeat, native(path), filestream(path, 10), capsys)
    assert (code, "compressed: Filebeat read this .gz file without decompressing it" in out) == (3, True)


@pytest.mark.parametrize(
    ("content", "offset", "expected"),
    [
        (gzip.compress(LINES), len(LINES) + 1, "shorter than the position"),
        (gzip.compress(LINES)[:-8] + b"\xff" * 8, AT, "unreadable: gzip data damaged"),
    ],
)
def test_a_gz_file_that_does_not_confirm_the_position_is_reported(
    content: bytes, offset: int, expected: str, filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log("app.log.1.gz", content)
    code, out = refused(filebeat, by_fingerprint(LINES), filestream(path, offset, "fingerprint"), capsys)
    assert (code, expected in out) == (3, True)


def test_positions_by_path_and_by_inode_and_marker_are_taken(filebeat: Filebeat) -> None:
    path, marked = filebeat.log(), filebeat.log("marked.log")
    filebeat.set(f"filestream::app::path::{path}", filestream(path, AT, "path"))
    key = f"filestream::app::inode_marker::{marked.stat().st_ino}-a-marker"
    filebeat.set(key, filestream(marked, 33, "inode_marker"))
    assert filebeat.run() == 0
    assert {name: state.position for name, state in filebeat.taken().items()} == {"app.log": AT, "marked.log": 33}


def test_of_several_positions_of_one_file_the_smallest_is_taken_and_the_others_are_reported(
    filebeat: Filebeat, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    for stream, offset in (("stdout", AT), ("stderr", 33)):
        filebeat.set(f"{native(path)}-{stream}", filestream(path, offset))
    filebeat.set(native(path, "other"), filestream(path, 66))
    assert filebeat.run() == 3
    assert filebeat.taken()["app.log"].position == 33
    assert capsys.readouterr().out.endswith("1 positions taken, 2 skipped (one of several 2)\n")


def test_a_state_that_the_log_input_left_behind_does_not_hold_filestream_back(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set("filebeat::logs::native::1-2", log_input(path, 33, ttl=-2))
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].position == AT


def known(filebeat: Filebeat, path: Path, **more: Any) -> FileState:
    status = path.stat()
    state = FileState("ours", str(path), status.st_dev, status.st_ino, position=66, **more)
    store = Store.open(filebeat.ours / "registry", DiskFiles())
    store.write([state])
    store.close()
    return state


def test_a_known_entry_wins_and_is_reported(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    path = filebeat.log()
    state = known(filebeat, path)
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run() == 0
    assert filebeat.taken() == {"app.log": state}
    assert "known already: at 66 (file id ours)" in capsys.readouterr().out


def test_an_entry_of_ours_is_replaced_if_asked_for_and_keeps_its_id(filebeat: Filebeat) -> None:
    path = filebeat.log()
    known(filebeat, path)
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run("--overwrite") == 0
    assert (filebeat.taken()["app.log"].id, filebeat.taken()["app.log"].position) == ("ours", AT)


def test_an_entry_of_ours_whose_life_ended_is_no_entry_of_this_file(filebeat: Filebeat) -> None:
    path = filebeat.log()
    known(filebeat, path, ended="truncated")
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run() == 0
    assert len(read(filebeat.ours / "registry")) == 2


def test_a_second_import_takes_nothing_again(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run() == filebeat.run() == 0
    assert len(read(filebeat.ours / "registry")) == 1
    assert capsys.readouterr().out.endswith("0 positions taken, 1 skipped (known already 1)\n")


def test_entries_are_known_by_what_the_inputs_file_identity_says(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set(f"filestream::app::path::{path}", filestream(path, AT, "path"))
    filebeat.config.write_text(
        f"filebeat.inputs: [{{type: filestream, id: app, paths: ['{filebeat.logs}/*.log'], file_identity.path: }}]\n"
        f"output.file: {{path: '{filebeat.ours}/out'}}\n"
    )
    filebeat.config.chmod(0o600)
    assert filebeat.run() == 0
    assert filebeat.taken()["app.log"].key == f"path:{path}"


@pytest.fixture
def running(filebeat: Filebeat) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that holds the lock of Filebeat's data path."""
    code = "import fcntl, sys; fcntl.flock(f := open(sys.argv[1], 'w'), 2); print(flush=True); sys.stdin.read()"
    arguments = [sys.executable, "-c", code, str(filebeat.data / "filebeat.lock")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_nothing_is_imported_while_filebeat_runs(
    filebeat: Filebeat, running: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, AT))
    assert filebeat.run() == 1
    error = capsys.readouterr().err
    assert "filebeat.lock: Filebeat is running" in error
    assert "stop it" in error
    assert not filebeat.ours.exists()
    running.kill()
    running.wait()
    assert filebeat.run() == 0


def test_the_lock_that_a_stopped_filebeat_left_is_no_obstacle_and_is_free_afterwards(filebeat: Filebeat) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, AT))
    (filebeat.data / "filebeat.lock").touch()
    assert filebeat.run() == 0
    with (filebeat.data / "filebeat.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_nothing_is_imported_while_a_shipper_runs(filebeat: Filebeat, capsys: pytest.CaptureFixture[str]) -> None:
    path = filebeat.log()
    filebeat.set(native(path), filestream(path, AT))
    store = Store.open(filebeat.ours / "registry", DiskFiles())
    assert filebeat.run() == 1
    store.close()
    assert f"in use by process {os.getpid()}" in capsys.readouterr().err
    assert filebeat.taken() == {}


def test_at_a_terminal_it_shows_how_far_it_is(filebeat: Filebeat) -> None:
    log = filebeat.log()
    filebeat.checkpoint({native(log): filestream(log, AT), native(log, "b"): filestream(filebeat.logs / "none", 1)})
    command = [sys.executable, "-m", "log_shipper.shipper", "registry", "import", "filebeat", str(filebeat.data)]
    master, slave = pty.openpty()
    command += ["--path.data", str(filebeat.ours)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=slave, text=True, check=False)
    os.close(slave)
    shown = os.read(master, 65536).decode()
    os.close(master)
    line = "1 of 2 positions"
    assert shown == f"\r{line}\r{' ' * len(line)}\r", "and removes it again"
    assert "1 positions taken" in done.stdout
