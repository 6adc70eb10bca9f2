"""Checks the output for `test output`: connects to it step by step, and prints each step."""

import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    ResourceType,
)

from log_shipper.config.shipper.model import ConsoleOutputConfig, FileOutputConfig, KafkaOutputConfig
from log_shipper.config.shipper.transactions import TransactionConfig
from log_shipper.runtime.disk import DiskFile, open_plain, refuse_dangling, write_all
from log_shipper.runtime.disk_errors import Misplaced, NotDirectory
from log_shipper.runtime.kafka.clients import client_settings
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.output.file import advice as advice_for_file
from log_shipper.shipper.output.kafka_errors import ADVICE, advice
from log_shipper.shipper.output.kafka_settings import CLIENTS, clients, latest, settings
from log_shipper.shipper.output.positions_topic import PositionsTopic
from log_shipper.shipper.processor.topics import TopicChooser

TIMEOUT = 10.0
TRIED_BYTES = 16 * 1024  # that are written for `output.file`


def check_output(config: KafkaOutputConfig | ConsoleOutputConfig | FileOutputConfig) -> int:
    """Print a line for each step; return 0 if all succeeded, else 1. Raises StartError for settings that are
    refused."""
    if isinstance(config, KafkaOutputConfig):
        return 0 if _kafka(config) else 1
    if isinstance(config, FileOutputConfig):
        return 0 if check_file(config) else 1
    return 0 if _print_result("console: standard output") else 1


def _print_result(text: str, problem: str = "") -> bool:
    print(f"{text}... {'ERROR ' + problem if problem else 'OK'}")  # noqa: T201
    return not problem


def check_file(config: FileOutputConfig, fsync: Callable[[int], None] = os.fsync) -> bool:
    """Print whether the file can be written, and return it."""
    path = Path(config.path) / config.filename
    step = f"file: {path} can be written"
    try:
        _try_writing(path, fsync)
    except Misplaced as error:
        return _print_result(step, f"{error}: make what is missing, or set another output.file.path")
    except OSError as error:
        return _print_result(step, f"{error.strerror}: {advice_for_file(error)}")
    return _print_result(step)


def _try_writing(path: Path, fsync: Callable[[int], None]) -> None:
    """Write and sync a file beside the one at the path, or where the directories would be made that are missing. It
    leaves no trace, whatever happens: it has no name. Raises Misplaced, OSError."""
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        os.close(open_plain(target, os.O_RDWR | os.O_APPEND))
    directory = target.parent if path.is_symlink() else _existing(path.parent)
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        write_all(DiskFile(file.fileno()), bytes(TRIED_BYTES))
        fsync(file.fileno())


def _existing(directory: Path) -> Path:
    """Return the directory, or the one above it in which it would be made. Raises Misplaced, OSError."""
    for candidate in (directory, *directory.absolute().parents):
        refuse_dangling(candidate)
        if candidate.is_dir():
            return candidate
        if candidate.exists():
            raise NotDirectory(candidate)
    raise NotDirectory(directory)  # there is always the root


def _kafka(config: KafkaOutputConfig) -> bool:
    reached = [_reach(host) for host in config.hosts]
    if not any(reached) or not _ask(config):
        return False
    return config.delivery == "at_least_once" or _positions(config.transaction or TransactionConfig(), config)


def _positions(transaction: TransactionConfig, config: KafkaOutputConfig) -> bool:
    """Check the topic of positions. The right to the transactional id is not tried: that would fence a shipper that
    runs under it."""
    step = f"positions in topic {transaction.topic}"
    try:
        condition = PositionsTopic(transaction.topic, "-", clients(latest(config))).inspect()
    except StartError as error:
        return _print_result(step, str(error))
    except KafkaException as error:
        cause = error.args[0]
        return _print_result(step, f"{cause.str()}: {advice(cause.code(), cause.str(), 'the broker gives no reason')}")
    return _print_result(f"{step}: {condition}")


def _reach(address: str) -> bool:
    host, _, port = address.rpartition(":")
    if not host:
        host, port = address, "9092"
    host = host.strip("[]")
    try:
        resolved = sorted({info[4][0] for info in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)})
    except (OSError, ValueError) as error:
        return _print_result(f"{address}: resolve", f"{error}: check the name in output.kafka.hosts, and DNS")
    _print_result(f"{address}: resolve to {', '.join(map(str, resolved))}")
    try:
        socket.create_connection((host, int(port)), TIMEOUT).close()
    except OSError as error:
        return _print_result(f"{address}: connect", f"{error.strerror or error}: is the broker up, and the port open?")
    return _print_result(f"{address}: connect")


def _ask(config: KafkaOutputConfig) -> bool:
    """Request the topic's metadata: TLS and authentication fail only when something is requested."""
    problems: list[KafkaError] = []
    configured = client_settings(settings(config))
    client = CLIENTS.new(AdminClient, {**configured, "error_cb": problems.append})
    step = "TLS, " if "SSL" in str(configured["security.protocol"]).upper() else ""
    step += "authenticate, " if "SASL" in str(configured["security.protocol"]).upper() else ""
    name = TopicChooser(config.topic, config.topics).fixed
    step += f"metadata of topic {name}" if name is not None else "metadata (topics depend on the events)"
    try:
        metadata = client.list_topics(*([] if name is None else [name]), timeout=TIMEOUT)
    except KafkaException as error:
        client.poll(0)
        cause = next((p for p in problems if p.code() in ADVICE), error.args[0])
        return _print_result(step, f"{cause.str()}: {advice(cause.code(), cause.str(), 'no answer in time')}")
    if name is None:
        return _print_result(step)
    topic = metadata.topics[name]
    if topic.error is None:
        return _print_result(f"{step}: {len(topic.partitions)} partitions")
    if topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and _creates_topics(client, metadata):
        return _print_result(f"{step}: does not exist; the broker creates it with the first event")
    return _print_result(step, f"{topic.error.str()}: {ADVICE.get(topic.error.code(), 'the broker gives no reason')}")


def _creates_topics(client: AdminClient, metadata: ClusterMetadata) -> bool:
    """Return True if the broker is known to create topics; False also where the user may not read its settings."""
    broker = ConfigResource(ResourceType.BROKER, str(next(iter(metadata.brokers))))
    try:
        settings = client.describe_configs([broker], request_timeout=TIMEOUT)[broker].result(TIMEOUT)
    except (KafkaException, TimeoutError):
        return False
    return bool(settings["auto.create.topics.enable"].value == "true")
