"""Runs the full pipeline on this machine: programs that log -> shipper -> a real Kafka -> Spark sink -> a Delta table.

    script/demo [--keep]

The exit code is 0 if the topic and the table contain exactly the written lines, else 1.
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
from demo.ports import free_ports
from demo.process import kill_children
from demo.programs import DemoFailed
from demo.screen import Screen
from demo.site import Site
from demo.story import Story
from log_shipper.spark_sink.platform.jars import JarsMissing
from log_shipper.spark_sink.platform.java import NoJava

EXPECTED = (DemoFailed, BrokerFailed, KafkaException, JarsMissing, NoJava)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = 130


def main() -> int:
    parser = argparse.ArgumentParser("script/demo", description="Run the full pipeline, from log files to Delta.")
    parser.add_argument(
        "--keep", action="store_true", help="leave everything running, and print commands to inspect and stop it"
    )
    logging.getLogger().addHandler(logging.NullHandler())  # hides py4j's stack trace on Ctrl-C
    keep = parser.parse_args().keep

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in SIGNALS:
        signal.signal(number, interrupt)
    folder = Path(tempfile.mkdtemp(prefix="shipper-demo-"))
    kept = False
    try:
        equal = _run(Site(folder, *free_ports(3)), keep)
        kept = keep
    except KeyboardInterrupt:
        return STOPPED
    except EXPECTED as error:
        print(f"\n{error}", file=sys.stderr)  # noqa: T201 - the last line of a command
        return 1
    finally:
        if not kept:
            kill_children()
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if equal else 1


def _run(site: Site, keep: bool) -> bool:
    story = Story(site, Screen(), keep)
    try:
        return story.run()
    finally:
        # A second Ctrl-C must not leave processes behind.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        story.stop()


if __name__ == "__main__":
    raise SystemExit(main())
