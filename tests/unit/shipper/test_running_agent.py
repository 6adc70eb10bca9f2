"""What a person is told who asks an agent that does not answer."""

import os
import pwd
import socket
from contextlib import closing
from pathlib import Path

import pytest

from monitor.client import Address, NotHttp, Place, get
from shipper.errors import StartError
from shipper.running_agent import errors_in_words, socket_of
from tests.status_documents import serving


def problem(place: Place, error: Exception | None = None) -> str:
    try:
        with errors_in_words(place):
            if error is not None:
                raise error
            get(place, "/status", 0.2)
    except StartError as caught:
        return str(caught)
    raise AssertionError("it was answered")


@pytest.fixture
def left_socket(tmp_path: Path) -> Path:
    """A socket that no process serves any more."""
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(str(tmp_path / "shipper.sock"))
    return tmp_path


def test_a_socket_that_does_not_exist(tmp_path: Path) -> None:
    assert "is not running, runs with --once, or has `http.socket: false`" in problem(socket_of(tmp_path))


def test_a_socket_that_a_killed_agent_has_left(left_socket: Path) -> None:
    assert "was left by a shipper that has ended: start it again" in problem(socket_of(left_socket))


def test_an_agent_that_ends_meanwhile(tmp_path: Path) -> None:
    words = "the connection broke off, the shipper has ended or is about to"
    assert words in problem(socket_of(tmp_path), ConnectionResetError(104, "Connection reset by peer"))
    with serving(tmp_path / "shipper.sock", lambda path: (200, iter([b"x", b""]))):
        assert words in problem(socket_of(tmp_path))


def test_an_agent_that_does_not_answer(tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(tmp_path / "shipper.sock"))
        listener.listen()
        assert "does not answer: the shipper is stopped (SIGSTOP)" in problem(socket_of(tmp_path))


def test_a_socket_of_another_user(left_socket: Path) -> None:
    user = pwd.getpwuid(os.getuid()).pw_name
    denied = PermissionError(13, "Permission denied")
    assert f"only the shipper's own user may; run this command as {user}" in problem(socket_of(left_socket), denied)


def test_an_agent_that_has_no_such_path(tmp_path: Path) -> None:
    with serving(tmp_path / "shipper.sock", lambda path: (404, b"nothing is served at this path")):
        words = problem(socket_of(tmp_path))
    assert "is starting and waits for its output, is of an older release" in words
    assert "(nothing is served at this path)" in words


def test_what_is_refused_is_repeated_in_the_words_of_the_agent(tmp_path: Path) -> None:
    with serving(tmp_path / "shipper.sock", lambda path: (503, b"4 taps are open\n")):
        assert problem(socket_of(tmp_path)) == f"{tmp_path}/shipper.sock: 4 taps are open"


def test_an_address_that_cannot_be_reached() -> None:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        place = Address("127.0.0.1", bound.getsockname()[1])
        assert problem(place).startswith(
            f"http://127.0.0.1:{place.port} cannot be reached: Connection refused; is `http"
        )


def test_what_is_no_http_server() -> None:
    place = Address("h", 5066)
    assert "is it the HTTP endpoint of a shipper or sink?" in problem(place, NotHttp("no"))
    assert "no answer in time" in problem(place, TimeoutError())
