"""All readers together: any chain that can be configured, over any bytes in any encoding, read in any pieces, ended by
time anywhere, resumed anywhere. Every reading must give the same, and account for every byte.
"""

import codecs
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from log_shipper.config.text.encodings import LineTerminator
from log_shipper.shipper.event import Messages
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.parsers.container import ContainerConfig, ContainerStream
from log_shipper.shipper.parsers.include_message import IncludeMessageConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.parsers.syslog import SyslogParserConfig
from log_shipper.shipper.reader import chain
from log_shipper.shipper.reader.base import ParserConfig, Reader
from tests.builders import input_config, source
from tests.fakes import ManualClock
from tests.model.naive_lines import DIALECTS, TERMINATORS, Dialect
from tests.model.piecemeal import GrowingFile, drain, random_sizes, under_a_hole
from tests.model.seeds import for_each_seed
from tests.model.test_encodings import DAMAGE
from tests.model.test_parsers import LINES, Row, rows
from tests.short_reads import LogOnDisk

CONTAINERS = [
    "2026-01-01T00:00:00.0Z stdout P a",
    "2026-01-01T00:00:00.1Z stderr P  b",
    "2026-01-01T00:00:00.2Z stdout F  c",
    "2026-01-01T00:00:00.3Z stderr F [d",
    '2026-01-01T00:00:00.4Z stdout P {"a":',
    "2026-01-01T00:00:00.5Z stdout F 1}",
    "2026-01-01T00:00:00.6Z stderr P:x ",
    "2026-01-01T00:00:00.7Z stdout F ",
    '{"log":"part","stream":"stdout","time":"2026-01-01T00:00:00Z"}',
    '{"log":" rest\\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}',
    '{"log":"{\\"message\\": \\"m\\"}\\n","stream":"stderr","time":"2026-01-01T00:00:00Z","attrs":{"a":"b"}}',
]
SHORT_TEXTS = ["", " ", "\t", "\r", "\n", "end\\", "日本語", "\U0001f600 x", "\ufeff", "\x00"]
LONG_TEXTS = ["x" * 200, "{" * 40, "[" * 3000]
TEXTS = [*(line.decode("utf-8", "replace") for line in LINES), *CONTAINERS, *SHORT_TEXTS, *LONG_TEXTS]
PATTERNS = [r"^\s", r"^\[", r"\\$", "^$", "x$", r"^\{", "[ac]", "€|d$", "^"]
ENCODINGS = [dialect for dialect in DIALECTS if dialect.codec]
SIZES = (1, 3, 20, 300, 3000)


def random_parser(dice: random.Random) -> ParserConfig:
    match dice.choice(["multiline", "multiline", "ndjson", "container", "container", "syslog", "include"]):
        case "multiline":
            return _random_multiline(dice)
        case "ndjson":
            return NdjsonConfig(
                target=dice.choice(["", "", "json"]),
                overwrite_keys=dice.random() < 0.5,
                expand_keys=dice.random() < 0.5,
                add_error_key=dice.random() < 0.5,
                message_key=dice.choice(["", "message", "msg", "log"]),
                document_id=dice.choice(["", "a.b"]),
            )
        case "container":
            stream: ContainerStream = dice.choice(["all", "all", "stdout", "stderr"])
            return ContainerConfig(format=dice.choice(["auto", "cri", "docker"]), stream=stream)
        case "syslog":
            return SyslogParserConfig(add_error_key=dice.random() < 0.5)
    return IncludeMessageConfig(patterns=tuple(dice.sample(PATTERNS, dice.choice([1, 3]))))


def _random_multiline(dice: random.Random) -> MultilineConfig:
    common: dict[str, Any] = {"max_lines": dice.choice([0, 2, 500]), "skip_newline": dice.random() < 0.3}
    kind, pattern, negate = dice.choice(["pattern", "pattern", "while_pattern", "count"]), dice.choice(PATTERNS), False
    if kind == "count":
        return MultilineConfig(type="count", count_lines=dice.choice([1, 2, 5]), **common)
    negate = dice.random() < 0.5
    if kind == "while_pattern":
        return MultilineConfig(type="while_pattern", pattern=pattern, negate=negate, **common)
    flush = dice.choice([None, None, *PATTERNS])
    match: Literal["after", "before"] = dice.choice(["after", "before"])
    return MultilineConfig(pattern=pattern, negate=negate, match=match, flush_pattern=flush, **common)


@dataclass(frozen=True)
class Case:
    content: bytes
    config: InputConfig
    max_bytes: int

    def read(
        self, log: LogOnDisk, metrics: Metrics, position: int = 0, cuts: tuple[int, ...] = (), **sizes: Iterator[int]
    ) -> Reader:
        shared = source(static={"tags": ["a"]}).constants.members
        file = log.open(position, tuple(cut for cut in cuts if cut > position), **sizes)
        return chain.build(self.config, file, self.max_bytes, ManualClock(), shared, metrics)


def random_case(dice: random.Random) -> Case:
    dialect = dice.choice([DIALECTS[0], DIALECTS[2], *ENCODINGS])
    terminator: LineTerminator = dice.choice(["auto", *dialect.terminators])
    contained = dice.random() < 0.3  # parts of lines that come interleaved are rare by chance
    parsers = tuple(random_parser(dice) for _ in range(dice.choice([0, 1, 2, 2, 3, 4])))
    if contained:
        parsers = (ContainerConfig(), _random_multiline(dice), *parsers[:2])
    first = next((parser for parser in parsers if isinstance(parser, ContainerConfig)), None)
    parsers = tuple(parser for parser in parsers if parser is first or not isinstance(parser, ContainerConfig))
    config = replace(
        input_config(*parsers),
        encoding=dialect.encoding,
        line_terminator=terminator,
        keep_null=dice.random() < 0.5,
        include_lines=tuple(dice.sample(PATTERNS, dice.choice([0, 0, 2]))),
        exclude_lines=tuple(dice.sample(PATTERNS, dice.choice([0, 0, 1]))),
    )
    content = random_content(dice, dialect, TERMINATORS[terminator], CONTAINERS if contained else TEXTS)
    return Case(content, config, dice.choice([1, 7, 40, 70, 10_000, 10_000]))


def random_content(dice: random.Random, dialect: Dialect, end: str, known: list[str]) -> bytes:
    damage = dice.choice([0, 0, 0.1])
    texts = dice.sample(known, dice.choice([3, 8, len(known)]))
    content = b""
    for _ in range(dice.randrange(60)):
        ending = dice.choice([end, end, end, "\r" + end, ""])
        content += (dice.choice(texts) + ending).encode(dialect.codec, "ignore")
        if dice.random() < damage:
            content += dice.choice([*DAMAGE, dice.randbytes(5), codecs.BOM_UTF16_BE])
    return under_a_hole(content)


def read_growing(dice: random.Random, case: Case, log: LogOnDisk, metrics: Metrics) -> tuple[list[Messages], list[int]]:
    """Return the runs of a reading while the file is written, and where it ended a message by time."""
    log.write(b"")
    reader = case.read(log, metrics, sizes=random_sizes(dice, *SIZES))
    cut_rate = dice.choice([0, 0.05, 0.5])
    file = GrowingFile(dice, log, lambda: dice.randrange(1, dice.choice([20, 200, 5000])), cut_rate)
    return file.write(case.content, reader), file.cuts


def counted(metrics: Metrics) -> int:
    return metrics.events_filtered


@for_each_seed(200)
def test_every_reading_of_every_file_by_every_chain_gives_the_same(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    case = random_case(dice)
    growing, at_once = Metrics(), Metrics()
    runs, cuts = read_growing(dice, case, log, growing)
    given: list[Row] = rows(runs)
    assert all(not run.interleaved or run.start <= run.interleaved[0][0] for run in runs)
    whole = drain(case.read(log, at_once, cuts=tuple(cuts)))
    assert rows(whole) == given
    assert (whole[-1].end if whole else 0) == (runs[-1].end if runs else 0)
    assert counted(at_once) == counted(growing)
    places = sorted({0, *(run.end for run in runs), *(run.end for run in whole)})
    for position in dice.sample(places, min(len(places), 6)):
        again = drain(case.read(log, Metrics(), position, tuple(cuts), sizes=random_sizes(dice, *SIZES)))
        assert rows(again, position) == [row for row in given if row[1] >= position], position


@for_each_seed(100)
def test_every_reading_that_ends_messages_anywhere_gives_the_same_and_leaves_no_byte_out(
    seed: int, log: LogOnDisk
) -> None:
    """With `--once` a message ends where the file ends: in the middle of a line, or of a character."""
    dice = random.Random(f"once {seed}")
    case = random_case(dice)
    log.write(case.content)
    places = range(1, len(case.content))
    cuts = (*sorted(dice.sample(places, min(len(places), dice.choice([0, 1, 3])))), len(case.content))
    whole = drain(case.read(log, Metrics(), cuts=cuts))
    expected = rows(whole)
    assert (whole[-1].end if whole else 0) == len(case.content)
    assert {run.end for run in whole} >= set(cuts) - {0}
    for position in dice.sample([0, *(run.end for run in whole)], min(len(whole) + 1, 5)):
        again = drain(case.read(log, Metrics(), position, cuts, sizes=random_sizes(dice, *SIZES)))
        assert rows(again, position) == [row for row in expected if row[1] >= position], position
