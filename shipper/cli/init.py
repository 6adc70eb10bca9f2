"""`shipper init`: writes a first configuration for this host."""

import argparse
import glob
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
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
  # Services and the system log: on Debian 12 and later, most log only here.
  - type: journald
    id: journal
    processors:
      - drop_event.when.equals.systemd.unit: shipper.service   # its own lines would create new ones endlessly
"""
BESIDE = """\
  # Files in addition to the journal. With rsyslog, both contain the same lines: keep only one of the two inputs.
"""
LOGS = """\
  - type: filestream
    id: system
    paths: {files}
    # Multiline messages such as stack traces: lines without a date continue the previous message.
    # parsers:
    #   - multiline: {{pattern: '^\\d{{4}}-\\d\\d-\\d\\d', negate: true, match: after}}
"""
REST = """
output.kafka:
  hosts: {hosts}
  topic: {topic}

path.data: {data}   # positions, and events rejected by Kafka
"""


def add_init_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes a configuration for this host: its journal, log files, and Kafka brokers, which it asks for."
    )
    parser.add_argument("--kafka", metavar="HOST", help="brokers, as in kafka-1:9092,kafka-2:9092; skips the question")
    parser.add_argument("--topic", default=TOPIC, metavar="NAME", help=f"topic ({TOPIC})")
    parser.add_argument(
        "--paths", action="append", default=[], metavar="GLOB", help=f"log files, quoted ({FILES}); repeatable"
    )
    parser.add_argument(
        "file", type=Path, nargs="?", default=Path("shipper.yml"), metavar="FILE", help="default: shipper.yml"
    )
    parser.set_defaults(command=init)


def init(options: argparse.Namespace) -> int:
    """Write the file, unless it exists. Raises StartError, OSError."""
    if options.file.exists():
        raise StartError(f"{options.file} already exists; remove it, or choose another file. Nothing was written")
    hosts = [host.strip() for host in (options.kafka or _asked()).split(",") if host.strip()]
    has_journal = shutil.which("journalctl") is not None and SYSTEMD.is_dir()
    paths = options.paths or ([FILES] if glob.glob(FILES) or not has_journal else [])
    data = OF_ROOT if os.geteuid() == 0 else "data"
    # Mode 0600: a password may be added, and files writable by others are refused.
    descriptor = os.open(options.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(configuration(hosts, options.topic, paths, data, has_journal=has_journal))
    except OSError as error:
        with suppress(OSError):
            options.file.unlink()  # or the next attempt would be refused
        raise OSError(error.errno, f"{error.strerror}. Nothing was written", str(options.file)) from error
    steps = "".join(f"  shipper {step} -c {options.file}\n" for step in ("test config --explain", "test output", "run"))
    print(f"wrote {options.file}; next:\n{steps}", end="")  # noqa: T201
    return 0


def configuration(hosts: Sequence[str], topic: str, paths: Sequence[str], data: str, *, has_journal: bool) -> str:
    """Return the configuration; without `paths` it reads no files."""
    journal = JOURNAL if has_journal else ""
    files = (BESIDE if has_journal else "") + LOGS.format(files=json.dumps(paths)) if paths else ""
    written = topic if re.fullmatch(r"[A-Za-z][\w.-]*", topic, re.ASCII) else json.dumps(topic)
    return HEAD + journal + files + REST.format(hosts=json.dumps(hosts), topic=written, data=data)


def _asked() -> str:
    """Return the brokers that the user types. Raises StartError without a terminal."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise StartError(
            "init: standard input is not a terminal, so it cannot ask for the Kafka brokers; add --kafka HOST"
        )
    sys.stderr.write(f"Kafka brokers, separated by commas [{BROKER}]: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() or BROKER
