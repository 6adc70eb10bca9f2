"""Asking a program by HTTP."""

from pathlib import Path

import pytest

from log_shipper.runtime.http import Address, UnixSocket
from log_shipper.runtime.monitor.client import NotHttp, Refused, get, opened, place_of
from tests.status_documents import serving


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://web-1", Address("web-1", 80)),
        ("http://web-1:5066/", Address("web-1", 5066)),
        ("https://h/base/", Address("h", 443, "/base", is_secure=True)),
        ("http://[::1]:5066", Address("::1", 5066)),
        ("unix:///run/shipper.sock", UnixSocket(Path("/run/shipper.sock"))),
    ],
)
def test_a_url_leads_to_an_address_or_a_socket(url: str, place: Address | UnixSocket) -> None:
    assert place_of(url) == place


@pytest.mark.parametrize("url", ["web-1:5066", "http://", "ftp://h", "http://h:port", "unix:", f"http://{'x' * 70}"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"is not a URL|port|label"):
        place_of(url)


def test_an_address_is_written_as_a_url() -> None:
    assert str(Address("::1", 5066, "/x")) == "http://[::1]:5066/x"


def test_the_answer_of_a_unix_socket_is_read(tmp_path: Path) -> None:
    with serving(tmp_path / "s", lambda path: (200, path.encode())):
        assert get(UnixSocket(tmp_path / "s"), "/status?a=b") == b"/status?a=b"


def test_an_error_has_the_words_of_the_server(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "s", lambda path: (503, b"not now\n")),
        pytest.raises(Refused, match=r"^not now$") as caught,
    ):
        get(UnixSocket(tmp_path / "s"), "/")
    assert caught.value.status == 503


def test_a_stream_is_read_line_by_line(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "s", lambda path: (200, iter([b"one\nt", b"wo\n"]))),
        opened(UnixSocket(tmp_path / "s"), "/", 5) as connection,
    ):
        assert list(connection.lines(100, 5)) == [b"one", b"two"]


def test_an_answer_that_breaks_off_is_an_error_of_the_system(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "s", lambda path: (200, iter([b"one\n", b""]))),
        pytest.raises(NotHttp, match="the response is incomplete"),
    ):
        get(UnixSocket(tmp_path / "s"), "/")
