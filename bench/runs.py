"""One broker and one directory for all runs; a new topic and a new directory per run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contenders import Contender, ShippingJob
from bench.topics import PARTITIONS
from demo.broker import Broker

# The broker's timestamp gives the delay of a record, however late it is consumed.
STAMPED = {"log.message.timestamp.type": "LogAppendTime"}


class Runs:
    def __init__(self, broker: Broker, directory: Path) -> None:
        self.directory = directory
        self._broker = broker
        self._runs = self._paths = 0

    def job(self, log: Path, count: int, partitions: int = PARTITIONS) -> ShippingJob:
        self._runs += 1
        topic = f"bench-{self._runs}"
        self._broker.create_topic(topic, partitions)
        directory = self.directory / topic
        directory.mkdir()
        return ShippingJob(self._broker.bootstrap, topic, log, directory, count)

    def fresh(self, name: str) -> Path:
        """Return a path that no earlier run has used."""
        self._paths += 1
        return self.directory / f"{name}-{self._paths}"


def broker(directory: Path) -> Broker:
    """Return a broker with the JVM's default compiler, as on servers, not the quick-starting one."""
    return Broker(directory / "broker", heap="1g", properties=STAMPED, jvm_options=())


def report(text: str) -> None:
    print(text, flush=True)  # noqa: T201


@contextmanager
def reported_failures(contender: Contender) -> Iterator[None]:
    """Report a failed contender and continue with the others; a failure of the shipper ends the run."""
    try:
        yield
    except RuntimeError as error:
        if contender.name == "shipper":
            raise
        report(f"{contender.name}: no figures: {error}")
