"""The sink compared with a minimal job from Kafka to Delta, and the cost of its parts: `script/bench --sink`."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import sink_delay
from bench.contenders import shipper_once
from bench.data import write_lines
from bench.runs import Runs, report
from bench.sink_process import Landing, measure
from bench.table import show, spread
from demo.process import SINK_PROGRAM

PARTS = ("speed", "shipped", "delay")
BATCHES = 6  # per run: of half a million records, as in a catch-up with default limits
MASTER = "local[2]"
BAD_EVERY = 100
RATE = 100.0  # rows per second while delays are measured

CONFIG = """\
kafka: {{hosts: ["{bootstrap}"], topics: [{topic}]}}
table.path: {directory}/lines
checkpoint.path: {directory}/checkpoint
logging.format: json
{options}
"""


@dataclass(frozen=True, slots=True)
class FilledTopic:
    bootstrap: str
    name: str
    records: int


@dataclass(frozen=True, slots=True)
class LandingContender:
    """A baseline in a separate module, or the sink with options. `topic`: the kind of records."""

    name: str
    module: str = ""
    options: tuple[str, ...] = ()
    topic: str = "good"


BARE = LandingContender("minimal job: a string to Delta", module="bench.sink_bare")
SINK = LandingContender("the sink")
LADDER = (
    BARE,
    LandingContender("the sink, dedupe off", options=("-E", "dedupe.enabled=false")),
    SINK,
    LandingContender("the sink, 1 % bad", topic="bad"),
    LandingContender("one process without Spark: a string to Delta", module="bench.sink_deltalake"),
)


def tables(runs: Runs, rounds: int, records: int, parts: Sequence[str], seconds: float) -> list[str]:
    printed = []
    if "speed" in parts:
        topics = {"good": produced(runs, records), "bad": produced(runs, records, BAD_EVERY)}
        printed.append(ladder(runs, rounds, topics, LADDER, f"{records} records of 216 bytes"))
    if "shipped" in parts:
        topics = {"good": shipped(runs, records)}
        printed.append(ladder(runs, rounds, topics, (BARE, SINK), f"{records} records of the shipper"))
    if "delay" in parts:
        printed.append(delays(runs, rounds, RATE, seconds))
    return printed


def ladder(
    runs: Runs, rounds: int, topics: dict[str, FilledTopic], contenders: Sequence[LandingContender], title: str
) -> str:
    """Measure all contenders, each once per round."""
    measured: dict[str, list[Landing]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders:
            directory = runs.fresh(f"sink-{number}-{contenders.index(contender)}")
            landing = measure(command(contender, topics[contender.topic], directory), directory)
            measured[contender.name].append(landing)
            report(
                f"round {number + 1}, {contender.name}: {landing.rows_per_second / 1000:.0f} k rows/s, "
                f"{landing.cpu_us:.1f} µs, {landing.memory_mb:.0f} MB, heap {landing.heap_mb:.0f} MB"
            )
    columns = ("k rows/s", "times the minimal job", "CPU µs per row", "added µs", "memory MB", "heap MB", "live MB")
    return show((title, *columns), rows(measured))


def rows(measured: dict[str, list[Landing]]) -> list[tuple[str, ...]]:
    """Return a row per contender, compared with the first by round; `added`: CPU more than the previous row's."""
    minimal = next(iter(measured.values()))
    lines: list[tuple[str, ...]] = []
    before = 0.0
    for name, runs in measured.items():
        shares = [run.rows_per_second / bare.rows_per_second for run, bare in zip(runs, minimal, strict=True)]
        cpu = median(run.cpu_us for run in runs)
        lines.append(
            (
                name,
                spread([run.rows_per_second for run in runs], ".0f", 1e-3),
                spread(shares, ".2f"),
                spread([run.cpu_us for run in runs], ".1f"),
                f"{cpu - before:+.1f}",
                spread([run.memory_mb for run in runs], ".0f"),
                spread([run.heap_mb for run in runs], ".0f"),
                spread([run.live_mb for run in runs], ".0f"),
            )
        )
        before = cpu
    return lines


def delays(runs: Runs, rounds: int, rate: float, seconds: float) -> str:
    starts, measured = [], []
    for number in range(rounds):
        job, directory = runs.job(runs.directory, 0), runs.fresh(f"delay-{number}")
        config = configured(FilledTopic(job.bootstrap, job.topic, 0), directory, "")
        start, delay = sink_delay.measure(sink(config), directory, job.bootstrap, job.topic, rate, seconds)
        report(
            f"round {number + 1}: first row after {start:.1f} s, p50 {delay.p50:.2f} s, p99 {delay.p99:.2f} s, "
            f"max {delay.maximum:.2f} s"
        )
        starts.append(start)
        measured.append(delay)
    columns = (
        ("start to first row s", starts),
        ("p50 s", [run.p50 for run in measured]),
        ("p99 s", [run.p99 for run in measured]),
        ("max s", [run.maximum for run in measured]),
    )
    title = f"delay from Kafka to table, {rate:.0f} rows/s"
    return show(
        (title, *(name for name, _ in columns)), [("the sink", *(spread(seconds, ".2f") for _, seconds in columns))]
    )


def produced(runs: Runs, records: int, bad_every: int = 0) -> FilledTopic:
    job = runs.job(runs.directory, records)
    report(f"producing {records} records" + (f", 1 in {bad_every} bad" if bad_every else ""))
    arguments = [job.bootstrap, job.topic, str(records), "--bad-every", str(bad_every)]
    subprocess.run([sys.executable, "-m", "bench.sink_records", *arguments], check=True)
    return FilledTopic(job.bootstrap, job.topic, records)


def shipped(runs: Runs, records: int) -> FilledTopic:
    """Fill a topic with records of the shipper, from more files than partitions."""
    parts = 16
    for part in range(parts):
        write_lines(runs.directory / f"shipped-{part}.log", records // parts)
    job = runs.job(runs.directory / "shipped-*.log", records)
    report(f"shipping {records} records")
    subprocess.run(shipper_once(job), check=True)
    return FilledTopic(job.bootstrap, job.topic, records)


def command(contender: LandingContender, topic: FilledTopic, directory: Path) -> list[str]:
    options = f'max_offsets_per_trigger: {max(1, topic.records // BATCHES)}\nspark: {{master: "{MASTER}"}}'
    config = configured(topic, directory, options)
    if contender.module:
        return [sys.executable, "-m", contender.module, str(config)]
    return [*sink(config), "--available-now", *contender.options]


def sink(config: Path) -> list[str]:
    return [*SINK_PROGRAM, "run", "-c", str(config)]


def configured(topic: FilledTopic, directory: Path, options: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "sink.yml"
    path.write_text(CONFIG.format(bootstrap=topic.bootstrap, topic=topic.name, directory=directory, options=options))
    return path
