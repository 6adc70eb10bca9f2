"""The definitions of the two packages."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.debian.policy import MAINTAINER

ROOT = Path(__file__).parents[2]
SYSTEMD = ROOT / "deploy" / "systemd"
LOCKS = ROOT / "requirements"
PYTHON = Path("/usr/bin/python3.11")  # of Debian 12: the interpreter of the installed environment


@dataclass(frozen=True, slots=True)
class Package:
    """`home`: the environment below /opt; `state`, `cache`: directories of the service; `locks`: dependencies with
    hashes; `extras`: others without hashes. The unit has the user's name: an upgrade restarts it if it runs, a removal
    stops it."""

    name: str
    command: str
    summary: str
    description: str
    user: str
    locks: tuple[Path, ...]
    depends: tuple[str, ...]
    config: str
    example: Path
    parser: Callable[[], argparse.ArgumentParser]
    options: Callable[[], str]
    recommends: tuple[str, ...] = ()
    cache: str = ""
    extras: tuple[str, ...] = ()
    maintainer: str = MAINTAINER

    @property
    def home(self) -> str:
        return f"/opt/{self.name}"

    @property
    def state(self) -> str:
        return f"/var/lib/{self.user}"

    @property
    def unit(self) -> Path:
        return SYSTEMD / f"{self.user}.service"


def _shipper_parser() -> argparse.ArgumentParser:
    from log_shipper.shipper.cli.commands import whole_parser

    return whole_parser()


def _shipper_options() -> str:
    from log_shipper.shipper.options.page import page

    return page()


def _sink_parser() -> argparse.ArgumentParser:
    from log_shipper.spark_sink.__main__ import whole_parser

    return whole_parser()


def _sink_options() -> str:
    from log_shipper.spark_sink.options.page import page

    return page()


# passwd has useradd. The wheels are linked against glibc and the C++ library, and contain all other libraries.
EVERY = ("python3.11", "passwd", "libc6", "libgcc-s1", "libstdc++6")

SHIPPER = Package(
    name="kafka-log-shipper",
    command="shipper",
    summary="ships log files to Kafka with acknowledged positions",
    description="Reads a filebeat.yml, follows rotated files, and resends each line until Kafka acknowledges it.",
    user="shipper",
    locks=(LOCKS / "base.lock",),
    depends=EVERY,
    recommends=("systemd",),  # journalctl, for the journald input of the configuration
    config="/etc/shipper/shipper.yml",
    example=ROOT / "deploy" / "debian" / "shipper.yml",
    parser=_shipper_parser,
    options=_shipper_options,
)
SINK = Package(
    name="kafka-log-shipper-sink",
    command="spark-sink",
    summary="lands Kafka topics of log lines in Delta tables, each line once",
    description="Needs Java 17 or newer. With views, the first start downloads Delta's jar (8 MB).",
    user="spark-sink",
    locks=(LOCKS / "sink.lock",),
    depends=(*EVERY, "default-jre-headless (>= 2:1.17) | java17-runtime-headless"),
    config="/etc/spark-sink/sink.yml",
    example=ROOT / "config" / "sink.yml",
    parser=_sink_parser,
    options=_sink_options,
    cache="/var/cache/spark-sink",
)
PACKAGES = {"shipper": SHIPPER, "sink": SINK}
