"""Find where the body of a request ends (RFC 9112): by its length, or in chunks. Ambiguous requests are refused: two
programs could see different requests in them."""

import re

from log_shipper.runtime.monitor.exchange import HEADER, Head, RefusedRequest
from log_shipper.shipper.inputs.http.decompression import too_large

_LENGTH = re.compile("[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t -~\x80-\xff]*)?")
MAX_CHUNK_LINE = 1024
MAX_TRAILERS = 8192  # bytes of trailer fields
CHUNKS_AT_ONCE = 50
MAX_CHUNKS = 1_000_000  # each costs some time, even a tiny one


class SizedBody:
    def __init__(self, length: int) -> None:
        self.content = bytearray()
        self._length = length

    @property
    def is_complete(self) -> bool:
        return len(self.content) == self._length

    def consume(self, received: bytearray) -> bool:
        """Take the body's part of the received bytes. Return False: all of it was taken."""
        wanted = self._length - len(self.content)
        self.content += received[:wanted]
        del received[:wanted]
        return False


class ChunkedBody:
    def __init__(self, max_bytes: int) -> None:
        self.content = bytearray()
        self.is_complete = False
        self._max_bytes = max_bytes
        self._remaining = 0  # bytes of the chunk, including its line end
        self._in_trailers = False
        self._trailers = 0
        self._chunks = 0

    def consume(self, received: bytearray) -> bool:
        """Take the body's part of the received bytes, some chunks at a time. Return True if there may be more of it.
        Raises RefusedRequest."""
        for _ in range(CHUNKS_AT_ONCE):
            if self._remaining and not self._take_chunk(received):
                return False
            end = received.find(b"\r\n", 0, MAX_CHUNK_LINE)
            if end < 0:
                if len(received) >= MAX_CHUNK_LINE:
                    raise RefusedRequest(400, "a chunk of the body has no size")
                return False
            line = bytes(received[:end])
            del received[: end + 2]
            if self._in_trailers:
                self._pass_trailer(line)
            else:
                self._begin_chunk(line)
            if self.is_complete:
                return False
        return True

    def _take_chunk(self, received: bytearray) -> bool:
        """Take some of a chunk. Return False if the rest of it is still to come."""
        size = min(len(received), max(self._remaining - 2, 0))
        self.content += received[:size]
        del received[:size]
        self._remaining -= size
        if self._remaining > 2 or len(received) < 2:
            return False
        if received[:2] != b"\r\n":
            raise RefusedRequest(400, "a chunk of the body is longer than its size")
        del received[:2]
        self._remaining = 0
        return True

    def _begin_chunk(self, line: bytes) -> None:
        match = _CHUNK.fullmatch(line)
        if match is None:
            raise RefusedRequest(400, "a chunk of the body has no size")
        size = int(match[1], 16)
        if len(self.content) + size > self._max_bytes:
            raise too_large(self._max_bytes)
        self._chunks += 1
        if self._chunks > MAX_CHUNKS:
            raise RefusedRequest(413, f"the body has more than {MAX_CHUNKS} chunks: send larger ones")
        if size:
            self._remaining = size + 2
        else:
            self._in_trailers = True

    def _pass_trailer(self, line: bytes) -> None:
        if line and not HEADER.fullmatch(line.decode("latin-1")):
            raise RefusedRequest(400, "invalid trailer field after the body")
        self._trailers += len(line)
        if self._trailers > MAX_TRAILERS:
            raise RefusedRequest(400, "the trailer fields after the body are too long")
        self.is_complete = not line


def body_of(head: Head, max_bytes: int) -> SizedBody | ChunkedBody:
    """Return the body of a request, still without content. Raises RefusedRequest."""
    coding, length = head.headers.get("transfer-encoding"), head.headers.get("content-length")
    if coding is not None:
        if length is not None:
            raise RefusedRequest(400, "the request has both Content-Length and Transfer-Encoding")
        if coding.strip().lower() != "chunked" or not head.minor_version:
            raise RefusedRequest(400, f"Transfer-Encoding {coding[:40]!r} is not supported: use chunked")
        return ChunkedBody(max_bytes)
    if length is None:
        return SizedBody(0)
    if not _LENGTH.fullmatch(length):
        raise RefusedRequest(400, f"Content-Length {length[:40]!r} is not a number")
    if int(length) > max_bytes:
        raise too_large(max_bytes)
    return SizedBody(int(length))
