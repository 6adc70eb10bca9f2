"""Bodies that are compressed, within a bound of what they decompress to."""

import zlib

from monitor.exchange import RefusedRequest

GZIP = 16  # added to zlib's window bits: a header of gzip is expected
ACCEPTED = "gzip, zstd"
# Bytes of zstd that are decompressed at once: four of them may become 128 KiB, and there is no bound to ask for.
PIECE = 256


def is_known(encoding: str) -> bool:
    return encoding in ("", "identity", "gzip", "x-gzip", "zstd")


def decompress(body: bytes, encoding: str, most: int) -> bytes:
    """Return the content of a body of a known encoding. Raises RefusedRequest for a damaged one, and for one of more
    than `most` bytes."""
    match encoding:
        case "gzip" | "x-gzip":
            return _gzip(body, most)
        case "zstd":
            return _zstd(body, most)
    return body


def _gzip(body: bytes, most: int) -> bytes:
    content = b""
    while body:  # members in a row are one content
        member = zlib.decompressobj(zlib.MAX_WBITS + GZIP)
        try:
            content += member.decompress(body, most + 1 - len(content))
        except zlib.error as error:
            raise RefusedRequest(400, f"the body cannot be decompressed: {error}") from error
        if len(content) > most:
            raise too_large(most)
        if not member.eof:
            raise RefusedRequest(400, "the body cannot be decompressed: its end is missing")
        body = member.unused_data
    return content


def _zstd(body: bytes, most: int) -> bytes:
    import zstandard  # hardly any client sends it

    content = bytearray()
    # The memory of a frame's window is bounded too: a header may ask for gigabytes.
    window = max(2 * most, 1024)
    decompressor = zstandard.ZstdDecompressor(max_window_size=window)
    try:
        if zstandard.get_frame_parameters(body).window_size > window:
            raise too_large(most)
        while body:
            frame = decompressor.decompressobj()
            for start in range(0, len(body), PIECE):
                content += frame.decompress(body[start : start + PIECE])
                if len(content) > most:
                    raise too_large(most)
                if frame.eof:
                    body = frame.unused_data + body[start + PIECE :]
                    break
            else:
                raise RefusedRequest(400, "the body cannot be decompressed: its end is missing")
    except zstandard.ZstdError as error:
        raise RefusedRequest(400, f"the body cannot be decompressed: {error}") from error
    return bytes(content)


def too_large(most: int) -> RefusedRequest:
    return RefusedRequest(413, f"the body has more than {most} bytes (max_body_bytes): send it in smaller requests")
