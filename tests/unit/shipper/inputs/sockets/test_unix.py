"""Sockets of this machine: streams and datagrams at a path."""

import grp
import os
import socket
import stat
from pathlib import Path

import pytest

from log_shipper.shipper.errors import StartError
from tests.unit.shipper.inputs.sockets.conftest import Listen

KINDS = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sock"


def test_lines_have_the_credentials_of_the_process_that_connected(listen: Listen, path: Path) -> None:
    listening = listen(f"type: unix, path: {path}")
    listening.send_all(b"one\ntwo\n")
    events = listening.events(2)
    assert [event["message"] for event in events] == ["one", "two"]
    assert events[0]["log"]["source"] == {"pid": os.getpid(), "uid": os.getuid(), "gid": os.getgid()}
    assert events[0]["log"]["file"]["path"] == f"unix {path}"


def test_datagrams_have_no_sender(listen: Listen, path: Path) -> None:
    listening = listen(f"type: unix, path: {path}, socket_type: datagram, max_message_size: 10")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(str(path))
        for datagram in (b"one", b"0123456789abc"):
            sender.send(datagram)
    one, cut = listening.events(2)
    assert (one["message"], "source" in one["log"]) == ("one", False)
    assert (cut["message"], cut["log"]["flags"], cut["log"]["length"]) == ("0123456789", ["truncated"], 13)


def test_the_socket_has_the_mode_and_group_of_the_options(listen: Listen, path: Path) -> None:
    group = grp.getgrgid(os.getgid()).gr_name
    listen(f'type: unix, path: {path}, mode: "0620", group: {group}')
    assert stat.S_IMODE(path.stat().st_mode) == 0o620
    assert path.stat().st_gid == os.getgid()


def test_a_group_that_is_unknown_is_named_and_nothing_is_left(listen: Listen, path: Path) -> None:
    with pytest.raises(StartError, match=r"^input .*group: 'no-such-group' does not exist on this machine; create it"):
        listen(f"type: unix, path: {path}, group: no-such-group")
    assert not path.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", KINDS)
def test_a_socket_that_no_process_serves_is_replaced(listen: Listen, path: Path, kind: str, before: str) -> None:
    stale = socket.socket(socket.AF_UNIX, KINDS[before])
    stale.bind(str(path))
    stale.close()
    listen(f"type: unix, path: {path}, socket_type: {kind}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_a_socket_that_a_process_serves_is_left_alone(listen: Listen, path: Path, kind: str, other: str) -> None:
    with socket.socket(socket.AF_UNIX, KINDS[other]) as served:
        served.bind(str(path))
        if other == "stream":
            served.listen()
        inode = path.stat().st_ino
        with pytest.raises(StartError, match=f"cannot listen at unix {path}: another process or input uses the socket"):
            listen(f"type: unix, path: {path}, socket_type: {kind}")
        assert path.stat().st_ino == inode


def test_a_file_that_is_no_socket_is_left_alone(listen: Listen, path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(StartError, match="the path exists and is not a socket; remove it"):
        listen(f"type: unix, path: {path}")
    assert path.read_text() == "precious"


def test_a_directory_that_is_missing_is_named(listen: Listen, tmp_path: Path) -> None:
    with pytest.raises(StartError, match=f"the directory {tmp_path}/missing does not exist: create it"):
        listen(f"type: unix, path: {tmp_path}/missing/log.sock")


def test_a_path_that_is_too_long_is_refused(listen: Listen, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="can have at most 107 bytes"):
        listen(f"type: unix, path: {tmp_path}/{'x' * 108}")


def test_the_socket_is_removed_at_a_stop_unless_it_is_another_one_by_then(listen: Listen, path: Path) -> None:
    listening = listen(f"type: unix, path: {path}")
    listening.rest()
    assert not path.exists()
    listening = listen(f"type: unix, path: {path}")
    path.rename(path.with_name("moved"))
    path.write_text("of another process")
    listening.rest()
    assert path.read_text() == "of another process"
