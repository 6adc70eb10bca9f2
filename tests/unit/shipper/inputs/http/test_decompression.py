"""Bodies that are compressed, within bounds."""

import gzip
import tracemalloc

import pytest
import zstandard

from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.shipper.inputs.http.decompression import MAX_MEMBERS, decompress, is_known

CONTENT = b'{"a":1}\n' * 100
GZIP = gzip.compress(CONTENT, mtime=0)
ZSTD = zstandard.ZstdCompressor().compress(CONTENT)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", CONTENT),
        ("identity", CONTENT),
        ("gzip", GZIP),
        ("x-gzip", GZIP),
        ("gzip", gzip.compress(CONTENT[:8], mtime=0) + gzip.compress(CONTENT[8:], mtime=0)),
        ("zstd", ZSTD),
        ("zstd", zstandard.ZstdCompressor(write_content_size=False).compress(CONTENT)),
        ("zstd", zstandard.ZstdCompressor().compress(CONTENT[:8]) + zstandard.ZstdCompressor().compress(CONTENT[8:])),
    ],
)
def test_a_body_is_decompressed(encoding: str, body: bytes) -> None:
    assert is_known(encoding)
    assert decompress(body, encoding, len(CONTENT)) == CONTENT


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", CONTENT),
        ("gzip", GZIP[:-9]),
        ("gzip", GZIP[:30] + b"\0" + GZIP[31:]),
        ("gzip", GZIP + b"garbage"),
        ("zstd", CONTENT),
        ("zstd", ZSTD[:-5]),
        ("zstd", ZSTD + b"garbage"),
    ],
    ids=["no gzip", "half a gzip", "a wrong byte", "gzip and more", "no zstd", "half a zstd", "zstd and more"],
)
def test_a_damaged_body_is_refused(encoding: str, body: bytes) -> None:
    with pytest.raises(RefusedRequest, match="cannot decompress the body") as refused:
        decompress(body, encoding, 10_000)
    assert refused.value.response.status == 400


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_what_would_become_too_large_is_refused_before_it_is(encoding: str) -> None:
    much = b"\0" * (64 * 1024**2)
    body = gzip.compress(much, mtime=0) if encoding == "gzip" else zstandard.ZstdCompressor().compress(much)
    tracemalloc.start()
    with pytest.raises(RefusedRequest, match="exceeds 1000 bytes") as refused:
        decompress(body, encoding, 1000)
    assert tracemalloc.get_traced_memory()[1] < 24 * 1024**2
    tracemalloc.stop()
    assert refused.value.response.status == 413


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_members_in_a_row_are_one_content_up_to_a_bound(encoding: str) -> None:
    member = gzip.compress(b"x", mtime=0) if encoding == "gzip" else zstandard.ZstdCompressor().compress(b"x")
    assert decompress(member * MAX_MEMBERS, encoding, 10**6) == b"x" * MAX_MEMBERS
    with pytest.raises(RefusedRequest, match="more than 10000 compressed members") as refused:
        decompress(member * (MAX_MEMBERS + 1), encoding, 10**6)
    assert refused.value.response.status == 413


def test_other_encodings_are_not_known() -> None:
    assert not is_known("br")
    assert not is_known("deflate")
