"""The main job on this machine: logs that programs write now -> shipper -> a real Kafka -> Spark sink -> a Delta table.

    script/demo [--keep]

Exits with 0 when each line that was written is in the topic and in the table, as often as it was written; else with 1.
"""

import argparse
import logging
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from confluent_kafka import KafkaException

from demo.broker import BrokerFailed
from demo.programs import DemoFailed
from demo.screen import Screen
from demo.site import Site
from demo.story import Story
from spark_sink.jars import JarsMissing
from spark_sink.java import NoJava

EXPECTED = (DemoFailed, BrokerFailed, KafkaException, JarsMissing, NoJava)
STOPPED = 130


def main() -> int:
    parser = argparse.ArgumentParser("script/demo", description="The whole way, from log files to a Delta table.")
    parser.add_argument("--keep", action="store_true", help="leave it running, and say how to look and how to stop")
    logging.getLogger().addHandler(logging.NullHandler())  # py4j logs a stack trace of its own for Ctrl-C
    keep = parser.parse_args().keep
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    folder = Path(tempfile.mkdtemp(prefix="shipper-demo-"))
    kept = False
    try:
        equal = _run(Site(folder), keep)
        kept = keep
    except KeyboardInterrupt:
        return STOPPED
    except EXPECTED as error:
        print(f"\n{error}", file=sys.stderr)  # noqa: T201 - a command's last word
        return 1
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if equal else 1


def _run(site: Site, keep: bool) -> bool:
    story = Story(site, Screen(), keep)
    try:
        return story.tell()
    finally:
        # From here on Ctrl-C is not heard: a second one must not leave processes behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        story.stop()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())
