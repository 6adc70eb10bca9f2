"""What a person is told who asks an agent that does not answer."""

import os
import pwd
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from log_shipper.runtime.http import Address, Place
from log_shipper.runtime.monitor.client import get
from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.running_agent import errors_in_words, socket_of
from tests.status_documents import serving

SECONDS = 30.0  # for what takes milliseconds


def problem(place: Place, error: Exception | None = None, seconds: float = SECONDS) -> str:
    try:
        with errors_in_words(place):
            if error is not None:
                raise error
            get(place, "/status", seconds)
    except StartError as caught:
        return str(caught)
    raise AssertionError("it was answered")


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.fixture
def left_socket(tmp_path: Path) -> Path:
    """A socket that no process serves any more."""
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(str(tmp_path / "shipper.sock"))
    return tmp_path


def test_a_socket_that_does_not_exist(tmp_path: Path) -> None:
    assert "is not running, runs with --once, or has `http.socket: false`" in problem(socket_of(tmp_path))


def test_a_socket_that_a_killed_agent_has_left(left_socket: Path) -> None:
    assert "belongs to a shipper that has ended: start it again" in problem(socket_of(left_socket))


def test_an_agent_that_ends_meanwhile(tmp_path: Path) -> None:
    words = "connection closed, the shipper ended or is ending"
    assert words in problem(socket_of(tmp_path), ConnectionResetError(104, "Connection reset by peer"))
    with serving(tmp_path / "shipper.sock", lambda path: (200, iter([b"x", b""]))):
        assert words in problem(socket_of(tmp_path))


def test_an_agent_that_does_not_answer(tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(tmp_path / "shipper.sock"))
        listener.listen()
        assert "does not respond: the shipper is stopped (SIGSTOP)" in problem(socket_of(tmp_path), seconds=0.2)


def test_a_socket_of_another_user(left_socket: Path) -> None:
    user = pwd.getpwuid(os.getuid()).pw_name
    denied = PermissionError(13, "Permission denied")
    assert f"only the shipper's user may open it; run this command as {user}" in problem(socket_of(left_socket), denied)


def test_an_agent_that_has_no_such_path(tmp_path: Path) -> None:
    with serving(tmp_path / "shipper.sock", lambda path: (404, b"nothing is served at this path")):
        words = problem(socket_of(tmp_path))
    assert "is starting and waits for its output, is an older release" in words
    assert "(nothing is served at this path)" in words


def test_what_is_refused_is_repeated_in_the_words_of_the_agent(tmp_path: Path) -> None:
    with serving(tmp_path / "shipper.sock", lambda path: (503, b"4 taps are open\n")):
        assert problem(socket_of(tmp_path)) == f"{tmp_path}/shipper.sock: 4 taps are open"


def test_a_path_data_that_is_too_long_for_a_socket(tmp_path: Path) -> None:
    data = tmp_path / ("d" * 90)
    assert problem(socket_of(data)) == (
        f"{data}/shipper.sock: path of a unix socket is too long: {len(str(data)) + 13} bytes, maximum 107; set a "
        "path.data of at most 94 bytes (such as a symlink to this one), or http.enabled: true for 'shipper top --url "
        "http://localhost:5066'; 'shipper tap' works only with the socket"
    )


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """Yield the port of a program that gives this response to every request."""

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(1000)
            client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


PORTS = "the default of `http.port` is 5066 for a shipper and 5067 for a sink"
TAKEN = f"another program uses this port, or it requires TLS (use https://); {PORTS}"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            b"HTTP/1.1 404 Not Found\r\n\r\nnothing is served\nat this path\n",
            "responds 404: nothing is served at this path; it is another program, an older release, or the URL "
            f"contains a path; {PORTS}",
        ),
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<html>\n<h1>404</h1>\n",
            f"responds 404; it is another program, an older release, or the URL contains a path; {PORTS}",
        ),
        (
            b"HTTP/1.1 301 Moved\r\nLocation: https://web-1/\r\n\r\n<html>\n",
            "responds 301: it redirects to https://web-1/; use that URL",
        ),
        (
            b"HTTP/1.1 503 Busy\r\n\r\nthere are 16 connections already\n",
            "responds 503: there are 16 connections already",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2\r\n",
            f": the response is not HTTP: {TAKEN}",
        ),
        (
            b"",
            f": the connection was closed without a response: {TAKEN}",
        ),
    ],
)
def test_another_program_at_the_address(answer: bytes, words: str) -> None:
    with answering(answer) as port:
        place = Address("127.0.0.1", port)
        assert problem(place) == f"{place}{'' if words.startswith(':') else ' '}{words}"


def test_a_program_that_does_not_speak_tls() -> None:
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        words = problem(Address("127.0.0.1", port, is_secure=True))
    assert "): use http://, as shippers and sinks do not provide TLS" in words
    assert words.startswith(f"https://127.0.0.1:{port}: TLS failed (")
    assert "_" not in words


def test_an_address_that_cannot_be_reached() -> None:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        place = Address("127.0.0.1", bound.getsockname()[1])
        assert problem(place) == (
            f"http://127.0.0.1:{place.port} is unreachable: Connection refused: no program listens there. Start it "
            f"with `http.enabled: true`, and for access from other hosts with `http.host: 0.0.0.0`; {PORTS}"
        )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "does not respond in time: its host is down, a firewall blocks"),
        (OSError(113, "No route to host"), "is unreachable: No route to host: check the address and the network"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known: correct the host name"),
        (
            ConnectionResetError(104, "Connection reset by peer"),
            "Connection reset by peer: the program is ending",
        ),
        (untrusted(), "certificate not trusted: self-signed certificate; it is a proxy's: connect directly"),
    ],
)
def test_what_the_network_refuses(error: OSError, words: str) -> None:
    assert words in problem(Address("h", 5066), error)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "shipper.yml"
    path.write_text(f"path.data: ${{HERE:{tmp_path}}}/data\nname: web-1\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("command", ["top", "tap"])
@pytest.mark.parametrize(
    ("mistake", "options"),
    [
        ("shipper.inputs: [{type: filestream, pathz: [/x]}]\n", []),
        ("output.kafka.hosts: ${NOT_SET}\n", []),
        ("name: web-2\n", ["-d", "typo", "-E", "http.port=x"]),
    ],
)
def test_the_socket_is_found_whatever_mistakes_the_configuration_has(
    mistake: str, options: list[str], command: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with config.open("a") as file:
        file.write(mistake)
    assert main([command, "-c", str(config), *options]) == 1
    assert f"no {config.parent}/data/shipper.sock: the shipper" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["top", "tap"])
@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("path: {data: [\n", 0o600, "shipper.yml:2: is not YAML"),
        ("path.data: ${NOT_SET}\n", 0o600, "shipper.yml: path.data: variable NOT_SET is not set"),
        ("path.data: /x\n", 0o666, "is writable by other users"),
    ],
)
def test_where_path_data_cannot_be_read_the_error_ends_with_the_way_out(
    text: str, mode: int, words: str, command: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    config.chmod(mode)
    assert main([command, "-c", str(config)]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.endswith("; so path.data is unknown: add --path.data DIR\n")
    assert main([command, "-c", str(config), "--path.data", str(config.parent)]) == 1
    assert f"no {config.parent}/shipper.sock" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "path"), [((), "/healthz"), (("--ready",), "/readyz")])
@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_health_is_an_exit_code(
    arguments: tuple[str, ...], path: str, status: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def answer(asked_for: str) -> tuple[int, bytes | Iterator[bytes]]:
        asked.append(asked_for)
        return status, iter([b'{"status": "as it is"}'])

    with serving(tmp_path / "shipper.sock", answer):
        assert main(["test", "health", *arguments, "--path.data", str(tmp_path)]) == code
    assert asked == [path]
    printed = capsys.readouterr()
    assert "as it is" in (printed.out if code == 0 else printed.err)


def test_health_of_an_agent_that_does_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "shipper.yml"
    config.write_text(f"shipper.inputs: [{{type: stdin}}]\noutput.console: {{}}\npath.data: {tmp_path}/here\n")
    assert main(["test", "health", "-c", str(config)]) == 1
    assert f"no {tmp_path}/here/shipper.sock" in capsys.readouterr().err
