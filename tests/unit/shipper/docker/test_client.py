"""Questions to Docker's API, to a daemon that the test plays."""

import re
import socket
import threading
from pathlib import Path

import pytest

from log_shipper.runtime.http import Address, UnixSocket
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.docker import client
from log_shipper.shipper.docker.client import DockerClient, DockerError
from tests.docker_api import DockerApi

ID, OTHER = "ab" * 32, "cd" * 32


def client_of(path: Path) -> DockerClient:
    return DockerClient(UnixSocket(path), SystemClock())


def test_containers_are_listed_ended_ones_too(tmp_path: Path) -> None:
    with DockerApi(tmp_path / "d.sock") as docker:
        docker.run(ID, "web", labels={"app": "web"})
        docker.create(OTHER, "db")
        listed = client_of(docker.path).containers()
        assert [(one.id, one.name, one.is_running) for one in listed] == [(ID, "web", True), (OTHER, "db", False)]
        assert [one.id for one in client_of(docker.path).containers(OTHER)] == [OTHER]
        assert client_of(docker.path).containers("ef" * 32) == []


def test_events_come_as_they_happen_and_since_a_time(tmp_path: Path) -> None:
    with DockerApi(tmp_path / "d.sock") as docker:
        docker.run(ID, "web")
        stream = client_of(docker.path).events(0)
        events = iter(stream)
        assert [next(events).action for _ in range(2)] == ["create", "start"]
        docker.emit("exec_create: /bin/sh -c check", ID)
        docker.stop(ID)
        last = next(events)
        assert (last.action, last.container.id, last.container.name) == ("die", ID, "web")
        docker.break_streams()
        assert list(events) == []
        stream.close()
        again = client_of(docker.path).events(f"{last.time // 10**9}.{last.time % 10**9:09}")
        assert next(iter(again)).action == "die"
        again.close()


def test_a_stream_is_interrupted_by_another_thread(tmp_path: Path) -> None:
    with DockerApi(tmp_path / "d.sock") as docker:
        stream = client_of(docker.path).events(0)
        ended = threading.Event()

        def read() -> None:
            assert list(stream) == []
            ended.set()

        thread = threading.Thread(target=read)
        thread.start()
        stream.interrupt()
        assert ended.wait(30)
        thread.join()
        stream.close()


def test_a_daemon_that_is_not_there_is_reported_as_missing(tmp_path: Path) -> None:
    with pytest.raises(DockerError, match=r"no Docker at .*d\.sock") as caught:
        client_of(tmp_path / "d.sock").containers()
    assert caught.value.is_missing
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "d.sock"))
        with pytest.raises(DockerError, match="Connection refused") as caught:
            client_of(tmp_path / "d.sock").events(0)
    assert caught.value.is_missing


def test_a_refusal_has_the_words_of_the_daemon(tmp_path: Path) -> None:
    with DockerApi(tmp_path / "d.sock") as docker:
        docker.refusal = 403, "authorization denied by plugin x"
        with pytest.raises(DockerError, match="status 403: authorization denied by plugin x") as caught:
            client_of(docker.path).containers()
        assert not caught.value.is_missing


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: "


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "d.sock: Remote end closed connection without response"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "closed the connection, or the server there is not Docker"),
        (HEAD + b"99\r\n\r\n[{", "closed the connection"),
        (HEAD + b"3\r\n\r\n<a>", "closed the connection, or the server there is not Docker"),
        (HEAD + b"2\r\n\r\n{}", "the response is no list of containers. The server there is not Docker"),
        (HEAD + b"100000\r\n\r\n" + b"[" * 100_000, "closed the connection, or the server there is not Docker"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", "status 302"),
    ],
)
def test_what_is_not_docker_is_an_error(tmp_path: Path, raw: bytes, message: str) -> None:
    with DockerApi(tmp_path / "d.sock") as docker:
        docker.raw = raw
        with pytest.raises(DockerError, match=re.escape(message)):
            client_of(docker.path).containers()
        assert len(docker.asked) == 1, "a redirection is not followed"


def test_an_event_without_an_end_is_an_error(tmp_path: Path) -> None:
    with DockerApi(tmp_path / "d.sock") as docker:
        docker.raw = b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * (client.MAX_EVENT_BYTES + 2)
        stream = client_of(docker.path).events(0)
        with pytest.raises(DockerError, match="an event larger than"):
            list(stream)
        stream.close()


def test_an_address_may_be_asked_too() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = Address("127.0.0.1", free.getsockname()[1])
        with pytest.raises(DockerError, match=f"no Docker at http://127.0.0.1:{place.port}"):
            DockerClient(place, SystemClock()).containers()
