"""`spark-sink test output`: checks step by step that the sink can access everything that it reads and writes.

It does not start Spark. On an object store it writes and deletes a temporary table, like each start of the sink;
otherwise it changes nothing.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TextIO

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka import topics
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.client import latest
from log_shipper.spark_sink.maintenance.status import PATIENCE, PATIENCE_IF_DOWN
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform import delta_jar
from log_shipper.spark_sink.platform.java import NoJava, find_java
from log_shipper.spark_sink.storage.conditional_puts import buckets, check_conditional_puts
from log_shipper.spark_sink.storage.locations import Location, location_of
from log_shipper.spark_sink.storage.tables import Table
from log_shipper.spark_sink.storage.writable import check_writable

Step = Callable[[], str]  # returns a note, and raises an error


def run(config: SinkConfig, out: TextIO = sys.stdout) -> int:
    """Print each step with its result. Returns the exit code: 1 if one has failed."""
    failed = 0
    for name, step in steps(config):
        out.write(f"{name}... ")
        out.flush()
        try:
            note = step()
        except (SinkError, NoJava, OSError) as error:
            failed += 1
            out.write(f"ERROR {error}\n")
        else:
            out.write(f"OK ({note})\n" if note else "OK\n")
    return 1 if failed else 0


def steps(config: SinkConfig) -> list[tuple[str, Step]]:
    """Return the steps in order, with their names. A step may block for PATIENCE seconds."""
    tables = {"dead_letter.path": config.dead_letter_path, "state.path": config.state_path}
    if not config.has_template:
        tables = {"table.path": config.table.path} | tables
    directories = {"checkpoint.path": config.checkpoint.path}
    if config.has_template:
        directories |= {"table.path": config.table.template.directory}
    return [
        (f"kafka {', '.join(config.kafka.hosts)}", partial(_topics, config)),
        *((f"{name} {path}", partial(_table, location_of(config, path))) for name, path in tables.items()),
        *((f"{name} {path}", partial(_directory, location_of(config, path))) for name, path in directories.items()),
        *([("conditional puts", partial(_conditional_puts, config))] if any(buckets(config)) else []),
        ("java", lambda: str(find_java().java)),
        *([("delta's jar, for the views", lambda: _jar(config))] if config.views else []),
    ]


def _topics(config: SinkConfig) -> str:
    with Admin(latest(config.kafka), PATIENCE, PATIENCE_IF_DOWN) as admin:
        if missing := topics.missing(config.kafka, admin):
            raise SinkError(
                f"{', '.join(missing)} does not exist, or these credentials lack the permission to see it; run waits "
                "for it"
            )
        partitions = topics.present(config.kafka, admin)
        admin.latest(partitions)
    return f"{topics.describe(config.kafka)}: {len(partitions)} partitions"


def _table(place: Location) -> str:
    note = _directory(place)
    snapshot = Table(place).snapshot()
    if snapshot.delta is None:
        return note or "no table yet"
    check_writable(place.path, snapshot.delta)
    return f"version {snapshot.version}"


def _directory(place: Location) -> str:
    """Check that a local directory is writable, or can be created."""
    if (directory := place.directory) is None:
        return ""
    existing = next(parent for parent in (directory.absolute(), *directory.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise SinkError(f"{existing} is not a directory")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise SinkError(f"no permission to write to {existing}")
    return "" if directory.exists() else "does not exist yet"


def _conditional_puts(config: SinkConfig) -> str:
    check_conditional_puts(config)
    return ""


def _jar(config: SinkConfig) -> str:
    if delta_jar.is_named(config.spark_conf):
        return "named in `spark`"
    jars = delta_jar.jar_set()
    return jars.packages[0] if jars.complete else f"{jars.packages[0]} is downloaded at the first start"
