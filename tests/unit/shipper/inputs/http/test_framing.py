"""Where the body of a request ends."""

import pytest

from log_shipper.runtime.monitor.exchange import Head, RefusedRequest
from log_shipper.shipper.inputs.http.framing import CHUNKS_AT_ONCE, MAX_CHUNKS, ChunkedBody, SizedBody, body_of

CHUNKED = b"5\r\nhello\r\n1;name=value\r\n \r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n"


def head(version: int = 1, **headers: str) -> Head:
    return Head("POST", "/", version, {name.replace("_", "-"): value for name, value in headers.items()})


def taken(body: SizedBody | ChunkedBody, data: bytes, size: int) -> bytes:
    """Give the body its bytes in pieces of this size; return what it left."""
    received = bytearray()
    for start in range(0, len(data), size):
        received += data[start : start + size]
        while body.consume(received):
            pass
    return bytes(received)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_chunked_body_ends_behind_its_trailers_however_it_arrives(size: int) -> None:
    body = body_of(head(transfer_encoding="chunked"), 100)
    assert taken(body, CHUNKED + b"GET /next", size) == b"GET /next"
    assert body.is_complete
    assert body.content == b"hello 0123456789"


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_body_of_known_length_leaves_the_next_request(size: int) -> None:
    body = body_of(head(content_length="5"), 100)
    assert taken(body, b"helloGET", size) == b"GET"
    assert body.is_complete
    assert body.content == b"hello"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"g\r\n", 400),
        (b"\r\n", 400),
        (b"-1\r\n", 400),
        (b"0x5\r\n", 400),
        (b"5\r\nhelloX\r\n", 400),
        (b"5\nhello\r\n" + b" " * 2000, 400),
        (b"1" * 1100, 400),
        (b"65\r\n", 413),
        (b"FFFFFFFFFFFFFFF\r\n", 413),
        (b"40\r\n" + b"x" * 64 + b"\r\n40\r\n", 413),
        (b"0\r\n" + b"a: 1234567890\r\n" * 1000, 400),
        (b"0\r\n\nPOST / HTTP/1.1\r\n", 400),
        (b"0\r\n;\r\n\r\n", 400),
    ],
)
def test_chunks_that_are_malformed_or_too_many_are_refused(data: bytes, status: int) -> None:
    body = ChunkedBody(100)
    with pytest.raises(RefusedRequest) as refused:
        taken(body, data, 1000)
    assert refused.value.response.status == status


def test_chunks_are_taken_some_at_a_time_and_up_to_a_bound() -> None:
    body, received = ChunkedBody(MAX_CHUNKS), bytearray(b"1\r\na\r\n" * (MAX_CHUNKS + 1))
    assert body.consume(received)
    assert 0 < len(body.content) <= CHUNKS_AT_ONCE
    for _ in range(MAX_CHUNKS // CHUNKS_AT_ONCE - 1):
        assert body.consume(received)
    with pytest.raises(RefusedRequest, match="exceeds") as refused:
        body.consume(received)
    assert refused.value.response.status == 413


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (head(content_length="5", transfer_encoding="chunked"), 400),  # what smuggles a request past a proxy
        (head(content_length="5, 5"), 400),
        (head(content_length="+5"), 400),
        (head(content_length="٣"), 400),
        (head(content_length="-1"), 400),
        (head(content_length=""), 400),
        (head(transfer_encoding="gzip, chunked"), 400),
        (head(transfer_encoding="identity"), 400),
        (head(0, transfer_encoding="chunked"), 400),
        (head(content_length="101"), 413),
    ],
)
def test_a_body_whose_end_is_not_certain_is_refused(request_head: Head, status: int) -> None:
    with pytest.raises(RefusedRequest) as refused:
        body_of(request_head, 100)
    assert refused.value.response.status == status


def test_a_request_without_length_has_no_body() -> None:
    assert body_of(head(), 100).is_complete
