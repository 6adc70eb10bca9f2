"""A file that was rotated anywhere, read by any chain: what comes of the two is what comes of one with all of it."""

import copy
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from log_shipper.shipper.event import Messages
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.reader import line
from tests.fakes import ManualClock
from tests.model.piecemeal import drain
from tests.model.seeds import for_each_seed
from tests.model.test_whole_chain import Case, random_case
from tests.reading_room import Room, acknowledge, read_all
from tests.short_reads import LogOnDisk

MAX_BYTES = 1000  # the Room's
NAMES = ("encoding", "line_terminator", "parsers", "include_lines", "exclude_lines", "keep_null")


def events(runs: Iterable[Messages], shift: int = 0) -> list[tuple[Any, ...]]:
    rows = []
    for run in runs:
        for index, (text, offset, length) in enumerate(zip(run.texts, run.offsets, run.lengths, strict=True)):
            doc = copy.deepcopy(run.docs[index]) if run.docs else {}
            doc.get("log", {}).pop("file", None)
            rows.append((text, offset + shift, length, run.flags.get(index, ()), doc))
    return rows


def spans(rows: list[tuple[Any, ...]]) -> list[tuple[int, int]]:
    return [(offset, length) for _, offset, length, *_ in rows]


def check_order(rows: list[tuple[Any, ...]]) -> None:
    position = 0
    for offset, length in spans(rows):
        assert position <= offset
        assert length > 0
        position = offset + length


def split_of(dice: random.Random, case: Case, log: LogOnDisk) -> int | None:
    """Return where a line ends and the next one would be read alike at the start of a file."""
    reader = line.build(case.config.encoding, case.config.line_terminator, log.open(), MAX_BYTES)
    ends = [offset for run in drain(reader) for offset in run.offsets[1:]]
    marks = tuple("\ufeff".encode(codec) for codec in ("utf-8", "utf-16-le", "utf-16-be", "gb18030"))
    fit = [end for end in ends if end % 2 == 0 and not case.content.startswith(marks, end)]
    return dice.choice(fit) if fit else None


def read_rotated(dice: random.Random, room: Room, first: bytes, second: bytes) -> tuple[list[Messages], list[Messages]]:
    """Return what is read of either file, while the second one grows."""
    old = room.read("app.log.1", first)
    of_old, of_new = [*_read(old)], []
    size = dice.choice([0, len(second), dice.randrange(len(second) + 1)])
    new = room.read("app.log", second[:size])
    if old.message_deadline is not None:
        old.continue_in(new)
    for piece in (b"", second[size:]):
        room.append("app.log", piece)
        of_old += _read(old)
        if not old.is_continued:
            of_new += _read(new)
    return of_old, of_new


def _read(harvester: Harvester) -> list[Messages]:
    batches = read_all(harvester)
    acknowledge(batches)
    return [batch.messages for batch in batches]


@for_each_seed(200)
def test_a_rotation_changes_nothing(seed: int, log: LogOnDisk, tmp_path: Path) -> None:
    dice = random.Random(f"rotated {seed}")
    case = random_case(dice)
    log.write(case.content)
    split = split_of(dice, case, log)
    if split is None:
        return
    options = {name: getattr(case.config, name) for name in NAMES}
    room = Room(tmp_path, ManualClock(), (), options)
    try:
        expected = _read(room.read("whole.log", case.content))
        of_old, of_new = read_rotated(dice, room, case.content[:split], case.content[split:])
    finally:
        room.close()
    expected_rows, of_first = events(expected), events(of_old)
    rows = of_first + events(of_new, split)
    assert [(text, *rest) for text, _, _, *rest in rows] == [(text, *rest) for text, _, _, *rest in expected_rows]
    for (_, offset, length, *_), (_, expected_offset, size, *_) in zip(rows, expected_rows, strict=True):
        # What is interleaved with the last message of the first file has the name of some byte there.
        assert (offset, length) == (expected_offset, size) or offset < split
    check_order(of_first)
