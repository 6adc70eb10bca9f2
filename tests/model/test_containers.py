"""The parser `container` against a naive one: random lines of both formats, whole, in parts, broken; random reads."""

import json
import random
from typing import Any

from log_shipper.shipper.event import Messages
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.parsers.container import ContainerConfig, ContainerReader
from log_shipper.shipper.parsers.multiline import MultilineReader
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.reader import chain
from log_shipper.shipper.reader.base import Reader
from log_shipper.shipper.reader.chain import max_line_bytes
from log_shipper.shipper.reader.limit import limit
from log_shipper.shipper.reader.line import LineReader
from log_shipper.shipper.reader.log_file import LogFile
from log_shipper.shipper.reader.multiline_open import MessageLimits
from log_shipper.shipper.reader.multiline_rules import after
from tests.builders import input_config, multiline
from tests.fakes import ManualClock
from tests.model.naive_containers import flag, read_naively
from tests.model.piecemeal import GrowingFile, drain, random_sizes
from tests.model.seeds import for_each_seed
from tests.short_reads import LogOnDisk

TEXTS = ["", " ", "a line", " indented", "zwölf €", "x" * 50, "{", "a: b", "P F"]
BROKEN = [
    "",
    "x",
    "{",
    "{}",
    '{"log":1}',
    "2024-01-02T03:04:05.5Z stdout F",
    "2024-01-02T03:04:05.5Z stdin F text",
    "2024-01-02T03:04:05.5Z stdout X text",
    "2024-01-02 stdout F text",
    "2024-02-30T03:04:05.123456789Z stdout F text",
    '{"log":"x\\n","stream":"stdout","time":"now"}',
]
SIZES = (1, 20, 200, 2000, 20000)


def random_line(dice: random.Random, format: str, parts: float) -> str:
    if dice.random() < 0.05:
        return dice.choice(BROKEN)
    time = f"2024-01-02T03:04:{dice.randrange(3):02}.{dice.randrange(10**9):09}Z"
    stream, text, whole = dice.choice(["stdout", "stderr"]), dice.choice(TEXTS), dice.random() >= parts
    if format == "cri":
        return f"{time} {stream} {'F' if whole else 'P'}{dice.choice(['', '', ':x'])} {text}"
    row: dict[str, Any] = {"log": text + ("\n" if whole else ""), "stream": stream, "time": time}
    if dice.random() < 0.2:
        row["attrs"] = {"tag": "web"}
    return json.dumps(row)


def random_content(dice: random.Random) -> bytes:
    formats, parts = dice.choice([["cri"], ["docker"], ["cri", "docker"]]), dice.choice([0, 0.1, 0.5, 0.9])
    lines = [random_line(dice, dice.choice(formats), parts) for _ in range(dice.randrange(60))]
    return "\n".join(lines).encode()


def random_config(dice: random.Random) -> tuple[ContainerConfig, int]:
    return ContainerConfig(stream=dice.choice(["all", "all", "stdout", "stderr"])), dice.choice([0, 1000, 3000, 10**6])


def readers(file: LogFile, config: ContainerConfig, waiting_bytes: int) -> Reader:
    lines = LineReader(file, max_line_bytes((config,), 10**6))
    return limit(ContainerReader(lines, config, 10**6, ManualClock(), Metrics(), waiting_bytes), 10**9)


def flatten(runs: list[Messages]) -> list[tuple[Any, ...]]:
    rows = []
    for run in runs:
        docs = run.documents()
        for index, (text, offset, length) in enumerate(zip(run.texts, run.offsets, run.lengths, strict=True)):
            doc = {**docs[index], "error": docs[index]["error"]["type"]} if "error" in docs[index] else docs[index]
            rows.append((text, offset, length, run.flags.get(index, ()), doc))
    return rows


def expected(content: bytes, config: ContainerConfig, waiting: int, cuts: tuple[int, ...] = ()) -> list[Any]:
    naive = read_naively(content, config.stream, waiting, cuts)
    return [(text, offset, length, flag(given_up), doc) for text, offset, length, given_up, doc in naive]


def check_runs(runs: list[Messages], start: int) -> None:
    for run in runs:
        assert run.start == start
        for offset, length in zip(run.offsets, run.lengths, strict=True):
            assert offset >= start
            start = offset + length
        assert run.end >= start
        start = run.end


@for_each_seed(400)
def test_containers_are_read_as_the_naive_model_reads_them_whatever_the_sizes_of_the_reads(
    seed: int, log: LogOnDisk
) -> None:
    dice = random.Random(seed)
    content, (config, waiting) = random_content(dice), random_config(dice)
    log.write(content)
    runs = drain(readers(log.open(sizes=random_sizes(dice, *SIZES)), config, waiting))
    assert flatten(runs) == expected(content, config, waiting)
    check_runs(runs, 0)


@for_each_seed(200)
def test_a_second_reading_from_any_position_gives_the_same_messages_of_containers(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    content, (config, waiting) = random_content(dice), random_config(dice)
    log.write(b"")
    reader = readers(log.open(sizes=random_sizes(dice, *SIZES)), config, waiting)
    file = GrowingFile(dice, log, lambda: dice.randrange(1, 600))
    runs = file.write(content, reader)
    check_runs(runs, 0)
    first = flatten(runs)
    assert first == expected(content, config, waiting, tuple(file.cuts))
    for position in dice.sample([0, *(run.end for run in runs)], min(len(runs) + 1, 5)):
        again = log.open(position, file.cuts_behind(position), random_sizes(dice, *SIZES))
        repeated = drain(readers(again, config, waiting))
        check_runs(repeated, position)
        assert flatten(repeated) == [row for row in first if row[1] >= position]


@for_each_seed(100)
def test_a_reading_to_the_files_size_leaves_no_part_of_a_line_behind(seed: int, log: LogOnDisk) -> None:
    """With `--once` the end of the file is a cut."""
    dice = random.Random(seed)
    content, (config, waiting) = random_content(dice) + b"x", random_config(dice)
    log.write(content)
    cuts = (len(content),)
    runs = drain(readers(log.open(0, cuts, random_sizes(dice, *SIZES)), config, waiting))
    assert flatten(runs) == expected(content, config, waiting, cuts)
    assert runs[-1].end == len(content)


@for_each_seed(150)
def test_what_waits_for_a_message_of_interleaved_lines_is_bounded_whatever_the_reads_are(
    seed: int, log: LogOnDisk
) -> None:
    dice = random.Random(seed)
    content, waiting = random_content(dice), dice.choice([0, 100, 400, 1000])

    def reader(position: int, cuts: tuple[int, ...]) -> Reader:
        lines = LineReader(log.open(position, cuts, random_sizes(dice, *SIZES)), 10**6)
        interleaved = ContainerReader(lines, ContainerConfig(), 10**6, ManualClock(), Metrics(), 3000)
        limits = MessageLimits(500, 10**6, "\n", waiting)
        rule = after(lambda texts: [text[:1] in " xP" for text in texts], False)
        return limit(MultilineReader(interleaved, rule, limits, ManualClock()), 10**9)

    log.write(content)
    runs = drain(reader(0, ()))
    check_runs(runs, 0)
    first = flatten(runs)
    for position in dice.sample([0, *(run.end for run in runs)], min(len(runs) + 1, 5)):
        assert flatten(drain(reader(position, ()))) == [row for row in first if row[1] >= position]


@for_each_seed(150)
def test_what_follows_the_container_parser_does_not_see_where_reads_end(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    content, (container, _) = random_content(dice), random_config(dice)
    after = dice.sample([multiline(r"^\s"), multiline("x$", negate=True, match="before"), NdjsonConfig()], 2)
    config, max_bytes = input_config(container, *after), dice.choice([3, 40, 10_000])
    log.write(content)
    whole = drain(chain.build(config, log.open(), max_bytes, ManualClock()))
    runs = drain(chain.build(config, log.open(sizes=random_sizes(dice, *SIZES)), max_bytes, ManualClock()))
    assert flatten(runs) == flatten(whole)
    check_runs(runs, 0)
