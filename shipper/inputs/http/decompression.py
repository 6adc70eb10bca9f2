"""Decompress bodies, within limits on their size and their number of members."""

import zlib
from typing import Any

from log_shipper.runtime.monitor.exchange import RefusedRequest

GZIP = 16  # added to zlib's window bits: expects a gzip header
ACCEPTED = "gzip, zstd"
# Bytes decompressed at once, so that no more are copied after the end of a member or frame. Four bytes of zstd may
# become 128 KiB, and there is no limit to set.
GZIP_PIECE = 4096
ZSTD_PIECE = 256
MAX_MEMBERS = 10_000  # members of gzip or frames of zstd in a row; each costs some time, even an empty one


def is_known(encoding: str) -> bool:
    return encoding in ("", "identity", "gzip", "x-gzip", "zstd")


def decompress(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return the content of a body of a known encoding. Raises RefusedRequest for a damaged one, and for more than
    `max_bytes` bytes or MAX_MEMBERS members."""
    match encoding:
        case "gzip" | "x-gzip":
            try:
                return _content(
                    body, max_bytes, GZIP_PIECE, lambda: zlib.decompressobj(zlib.MAX_WBITS + GZIP), (max_bytes + 1,)
                )
            except zlib.error as error:
                raise RefusedRequest(400, f"cannot decompress the body: {error}") from error
        case "zstd":
            return _zstd(body, max_bytes)
    return body


def _zstd(body: bytes, max_bytes: int) -> bytes:
    import zstandard  # hardly any client sends it

    # The memory of a frame's window is bounded too: a header may ask for gigabytes.
    window = max(2 * max_bytes, 1024)
    decompressor = zstandard.ZstdDecompressor(max_window_size=window)
    try:
        if zstandard.get_frame_parameters(body).window_size > window:
            raise too_large(max_bytes)
        return _content(body, max_bytes, ZSTD_PIECE, decompressor.decompressobj, ())
    except zstandard.ZstdError as error:
        raise RefusedRequest(400, f"cannot decompress the body: {error}") from error


def _content(body: bytes, max_bytes: int, piece: int, make: Any, bound: tuple[int, ...]) -> bytes:
    """Return the content of the members, as one. `make` returns the decompressor of a member; it is given bytes and
    `bound`."""
    content, data, place = bytearray(), memoryview(body), 0
    for _ in range(MAX_MEMBERS):
        member = make()
        while not member.eof:
            if place == len(body):
                raise RefusedRequest(400, "cannot decompress the body: its end is missing")
            content += member.decompress(data[place : place + piece], *bound)
            place = min(place + piece, len(body)) - len(member.unused_data)
            if len(content) > max_bytes:
                raise too_large(max_bytes)
        if place == len(body):
            return bytes(content)
    raise RefusedRequest(413, f"the body has more than {MAX_MEMBERS} compressed members: send it as one")


def too_large(max_bytes: int) -> RefusedRequest:
    return RefusedRequest(413, f"the body exceeds {max_bytes} bytes (max_body_bytes): send it in smaller requests")
