"""Any chain of parsers over any bytes: its messages do not depend on where the reads ended, nor on where an earlier
reading stopped, and every byte is accounted for."""

import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.include_message import IncludeMessageConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.parsers.syslog import SyslogParserConfig
from log_shipper.shipper.reader import chain
from log_shipper.shipper.reader.base import ParserConfig, Reader
from tests.builders import input_config, multiline, source
from tests.fakes import ManualClock
from tests.model.piecemeal import GrowingFile, drain, random_sizes
from tests.model.seeds import for_each_seed
from tests.short_reads import LogOnDisk

LINES = [
    b'{"message": "[1] start", "n": 1}',
    b'{"message": " indented"}',
    b'{"msg": "[2] text", "tags": ["x"], "n": null}',
    b'{"log": {"level": "x", "offset": 3}, "log.file": 1}',
    b'{"host": {"ip": 1}, "@timestamp": "2026-01-01T00:00:00Z"}',
    b'{"message": 5, "a.b": 1, "a": 2}',
    b"{}",
    b"[1]",
    b'{"a": ',
    b"1}",
    b'{"msg": "\\ud83d", "type": 5}',
    b"[3] plain",
    b"  at x.y(Z.java:1)",
    b"",
    b"\r",
    b"\xff\x00",
    "zwölf €".encode(),
    b"x" * 60,
    b'{"a":' * 30 + b"1" + b"}" * 30,
    b"2026-01-01T00:00:00.1Z stdout F [1] whole",
    b"2026-01-01T00:00:00.3Z stderr F  other",
    b'{"log":"[1] docker\\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}',
    b"2026-01-01T00:00:00.2Z stdout P {",
    b'{"log":"part","stream":"stdout","time":"2026-01-01T00:00:00Z"}',
    b"<13>Jan 12 12:32:15 host app[12]: [1] text",
    b"<165>1 2026-01-01T00:00:00Z h a 1 I - {}",
    "\ufeff{}".encode(),
    b'{"log": "text", "json": 1}',
]
PARSERS: list[ParserConfig] = [
    NdjsonConfig(),
    NdjsonConfig(overwrite_keys=True, expand_keys=True, add_error_key=True, document_id="a.b"),
    NdjsonConfig(target="json", message_key="msg", add_error_key=True),
    NdjsonConfig(message_key="message"),
    IncludeMessageConfig(patterns=(r"^\[", "^ ", "{")),
    IncludeMessageConfig(patterns=("[^x]",)),
    ContainerConfig(),
    ContainerConfig(format="cri", stream="stdout"),
    SyslogParserConfig(),
    multiline(r"^\s"),
    multiline(r"^\[|^\{", negate=True),
    multiline(r"^\{", match="before", max_lines=3),
]
SIZES = (1, 3, 20, 300)


@dataclass(frozen=True)
class Case:
    content: bytes
    config: InputConfig
    max_bytes: int

    def chain(
        self, log: LogOnDisk, metrics: Metrics, position: int = 0, cuts: tuple[int, ...] = (), **reads: Iterator[int]
    ) -> Reader:
        file = log.open(position, cuts, **reads)
        shared = source(static={"tags": ["a"]}).constants.members
        return chain.build(self.config, file, self.max_bytes, ManualClock(), shared, metrics)


def random_case(dice: random.Random) -> Case:
    ends = [b"\n", b"\n", b"\n", b"\r\n"]
    content = b"".join(dice.choice(LINES) + dice.choice(ends) for _ in range(dice.randrange(40)))
    config = replace(
        input_config(*dice.sample(PARSERS, dice.choice([1, 1, 2, 3]))),
        include_lines=dice.choice([(), (), (r"\w",)]),
        exclude_lines=dice.choice([(), (), ("indented|5",)]),
        keep_null=dice.choice([True, False]),
    )
    return Case(content, config, dice.choice([5, 40, 70, 10_000]))


Row = tuple[str, int, int, tuple[str, ...], Doc]


def rows(runs: list[Messages], start: int = 0) -> list[Row]:
    """Return all messages; check that the runs are contiguous, and that each message lies in its run."""
    result: list[Row] = []
    for run in runs:
        assert run.start == start
        for index, text in enumerate(run.texts):
            doc = run.docs[index] if run.docs else {}
            assert text or doc
            assert start <= run.offsets[index]
            start = run.offsets[index] + run.lengths[index]
            result.append((text, run.offsets[index], run.lengths[index], run.flags.get(index, ()), copy.deepcopy(doc)))
        assert start <= run.end
        start = run.end
    return result


@for_each_seed(400)
def test_the_sizes_of_the_reads_change_nothing(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    case = random_case(dice)
    log.write(case.content)
    whole, piecemeal = Metrics(), Metrics()
    expected = drain(case.chain(log, whole))
    runs = drain(case.chain(log, piecemeal, sizes=random_sizes(dice, *SIZES)))
    assert rows(runs) == rows(expected)
    assert (runs[-1].end if runs else 0) == (expected[-1].end if expected else 0)
    assert piecemeal == whole


@for_each_seed(300)
def test_a_second_reading_from_any_position_gives_the_same(seed: int, log: LogOnDisk) -> None:
    """The file grows during the first reading, which ends some messages by time; the second reading has its cuts."""
    dice = random.Random(seed)
    case = random_case(dice)
    log.write(b"")
    reader = case.chain(log, Metrics(), sizes=random_sizes(dice, *SIZES))
    file = GrowingFile(dice, log, lambda: dice.randrange(1, 200))
    runs = file.write(case.content, reader)
    first = rows(runs)
    for position in dice.sample([0, *(run.end for run in runs)], min(len(runs) + 1, 5)):
        sizes = random_sizes(dice, *SIZES)
        again = drain(case.chain(log, Metrics(), position, file.cuts_behind(position), sizes=sizes))
        assert rows(again, position) == [row for row in first if row[1] >= position]
