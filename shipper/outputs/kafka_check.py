"""Connects to Kafka step by step, for `test output`."""

import socket

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    ResourceType,
)

from log_shipper.runtime.kafka.clients import answer_of, client_settings
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.kafka import KafkaOutputConfig, TransactionConfig
from log_shipper.shipper.output.kafka_errors import ADVICE, advice
from log_shipper.shipper.output.kafka_settings import CLIENTS, clients, latest, settings
from log_shipper.shipper.output.positions_topic import PositionsTopic
from log_shipper.shipper.outputs.base import CheckSteps
from log_shipper.shipper.processor.topics import TopicChooser

TIMEOUT = 10.0


def check_kafka(config: KafkaOutputConfig, report: CheckSteps) -> bool:
    """Return True if all steps succeed. Raises StartError for rejected settings."""
    reached = [_reach(host, report) for host in config.hosts]
    if not any(reached) or not _ask(config, report):
        return False
    return config.delivery == "at_least_once" or _positions(config, report)


def _positions(config: KafkaOutputConfig, report: CheckSteps) -> bool:
    """Check the topic of positions. The right to the transactional id is not tested: that would fence a running
    shipper."""
    transaction = config.transaction or TransactionConfig()
    step = f"positions in topic {transaction.topic}"
    try:
        condition = PositionsTopic(transaction.topic, "-", clients(latest(config))).inspect()
    except StartError as error:
        return report(step, str(error))
    except KafkaException as error:
        cause = error.args[0]
        return report(step, f"{cause.str()}: {advice(cause.code(), cause.str(), 'the broker gives no reason')}")
    return report(f"{step}: {condition}")


def _reach(address: str, report: CheckSteps) -> bool:
    host, _, port = address.rpartition(":")
    if not host:
        host, port = address, "9092"
    host = host.strip("[]")
    try:
        resolved = sorted({info[4][0] for info in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)})
    except (OSError, ValueError) as error:
        return report(f"{address}: resolve", f"{error}: check the name in output.kafka.hosts, and DNS")
    report(f"{address}: resolve to {', '.join(map(str, resolved))}")
    try:
        socket.create_connection((host, int(port)), TIMEOUT).close()
    except OSError as error:
        return report(f"{address}: connect", f"{error.strerror or error}: is the broker up, and the port open?")
    return report(f"{address}: connect")


def _ask(config: KafkaOutputConfig, report: CheckSteps) -> bool:
    """Request the topic's metadata: TLS and authentication fail only with a request."""
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
        return report(step, f"{cause.str()}: {advice(cause.code(), cause.str(), 'no response in time')}")
    if name is None:
        return report(step)
    topic = metadata.topics[name]
    if topic.error is None:
        return report(f"{step}: {len(topic.partitions)} partitions")
    if topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and _creates_topics(client, metadata):
        return report(f"{step}: does not exist; the broker would create it with the first event")
    return report(step, f"{topic.error.str()}: {ADVICE.get(topic.error.code(), 'the broker gives no reason')}")


def _creates_topics(client: AdminClient, metadata: ClusterMetadata) -> bool:
    """Return True if the broker is known to create topics; False also if its settings may not be read."""
    broker = ConfigResource(ResourceType.BROKER, str(next(iter(metadata.brokers))))
    try:
        settings = answer_of(client.describe_configs([broker], request_timeout=TIMEOUT)[broker], TIMEOUT)
    except (KafkaException, TimeoutError):
        return False
    return bool(settings["auto.create.topics.enable"].value == "true")
