"""Prove that bytes were shipped, by a hash over all of a file's content up to an offset.

The content is hashed in blocks, each together with the hash of all before it, so the hash can be continued from the
start of the last block. xxh3 costs 8 us for 256 KiB. It does not protect against someone who makes two files with one
hash, and need not: the writer of a log decides its content anyway.
"""

from dataclasses import dataclass

from xxhash import xxh3_128

from log_shipper.shipper.reader.log_file import READ_SIZE, read_fully

BLOCK = 16 * 1024
DIGEST = 32  # hexadecimal digits
KEPT = READ_SIZE  # bytes
COMPARED_WHOLE = 4 * BLOCK  # bytes: reading and hashing them takes 10 us, a twentieth of a wake-up


class Prefix:
    """The hash of the first `length` bytes, fed in order."""

    __slots__ = ("_block", "_chain", "length")

    def __init__(self) -> None:
        self.length = 0
        self._chain = b""  # of all whole blocks
        self._block = xxh3_128()  # the chain, and the part of the next block that was fed

    @classmethod
    def resume(cls, fd: int, proof: str, length: int) -> "Prefix | None":
        """Return the prefix of `proof`, so that it can be continued; None if the file ends differently before `length`.
        Reads only the last block, or everything if there is little. Raises OSError."""
        prefix = cls() if length <= COMPARED_WHOLE else cls.continued(proof, length)
        prefix.feed(read_fully(fd, length - prefix.length, prefix.length))
        return prefix if prefix.proof == proof else None

    @classmethod
    def continued(cls, proof: str, length: int) -> "Prefix":
        """Return the prefix at the start of the block that `proof`, of `length` bytes, ends in. Raises ValueError."""
        prefix = cls()
        prefix.length = length - length % BLOCK
        prefix._chain = bytes.fromhex(proof[:-DIGEST])
        prefix._block = xxh3_128(prefix._chain)
        return prefix

    @property
    def proof(self) -> str:
        """The proof, hexadecimal: the chain, so that it can be continued, and the hash of everything."""
        return self._chain.hex() + self._block.hexdigest()

    def feed(self, data: bytes | memoryview) -> None:
        start, end = 0, BLOCK - self.length % BLOCK
        while end <= len(data):
            self._block.update(data[start:end])
            self._chain = self._block.digest()
            self._block = xxh3_128(self._chain)
            start, end = end, end + BLOCK
        self._block.update(data[start:])
        self.length += len(data)


@dataclass(frozen=True, slots=True)
class ReadBytes:
    """All bytes read from a file: `proof` covers the first `length` of them, `rest` follows."""

    proof: str
    length: int
    rest: bytes = b""


class ProofTrail:
    """The proofs of what was read, for ascending offsets. Bytes after the last of these offsets are kept, up to one
    read: a longer message leaves offsets before its end without a proof."""

    __slots__ = ("_chunks", "_kept", "_prefix")

    def __init__(self, prefix: Prefix | None) -> None:
        """Take the `prefix` before the first byte that is read; None if it is unknown: no proofs then."""
        self._prefix = prefix
        self._chunks: list[memoryview] = []  # few; a deque for each of many files would take much memory
        self._kept = 0

    def add(self, data: bytes) -> None:
        if self._prefix is None or not data:  # an empty one would never be taken from the front
            return
        self._chunks.append(memoryview(data))
        self._kept += len(data)
        while self._kept - len(self._chunks[0]) >= KEPT:
            self._feed(self._prefix, len(self._chunks[0]))

    def proof_at(self, position: int) -> str:
        """Return the proof of all bytes before `position`; empty if there is none."""
        if self._prefix is None or not 0 <= position - self._prefix.length <= self._kept:
            return ""
        self._feed(self._prefix, position - self._prefix.length)
        return self._prefix.proof

    def ends_alike(self, fd: int) -> bool:
        """Return True if the file still ends as it was read (Prefix.resume), up to where it was read. Raises
        OSError."""
        if self._prefix is None:
            return True
        length, rest = self._prefix.length, b"".join(self._chunks)
        is_alike = Prefix.resume(fd, self._prefix.proof, length) is not None
        return is_alike and read_fully(fd, len(rest), length) == rest

    @property
    def read_bytes(self) -> ReadBytes | None:
        """Return everything read so far; None without a proof."""
        if self._prefix is None:
            return None
        return ReadBytes(self._prefix.proof, self._prefix.length, b"".join(self._chunks))

    def go_back(self, position: int) -> None:
        """Go back to an offset: the bytes after it will be read again."""
        if self._prefix is not None and not self.proof_at(position):
            self._prefix = None
        self._chunks.clear()
        self._kept = 0

    def _feed(self, prefix: Prefix, size: int) -> None:
        self._kept -= size
        while size:
            chunk = self._chunks.pop(0)
            if len(chunk) > size:
                self._chunks.insert(0, memoryview(bytes(chunk[size:])))  # a view would keep all of a read in memory
                chunk = chunk[:size]
            prefix.feed(chunk)
            size -= len(chunk)
