"""Time until the first line of `spark-sink search`, and until its end: `script/bench --search`.

Searches a day of generated lines in two tables: with files of `maintain`, and with files of batches, four of which
overlap. A third table has each file of batches five times, by links: 100 million rows for 20 million. It is also
queried as the search page does (`bench.sink_ui`).

python -m bench.sink_search PATH ROWS FILE_ROWS [TIMES]    creates such a table
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyarrow import compute

from bench.runs import report
from bench.table import show, spread
from demo.process import SINK_PROGRAM
from log_shipper.spark_sink.records.schema import LINES, names
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.layout import Layout
from log_shipper.spark_sink.storage.locations import Location

DAY = datetime(2026, 11, 21, tzinfo=UTC)
SCHEMA = arrow_schema(LINES)
STATISTICS = ("ts", "host", "path", "file_id", "offset", "topic", "partition", "kafka_offset", "kafka_ts")
PARTITIONS = 4
MAINTAINED, BATCHES, LINKED = 4_000_000, 20_000, 50_000  # rows in a file
TIMES = 5
BLOCK = 500_000  # rows generated at a time
RARE = 2_000_003  # lines per rare word

SEARCHES = {
    "a common word": ["timeout"],
    "a rare word": ["deadlock detected"],
    "a rare word, any case": ["-i", "Deadlock Detected"],
    "a regular expression": ["--regex", r"deadlock .* \d+$"],
    "--where on doc": ["--where", "(doc ->> '$.http.response.status_code')::INT >= 599", "-n", "1"],
    "no such word": ["no line has this"],
}
_DAY = "since=2026-11-21&until=2026-11-21T23:59:59.999999&bars=120"
QUESTIONS = {
    "the newest 500 rows": "/rows?limit=500",
    "the newest 500 with a word": "/rows?limit=500&q=timeout",
    "a day's histogram": f"/counts?{_DAY}",
    "a day's histogram by host": f"/counts?{_DAY}&by=host",
    "a day's histogram by a member of doc": f"/counts?{_DAY}&by=http.response.status_code",
    "a day's histogram of a rare word": f"/counts?{_DAY}&q=%22deadlock%20detected%22",
    "the values of a field": "/counts?by=path&top=12",
}


@dataclass(frozen=True, slots=True)
class Timed:
    first: float | None  # seconds until the first line, None without a line
    first_cpu: float  # of all threads until then; more reliable on a busy machine
    last: float
    cpu: float
    memory_mb: float


def main() -> None:
    """Create a table, in a separate process: its memory would count for searches started by the same process."""
    parser = argparse.ArgumentParser(prog="python -m bench.sink_search")
    parser.add_argument("path", type=Path)
    parser.add_argument("rows", type=int)
    parser.add_argument("file_rows", type=int)
    parser.add_argument("times", type=int, nargs="?", default=1)
    options = parser.parse_args()
    make(options.path, options.rows, options.file_rows, options.times)


def tables(count: int, rounds: int) -> list[str]:
    """Measure searches of a day of `count` rows, in files of `maintain` and of batches."""
    printed = []
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        for title, file_rows, times in (
            ("files of `maintain`", MAINTAINED, 1),
            ("files of batches", BATCHES, 1),
            ("files of batches", LINKED, TIMES),
        ):
            path = Path(directory) / str(file_rows)
            report(f"generating {count * times} rows, {file_rows} per file")
            made = [str(part) for part in (path, count, file_rows, times)]
            subprocess.run([sys.executable, "-m", "bench.sink_search", *made], check=True)
            title = f"{count * times} rows, {title}"
            printed.append(measured(title, searches(path), rounds))
            if times > 1:
                printed.append(measured(f"{title}: the page", questions(path), rounds))
    return printed


def searches(path: Path) -> dict[str, list[str]]:
    return {name: [*SINK_PROGRAM, "search", "--table", str(path), *arguments] for name, arguments in SEARCHES.items()}


def questions(path: Path) -> dict[str, list[str]]:
    program = [sys.executable, "-m", "bench.sink_ui", str(path)]
    return {name: [*program, question] for name, question in QUESTIONS.items()}


def measured(title: str, commands: dict[str, list[str]], rounds: int) -> str:
    rows = []
    for name, command in commands.items():
        runs = [timed(command) for _ in range(rounds)]
        first = [run.first for run in runs if run.first is not None]
        rows.append(
            (
                name,
                spread(first, ".2f") if first else "",
                spread([run.first_cpu for run in runs], ".2f") if first else "",
                spread([run.last for run in runs], ".2f"),
                spread([run.cpu for run in runs], ".2f"),
                spread([run.memory_mb for run in runs], ".0f"),
            )
        )
    return show((title, "first line s", "CPU s to first line", "total s", "CPU s", "memory MB"), rows)


def timed(command: list[str]) -> Timed:
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    first = time.monotonic() - start if process.stdout.readline() else None
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    first_cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    last = time.monotonic() - start
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)  # wait4 has reaped it: subprocess must not wait again
    if process.returncode > 1:
        raise RuntimeError(f"{command} exited with status {process.returncode}")
    return Timed(first, first_cpu, last, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def make(path: Path, count: int, file_rows: int, times: int) -> None:
    """Write and commit a day of rows, each file `times` times. PARTITIONS files overlap in time, as those of Kafka's
    partitions."""
    layout = Layout(LINES, "generated lines", "date", STATISTICS)
    log = prepare(Location(str(path)), layout)
    files = FileLayout(SCHEMA, "date", STATISTICS, ("message", "doc"))
    written: list[DataFile] = []
    group = file_rows * PARTITIONS
    for start in range(0, count, group):
        for partition in range(PARTITIONS):
            with DataFileWriter(log.location, files) as writer:
                for block in blocks(start + partition, min(start + group, count), count):
                    writer.write(block)
                written += writer.close()
    links = []
    for file, number in itertools.product(written, range(1, times)):
        links.append(replace(file, path=f"{file.path}.{number}.parquet"))
        os.link(path / file.path, path / links[-1].path)
    log.append([*written, *links], None)


def blocks(start: int, end: int, count: int) -> Iterator[pa.Table]:
    """Yield every fourth row of a range, in blocks."""
    step = BLOCK * PARTITIONS
    for first in range(start, end, step):
        yield rows(pa.arange(first, min(first + step, end), PARTITIONS), count)


def rows(numbers: pa.Array, count: int) -> pa.Table:
    """Return the rows with these numbers of a day of `count` rows."""
    micros = compute.add(
        compute.multiply(numbers, timedelta(days=1) // timedelta(microseconds=1) // count), int(DAY.timestamp() * 1e6)
    )
    ts = micros.cast(pa.timestamp("us", "UTC"))
    mixed = compute.bit_wise_and(compute.multiply(numbers, 2_654_435_761), 0x3FFFFFFF)
    status = compute.add(remainder(mixed, 400), 200).cast(pa.string())
    messages = [
        compute.strftime(ts, "%Y-%m-%d %H:%M:%S INFO request ", locale="C"),
        *(mixed.cast(pa.string()), pa.scalar(" GET /api/orders/"), numbers.cast(pa.string()), pa.scalar(" -> ")),
        *(status, pa.scalar(" in "), remainder(mixed, 977).cast(pa.string())),
        pa.scalar(" ms, upstream backend-7.internal pool=default retries=0 "),
        compute.if_else(is_every(mixed, 50), "timeout", "kept-alive"),
        compute.if_else(is_every(numbers, RARE), " ERROR deadlock detected by transaction 42", ""),
        pa.scalar(""),
    ]
    host = compute.binary_join_element_wise("web-", remainder(numbers, 20).cast(pa.string()), "")
    columns = {
        "ts": ts,
        "date": ts.cast(pa.date32()),
        "message": compute.binary_join_element_wise(*messages, ""),
        "host": host,
        "path": compute.binary_join_element_wise("/var/log/app-", remainder(numbers, 5).cast(pa.string()), ".log", ""),
        "file_id": compute.binary_join_element_wise("9f3c-", host, "-", remainder(numbers, 5).cast(pa.string()), ""),
        "offset": compute.multiply(numbers, 160),
        "length": pa.repeat(pa.scalar(160, pa.int64()), len(numbers)),
        "doc": compute.binary_join_element_wise('{"http":{"response":{"status_code":', status, "}}}", ""),
        "topic": pa.repeat("logs", len(numbers)),
        "partition": remainder(numbers, PARTITIONS).cast(pa.int32()),
        "kafka_offset": numbers,
        "kafka_ts": ts,
    }
    given = {name: columns.get(name) for name in names(LINES)}
    arrays = [
        pa.nulls(len(numbers), SCHEMA.field(name).type) if column is None else column for name, column in given.items()
    ]
    return pa.table(arrays, schema=SCHEMA)


def remainder(numbers: pa.Array, divisor: int) -> pa.Array:
    return compute.subtract(numbers, compute.multiply(compute.divide(numbers, divisor), divisor))


def is_every(numbers: pa.Array, divisor: int) -> pa.Array:
    return compute.equal(remainder(numbers, divisor), 0)


if __name__ == "__main__":
    main()
