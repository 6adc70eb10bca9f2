"""`spark-sink search` as a process: without Spark, with signals and closed pipes."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.unit.spark_sink.search.search_lab import Table, line, lines

# Where pyspark, py4j and delta cannot be imported.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored by what a shell runs in the background
sys.modules.update(pyspark=None, py4j=None, delta=None)
from log_shipper.spark_sink.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
PATIENCE = 60


@contextmanager
def start(table: Table, *arguments: str) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-c", PROGRAM, "search", "--table", str(table.path), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()  # does nothing to one that has ended; another would be awaited forever


def test_it_needs_no_spark_and_ends_as_a_filter_does(tmp_path: Path) -> None:
    table = Table(tmp_path / "logs")
    table.land([line("first"), *lines(*range(1, 50_000), number=1)])
    with start(table, "first", "--follow") as following, start(table, "--limit", "0") as piped:
        assert piped.stdout is not None
        assert following.stdout is not None
        assert piped.stdout.readline().endswith("line 49999\n")
        piped.stdout.close()  # as `head -1` does
        assert following.stdout.readline().endswith(": first\n")
        table.land([line("first of the second commit")])
        assert following.stdout.readline().endswith(": first of the second commit\n")
        following.send_signal(signal.SIGINT)
        assert (following.wait(PATIENCE), piped.wait(PATIENCE)) == (0, 0)
        assert following.stderr is not None
        assert piped.stderr is not None
        assert (following.stderr.read(), piped.stderr.read()) == ("", "")
