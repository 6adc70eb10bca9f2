"""The gzip reader against the content that was compressed: random members, sizes of reads, offsets, cuts and pieces.

And against a naive one that is fed byte by byte: random damage.
"""

import gzip
import itertools
import os
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.reader.gzip_file import MAGIC, CompressionError, GzipFile, ends_before, head
from log_shipper.shipper.reader.log_file import Pread
from tests.model.piecemeal import random_sizes
from tests.model.seeds import for_each_seed
from tests.short_reads import LogOnDisk, ShortReads

FLUSHES = [zlib.Z_NO_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH]
SIZES = (1, 20, 1000, 300_000)


@dataclass(frozen=True, slots=True)
class Packed:
    """`content` before it was compressed; `ends`: where each member ends in it."""

    content: bytes
    raw: bytes
    ends: tuple[int, ...]


def random_content(dice: random.Random) -> bytes:
    pieces = [
        dice.choice([b"a line of some words\n", b"\n", b"x", bytes(700), dice.randbytes(30), dice.randbytes(9000)])
        for _ in range(dice.randrange(40))
    ]
    return b"".join(pieces)


def random_member(dice: random.Random, content: bytes) -> bytes:
    if dice.random() < 0.3:
        return gzip.compress(content, mtime=dice.randrange(2**31))
    packer = zlib.compressobj(dice.choice([0, 1, 6, 9]), zlib.DEFLATED, 31)
    middle = dice.randint(0, len(content))
    packed = packer.compress(content[:middle]) + packer.flush(dice.choice(FLUSHES))
    return packed + packer.compress(content[middle:]) + packer.flush()


def random_packed(dice: random.Random) -> Packed:
    content = random_content(dice)
    ends = [*sorted(dice.choices(range(len(content) + 1), k=dice.choice([0, 0, 1, 2, 5]))), len(content)]
    raw = b""
    for start, end in itertools.pairwise([0, *ends]):
        raw += random_member(dice, content[start:end]) + bytes(dice.choice([0, 0, 0, 1, 512]))
    return Packed(content, raw, tuple(ends))


def random_pieces(dice: random.Random, raw: bytes) -> list[bytes]:
    """Return the pieces in which the file arrives; often one ends just before or behind a trailer."""
    places = {*dice.choices(range(len(raw) + 1), k=dice.choice([0, 1, 5, 30])), len(raw)}
    if dice.random() < 0.5:
        places |= {max(len(raw) - dice.randint(0, 10), 0)}
    return [raw[start:end] for start, end in itertools.pairwise(sorted({0, *places}))]


def drain(file: GzipFile) -> Iterator[tuple[bytes, bool]]:
    """Yield what can be read for now: bytes, and True if they end at a cut."""
    while True:
        data = file.next()
        cut = file.pop_cut()
        if not data and not cut and not file.busy:
            return
        yield data, cut


@for_each_seed(100)
def test_whatever_the_pieces_the_content_is_read_and_every_cut_is_reported(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    packed = random_packed(dice)
    content = packed.content
    offset = dice.choice([0, dice.randint(0, len(content))])
    cuts = tuple(dice.choices(range(len(content) + 1), k=dice.choice([0, 1, 4])))
    log.write(b"")
    file = GzipFile(log.open().fd, offset, cuts, ShortReads(0, random_sizes(dice, *SIZES)))
    read, problems = b"", []
    # Behind a whole member it would be a shorter file than the one that was read up to the offset: truncated.
    pieces = random_pieces(dice, packed.raw) if offset <= packed.ends[0] else [packed.raw]
    for piece in pieces:
        log.append(piece)
        for data, cut in drain(file):
            read += data
            assert file.offset == offset + len(read)
            if cut:
                problems.append(file.offset)
    assert read == content[offset:]
    assert (file.complete, file.raw_offset) == (True, len(packed.raw))
    # The end of a member that nothing followed for a while is reported, too, and the end of the file always.
    assert {cut for cut in cuts if cut > offset} | {len(content)} <= set(problems) <= {*cuts, *packed.ends}


@for_each_seed(100)
def test_a_whole_file_reports_its_end_with_its_last_bytes_only(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    packed = random_packed(dice)
    log.write(packed.raw)
    ways: list[Pread] = [os.pread, ShortReads(0, itertools.repeat(1000))]
    file = GzipFile(log.open().fd, 0, (), dice.choice(ways))
    blocks = list(drain(file))
    assert [cut for _, cut in blocks] == [False] * (len(blocks) - 1) + [True]
    if packed.content:
        assert blocks[-1][0]


@for_each_seed(100)
def test_the_head_is_that_of_the_content_and_its_end_is_known(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    packed = random_packed(dice)
    log.write(packed.raw)
    fd = log.open().fd
    assert head(fd, 1024) == packed.content[:1024]
    position = len(packed.content) + dice.choice([-300, -1, 0, 1, 300])
    assert ends_before(fd, position) == (position > len(packed.content))


def read_naively(raw: bytes) -> tuple[bytes, int | None]:
    """Return the content, and the byte at which the damage shows."""
    content = b""
    member = zlib.decompressobj(31)
    started = ended = False
    for index in range(len(raw)):
        byte = raw[index : index + 1]
        if ended and not started:
            if byte == b"\0":
                continue
            if byte != MAGIC[:1]:
                return content, index
        started = True
        try:
            content += member.decompress(byte)
        except zlib.error:
            return content, index
        if member.eof:
            member, started, ended = zlib.decompressobj(31), False, True
    return content, None


def random_damage(dice: random.Random, raw: bytes) -> bytes:
    place = dice.choice([dice.randrange(len(raw)), dice.randrange(min(12, len(raw))), len(raw) - dice.randint(1, 8)])
    kind = dice.randrange(5)
    if kind == 0:
        return raw[:place] + bytes([raw[place] ^ 1 << dice.randrange(8)]) + raw[place + 1 :]
    if kind == 1:
        return raw[:place] + dice.randbytes(dice.randint(1, 9)) + raw[place:]
    if kind == 2:
        return raw[:place] + raw[place + dice.randint(1, 9) :]
    if kind == 3:
        return raw[:place]
    return raw + dice.randbytes(dice.randint(1, 30))


@for_each_seed(100)
def test_all_that_the_bytes_before_the_damage_give_is_read(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    raw = random_damage(dice, random_packed(dice).raw)
    log.write(raw)
    content, damaged_at = read_naively(raw)
    ways: list[Pread] = [os.pread, ShortReads(0, random_sizes(dice, *SIZES))]
    file = GzipFile(log.open().fd, 0, (), dice.choice(ways))
    read, found_at = b"", None
    try:
        for data, _ in drain(file):
            read += data
    except CompressionError as error:
        found_at = error.raw_offset
    assert found_at == damaged_at
    # The bits of the damaged byte itself may have given a few bytes more.
    assert read.startswith(content)
    assert len(read) - len(content) <= (0 if damaged_at is None else 8 * 258)


@for_each_seed(100)
def test_a_rewritten_file_never_mixes_two_contents(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    content = dice.randbytes(dice.randrange(1000, 40_000))
    old, new = gzip.compress(content), gzip.compress(dice.randbytes(dice.randrange(1000, 40_000)))
    log.write(old[: dice.randint(0, len(old))])
    file = GzipFile(log.open().fd, 0, (), ShortReads(0, random_sizes(dice, *SIZES)))
    read = b"".join(data for data, _ in itertools.islice(drain(file), dice.randrange(5)))
    if file.raw_offset < 50:
        return  # with equal headers the two cannot be distinguished
    log.write(new[: dice.randint(0, len(new))])
    noticed = False
    try:
        for data, _ in drain(file):
            read += data
    except Truncated:
        noticed = True
    assert noticed
    assert content.startswith(read)
