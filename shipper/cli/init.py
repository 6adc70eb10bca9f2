"""`shipper init`: a first configuration, for what this host has."""

import argparse
import glob
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from log_shipper.shipper.errors import StartError

SYSTEMD = Path("/run/systemd/system")  # sd_booted(3)
FILES = "/var/log/*.log"
BROKER = "localhost:9092"
TOPIC = "logs"
OF_ROOT = "/var/lib/shipper"

HEAD = """\
# All options: man 5 shipper.yml, or docs/reference/shipper-options.md. After a change: shipper test config
shipper.inputs:
"""
JOURNAL = """\
  # What services and the system log: on Debian 12 and later it is all there is of most of them.
  - type: journald
    id: journal
    processors:
      - drop_event.when.equals.systemd.unit: shipper.service   # or its own lines would be new data each time
"""
BESIDE = """\
  # Files beside it. Where rsyslog runs, it writes here what the journal has, too: keep one of the two inputs then.
"""
LOGS = """\
  - type: filestream
    id: system
    paths: {files}
    # A message begins with a date, and each line that does not belongs to the one before: for stack traces.
    # parsers:
    #   - multiline: {{pattern: '^\\d{{4}}-\\d\\d-\\d\\d', negate: true, match: after}}
"""
REST = """
output.kafka:
  hosts: {hosts}
  topic: {topic}

path.data: {data}   # positions, and events that Kafka refuses
"""


def add_init_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes a configuration for this host: its journal, its log files, and a Kafka, for which it asks."
    )
    parser.add_argument("--kafka", metavar="HOST", help="the brokers, as kafka-1:9092,kafka-2:9092; nothing is asked")
    parser.add_argument("--topic", default=TOPIC, metavar="NAME", help=f"the topic ({TOPIC})")
    parser.add_argument(
        "--paths", action="append", default=[], metavar="GLOB", help=f"log files, in quotes ({FILES}); may be repeated"
    )
    parser.add_argument(
        "file", type=Path, nargs="?", default=Path("shipper.yml"), metavar="FILE", help="default: shipper.yml"
    )
    parser.set_defaults(command=init)


def init(options: argparse.Namespace) -> int:
    """Write the file, which must not exist. Raises StartError, OSError."""
    if options.file.exists():
        raise StartError(f"{options.file} exists: nothing is written; remove it, or name another file")
    hosts = [host.strip() for host in (options.kafka or _asked()).split(",") if host.strip()]
    has_journal = shutil.which("journalctl") is not None and SYSTEMD.is_dir()
    paths = options.paths or ([FILES] if glob.glob(FILES) or not has_journal else [])
    data = OF_ROOT if os.geteuid() == 0 else "data"
    # Not readable for others: a password may be added, and one that others may write is refused.
    with open(os.open(options.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(configuration(hosts, options.topic, paths, data, has_journal=has_journal))
    steps = "".join(f"  shipper {step} -c {options.file}\n" for step in ("test config --explain", "test output", "run"))
    print(f"{options.file} is written; next:\n{steps}", end="")  # noqa: T201
    return 0


def configuration(hosts: Sequence[str], topic: str, paths: Sequence[str], data: str, *, has_journal: bool) -> str:
    """Return the text; without `paths` no files are read."""
    journal = JOURNAL if has_journal else ""
    files = (BESIDE if has_journal else "") + LOGS.format(files=json.dumps(paths)) if paths else ""
    written = topic if re.fullmatch(r"[A-Za-z][\w.-]*", topic, re.ASCII) else json.dumps(topic)
    return HEAD + journal + files + REST.format(hosts=json.dumps(hosts), topic=written, data=data)


def _asked() -> str:
    """Return the brokers that a person types. Raises StartError where there is none."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise StartError(
            "init: standard input is not a terminal, where it asks for the Kafka brokers; give --kafka HOST"
        )
    sys.stderr.write(f"Kafka brokers, separated by commas [{BROKER}]: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() or BROKER
