"""`file_identity.fingerprint` against the bytes that it hashes: random contents, ranges and compressions."""

import gzip
import random
from pathlib import Path

from log_shipper.shipper.options.model import FileIdentityConfig
from tests.fakes import ManualClock
from tests.model.seeds import for_each_seed
from tests.reading_room import Room, finish, read_all


def random_lines(dice: random.Random, at_least: int) -> bytes:
    content = b""
    while len(content) < at_least:
        content += bytes(dice.choices(b"abc \xc3", k=dice.randrange(30))) + b"\n"
    return content


def with_one_byte_changed(dice: random.Random, content: bytes, upto: int) -> bytes:
    start = dice.randrange(upto)
    return content[:start] + b"x" + content[start + 1 :]


def write(dice: random.Random, room: Room, name: str, content: bytes) -> None:
    room.write(name, dice.choice([content, gzip.compress(content)]))


@for_each_seed(200)
def test_a_file_resumes_where_another_with_the_same_prefix_ended_however_either_is_compressed(
    seed: int, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    offset, length = dice.choice([0, 0, 1, 40, 2000]), dice.choice([1, 10, 64, 1024])
    end = offset + length
    first = random_lines(dice, end)
    second = dice.choice([first, with_one_byte_changed(dice, first, end)]) + dice.choice([b"", random_lines(dice, 1)])
    identity = FileIdentityConfig(name="fingerprint", offset=offset, length=length)
    room = Room(tmp_path, ManualClock(), (), {"file_identity": identity, "compression": "auto"})
    try:
        write(dice, room, "app.log.1", first)
        opened = room.open("app.log.1")
        left = finish(room.start(opened, room.entries.make(opened))).state
        room.entries.keep(left)
        write(dice, room, "app.log", second)
        again = room.open("app.log")
        claim = room.entries.claim(again)
        assert (claim is not None) == (first[offset:end] == second[offset:end])
        if claim is not None:
            assert (claim.state.id, claim.state.position) == (left.id, len(first))
            batches = read_all(room.start(again, claim))
            expected = [line for line in second[len(first) :].decode("utf-8", "replace").splitlines() if line]
            assert [text for batch in batches for text in batch.messages.texts] == expected
    finally:
        room.close()
